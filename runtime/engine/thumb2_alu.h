/* SPDX-License-Identifier: LGPL-2.1-only */
/* Arithmetic of eBPF in Thumb-2: of lower words, and of all 64 bits where a program is not 32-bit clean. A part of thumb2.c. */
#ifndef LPN_THUMB2_ALU_H
#define LPN_THUMB2_ALU_H

#include "thumb2_encode.h"

/* ------------------------------------------------------------------------------------ upper words */

/* The upper word of an eBPF register in an ARM register; r10's is 0. */
static uint16_t *get_upper(uint16_t *at, emitter *e, unsigned rd, unsigned r)
{
    if (r == 10 || e->zero >> r & 1) {
        return load_const(at, e, rd, 0);
    }
    return access_mem(at, e, ACCESS(LOAD | WORD, rd, BLOCK), 4 * r);
}

static uint16_t *put_upper(uint16_t *at, emitter *e, unsigned r, unsigned rs)
{
    e->zero &= ~(1u << r);
    return access_mem(at, e, ACCESS(STORE | WORD, rs, BLOCK), 4 * r);
}

/* The result is 32 bits: its upper word is 0. */
uint16_t *clear_upper(uint16_t *at, emitter *e, unsigned r)
{
    if (WIDE(e) && !(e->zero >> r & 1)) {
        const uint16_t *const before = at;
        at = load_const(at, e, T1, 0);
        at = keep_flags(put_upper(at, e, r, T1), e, before);
        e->zero |= 1u << r;
    }
    return at;
}

/* ------------------------------------------------------------------------------------ arithmetic */

#if MORE_THAN_CLEAN
/* Calls lpn_native's function at `place` with what is in r0-r3 when it is reached; W0 and T0, T1 do not survive. */
static uint16_t *call_native(uint16_t *at, emitter *e, uint32_t place)
{
    at = access_mem(at, e, ACCESS(LOAD | WORD, T0, BLOCK), STILL_WIDE(e) ? NATIVE_AT : place);
    if (STILL_WIDE(e)) {
        at = access_mem(at, e, ACCESS(LOAD | WORD, T0, T0), place < WIDE_AT ? place : WIDE_AT);
        if (place >= WIDE_AT) {
            at = access_mem(at, e, ACCESS(LOAD | WORD, T0, T0), place - WIDE_AT);
        }
    }
    return half(at, 0x4780 | T0 << 3);          /* blx */
}
#endif

#if !LPN_CLEAN32_ONLY
/* The second operand in registers lo (W0, or where it is: in `*lo`) and hi. */
static uint16_t *wide_operand(uint16_t *at, emitter *e, uint32_t w, uint32_t c, unsigned *lo, unsigned hi)
{
    if (w & 8) {
        *lo = SRC(w);
        at = reg_in(at, e, lo, W0);
        return get_upper(at, e, hi, SRC(w));
    }
    *lo = W0;
    at = load_const(at, e, W0, c);
    return load_const(at, e, hi, (int32_t)c < 0 ? ~0u : 0);
}

/* A 64-bit operation that is a function. */
static uint16_t *call_wide(uint16_t *at, emitter *e, uint32_t w, uint32_t c, unsigned which)
{
    unsigned rm;
    at = wide_operand(at, e, w, c, &rm, T1);
    at = move(at, W0, rm);
    at = get_upper(at, e, T0, DST(w));
    at = half(at, 0xb40f);              /* push {r0-r3} */
    at = move(at, 0, DST(w));
    at = move(at, 1, T0);
    at = move(at, 2, W0);
    at = move(at, 3, T1);
    at = call_native(at, e, WIDE_AT + 4 * which);
    at = move(at, T0, 0);
    at = move(at, T1, 1);
    at = half(at, 0xbc0f);              /* pop {r0-r3} */
    at = move(at, DST(w), T0);
    return put_upper(at, e, DST(w), T1);
}

