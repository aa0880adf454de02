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

#define TARGET 0x8000u                  /* in the map before a slot's code is there: something jumps here; the rest: see branch() */
#define DONE 1u                         /* there: a slot before it does its work */
#define SPARE 96u                       /* halfwords: more than one slot ever takes */

/* An instruction is handed on as its two words, w and the constant c. */
#define OP(w) ((w) & 0xff)
#define DST(w) ((w) >> 8 & 15)
#define SRC(w) ((w) >> 12 & 15)
#define OFFSET(w) ((int32_t)(w) >> 16)

typedef struct {                        /* what is asked most comes first: its instructions take 2 bytes */
    uint8_t tells;                      /* the register that the flags tell about, if the code still ends at `told` */
    bool wide;                          /* not clean */
    uint16_t *at, *code, *map;
    const uint16_t *told;
    const uint8_t *text;
    uint32_t pc, count;
    uint32_t first, last;               /* slots of the function `pc` lies in */
    uint32_t top;                       /* r10 - sp */
    uint32_t base;                      /* of sp, below the function's stack frame */
    uint32_t reach;                     /* slots a conditional forward branch of 2 bytes may span */
    uint32_t zero;                      /* eBPF registers whose upper word in memory is known to be 0 */
    uint32_t used;                      /* registers from r4 on that the program needs */
    uint32_t saved;                     /* registers the function pushes, as a mask */
    uint32_t func;                      /* its number */
    const lpn_thumb2 *job;
    uint16_t *full;                     /* no slot's code begins behind it */
    bool helpers, native;               /* calls helpers; anything outside */
    uint32_t far;                       /* not 0: a branch did not reach as far as was hoped */
    uint8_t error;                      /* in slot `pc`, the last that is looked at */
    uint16_t func_at[LPN_MAX_FUNCS];    /* as the map, of each function's prologue */
} emitter;

/* Is the program one that is not 32-bit clean? */
#if LPN_CLEAN32_ONLY
#define WIDE(e) ((void)(e), false)
#else
#define WIDE(e) ((e)->wide)
#endif

/* No slot after this one. */
static void refuse(emitter *e, int error)
{
    e->error = (uint8_t)error;
    e->at = e->full + 1;
}

/* Halfwords that are there. */
INLINE uint32_t code_size(const emitter *e)
{
    return (uint32_t)(e->at - e->code);
}

/* 2 bytes of code; the first for what is asked often. */
INLINE void half_often(emitter *e, uint32_t h)
{
    *e->at++ = (uint16_t)h;
}

APART static void half(emitter *e, uint32_t h)
{
    *e->at++ = (uint16_t)h;
}

APART static void word(emitter *e, uint32_t first, uint32_t second)
{
    uint16_t *at = e->at;
    at[0] = (uint16_t)first;
    at[1] = (uint16_t)second;
    e->at = at + 2;
}

/* One that leaves in the flags whether rd is zero. */
static void flagged(emitter *e, unsigned rd, uint32_t h)
{
    uint16_t *at = e->at;
    e->tells = (uint8_t)rd;
    *at++ = (uint16_t)h;
    e->at = at;
    e->told = at;
}

/* What was written since the code ended at `before` changed no flags, nor the register that they tell about. */
INLINE void keep_flags(emitter *e, const uint16_t *before)
{
    if (e->told == before) {
        e->told = e->at;
    }
}

/* A5.3.2: the constant as i:imm3:a:bcdefgh, or -1. */
static int32_t modified(uint32_t v)
{
    if (v < 0x100) {
        return (int32_t)v;
    }
    if (v >> 16 == (v & 0xffff)) {
        const uint32_t low = v & 0xff, high = v >> 24;
        if (high == 0 || high == low) {
            return (int32_t)((high == 0 ? 0x100u : 0x300u) | low);
        }
        return low == 0 ? (int32_t)(0x200 | high) : -1;
    }
    uint32_t shift = 24 - (uint32_t)__builtin_clz(v);   /* v = (0x80..0xff) << shift; rotation 8 to 31; v is 0x100 at least */
    if ((v & ~(0xffu << shift)) != 0) {
        return -1;
    }
    return (int32_t)((32 - shift) << 7 | (v >> shift & 0x7f));
}

