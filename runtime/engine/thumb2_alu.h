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
        access_mem(e, LOAD, 4, rd, BLOCK, 4 * (int32_t)r);
    }
}

static void put_upper(emitter *e, unsigned r, unsigned rs)
{
    access_mem(e, STORE, 4, rs, BLOCK, 4 * (int32_t)r);
    e->zero &= ~(1u << r);
}

/* The result is 32 bits: its upper word is 0. */
static void clear_upper(emitter *e, unsigned r)
{
    if (e->wide && !(e->zero >> r & 1)) {
        load_const(e, T1, 0);
        put_upper(e, r, T1);
        e->zero |= 1u << r;
    }
}

/* ------------------------------------------------------------------------------------- operands */

/* The ARM register that holds an eBPF one; r10 is computed into `scratch`. */
static unsigned reg_in(emitter *e, unsigned r, unsigned scratch)
{
    if (r != 10) {
        return e->reg[r];
    }
    add_const(e, scratch, SP, e->base + e->job->program->func[e->func].frame);
    return scratch;
}

static unsigned base_of(emitter *e, unsigned r, int32_t *off)
{
    if (r != 10) {
        return e->reg[r];
    }
    *off += (int32_t)(e->base + e->job->program->func[e->func].frame);
    return SP;
}

static bool is_target(const emitter *e, uint32_t pc)
{
    return pc < e->count && (e->job->map[pc] & TARGET) != 0;
}

static unsigned size_of(uint8_t op)
{
    static const uint8_t sizes[4] = { 4, 2, 1, 8 };
    return sizes[op >> 3 & 3];
}

/* ------------------------------------------------------------------------------------ arithmetic */

static unsigned data_op(unsigned code)
{
    switch (code) {
    case 0x00: return ADD;
    case 0x10: return SUB;
    case 0x40: return ORR;
    case 0x50: return AND;
    case 0xa0: return EOR;
    default: return NONE;
    }
}

/* rd = ra / rb or ra % rb; what is divided by 0 gives 0, modulo 0 itself. The core may trap on 0: it is not asked. */
static void divide(emitter *e, unsigned rd, unsigned ra, unsigned rb, bool modulo, bool is_signed, bool may_be_zero)
{
    uint16_t *branch = NULL;
    if (may_be_zero) {
        compare_const(e, rb, 0);
        branch = e->at;
        half(e, 0xd000 | EQ << 8);
    }
    word(e, (is_signed ? 0xfb90 : 0xfbb0) | ra, 0xf0f0 | T1 << 8 | rb);
    if (modulo) {
        word(e, 0xfb00 | T1, ra << 12 | rd << 8 | 0x10 | rb);
    } else {
        move(e, rd, T1);
    }
    if (may_be_zero && !e->full) {
        uint16_t *over = e->at;
        if (!modulo || rd != ra) {
            half(e, 0xe000);
            uint16_t *zero = e->at;
            if (modulo) {
                move(e, rd, ra);
            } else {
                load_const(e, rd, 0);
            }
            *over = (uint16_t)(0xe000 | ((uint32_t)(e->at - over - 2) & 0x7ff));
            *branch |= (uint16_t)((zero - branch - 2) & 0xff);
        } else {
            *branch |= (uint16_t)((over - branch - 2) & 0xff);
        }
    }
}

