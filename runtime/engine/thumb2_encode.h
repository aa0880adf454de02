/* SPDX-License-Identifier: LGPL-2.1-only */
/* The translator's state, and Thumb-2 encodings: ARMv7-M Architecture Reference Manual (DDI 0403), chapter A5. A part of thumb2.c. */
#ifndef LPN_THUMB2_ENCODE_H
#define LPN_THUMB2_ENCODE_H

#include "bytes.h"
#include "thumb2.h"

enum { SP = 13, LR = 14, PC = 15 };
enum { NONE = 0xff };
enum { T0 = 12, T1 = 14, W0 = 10 };    /* scratch; no instruction on these sets flags unless asked to */
enum { BLOCK = 11 };                    /* clean: the lpn_native; else the upper words of r0 to r9, then its address */
enum { NATIVE_AT = 40, UPPER_AT = 0, HELPER_AT = 4, ATOMIC_AT = 8, WIDE_AT = 12 };  /* in the block; in lpn_native */

/* Conditions, by number. */
enum { EQ, NE, CS, CC, MI, PL, VS, VC, HI, LS, GE, LT, GT, LE, AL };

/* Operations of the data processing groups A5.3.1 and A5.3.11. */
enum { AND = 0, BIC = 1, ORR = 2, ORN = 3, EOR = 4, ADD = 8, ADC = 10, SBC = 11, SUB = 13, RSB = 14 };
enum { LSL, LSR, ASR };

#define TARGET 0x8000u                  /* in the map before a slot's code is there: something jumps here */

typedef struct { uint8_t op, dst, src; int16_t off; int32_t imm; } insn;

typedef struct {
    const lpn_thumb2 *job;
    uint16_t *at, *end;
    uint32_t pc, count;
    uint32_t func;                      /* the function `pc` lies in */
    uint32_t base;                      /* of sp, below the function's stack frame */
    uint32_t saved;                     /* ARM registers the function pushes, as a mask */
    uint32_t used, kept;                /* ARM registers from r4 on that the program needs; those of eBPF's r6 to r9 */
    uint32_t zero;                      /* eBPF registers whose upper word in memory is known to be 0 */
    uint32_t reach;                     /* slots a conditional forward branch of 2 bytes may span */
    uint32_t skip;                      /* a slot whose work is done by one before it; 0: none */
    unsigned flags;                     /* the ARM register that the flags tell about, or NONE */
    uint8_t reg[11];                    /* eBPF register -> ARM register */
    bool wide, full;
    bool helpers, native, context;      /* the program calls helpers; anything outside; looks at r1 */
    uint16_t func_at[LPN_MAX_FUNCS];    /* halfword offset of each function's prologue */
} emitter;

static insn fetch(const emitter *e, uint32_t pc)
{
    const uint8_t *p = e->job->program->text + 8 * (size_t)pc;
    return (insn){ p[0], p[1] & 15, p[1] >> 4, (int16_t)lpn_get16(p + 2), (int32_t)lpn_get32(p + 4) };
}

static void half(emitter *e, uint32_t h)
{
    if (e->at == e->end) {
        e->full = true;
    } else {
        *e->at++ = (uint16_t)h;
    }
}

static void word(emitter *e, uint32_t first, uint32_t second)
{
    half(e, first);
    half(e, second);
}

/* A5.3.2: the constant as i:imm3:a:bcdefgh, or -1. */
static int32_t modified(uint32_t v)
{
    uint32_t low = v & 0xff;
    if (v == low) {
        return (int32_t)v;
    }
    if (v == (low | low << 16)) {
        return (int32_t)(0x100 | low);
    }
    if (v == (v >> 8 & 0xff) * 0x01000100u) {
        return (int32_t)(0x200 | (v >> 8 & 0xff));
    }
    if (v == low * 0x01010101u) {
        return (int32_t)(0x300 | low);
    }
    uint32_t zeros = 0;
    for (uint32_t x = v; !(x & 0x80000000u); x <<= 1) {
        zeros++;
    }
    uint32_t shift = 24 - zeros;        /* v = (0x80..0xff) << shift; rotation 8 to 31 */
    if (zeros > 23 || (v & ~(0xffu << shift)) != 0) {
        return -1;
    }
    return (int32_t)((32 - shift) << 7 | (v >> shift & 0x7f));
}