/* rd = rn OP constant; modified immediate. `s`: set the flags. `what`: operation, s and rn as the first halfword has them. */
static void put_const(emitter *e, uint32_t what, unsigned rd, uint32_t imm)
{
    word(e, 0xf000 | (imm >> 11 & 1) << 10 | what, (imm >> 8 & 7) << 12 | rd << 8 | (imm & 0xff));
}

static inline void op_const(emitter *e, unsigned op, unsigned s, unsigned rd, unsigned rn, uint32_t imm)
{
    put_const(e, op << 5 | s << 4 | rn, rd, imm);
    if (s) {
        e->tells = (uint8_t)rd;
        e->told = e->at;
    }
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

/* movw 0xf240, movt 0xf2c0 */
static void move_half(emitter *e, uint32_t op, unsigned rd, uint32_t v)
{
    word(e, op | (v >> 11 & 1) << 10 | v >> 12, (v >> 8 & 7) << 12 | rd << 8 | (v & 0xff));
}

static void load_const(emitter *e, unsigned rd, uint32_t v)
{
    int32_t imm;
    if (rd < 8 && v < 256) {
        flagged(e, rd, 0x2000 | rd << 8 | v);
    } else if ((imm = modified(v)) >= 0) {
        op_const(e, ORR, 0, rd, PC, (uint32_t)imm);
    } else if ((imm = modified(~v)) >= 0) {
        op_const(e, ORN, 0, rd, PC, (uint32_t)imm);
    } else {
        move_half(e, 0xf240, rd, v & 0xffff);
        if (v >> 16) {
            move_half(e, 0xf2c0, rd, v >> 16);
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
    } else if ((rd | rn) < 8 && (v < 8 || minus < 8)) {
        flagged(e, rd, (v < 8 ? 0x1c00 | v << 6 : 0x1e00 | minus << 6) | rn << 3 | rd);
    } else if (rd == rn && rd < 8 && (v < 256 || minus < 256)) {
        flagged(e, rd, (v < 256 ? 0x3000 | v : 0x3800 | minus) | rd << 8);
    } else if ((imm = modified(v)) >= 0) {
        op_const(e, ADD, 0, rd, rn, (uint32_t)imm);
    } else if ((imm = modified(minus)) >= 0) {
        op_const(e, SUB, 0, rd, rn, (uint32_t)imm);
    } else if (v < 4096 || minus < 4096) {      /* addw, subw */
        const uint32_t n = v < 4096 ? v : minus;
        word(e, (v < 4096 ? 0xf200u : 0xf2a0u) | (n >> 11 & 1) << 10 | rn, (n >> 8 & 7) << 12 | rd << 8 | (n & 0xff));
    } else {
        load_const(e, T0, v);
        op_shifted(e, ADD, 0, rd, rn, T0, LSL, 0);
    }
}

/* rd = rn OP rm, in 16 bits where there is a form: of two operands for most. */
static void op_reg(emitter *e, unsigned op, unsigned rd, unsigned rn, unsigned rm)
{
    static const uint16_t narrow[] = { [AND] = 0x4000, [ORR] = 0x4300, [EOR] = 0x4040 };
    if ((rd | rn | rm) < 8) {
        if (op == ADD || op == SUB) {
            flagged(e, rd, (op == ADD ? 0x1800u : 0x1a00u) | rm << 6 | rn << 3 | rd);
            return;
        }
        if (rd == rn || rd == rm) {
            flagged(e, rd, narrow[op] | (rd == rn ? rm : rn) << 3 | rd);
            return;
        }
    } else if (op == ADD && rd == rn) {
        half(e, 0x4400 | (rd & 8) << 4 | rm << 3 | (rd & 7));
        return;
    }
    op_shifted(e, op, 0, rd, rn, rm, LSL, 0);
}

/* uxtb, uxth, sxtb, sxth: kind 3, 2, 1, 0 */
static void extend(emitter *e, unsigned kind, unsigned rd, unsigned rm)
{
    if ((rd | rm) < 8) {
        half(e, 0xb200 | kind << 6 | rm << 3 | rd);
    } else {
        word(e, 0xfa0f | (kind & 1) << 6 | (kind & 2) << 3, 0xf080 | rd << 8 | rm);
    }
}

/* ubfx: `width` bits of rn from bit lsb on */
static void bit_field(emitter *e, unsigned rd, unsigned rn, uint32_t lsb, uint32_t width)
{
    word(e, 0xf3c0 | rn, (lsb >> 2) << 12 | rd << 8 | (lsb & 3) << 6 | (width - 1));
}

static void op_imm(emitter *e, unsigned op, unsigned rd, unsigned rn, uint32_t v)
{
    if (op == ADD || op == SUB) {
        add_const(e, rd, rn, op == ADD ? v : 0 - v);
        return;
    }
    if (op == AND && (v == 0xff || v == 0xffff)) {
        extend(e, v == 0xff ? 3 : 2, rd, rn);
        return;
    }
    int32_t imm = modified(v);
    if (imm < 0 && op == AND) {
        if ((v & (v + 1)) == 0) {       /* a mask of the lowest bits */
            bit_field(e, rd, rn, 0, 32 - (uint32_t)__builtin_clz(v));
            return;
        }
        imm = modified(~v);
        op = imm < 0 ? AND : BIC;
    }
    if (imm >= 0) {
        op_const(e, op, 1, rd, rn, (uint32_t)imm);      /* the flags may spare a comparison */
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
        flagged(e, rd, type << 11 | n << 6 | rm << 3 | rd);
    } else {
        op_shifted(e, ORR, 0, rd, PC, rm, type, n);
    }
}

/* Loads and stores of 1, 2 and 4 octets: what is asked for, as instructions of 4 bytes have it in the first half; and both registers,
 * the address's in the upper half. */
enum { STORE = 0, LOAD = 0x10, LOAD_SIGNED = 0x110, BYTE = 0, HALF = 0x20, WORD = 0x40 };

/* With an index. */
APART static void access_far(emitter *e, uint32_t op, uint32_t rt, uint32_t off)
{
    load_const(e, T1, off);
    word(e, op, rt | T1);
}

static void access_mem(emitter *e, unsigned what, unsigned registers, int32_t off)
{
    static const uint16_t narrow[6] = { 0x7000, 0x7800, 0x8000, 0x8800, 0x6000, 0x6800 };
    uint32_t place = (uint32_t)off;
    if ((registers & 0x88) == 0) {      /* both below 8: up to 31 units, if it has no sign */
        const unsigned log = what >> 5 & 3;
        if ((place & ~(31u << log)) == 0 && what < 0x100) {
            half_often(e, narrow[what >> 4] | place << (6 - log) | registers >> 4 << 3 | (registers & 15));
            return;
        }
    }
    unsigned rt = registers & 15, rn = registers >> 4;
    if (rn == 10) {                     /* eBPF's: the end of the frame */
        rn = SP;
        place += e->top;
    }
    if (rn == SP && rt < 8 && (what & ~(unsigned)LOAD) == WORD && (place & ~0x3fcu) == 0) {
        half_often(e, 0x9000 | (what & LOAD) << 7 | rt << 8 | place >> 2);
        return;
    }
    uint32_t op = 0xf800 | what | rn;
    rt <<= 12;
    if (place < 4096) {
        op |= 0x80;
    } else if (0 - place <= 255) {
        place = 0xc00 | (0 - place);
    } else {
        access_far(e, op, rt, place);
        return;
    }
    word(e, op, rt | place);
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
        half_often(e, 0x2800 | rn << 8 | v);
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

/* rd = rm with the bytes of a 16- or 32-bit number swapped; of 16 bits both halves are. */
static void swap(emitter *e, unsigned rd, unsigned rm, unsigned bits)
{
    uint32_t op = bits == 32 ? 0 : 1;
    if ((rd | rm) < 8) {
        half(e, 0xba00 | op << 6 | rm << 3 | rd);
    } else {
        word(e, 0xfa90 | rm, 0xf080 | op << 4 | rd << 8 | rm);
    }
}

#endif