/* An operation on all 64 bits, of a program that is not clean. */
APART static uint16_t *alu_wide(uint16_t *at, emitter *e, uint32_t w, uint32_t c)
{
    const unsigned code = CODE(w), lo = DST(w);
    const uint32_t op = operations[code] >> 16;
    e->told = NULL;
    if (op != 0 || code == 8) {
        unsigned rm;
        at = wide_operand(at, e, w, c, &rm, T1);        /* of a negation: 0 */
        at = get_upper(at, e, T0, lo);
        if (code == 8) {
            at = word(at, OP_REG(SUB, 1, lo, W0, lo));
            at = word(at, OP_REG(SBC, 0, T0, T1, T0));
        } else {
            at = word(at, op | 0x10 | lo | lo << 24 | (uint32_t)rm << 16);
            at = word(at, (code == 0 ? OP_REG(ADC, 0, 0, 0, 0) : code == 1 ? OP_REG(SBC, 0, 0, 0, 0) : op) | T0 | T0 << 24 | T1 << 16);
        }
        return put_upper(at, e, lo, T0);
    }
    if (!(w & 8) && c == 32 && code == 6) {     /* what truncates where there is no ALU32 */
        at = put_upper(at, e, lo, lo);
        at = load_const(at, e, lo, 0);
    } else if (!(w & 8) && c == 32 && code == 7) {
        at = get_upper(at, e, lo, lo);
        at = clear_upper(at, e, lo);
    } else {
        const unsigned which = code == 2 ? LPN_WIDE_MUL : code == 6 ? LPN_WIDE_LSH : code == 7 ? LPN_WIDE_RSH
                               : code == 12 ? LPN_WIDE_ARSH : code == 3 ? LPN_WIDE_DIV : LPN_WIDE_MOD;
        at = call_wide(at, e, w, c, which + (OFFSET(w) != 0 ? 2 : 0));
    }
    e->told = NULL;
    return at;
}

static uint16_t *swap_wide(uint16_t *at, emitter *e, uint32_t w, uint32_t c)
{
    const unsigned r = DST(w);
    if (c != 64) {
        return clear_upper(byte_swap(at, e, w, c), e, r);
    }
    if ((w & 15) == 4) {                /* to the core's own order */
        return at;
    }
    at = get_upper(at, e, T0, r);
    at = word(at, 0xf080fa90 | T1 << 24 | r | r << 16);         /* rev */
    at = word(at, 0xf080fa90 | r << 24 | T0 | T0 << 16);
    return put_upper(at, e, r, T1);
}

static uint16_t *move_wide(uint16_t *at, emitter *e, uint32_t w, uint32_t c)
{
    const unsigned rd = DST(w);
    const bool all = (w & 7) == 7;
    unsigned rm = SRC(w);
    if ((w & 8) == 0) {
        at = load_const(at, e, rd, c);
        if (all && (int32_t)c < 0) {
            return put_upper(load_const(at, e, T1, ~0u), e, rd, T1);
        }
    } else if (OFFSET(w) != 0) {
        at = move_other(at, e, w, c);
        if (all) {
            return put_upper(word(at, OP_REG(ORR, 0, T1, PC, rd) | SHIFTED(ASR, 31)), e, rd, T1);
        }
    } else {
        at = reg_in(at, e, &rm, rd);
        at = move(at, rd, rm);
        if (all && SRC(w) != 10 && !(e->zero >> SRC(w) & 1)) {
            return put_upper(get_upper(at, e, T1, SRC(w)), e, rd, T1);
        }
    }
    return clear_upper(at, e, rd);
}

/* Arithmetic of a program that is not clean. */
uint16_t *alu(uint16_t *at, emitter *e, uint32_t w, uint32_t c)
{
    const unsigned code = CODE(w);
    if (code == 11) {
        return move_wide(at, e, w, c);
    }
    if (code == 13) {
        return swap_wide(at, e, w, c);
    }
    if ((w & 7) == 7) {
        return alu_wide(at, e, w, c);
    }
    const uint32_t begun = (w & 0x1ffff) | BEGINS_WITH(DST(w));
    at = (w & 8) != 0 ? alu_reg(at, e, begun, c) : alu_imm(at, e, begun, c);
    return clear_upper(at, e, DST(w));
}
#endif

#endif
