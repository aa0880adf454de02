/* SPDX-License-Identifier: LGPL-2.1-only */
/* Arithmetic of eBPF in Thumb-2: of lower words, and of all 64 bits where a program is not 32-bit clean. A part of thumb2.c. */
#ifndef LPN_THUMB2_ALU_H
#define LPN_THUMB2_ALU_H

#include "thumb2_encode.h"

/* ------------------------------------------------------------------------------------ upper words */

/* The upper word of an eBPF register in an ARM register; r10's is 0. */
static void get_upper(emitter *e, unsigned rd, unsigned r)
{
    if (r == 10 || e->zero >> r & 1) {
        load_const(e, rd, 0);
    } else {
        access_mem(e, LOAD | WORD, rd | BLOCK << 4, 4 * (int32_t)r);
    }
}

static void put_upper(emitter *e, unsigned r, unsigned rs)
{
    access_mem(e, STORE | WORD, rs | BLOCK << 4, 4 * (int32_t)r);
    e->zero &= ~(1u << r);
}

/* The result is 32 bits: its upper word is 0. */
static void clear_upper(emitter *e, unsigned r)
{
    if (WIDE(e) && !(e->zero >> r & 1)) {
        const uint16_t *const before = e->at;
        load_const(e, T1, 0);
        put_upper(e, r, T1);
        keep_flags(e, before);
        e->zero |= 1u << r;
    }
}

/* ------------------------------------------------------------------------------------- operands */

static APART unsigned end_of_frame(emitter *e, unsigned scratch)
{
    add_const(e, scratch, SP, e->top);
    return scratch;
}

/* eBPF's r0 to r9 are those of the core. r10 is computed into `scratch`. */
INLINE unsigned reg_in(emitter *e, unsigned r, unsigned scratch)
{
    return r == 10 ? end_of_frame(e, scratch) : r;
}

static unsigned base_of(const emitter *e, unsigned r, int32_t *off)
{
    if (r == 10) {
        *off += (int32_t)e->top;
        return SP;
    }
    return r;
}

static bool is_target(const emitter *e, uint32_t pc)
{
    return (e->map[pc] & TARGET) != 0;
}

/* Of a load or store: BYTE, HALF or WORD, which is moved at once. */
static unsigned unit_of(uint32_t w)
{
    return 0x10c0u >> 2 * (w >> 3 & 3) & 0x60;
}

/* The slot behind this one, where one instruction may do both; 0, which none is, where something else leads to it, or another slot did it. */
INLINE uint32_t next_slot(const emitter *e)
{
    const uint32_t pc = e->pc + 1;
    return e->map[pc] == 0 ? lpn_get32(e->text + 8 * (size_t)pc) : 0;
}

/* It is done with this one. Returns its constant. */
static uint32_t take_next(emitter *e)
{
    const uint32_t pc = ++e->pc;
    e->map[pc] = (uint16_t)code_size(e);
    return lpn_get32(e->text + 8 * (size_t)pc + 4);
}

/* ------------------------------------------------------------------------------------ arithmetic */

static unsigned data_op(unsigned code)
{
    static const uint8_t ops[16] = { ADD, SUB, NONE, NONE, ORR, AND, NONE, NONE, NONE, NONE, EOR, NONE, NONE, NONE, NONE, NONE };
    return ops[code >> 4];
}

/* rd = ra / rb or ra % rb; what is divided by 0 gives 0 (so does the core's division, unless it is told to trap), modulo 0 itself. */
static void divide(emitter *e, unsigned rd, unsigned ra, unsigned rb, bool modulo, bool is_signed, bool may_be_zero)
{
    uint16_t *branch = NULL;
    if (may_be_zero) {
        load_const(e, T1, 0);
        half(e, 0x4500 | (rb & 8) << 4 | T1 << 3 | (rb & 7));
        branch = e->at;
        half(e, 0xd000 | EQ << 8);
    }
    word(e, (is_signed ? 0xfb90 : 0xfbb0) | ra, 0xf0f0 | T1 << 8 | rb);
    if (branch != NULL) {
        *branch |= (uint16_t)((e->at - branch - 2) & 0xff);
    }
    if (modulo) {
        word(e, 0xfb00 | T1, ra << 12 | rd << 8 | 0x10 | rb);   /* ra - quotient * rb: with a quotient of 0, or rb 0, ra itself */
    } else {
        move(e, rd, T1);
    }
}