/* 32-bit operation on lower words: dst = a OP (register or constant). `a` is dst, or what a move before put there. */
static int alu_low(emitter *e, const insn *i, unsigned code, unsigned a)
{
    unsigned rd = e->reg[i->dst], op = data_op(code);
    bool by_reg = (i->op & 8) != 0;
    unsigned rm = by_reg ? reg_in(e, i->src, T0) : 0;
    uint32_t imm = (uint32_t)i->imm;
    if (op != NONE) {
        if (by_reg) {
            op_reg(e, op, rd, a, rm);
        } else {
            op_imm(e, op, rd, a, imm);
        }
        return LPN_OK;
    }
    bool full = (i->op & 7) == 7;       /* 64 bits, of clean numbers: shifts reach 63, numbers are not negative */
    switch (code) {
    case 0x20:
        if (!by_reg) {
            load_const(e, T0, imm);
            rm = T0;
        }
        if (by_reg && rd == a && (rd | rm) < 8) {
            half(e, 0x4340 | rm << 3 | rd);
        } else {
            word(e, 0xfb00 | a, 0xf000 | rd << 8 | rm);
        }
        return LPN_OK;
    case 0x60: case 0x70: case 0xc0: {
        unsigned type = code == 0x60 ? LSL : code == 0x70 || full ? LSR : ASR;
        if (by_reg) {
            op_const(e, AND, 0, T0, rm, full ? 63 : 31);
            shift_reg(e, type, rd, a, T0);
        } else {
            unsigned n = imm & (full ? 63 : 31);
            if (n < 32) {
                shift_const(e, type, rd, a, n);
            } else {
                load_const(e, rd, 0);
            }
        }
        return LPN_OK;
    }
    case 0x30: case 0x90: {
        bool modulo = code == 0x90, is_signed = i->off != 0 && !full;
        if (!by_reg) {
            if (imm == 0 || (full && i->imm < 0 && i->off == 0)) {      /* by zero, or by more than any number here */
                if (modulo) {
                    move(e, rd, a);
                } else {
                    load_const(e, rd, 0);
                }
                return LPN_OK;
            }
            if (full && i->imm < 0) {
                imm = 0 - imm;          /* a modulo takes the dividend's sign; a clean quotient is 0 */
            }
            load_const(e, T0, imm);
            rm = T0;
        }
        divide(e, rd, a, rm, modulo, is_signed, by_reg);
        return LPN_OK;
    }
    case 0x80:
        if ((rd | a) < 8) {
            half(e, 0x4240 | a << 3 | rd);
        } else {
            op_const(e, RSB, 0, rd, a, 0);
        }
        return LPN_OK;
    default:
        return LPN_E_OPCODE;
    }
}

/* Sign extension of the lowest bits, in the lower word. */
static void extend(emitter *e, unsigned rd, unsigned rm, unsigned bits)
{
    if (bits == 32) {
        move(e, rd, rm);
    } else if ((rd | rm) < 8) {
        half(e, (bits == 8 ? 0xb240 : 0xb200) | rm << 3 | rd);
    } else {
        word(e, bits == 8 ? 0xfa4f : 0xfa0f, 0xf080 | rd << 8 | rm);
    }
}

/* Calls lpn_native's function at `at` with what is in r0-r3 when it is reached; W0 and T0, T1 do not survive. */
static void call_native(emitter *e, int32_t at)
{
    access_mem(e, LOAD, 4, T0, BLOCK, e->wide ? NATIVE_AT : at);
    if (e->wide) {
        access_mem(e, LOAD, 4, T0, T0, at < WIDE_AT ? at : WIDE_AT);
        if (at >= WIDE_AT) {
            access_mem(e, LOAD, 4, T0, T0, at - WIDE_AT);
        }
    }
    half(e, 0x4780 | T0 << 3);          /* blx */
}

/* A 64-bit operation that is a function. */
static void call_wide(emitter *e, const insn *i, unsigned which)
{
    unsigned lo = e->reg[i->dst];
    if (i->op & 8) {
        move(e, W0, reg_in(e, i->src, W0));
    } else {
        load_const(e, W0, (uint32_t)i->imm);
    }
    get_upper(e, T1, i->dst);
    move(e, T0, lo);
    half(e, 0xb40f);                    /* push {r0-r3} */
    move(e, 0, T0);
    move(e, 1, T1);
    move(e, 2, W0);
    if (i->op & 8) {
        get_upper(e, 3, i->src);
    } else {
        load_const(e, 3, i->imm < 0 ? ~0u : 0);
    }
    call_native(e, WIDE_AT + 4 * (int32_t)which);
    move(e, T0, 0);
    move(e, T1, 1);
    half(e, 0xbc0f);                    /* pop {r0-r3} */
    move(e, lo, T0);
    put_upper(e, i->dst, T1);
}