/* rd = rn OP constant; modified immediate. `s`: set the flags. */
static void op_const(emitter *e, unsigned op, unsigned s, unsigned rd, unsigned rn, uint32_t imm)
{
    word(e, 0xf000 | (imm >> 11 & 1) << 10 | op << 5 | s << 4 | rn, (imm >> 8 & 7) << 12 | rd << 8 | (imm & 0xff));
}

/* rd = rn OP (rm shifted) */
static void op_shifted(emitter *e, unsigned op, unsigned s, unsigned rd, unsigned rn, unsigned rm, unsigned type, unsigned n)
{
    word(e, 0xea00 | op << 5 | s << 4 | rn, (n >> 2 & 7) << 12 | rd << 8 | (n & 3) << 6 | type << 4 | rm);
}

static void move(emitter *e, unsigned rd, unsigned rm)
{
    if (rd != rm) {
        half(e, 0x4600 | (rd & 8) << 4 | rm << 3 | (rd & 7));
    }
}

static void load_const(emitter *e, unsigned rd, uint32_t v)
{
    int32_t imm;
    if (rd < 8 && v < 256) {
        half(e, 0x2000 | rd << 8 | v);
    } else if ((imm = modified(v)) >= 0) {
        op_const(e, ORR, 0, rd, PC, (uint32_t)imm);
    } else if ((imm = modified(~v)) >= 0) {
        op_const(e, ORN, 0, rd, PC, (uint32_t)imm);
    } else {
        word(e, 0xf240 | (v >> 11 & 1) << 10 | (v >> 12 & 15), (v >> 8 & 7) << 12 | rd << 8 | (v & 0xff));
        if (v >> 16) {
            v >>= 16;
            word(e, 0xf2c0 | (v >> 11 & 1) << 10 | (v >> 12 & 15), (v >> 8 & 7) << 12 | rd << 8 | (v & 0xff));
        }
    }
}

static void add_const(emitter *e, unsigned rd, unsigned rn, uint32_t v)
{
    uint32_t minus = 0 - v;
    int32_t imm;
    if (v == 0) {
        move(e, rd, rn);
    } else if (rn == SP && rd == SP && (v < 512 || minus < 512)) {
        half(e, v < 512 ? 0xb000 | v >> 2 : 0xb080 | minus >> 2);
    } else if (rn == SP && rd < 8 && v < 1024 && v % 4 == 0) {
        half(e, 0xa800 | rd << 8 | v >> 2);
    } else if (rd < 8 && rn < 8 && (v < 8 || minus < 8)) {
        half(e, (v < 8 ? 0x1c00 | v << 6 : 0x1e00 | minus << 6) | rn << 3 | rd);
    } else if (rd == rn && rd < 8 && (v < 256 || minus < 256)) {
        half(e, (v < 256 ? 0x3000 | v : 0x3800 | minus) | rd << 8);
    } else if ((imm = modified(v)) >= 0) {
        op_const(e, ADD, 0, rd, rn, (uint32_t)imm);
    } else if ((imm = modified(minus)) >= 0) {
        op_const(e, SUB, 0, rd, rn, (uint32_t)imm);
    } else if (v < 4096) {
        word(e, 0xf200 | (v >> 11 & 1) << 10 | rn, (v >> 8 & 7) << 12 | rd << 8 | (v & 0xff));
    } else if (minus < 4096) {
        word(e, 0xf2a0 | (minus >> 11 & 1) << 10 | rn, (minus >> 8 & 7) << 12 | rd << 8 | (minus & 0xff));
    } else {
        load_const(e, T0, v);
        op_shifted(e, ADD, 0, rd, rn, T0, LSL, 0);
    }
}