/* rd = a << n or a >> n, and the next slot may want that or-ed, or only some bits of it. False: it does not. */
APART static bool shift_on(emitter *e, unsigned type, unsigned rd, unsigned a, unsigned n)
{
    const uint32_t next = next_slot(e);
    if (DST(next) != rd) {
        return false;
    }
    if (type == LSL) {
        if ((OP(next) != 0x4c && OP(next) != 0x4f) || SRC(next) >= 10 || SRC(next) == rd) {
            return false;
        }
        take_next(e);
        op_shifted(e, ORR, 0, rd, SRC(next), a, LSL, n);
        return true;
    }
    const uint32_t mask = lpn_get32(e->text + 8 * (size_t)e->pc + 12), width = 32 - (uint32_t)__builtin_clz(mask);
    if ((OP(next) != 0x54 && OP(next) != 0x57) || mask == 0 || (mask & (mask + 1)) != 0 || n + width >= 32) {
        return false;
    }
    take_next(e);
    bit_field(e, rd, a, n, width);
    return true;
}

/* What alu_low() leaves: products, shifts, divisions, negation. */
APART static void alu_other(emitter *e, uint32_t w, uint32_t c, unsigned a)
{
    const unsigned code = w & 0xf0, rd = DST(w);
    const bool by_reg = (OP(w) & 8) != 0, full = (OP(w) & 7) == 7;  /* 64 bits, of clean numbers: shifts reach 63, none is negative */
    const unsigned rm = by_reg ? reg_in(e, SRC(w), T0) : T0;
    uint32_t imm = c;
    switch (code) {
    case 0x20:
        if (!by_reg) {
            load_const(e, T0, imm);
        }
        if (rd == a && (rd | rm) < 8) {
            flagged(e, rd, 0x4340 | rm << 3 | rd);
        } else {
            word(e, 0xfb00 | a, 0xf000 | rd << 8 | rm);
        }
        return;
    case 0x60: case 0x70: case 0xc0: {
        const unsigned type = code == 0x60 ? LSL : code == 0x70 || full ? LSR : ASR, mask = full ? 63 : 31;
        if (!WIDE(e) && !by_reg && imm - 1 < 31 && code != 0xc0 && shift_on(e, type, rd, a, imm)) {
            return;
        }
        if (by_reg) {
            op_const(e, AND, 0, T0, rm, mask);
            word(e, 0xfa00 | type << 5 | a, 0xf000 | rd << 8 | T0);     /* 32 and more give 0 */
        } else if ((imm & mask) < 32) {
            shift_const(e, type, rd, a, imm & mask);
        } else {
            load_const(e, rd, 0);
        }
        return;
    }
    case 0x30: case 0x90: {
        const bool modulo = code == 0x90;
        if (!by_reg) {
            if (imm == 0 || (full && (int32_t)c < 0 && OFFSET(w) == 0)) {      /* by zero, or by more than any number here */
                if (modulo) {
                    move(e, rd, a);
                } else {
                    load_const(e, rd, 0);
                }
                return;
            }
            if (full && (int32_t)c < 0) {
                imm = 0 - imm;          /* a modulo takes the dividend's sign; a clean quotient is 0 */
            }
            load_const(e, T0, imm);
        }
        divide(e, rd, a, rm, modulo, OFFSET(w) != 0 && !full, by_reg);
        return;
    }
    case 0x80:
        if ((rd | a) < 8) {
            flagged(e, rd, 0x4240 | a << 3 | rd);
        } else {
            op_const(e, RSB, 0, rd, a, 0);
        }
        return;
    default:
        refuse(e, LPN_E_OPCODE);
    }
}

static void load_pair(emitter *e, unsigned unit, unsigned rd, unsigned a, unsigned b);

/* rd = a + b, and the next slot may load from there. False: it does not. */
APART static bool load_on(emitter *e, uint32_t w, unsigned a)
{
    /* A load without an offset, neither of eight bytes nor with a sign: 0x61, 0x69, 0x71. */
    const uint32_t next = next_slot(e);
    if ((next & 7) != 1 || (next & 0xffff00e0) != 0x60 || (next & 0x18) == 0x18 || DST(next) != DST(w) || SRC(next) != DST(w) || SRC(w) == 10) {
        return false;
    }
    take_next(e);
    load_pair(e, unit_of(next), DST(w), a, SRC(w));
    return true;
}