/* An operation on all 64 bits, of a program that is not clean. */
static void alu_wide(emitter *e, const insn *i)
{
    unsigned code = i->op & 0xf0, lo = e->reg[i->dst], op = data_op(code), rm = W0;
    bool by_reg = (i->op & 8) != 0;
    if (op != NONE || code == 0x80) {
        if (by_reg) {
            rm = reg_in(e, i->src, W0);
            get_upper(e, T1, i->src);
        } else {
            load_const(e, W0, (uint32_t)i->imm);
            load_const(e, T1, i->imm < 0 ? ~0u : 0);
        }
        get_upper(e, T0, i->dst);
        if (code == 0x80) {             /* 0 - x; its immediate is 0 */
            op_shifted(e, SUB, 1, lo, W0, lo, LSL, 0);
            op_shifted(e, SBC, 0, T0, T1, T0, LSL, 0);
        } else {
            op_shifted(e, op, 1, lo, lo, rm, LSL, 0);
            op_shifted(e, op == ADD ? ADC : op == SUB ? SBC : op, 0, T0, T0, T1, LSL, 0);
        }
        put_upper(e, i->dst, T0);
        return;
    }
    if (!by_reg && i->imm == 32 && (code == 0x60 || code == 0x70)) {    /* what truncates where there is no ALU32 */
        if (code == 0x60) {
            put_upper(e, i->dst, lo);
            load_const(e, lo, 0);
        } else {
            get_upper(e, lo, i->dst);
            clear_upper(e, i->dst);
        }
        return;
    }
    unsigned which = code == 0x20 ? LPN_WIDE_MUL : code == 0x60 ? LPN_WIDE_LSH : code == 0x70 ? LPN_WIDE_RSH
                     : code == 0xc0 ? LPN_WIDE_ARSH : code == 0x30 ? LPN_WIDE_DIV : LPN_WIDE_MOD;
    call_wide(e, i, which + (i->off != 0 ? 2 : 0));
}

static void byte_swap(emitter *e, const insn *i)
{
    unsigned r = e->reg[i->dst];
    bool swaps = i->op == 0xdc || i->op == 0xd7;
    if (i->imm != 64) {
        if (swaps) {
            swap(e, r, r, (unsigned)i->imm, false);
        } else if (i->imm == 16) {
            op_imm(e, AND, r, r, 0xffff);
        }
        clear_upper(e, i->dst);
    } else if (swaps && e->wide) {
        get_upper(e, T0, i->dst);
        swap(e, T1, r, 32, true);
        swap(e, r, T0, 32, true);
        put_upper(e, i->dst, T1);
    } else if (swaps) {
        load_const(e, r, 0);            /* clean: the result fits, so the number was 0 */
    }
}

static void move_insn(emitter *e, const insn *i)
{
    unsigned rd = e->reg[i->dst];
    bool all = (i->op & 7) == 7;
    if (!(i->op & 8)) {
        load_const(e, rd, (uint32_t)i->imm);
        if (e->wide && all && i->imm < 0) {
            load_const(e, T1, ~0u);
            put_upper(e, i->dst, T1);
        } else {
            clear_upper(e, i->dst);
        }
        return;
    }
    if (i->off != 0) {
        unsigned rm = reg_in(e, i->src, T0);
        extend(e, rd, rm, (unsigned)i->off);
        if (e->wide && all) {
            op_shifted(e, ORR, 0, T1, PC, rd, ASR, 31);
            put_upper(e, i->dst, T1);
        } else {
            clear_upper(e, i->dst);
        }
        return;
    }
    if (i->src == 10) {
        reg_in(e, 10, rd);
    } else {
        move(e, rd, e->reg[i->src]);
    }
    if (e->wide && all && i->src != 10 && !(e->zero >> i->src & 1)) {
        get_upper(e, T1, i->src);
        put_upper(e, i->dst, T1);
    } else {
        clear_upper(e, i->dst);
    }
}

