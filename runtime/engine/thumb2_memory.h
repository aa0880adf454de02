/* SPDX-License-Identifier: LGPL-2.1-only */
/* Loads, stores and atomics of eBPF in Thumb-2. A part of thumb2.c. */
#ifndef LPN_THUMB2_MEMORY_H
#define LPN_THUMB2_MEMORY_H

#include "thumb2_alu.h"

/* Rare enough to be a function. */
uint16_t *atomic(uint16_t *at, emitter *e, uint32_t w, uint32_t c)
{
    if (c == 0x100 || c == 0x110) {     /* load-acquire, store-release: one core sees them in order */
        w = (w & ~0xe7u) | (c == 0x100 ? 0x61 : 0x63);
        return e->classes[w & 15](at, e, w, 0);
    }
    const bool two = (w & 0x18) == 0x18, exchanges = c == 0xf1;
    const unsigned result = exchanges ? 0 : SRC(w);
    unsigned rn = DST(w), rs = SRC(w);
    uint32_t place = (uint32_t)OFFSET(w);
    if (rn == 10) {
        rn = SP;
        place += e->top;
    }
    e->told = NULL;
    e->zero = 0;                                        /* the function looks for upper words in memory */
    at = add_const(at, e, REGISTERS(T1, rn), place);
    at = reg_in(at, e, &rs, W0);
    at = move(at, W0, rs);
    at = half(at, 0xb40f);                              /* push {r0-r3} */
    at = word(at, 0x0d08f84d);          /* push {r0}, and a word that keeps sp aligned */
    at = move(at, 1, T1);
    at = move(at, 3, W0);
    at = load_const(at, e, 2, c | (two ? 0x10000 : 0) | SRC(w) << 17);
    at = WIDE(e) ? access_mem(at, e, ACCESS(LOAD | WORD, 0, BLOCK), NATIVE_AT) : move(at, 0, BLOCK);
    at = call_native(at, e, ATOMIC_AT);
    at = move(at, T0, 0);
    at = half(at, 0xb002);                              /* add sp, #8 */
    at = half(at, 0xbc0f);                              /* pop {r0-r3} */
    if (c & 1) {
        at = move(at, result, T0);
        if (!two) {
            at = clear_upper(at, e, result);
        }
    }
    return at;
}

#if MORE_THAN_CLEAN
/* With a sign, or of a program that is not clean. */
uint16_t *load_other(uint16_t *at, emitter *e, uint32_t w, uint32_t c)
{
    const unsigned rd = DST(w), unit = unit_of(w);
    const uint32_t place = (uint32_t)OFFSET(w);
    (void)c;
    const bool two = (w & 0x18) == 0x18, is_signed = (w & 0x20) == 0;
    if (WIDE(e) && two) {
        at = access_mem(at, e, ACCESS(LOAD | WORD, T0, SRC(w)), place + 4);
    }
    at = access_mem(at, e, (is_signed && unit != WORD ? LOAD_SIGNED << 8 : LOAD << 8) | unit << 8 | (w >> 8 & 0xff), place);
    if (!WIDE(e)) {
        return at;
    }
    if (two) {
        return put_upper(at, e, rd, T0);
    }
    if (is_signed) {
        at = word(at, OP_REG(ORR, 0, T1, PC, rd) | SHIFTED(ASR, 31));
        return put_upper(at, e, rd, T1);
    }
    return clear_upper(unit == HALF ? swap_next(at, e, w) : at, e, rd);
}

/* What `rt` holds, or the lower half of it, to where this slot stores. */
INLINE uint16_t *store(uint16_t *at, emitter *e, uint32_t w, unsigned rt)
{
    return access_mem(at, e, KEEPS | unit_of(w) << 8 | (w >> 4 & 0xf0) | rt, (uint32_t)OFFSET(w));
}

/* The upper half of eight bytes, from T0. */
INLINE uint16_t *store_upper(uint16_t *at, emitter *e, uint32_t w)
{
    return access_mem(at, e, ACCESS(STORE | WORD, T0, DST(w)), (uint32_t)OFFSET(w) + 4);
}

/* Of eight bytes, or r10. */
uint16_t *store_other(uint16_t *at, emitter *e, uint32_t w, uint32_t c)
{
    uint16_t *const before = at;
    unsigned rt = SRC(w);
    at = keep_flags(reg_in(at, e, &rt, T0), e, before);
    at = store(at, e, w, rt);
    return (w & 0x18) == 0x18 ? store_upper(WIDE(e) ? get_upper(at, e, T0, SRC(w)) : load_const(at, e, T0, c), e, w) : at;
}
#endif

#endif