/* dst = a OP register. `a` is dst, or what a move before put there. */
static void alu_reg(emitter *e, uint32_t w, unsigned a)
{
    const unsigned op = data_op(w & 0xf0);
    if (op == NONE) {
        alu_other(e, w, 0, a);
    } else if (OP(w) != 0x0f || WIDE(e) || !load_on(e, w, a)) {
        op_reg(e, op, DST(w), a, reg_in(e, SRC(w), T0));
    }
}

/* dst = a OP constant. */
static void alu_imm(emitter *e, uint32_t w, uint32_t c, unsigned a)
{
    const unsigned op = data_op(w & 0xf0);
    if (op == NONE) {
        alu_other(e, w, c, a);
    } else {
        op_imm(e, op, DST(w), a, c);
    }
}

/* Calls lpn_native's function at `at` with what is in r0-r3 when it is reached; W0 and T0, T1 do not survive. */
static void call_native(emitter *e, int32_t at)
{
    access_mem(e, LOAD | WORD, T0 | BLOCK << 4, WIDE(e) ? NATIVE_AT : at);
    if (WIDE(e)) {
        access_mem(e, LOAD | WORD, T0 | T0 << 4, at < WIDE_AT ? at : WIDE_AT);
        if (at >= WIDE_AT) {
            access_mem(e, LOAD | WORD, T0 | T0 << 4, at - WIDE_AT);
        }
    }
    half(e, 0x4780 | T0 << 3);          /* blx */
}

#if !LPN_CLEAN32_ONLY
/* 32-bit operation on lower words. */
static void alu_low(emitter *e, uint32_t w, uint32_t c, unsigned a)
{
    if ((w & 8) == 0) {
        alu_imm(e, w, c, a);
    } else {
        alu_reg(e, w, a);
    }
}

/* The second operand in registers lo (W0, or where it is) and hi. */
static unsigned wide_operand(emitter *e, uint32_t w, uint32_t c, unsigned lo, unsigned hi)
{
    if (OP(w) & 8) {
        lo = reg_in(e, SRC(w), lo);
        get_upper(e, hi, SRC(w));
    } else {
        load_const(e, lo, c);
        load_const(e, hi, (int32_t)c < 0 ? ~0u : 0);
    }
    return lo;
}

/* A 64-bit operation that is a function. */
static void call_wide(emitter *e, uint32_t w, uint32_t c, unsigned which)
{
    move(e, W0, wide_operand(e, w, c, W0, T1));
    get_upper(e, T0, DST(w));
    half(e, 0xb40f);                    /* push {r0-r3} */
    move(e, 0, DST(w));
    move(e, 1, T0);
    move(e, 2, W0);
    move(e, 3, T1);
    call_native(e, WIDE_AT + 4 * (int32_t)which);
    move(e, T0, 0);
    move(e, T1, 1);
    half(e, 0xbc0f);                    /* pop {r0-r3} */
    move(e, DST(w), T0);
    put_upper(e, DST(w), T1);
}

/* An operation on all 64 bits, of a program that is not clean. */
APART static void alu_wide(emitter *e, uint32_t w, uint32_t c)
{
    const unsigned code = OP(w) & 0xf0, lo = DST(w), op = data_op(code);
    if (op != NONE || code == 0x80) {
        const unsigned rm = wide_operand(e, w, c, W0, T1);         /* of a negation: 0 */
        get_upper(e, T0, lo);
        if (code == 0x80) {
            op_shifted(e, SUB, 1, lo, W0, lo, LSL, 0);
            op_shifted(e, SBC, 0, T0, T1, T0, LSL, 0);
        } else {
            op_shifted(e, op, 1, lo, lo, rm, LSL, 0);
            op_shifted(e, op == ADD ? ADC : op == SUB ? SBC : op, 0, T0, T0, T1, LSL, 0);
        }
        put_upper(e, lo, T0);
    } else if (!(OP(w) & 8) && c == 32 && code == 0x60) {  /* what truncates where there is no ALU32 */
        put_upper(e, lo, lo);
        load_const(e, lo, 0);
    } else if (!(OP(w) & 8) && c == 32 && code == 0x70) {
        get_upper(e, lo, lo);
        clear_upper(e, lo);
    } else {
        const unsigned which = code == 0x20 ? LPN_WIDE_MUL : code == 0x60 ? LPN_WIDE_LSH : code == 0x70 ? LPN_WIDE_RSH
                               : code == 0xc0 ? LPN_WIDE_ARSH : code == 0x30 ? LPN_WIDE_DIV : LPN_WIDE_MOD;
        call_wide(e, w, c, which + (OFFSET(w) != 0 ? 2 : 0));
    }
    e->told = NULL;
}
#endif

