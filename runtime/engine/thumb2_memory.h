/* SPDX-License-Identifier: LGPL-2.1-only */
/* Loads, stores and atomics of eBPF in Thumb-2. A part of thumb2.c. */
#ifndef LPN_THUMB2_MEMORY_H
#define LPN_THUMB2_MEMORY_H

#include "thumb2_alu.h"

#if MORE_THAN_CLEAN
/* With a sign, or of a program that is not clean. */
uint16_t *load_other(uint16_t *at, emitter *e, uint32_t w, uint32_t c)
{
    const unsigned rd = DST(w), unit = unit_of(w);
    const uint32_t place = (uint32_t)OFFSET(w);
    (void)c;
    const bool two = (w & 0x18) == 0x18, is_signed = (w & 0x20) == 0;
    if (STILL_WIDE(e) && two) {
        at = access_mem(at, e, ACCESS(LOAD | WORD, T0, SRC(w)), place + 4);
    }
    at = access_mem(at, e, (is_signed && unit != WORD ? LOAD_SIGNED << 8 : LOAD << 8) | unit << 8 | (w >> 8 & 0xff), place);
    if (!STILL_WIDE(e)) {
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
    return (w & 0x18) == 0x18 ? store_upper(STILL_WIDE(e) ? get_upper(at, e, T0, SRC(w)) : load_const(at, e, T0, c), e, w) : at;
}
#endif

#endif
