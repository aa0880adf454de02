/* SPDX-License-Identifier: LGPL-2.1-only */
/* Arithmetic of 32-bit clean programs, as thumb2_imm.inc and thumb2_reg.inc have it. A part of thumb2_clean.h. */
#ifndef LPN_THUMB2_CLEAN_ALU_H
#define LPN_THUMB2_CLEAN_ALU_H

#include "thumb2_branch.h"
#include "thumb2_memory.h"

/* uxtb, uxth, sxtb, sxth: kind 3, 2, 1, 0 */
static uint16_t *extend(uint16_t *at, unsigned kind, unsigned rd, unsigned rm)
{
    if ((rd | rm) < 8) {
        return half(at, 0xb200 | kind << 6 | rm << 3 | rd);
    }
    return word(at, 0xf080fa0f | (kind & 1) << 6 | (kind & 2) << 3 | (uint32_t)rd << 24 | (uint32_t)rm << 16);
}

/* rd = rm with the bytes of a 16- or 32-bit number swapped; of 16 bits both halves are. */
static uint16_t *swap(uint16_t *at, unsigned rd, unsigned rm, unsigned bits)
{
    const uint32_t op = bits == 32 ? 0 : 1;
    if ((rd | rm) < 8) {
        return half(at, 0xba00 | op << 6 | rm << 3 | rd);
    }
    return word(at, 0xf080fa90 | rm | op << 20 | (uint32_t)rd << 24 | (uint32_t)rm << 16);
}

/* dst = a OP src, by an instruction that has them there. */
static uint16_t *three(uint16_t *at, uint32_t insn, uint32_t w)
{
    return word(at, insn | A(w) | DST(w) << 24 | SRC(w) << 16);
}

/* dst = a / src or a % src; what is divided by 0 gives 0 (so does the core's division, unless it is told to trap), modulo 0 itself. */
static uint16_t *divide(uint16_t *at, emitter *e, uint32_t w, bool is_signed)
{
    uint16_t *branch = NULL;
    if ((w & 8) != 0) {                 /* a constant is not 0 */
        branch = compare_reg(load_const(at, e, T1, 0), SRC(w), T1);
        at = branch + 1;
    }
    at = three(at, is_signed ? 0xf0f0fb90 : 0xf0f0fbb0, (w & ~0xf00u) | T1 << 8);
    if (branch != NULL) {
        *branch = (uint16_t)(0xd000 | EQ << 8 | (at - branch - 2));
    }
    if (CODE(w) != 9) {
        return move(at, DST(w), T1);
    }
    return three(at, 0x0010fb00 | A(w) << 28, (w & ~BEGINS_WITH(15)) | BEGINS_WITH(T1));    /* a - quotient * src: with a quotient of 0, or src 0, a itself */
}

/* Products, divisions, negation; shifts by a register. */
static uint16_t *alu_other(uint16_t *at, emitter *e, uint32_t w, uint32_t c)
{
    const unsigned code = CODE(w), rd = DST(w);
    const bool by_reg = (w & 8) != 0, full = (w & 7) == 7;      /* 64 bits, of clean numbers: shifts reach 63, none is negative */
    const bool is_signed = (w & 0x10000) != 0, low = (w & (BEGINS_WITH(8) | 0x800)) == 0;
    if (code == 8) {
        return low ? flagged(at, e, rd, 0x4240 | A(w) << 3 | rd) : op_const(at, e, OP_CONST(RSB, 0, rd, A(w), 0), 0);
    }
    if (code == 6 || code == 7 || code == 12) {
        at = op_const(at, e, OP_CONST(AND, 0, T0, SRC(w), 0), full ? 63 : 31);
        return three(at, 0xf000fa00 | (code == 6 ? 0u : code == 7 || full ? LSR << 5 : ASR << 5), (w & ~0xf000u) | T0 << 12);       /* 32 and more give 0 */
    }
    if (!by_reg) {
        const bool negative = full && (int32_t)c < 0 && code != 2;
        if (code != 2 && (c == 0 || (negative && !is_signed))) {        /* by zero, or by more than any number here */
            return code == 9 ? move(at, rd, A(w)) : load_const(at, e, rd, 0);
        }
        at = load_const(at, e, T0, negative ? 0 - c : c);      /* a modulo takes the dividend's sign; a clean quotient is 0 */
        w = (w & ~0xf000u) | T0 << 12;
    }
    if (code == 2) {
        return low && rd == A(w) && SRC(w) < 8 ? flagged(at, e, rd, 0x4340 | SRC(w) << 3 | rd) : three(at, 0xf000fb00, w);
    }
    if (code != 3 && code != 9) {
        return refuse(e, LPN_E_OPCODE);
    }
    return divide(at, e, w, is_signed && !full);
}