static void byte_swap(emitter *e, uint32_t w, uint32_t c)
{
    const unsigned r = DST(w);
    const bool swaps = OP(w) == 0xdc || OP(w) == 0xd7;
    if (c != 64) {
        if (swaps) {
            swap(e, r, r, c);
        }
        if (c == 16) {
            extend(e, 2, r, r);
        }
        clear_upper(e, r);
    } else if (swaps && WIDE(e)) {
        get_upper(e, T0, r);
        swap(e, T1, r, 32);
        swap(e, r, T0, 32);
        put_upper(e, r, T1);
    } else if (swaps) {
        load_const(e, r, 0);            /* clean: the result fits, so the number was 0 */
    }
}

static void move_insn(emitter *e, uint32_t w, uint32_t c)
{
    const unsigned rd = DST(w);
    const bool all = (OP(w) & 7) == 7;
    if (!(OP(w) & 8)) {
        load_const(e, rd, c);
        if (WIDE(e) && all && (int32_t)c < 0) {
            load_const(e, T1, ~0u);
            put_upper(e, rd, T1);
            return;
        }
    } else if (OFFSET(w) != 0) {
        const unsigned rm = reg_in(e, SRC(w), T0);
        if (OFFSET(w) == 32) {
            move(e, rd, rm);
        } else {
            extend(e, OFFSET(w) == 8, rd, rm);
        }
        if (WIDE(e) && all) {
            op_shifted(e, ORR, 0, T1, PC, rd, ASR, 31);
            put_upper(e, rd, T1);
            return;
        }
    } else {
        move(e, rd, reg_in(e, SRC(w), rd));
        if (all && SRC(w) != 10 && !(e->zero >> SRC(w) & 1)) {
            get_upper(e, T1, SRC(w));
            put_upper(e, rd, T1);
            return;
        }
    }
    clear_upper(e, rd);
}

/* Arithmetic on 32-bit clean registers, with a constant. */
static void clean_imm(emitter *e, uint32_t w, uint32_t c)
{
    const unsigned code = w & 0xf0, rd = DST(w);
    if (code == 0xb0) {
        load_const(e, rd, c);
    } else if (code == 0xd0) {
        byte_swap(e, w, c);
    } else {
        alu_imm(e, w, c, rd);
    }
}

/* With another register. What moves, and an operation on that, may be one. */
static void clean_reg(emitter *e, uint32_t w, uint32_t c)
{
    const unsigned code = w & 0xf0, rd = DST(w);
    if (code == 0xd0) {
        byte_swap(e, w, c);
        return;
    }
    if (code != 0xb0) {
        alu_reg(e, w, rd);
        return;
    }
    if (OFFSET(w) != 0) {
        move_insn(e, w, c);
        return;
    }
    const uint32_t next = next_slot(e), then = next & 0xf0;
    const unsigned a = SRC(w);
    if (((next ^ w) & 0xf00) != 0 || (0x90u >> (next & 7) & 1) == 0 || then == 0xb0 || then == 0xd0 || (a == 10 && OP(next) != 0x07)) {
        const uint16_t *const before = e->at;
        move(e, rd, reg_in(e, a, rd));
        if (e->tells != rd) {
            keep_flags(e, before);
        }
        return;
    }
    c = take_next(e);
    if (a == 10) {
        add_const(e, rd, SP, e->top + c);
    } else if ((next & 8) == 0) {
        alu_imm(e, next, c, a);
    } else {
        alu_reg(e, SRC(next) == rd ? (next & ~0xf000u) | a << 12 : next, a);
    }
}

#endif