/* The 16-bit form of rd = rd OP rm on low registers; NONE has none that keeps to two operands. */
static unsigned narrow_op(unsigned op)
{
    switch (op) {
    case AND: return 0x4000;
    case EOR: return 0x4040;
    case ORR: return 0x4300;
    case ADC: return 0x4140;
    case SBC: return 0x4180;
    default: return 0;
    }
}

static void op_reg(emitter *e, unsigned op, unsigned rd, unsigned rn, unsigned rm)
{
    bool low = (rd | rn | rm) < 8;
    if (op == ADD && low) {
        half(e, 0x1800 | rm << 6 | rn << 3 | rd);
    } else if (op == SUB && low) {
        half(e, 0x1a00 | rm << 6 | rn << 3 | rd);
    } else if (op == ADD && rd == rn) {
        half(e, 0x4400 | (rd & 8) << 4 | rm << 3 | (rd & 7));
    } else if (low && rd == rn && narrow_op(op)) {
        half(e, narrow_op(op) | rm << 3 | rd);
    } else if (low && rd == rm && narrow_op(op) && op != SBC) {
        half(e, narrow_op(op) | rn << 3 | rd);
    } else {
        op_shifted(e, op, 0, rd, rn, rm, LSL, 0);
    }
}

static void op_imm(emitter *e, unsigned op, unsigned rd, unsigned rn, uint32_t v)
{
    int32_t imm;
    if (op == ADD || op == SUB) {
        add_const(e, rd, rn, op == ADD ? v : 0 - v);
    } else if (op == AND && v == 0xff) {
        if ((rd | rn) < 8) {
            half(e, 0xb2c0 | rn << 3 | rd);
        } else {
            word(e, 0xfa5f, 0xf080 | rd << 8 | rn);
        }
    } else if (op == AND && v == 0xffff) {
        if ((rd | rn) < 8) {
            half(e, 0xb280 | rn << 3 | rd);
        } else {
            word(e, 0xfa1f, 0xf080 | rd << 8 | rn);
        }
    } else if ((imm = modified(v)) >= 0) {
        op_const(e, op, 1, rd, rn, (uint32_t)imm);      /* the flags may spare a comparison */
    } else if (op == AND && (imm = modified(~v)) >= 0) {
        op_const(e, BIC, 1, rd, rn, (uint32_t)imm);
    } else if (op == ORR && (imm = modified(~v)) >= 0) {
        op_const(e, ORN, 0, rd, rn, (uint32_t)imm);
    } else if (op == AND && (v & (v + 1)) == 0) {
        uint32_t width = 0;             /* a mask of the lowest bits */
        while (v >> width) {
            width++;
        }
        word(e, 0xf3c0 | rn, rd << 8 | (width - 1));
    } else {
        load_const(e, T0, v);
        op_reg(e, op, rd, rn, T0);
    }
}

/* rd = rm shifted by a constant below 32; 0 moves. */
static void shift_const(emitter *e, unsigned type, unsigned rd, unsigned rm, unsigned n)
{
    if (n == 0) {
        move(e, rd, rm);
    } else if ((rd | rm) < 8) {
        half(e, type << 11 | n << 6 | rm << 3 | rd);
    } else {
        op_shifted(e, ORR, 0, rd, PC, rm, type, n);
    }
}

/* rd = rn shifted by a register: its lowest byte, 32 and more give 0 (ASR: the sign). */
static void shift_reg(emitter *e, unsigned type, unsigned rd, unsigned rn, unsigned rm)
{
    static const uint16_t narrow[3] = { 0x4080, 0x40c0, 0x4100 };
    if (rd == rn && (rd | rm) < 8) {
        half(e, (uint32_t)narrow[type] | rm << 3 | rd);
    } else {
        word(e, 0xfa00 | type << 5 | rn, 0xf000 | rd << 8 | rm);
    }
}