/* An addition and the load from there into the same register: one load with an index. `base`: what is added to. */
static bool load_indexed(emitter *e, const insn *add, uint32_t pc, unsigned base)
{
    if (add->op != 0x0f || add->src == 10 || add->src == add->dst || pc + 1 >= e->count || is_target(e, pc + 1)) {
        return false;
    }
    insn n = fetch(e, pc + 1);
    if ((n.op & 0xe7) != 0x61 || n.op == 0x79 || n.dst != add->dst || n.src != add->dst || n.off != 0) {
        return false;
    }
    unsigned rt = e->reg[n.dst], rn = e->reg[base], rm = e->reg[add->src], size = size_of(n.op);
    uint32_t op = size == 4 ? 0 : size == 2 ? 1 : 2;
    if ((rt | rn | rm) < 8) {
        half(e, 0x5800 | op << 9 | rm << 6 | rn << 3 | rt);
    } else {
        word(e, (0xf850 - (op << 5)) | rn, rt << 12 | rm);
    }
    clear_upper(e, n.dst);
    return true;
}

/* A shift to the right and a mask of the lowest bits: one bit field of `from`. */
static bool extract(emitter *e, const insn *shift, const insn *mask, unsigned from)
{
    uint32_t m = (uint32_t)mask->imm, lsb = (uint32_t)shift->imm, width = 0, rd = e->reg[mask->dst];
    if ((shift->op != 0x74 && shift->op != 0x77) || (mask->op != 0x54 && mask->op != 0x57) || shift->dst != mask->dst
        || m == 0 || (m & (m + 1)) != 0 || lsb == 0 || lsb > 31) {
        return false;
    }
    while (m >> width) {
        width++;
    }
    if (lsb + width >= 32) {
        return false;
    }
    word(e, 0xf3c0 | e->reg[from], (lsb >> 2 & 7) << 12 | rd << 8 | (lsb & 3) << 6 | (width - 1));
    clear_upper(e, mask->dst);
    return true;
}

/* A move and the operation that follows on its destination, as one of three operands; or a shift and a mask. Returns how many
 * slots beyond this one are done. Only where lower words are all there is. */
static unsigned fuse(emitter *e, const insn *i, int *error)
{
    if (load_indexed(e, i, e->pc, i->dst)) {
        return 1;
    }
    if (e->pc + 1 >= e->count || is_target(e, e->pc + 1)) {
        return 0;
    }
    insn n = fetch(e, e->pc + 1);
    if (i->op == 0xbf && i->off == 0 && i->src != 10 && n.dst == i->dst && load_indexed(e, &n, e->pc + 1, i->src)) {
        return 2;
    }
    unsigned class = n.op & 7, code = n.op & 0xf0;
    bool both32 = !e->wide || ((i->op & 7) == 4 && class == 4);
    if ((class != 4 && class != 7) || n.dst != i->dst || !both32) {
        return 0;
    }
    unsigned rd = e->reg[i->dst];
    if ((i->op & 0xff) == 0xbf || i->op == 0xbc) {
        if (i->off != 0 || i->src == i->dst || code == 0xb0 || code == 0xd0) {
            return 0;
        }
        if (i->src == 10) {             /* an address on the stack */
            if (n.op != 0x07) {
                return 0;
            }
            add_const(e, rd, SP, e->base + e->job->program->func[e->func].frame + (uint32_t)n.imm);
        } else {
            if (e->pc + 2 < e->count && !is_target(e, e->pc + 2)) {
                insn third = fetch(e, e->pc + 2);
                if (extract(e, &n, &third, i->src)) {
                    return 2;
                }
            }
            if ((n.op & 8) && n.src == n.dst) {
                n.src = i->src;
            }
            *error = alu_low(e, &n, code, e->reg[i->src]);
        }
        clear_upper(e, i->dst);
        return 1;
    }
    return extract(e, i, &n, i->dst) ? 1 : 0;
}

#endif