/* dst = a OP src, of one of these operations. */
static uint16_t *op_reg(uint16_t *at, emitter *e, uint32_t w)
{
    const unsigned rd = DST(w), code = CODE(w);
    unsigned rn = A(w), rm = SRC(w);
    const uint32_t forms = operations[code];
    if ((w & (BEGINS_WITH(8) | 0x8800)) == 0) {
        if (code < 2) {
            rn |= rm << 3;
            rm = rd;
        } else if (rd == rn) {
            rn = rm;
            rm = rd;
        }
        if (rm == rd) {
            return flagged(at, e, rd, (uint16_t)forms | rn << 3 | rd);
        }
    } else if (code == 0 && rd == rn) {
        return half(at, 0x4400 | (rd & 8) << 4 | rm << 3 | (rd & 7));
    }
    return word(at, forms >> 16 | rn | (uint32_t)rd << 24 | (uint32_t)rm << 16);
}

/* ubfx: dst = `width` bits of a from bit lsb on */
static uint16_t *bit_field(uint16_t *at, uint32_t w, uint32_t lsb, uint32_t width)
{
    return word(at, 0xf3c0u | A(w) | (lsb & 0x1c) << 26 | DST(w) << 24 | (lsb & 3) << 22 | (width - 1) << 16);
}

/* dst = a OP constant: or, and, exclusive or. */
static uint16_t *op_imm(uint16_t *at, emitter *e, uint32_t w, uint32_t v)
{
    uint32_t either = 0;
    if (CODE(w) == 5) {
        if (v == 0xff || v == 0xffff) {
            return extend(at, v == 0xff ? 3 : 2, DST(w), A(w));
        }
        if (v >= 0x100 && v + 1 != 0 && (v & (v + 1)) == 0) {  /* a mask of the lowest bits */
            return bit_field(at, w, 0, 32 - (uint32_t)__builtin_clz(v));
        }
        either = EITHER;
    }
    /* 0xf010 instead of 0xea00: the flags may spare a comparison */
    return op_const(at, e, (operations[CODE(w)] >> 16 ^ 0x1a10) | A(w) | DST(w) << 24 | either, v);
}

/* dst = a shifted by a constant below 32; 0 moves. */
static uint16_t *shift_const(uint16_t *at, emitter *e, uint32_t w, unsigned type, unsigned n)
{
    const unsigned rd = DST(w), rm = A(w);
    if (n == 0) {
        return move(at, rd, rm);
    }
    if ((rd | rm) < 8) {
        return flagged(at, e, rd, type << 11 | n << 6 | rm << 3 | rd);
    }
    return word(at, OP_REG(ORR, 0, rd, PC, rm) | SHIFTED(type, n));
}

/* dst = a shifted by a constant, and the next slot may want that or-ed, or only some bits of it. */
static uint16_t *shift_imm(uint16_t *at, emitter *e, uint32_t w, uint32_t c)
{
    const bool full = (w & 7) == 7;
    const unsigned code = CODE(w);
    const uint32_t n = c & (full ? 63 : 31);
    if (!WIDE(e) && code != 12 && c - 1 < 31) {
        const uint32_t next = next_slot(e);
        if (((next ^ w) & 0xf00) != 0) {
            /* it is about something else */
        } else if (code == 6) {
            if ((OP(next) == 0x4c || OP(next) == 0x4f) && SRC(next) < 10 && SRC(next) != DST(w)) {
                take_next(e, at);
                return word(at, OP_REG(ORR, 0, DST(w), SRC(next), A(w)) | SHIFTED(LSL, n));
            }
        } else if (OP(next) == 0x54 || OP(next) == 0x57) {
            const uint32_t mask = lpn_get32(text_of(e) + 12), width = 32 - (uint32_t)__builtin_clz(mask);
            if (mask != 0 && (mask & (mask + 1)) == 0 && n + width < 32) {
                take_next(e, at);
                return bit_field(at, w, n, width);
            }
        }
    }
    return n < 32 ? shift_const(at, e, w, code == 6 ? LSL : code == 7 || full ? LSR : ASR, n) : load_const(at, e, DST(w), 0);
}