/* Loads and stores. Sizes 1, 2, 4. */
enum { STORE = 0, LOAD = 1, LOAD_SIGNED = 2 };

static void access_mem(emitter *e, unsigned kind, unsigned size, unsigned rt, unsigned rn, int32_t off)
{
    unsigned step = size == 4 ? 4 : size;
    if (kind != LOAD_SIGNED && rt < 8) {
        uint32_t load = kind == LOAD ? 0x0800 : 0;
        if (rn < 8 && off >= 0 && off < (int32_t)(32 * step) && off % (int32_t)step == 0) {
            uint32_t op = size == 4 ? 0x6000 : size == 1 ? 0x7000 : 0x8000;
            half(e, op | load | ((uint32_t)off / step) << 6 | rn << 3 | rt);
            return;
        }
        if (rn == SP && size == 4 && off >= 0 && off < 1024 && off % 4 == 0) {
            half(e, 0x9000 | load | rt << 8 | (uint32_t)off >> 2);
            return;
        }
    }
    uint32_t op = 0xf880 | (size == 4 ? 0x40 : size == 2 ? 0x20 : 0) | (kind == STORE ? 0 : 0x10)
                  | (kind == LOAD_SIGNED ? 0x100 : 0);
    if (off >= 4096 || off < -255) {
        load_const(e, T1, (uint32_t)off);
        op_shifted(e, ADD, 0, T1, rn, T1, LSL, 0);
        rn = T1;
        off = 0;
    }
    if (off >= 0) {
        word(e, op | rn, rt << 12 | (uint32_t)off);
    } else {
        word(e, (op & ~0x80u) | rn, rt << 12 | 0xc00 | (uint32_t)-off);
    }
}

static void compare_reg(emitter *e, unsigned rn, unsigned rm)
{
    if ((rn | rm) < 8) {
        half(e, 0x4280 | rm << 3 | rn);
    } else {
        half(e, 0x4500 | (rn & 8) << 4 | rm << 3 | (rn & 7));
    }
}

static void compare_const(emitter *e, unsigned rn, uint32_t v)
{
    int32_t imm;
    if (rn < 8 && v < 256) {
        half(e, 0x2800 | rn << 8 | v);
    } else if ((imm = modified(v)) >= 0) {
        op_const(e, SUB, 1, 15, rn, (uint32_t)imm);
    } else if ((imm = modified(0 - v)) >= 0) {
        op_const(e, ADD, 1, 15, rn, (uint32_t)imm);
    } else {
        load_const(e, T0, v);
        compare_reg(e, rn, T0);
    }
}

static void test_const(emitter *e, unsigned rn, uint32_t v)
{
    int32_t imm = modified(v);
    if (imm >= 0) {
        op_const(e, AND, 1, 15, rn, (uint32_t)imm);
    } else {
        load_const(e, T0, v);
        op_shifted(e, AND, 1, 15, rn, T0, LSL, 0);
    }
}

static void test_reg(emitter *e, unsigned rn, unsigned rm)
{
    if ((rn | rm) < 8) {
        half(e, 0x4200 | rm << 3 | rn);
    } else {
        op_shifted(e, AND, 1, 15, rn, rm, LSL, 0);
    }
}

/* One instruction that runs only if `cond` follows. */
static void it(emitter *e, unsigned cond)
{
    half(e, 0xbf08 | cond << 4);
}

/* rd = rm with the bytes of a 16- or 32-bit number swapped. */
static void swap(emitter *e, unsigned rd, unsigned rm, unsigned bits, bool clean)
{
    uint32_t op = bits == 32 ? 0 : 1;
    if ((rd | rm) < 8) {
        half(e, 0xba00 | op << 6 | rm << 3 | rd);
    } else {
        word(e, 0xfa90 | rm, 0xf080 | op << 4 | rd << 8 | rm);
    }
    if (bits == 16 && !clean) {
        op_imm(e, AND, rd, rd, 0xffff);
    }
}

#endif