uint16_t *byte_swap(uint16_t *at, emitter *e, uint32_t w, uint32_t c)
{
    const unsigned r = DST(w);
    const bool swaps = (w & 15) != 4;   /* to the core's own order: nothing */
    if (c == 64) {
        return swaps ? load_const(at, e, r, 0) : at;    /* clean: the result fits, so the number was 0 */
    }
    at = swaps ? swap(at, r, r, c) : at;
    return c == 16 ? extend(at, 2, r, r) : at;
}

uint16_t *move_other(uint16_t *at, emitter *e, uint32_t w, uint32_t c)
{
    unsigned rm = SRC(w);
    (void)c;
    at = reg_in(at, e, &rm, T0);
    return OFFSET(w) == 32 ? move(at, DST(w), rm) : extend(at, OFFSET(w) == 8, DST(w), rm);
}

/* dst = a OP constant. */
uint16_t *alu_imm(uint16_t *at, emitter *e, uint32_t w, uint32_t c)
{
    switch (CODE(w)) {
    case 0: return add_const(at, e, w, c);
    case 1: return add_const(at, e, w, 0 - c);
    case 4: case 5: case 10: return op_imm(at, e, w, c);
    case 6: case 7: case 12: return shift_imm(at, e, w, c);
    case 11: return load_const(at, e, DST(w), c);
    case 13: return byte_swap(at, e, w, c);
    default: return alu_other(at, e, w, c);
    }
}

/* dst = *(a + src), as the next slot has it. */
static uint16_t *load_pair(uint16_t *at, emitter *e, uint32_t w, uint32_t next)
{
    const unsigned unit = unit_of(next), rd = DST(w), a = A(w), b = SRC(w);
    take_next(e, at);
    if ((rd | a | b) < 8) {
        at = half(at, (0x5c00 - (unit << 4)) | b << 6 | a << 3 | rd);
    } else {
        at = word(at, 0xf810 | unit | a | (uint32_t)rd << 28 | (uint32_t)b << 16);
    }
    return unit == HALF ? swap_next(at, e, w) : at;
}

uint16_t *alu_reg(uint16_t *at, emitter *e, uint32_t w, uint32_t c)
{
    if (SRC(w) == 10) {
        at = end_of_frame(at, e, T0);
        w = (w & ~0xf000u) | T0 << 12;
    } else if (OP(w) == 0x0f && !WIDE(e)) {     /* an address, and the next slot may load from there, 1, 2 or 4 octets with no sign */
        const uint32_t next = next_slot(e);
        if ((next & 0xffff00e7) == 0x61 && (next & 0x18) != 0x18 && ((next ^ w) & 0xf00) == 0 && SRC(next) == DST(w)) {
            return load_pair(at, e, w, next);
        }
    }
    return operations[CODE(w)] != 0 ? op_reg(at, e, w) : alu_other(at, e, w, c);
}

uint16_t *clean_imm(uint16_t *at, emitter *e, uint32_t w, uint32_t c)
{
    return alu_imm(at, e, w | BEGINS_WITH(DST(w)), c);
}

/* What moves, and an operation on that, may be one. */
static uint16_t *clean_move(uint16_t *at, emitter *e, uint32_t w)
{
    const unsigned rd = DST(w), a = SRC(w);
    uint32_t next = next_slot(e);
    if (((next ^ w) & 0xf00) != 0 || (0x90u >> (next & 7) & 1) == 0 || (0x2800u >> CODE(next) & 1) != 0 || (a == 10 && OP(next) != 0x07)) {
        uint16_t *const before = at;
        at = a == 10 ? end_of_frame(at, e, rd) : move(at, rd, a);
        return e->tells != rd ? keep_flags(at, e, before) : at;
    }
    take_next(e, at);
    const uint32_t c = lpn_get32(text_of(e) + 4);
    if (a == 10) {
        return add_const(at, e, REGISTERS(rd, SP), e->top + c);
    }
    if ((next & 8) == 0) {
        return alu_imm(at, e, next | BEGINS_WITH(a), c);
    }
    if (SRC(next) == rd) {
        next = (next & ~0xf000u) | a << 12;
    }
    return alu_reg(at, e, next | BEGINS_WITH(a), c);
}

uint16_t *clean_reg(uint16_t *at, emitter *e, uint32_t w, uint32_t c)
{
    const unsigned code = CODE(w);
    if (code == 11) {
        return OFFSET(w) != 0 ? move_other(at, e, w, c) : clean_move(at, e, w);
    }
    return code == 13 ? byte_swap(at, e, w, c) : alu_reg(at, e, w | BEGINS_WITH(DST(w)), c);
}

#endif
