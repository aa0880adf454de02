/* SPDX-License-Identifier: LGPL-2.1-only */
/* eBPF to Thumb-2: ARMv7-M Architecture Reference Manual (DDI 0403), chapter A7. One instruction at a time, forward; where the
 * next one completes it (a move before an operation, a shift before a mask, a load before a swap) both become one.
 * Branches are patched when all code is there. */
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
#define SHORT_REACH 120                 /* bytes that forward branches of 2 bytes are trusted with, see `reach` */

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

/* ------------------------------------------------------------------------------------- encodings */

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
        access_mem(e, LOAD, 4, T0, T0, at);
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

/* ---------------------------------------------------------------------------------------- memory */

/* Is the next slot a swap of what was just loaded? */
static bool swapped_next(const emitter *e, const insn *i, unsigned size)
{
    if (e->pc + 1 >= e->count || is_target(e, e->pc + 1)) {
        return false;
    }
    insn n = fetch(e, e->pc + 1);
    return (n.op == 0xdc || n.op == 0xd7) && n.dst == i->dst && (unsigned)n.imm == 8 * size;
}

/* The slot, soon after a load, that adds a constant to its base: the load can do that too. 0: there is none. */
static uint32_t advance_after(const emitter *e, const insn *i)
{
    for (uint32_t pc = e->pc + 1; pc <= e->pc + 3 && pc < e->count && !is_target(e, pc); pc++) {
        insn n = fetch(e, pc);
        unsigned class = n.op & 7;
        if (n.op == 0x07 && n.dst == i->src && n.imm > 0 && n.imm < 256) {
            return pc;
        }
        if (class == 0 || class == 5 || class == 6 || n.dst == i->src || n.src == i->src) {
            return 0;
        }
    }
    return 0;
}

/* Returns how many slots beyond this one are done. */
static unsigned load(emitter *e, const insn *i)
{
    unsigned size = size_of(i->op), rd = e->reg[i->dst];
    bool is_signed = (i->op & 0xe0) == 0x80;
    int32_t off = i->off;
    unsigned rn = base_of(e, i->src, &off);
    if (size == 8) {
        if (e->wide) {
            access_mem(e, LOAD, 4, T0, rn, off + 4);
        }
        access_mem(e, LOAD, 4, rd, rn, off);
        if (e->wide) {
            put_upper(e, i->dst, T0);
        }
        return 0;
    }
    if (!e->wide && !is_signed && off == 0 && i->src != 10 && i->src != i->dst && (e->skip = advance_after(e, i)) != 0) {
        insn n = fetch(e, e->skip);
        word(e, 0xf810 | (size == 4 ? 0x40u : size == 2 ? 0x20u : 0) | rn, rd << 12 | 0xb00 | (uint32_t)n.imm);
    } else {
        access_mem(e, is_signed && size != 4 ? LOAD_SIGNED : LOAD, size, rd, rn, off);
    }
    unsigned more = 0;
    if (!is_signed && size > 1 && swapped_next(e, i, size)) {
        swap(e, rd, rd, 8 * size, true);
        more = 1;
    }
    if (is_signed && e->wide) {
        op_shifted(e, ORR, 0, T1, PC, rd, ASR, 31);
        put_upper(e, i->dst, T1);
    } else {
        clear_upper(e, i->dst);
    }
    return more;
}

static void store(emitter *e, const insn *i)
{
    unsigned size = size_of(i->op);
    bool by_reg = (i->op & 7) == 3;
    int32_t off = i->off;
    unsigned rn = base_of(e, i->dst, &off), rt = T0;
    if (by_reg) {
        rt = reg_in(e, i->src, T0);
    } else {
        load_const(e, T0, (uint32_t)i->imm);
    }
    access_mem(e, STORE, size == 8 ? 4 : size, rt, rn, off);
    if (size == 8) {
        if (by_reg && e->wide) {
            get_upper(e, T0, i->src);
        } else {
            load_const(e, T0, !by_reg && i->imm < 0 ? ~0u : 0);
        }
        access_mem(e, STORE, 4, T0, rn, off + 4);
    }
}

/* Rare enough to be a function. */
static void atomic(emitter *e, const insn *i)
{
    if (i->imm == 0x100 || i->imm == 0x110) {           /* load-acquire, store-release: one core sees them in order */
        insn plain = { (uint8_t)((i->imm == 0x100 ? 0x61 : 0x63) | (i->op & 0x18)), i->dst, i->src, i->off, 0 };
        if (i->imm == 0x100) {
            load(e, &plain);
        } else {
            store(e, &plain);
        }
        return;
    }
    bool two = size_of(i->op) == 8, exchanges = i->imm == 0xf1;
    unsigned result = exchanges ? 0 : i->src;
    int32_t off = i->off;
    unsigned rn = base_of(e, i->dst, &off);
    for (unsigned r = 0; r < 10; r++) {                 /* the function looks for upper words in memory */
        e->zero &= ~(1u << r);
    }
    add_const(e, T1, rn, (uint32_t)off);
    move(e, W0, reg_in(e, i->src, W0));
    half(e, 0xb40f);                                    /* push {r0-r3} */
    word(e, 0xf84d, (uint32_t)e->reg[0] << 12 | 0xd08); /* push {reg of r0}, and a word that keeps sp aligned */
    move(e, 1, T1);
    move(e, 3, W0);
    load_const(e, 2, (uint32_t)i->imm | (two ? 0x10000 : 0) | (uint32_t)i->src << 17);
    if (e->wide) {
        access_mem(e, LOAD, 4, 0, BLOCK, NATIVE_AT);
    } else {
        move(e, 0, BLOCK);
    }
    call_native(e, ATOMIC_AT);
    move(e, T0, 0);
    half(e, 0xb002);                                    /* add sp, #8 */
    half(e, 0xbc0f);                                    /* pop {r0-r3} */
    if (i->imm & 1) {
        move(e, e->reg[result], T0);
        if (!two) {
            clear_upper(e, result);
        }
    }
}

/* -------------------------------------------------------------------------------------- branches */

static unsigned condition(unsigned code)
{
    switch (code) {
    case 0x10: return EQ;
    case 0x20: return HI;
    case 0x30: return CS;
    case 0x40: case 0x50: return NE;
    case 0x60: return GT;
    case 0x70: return GE;
    case 0xa0: return CC;
    case 0xb0: return LS;
    case 0xc0: return LT;
    default: return LE;
    }
}

/* A 64-bit comparison of clean numbers is unsigned, and one with a negative constant has a known end: AL or NONE. */
static unsigned clean_condition(const insn *i)
{
    unsigned code = i->op & 0xf0;
    if ((i->op & 7) == 6) {
        return condition(code);
    }
    if (!(i->op & 8) && i->imm < 0) {
        switch (code) {
        case 0x40: return NE;
        case 0x50: case 0xa0: case 0xb0: case 0x60: case 0x70: return AL;
        default: return NONE;
        }
    }
    switch (code) {
    case 0x60: return HI;
    case 0x70: return CS;
    case 0xc0: return CC;
    case 0xd0: return LS;
    default: return condition(code);
    }
}

/* The condition under which a branch is taken; AL: always, NONE: never. */
static unsigned condition_of(const emitter *e, const insn *i)
{
    if (i->op == 0x05 || i->op == 0x06) {
        return AL;
    }
    if (!e->wide || (i->op & 7) == 6) {
        return clean_condition(i);
    }
    switch (i->op & 0xf0) {             /* see compare_wide: a > b is b < a */
    case 0x10: return EQ;
    case 0x40: case 0x50: return NE;
    case 0x20: case 0xa0: return CC;
    case 0x30: case 0xb0: return CS;
    case 0x60: case 0xc0: return LT;
    default: return GE;
    }
}

static uint32_t jump_target(uint32_t pc, const insn *i)
{
    return (uint32_t)((int64_t)pc + 1 + (i->op == 0x06 || i->op == 0x85 ? i->imm : i->off));
}

/* How a branch is written: as cbz or cbnz, in 2 bytes, or in 4. The placeholder of a branch says which it will be. */
enum form { ZERO_BRANCH = 0xb100, SHORT = 0xbf00, LONG = 0xbf02 };

/* Where a branch at slot `pc` goes and when. One over a jump goes where that jump goes, when it would not be taken. */
typedef struct { uint32_t to; unsigned cond; bool over; } course;

static enum form form_of(const emitter *e, uint32_t pc, const insn *i, course c)
{
    if (c.to <= pc) {                   /* its address is known; a comparison comes before the branch */
        return e->at - (e->job->code + e->job->map[c.to]) < (c.cond == AL ? 1000 : 100) ? SHORT : LONG;
    }
    uint32_t slots = c.to - pc;
    if (c.cond != AL && (i->op & ~0x43) == 0x14 && i->imm == 0 && i->dst != 10 && e->reg[i->dst] < 8
        && (!e->wide || (i->op & 7) == 6) && 3 * slots <= e->reach) {
        return ZERO_BRANCH;             /* 0x15, 0x16, 0x55, 0x56: equal to zero or not */
    }
    return slots <= (c.cond == AL ? 6 * e->reach : e->reach) ? SHORT : LONG;
}

/* The branch itself, `distance` halfwords from its own end. False when it cannot reach that far. */
static bool put_branch(uint16_t *at, enum form form, unsigned cond, unsigned rn, int32_t distance, bool link)
{
    int32_t d = form == LONG ? distance : distance - 1; /* pc is 4 bytes ahead of the branch */
    uint32_t u = (uint32_t)d;
    switch (form) {
    case ZERO_BRANCH:
        if (d < 0 || d > 63) {
            return false;
        }
        *at = (uint16_t)((cond == EQ ? 0xb100 : 0xb900) | (u >> 5 & 1) << 9 | (u & 31) << 3 | rn);
        return true;
    case SHORT:
        if (cond == AL) {
            *at = (uint16_t)(0xe000 | (u & 0x7ff));
            return d >= -1024 && d < 1024;
        }
        *at = (uint16_t)(0xd000 | cond << 8 | (u & 0xff));
        return d >= -128 && d < 128;
    default: {
        uint32_t s = d < 0;
        if (cond == AL || link) {
            uint32_t j1 = (u >> 22 & 1) ^ s ^ 1, j2 = (u >> 21 & 1) ^ s ^ 1;
            at[0] = (uint16_t)(0xf000 | s << 10 | (u >> 11 & 0x3ff));
            at[1] = (uint16_t)((link ? 0xd000 : 0x9000) | j1 << 13 | j2 << 11 | (u & 0x7ff));
        } else {
            at[0] = (uint16_t)(0xf000 | s << 10 | cond << 6 | (u >> 11 & 0x3f));
            at[1] = (uint16_t)(0x8000 | (u >> 17 & 1) << 13 | (u >> 18 & 1) << 11 | (u & 0x7ff));
        }
        return true;
    }
    }
}

/* A comparison of all 64 bits: lower words, then upper words, whose flags `condition_of` reads. */
static void compare_wide(emitter *e, const insn *i)
{
    unsigned code = i->op & 0xf0, a = reg_in(e, i->dst, W0);
    bool by_reg = (i->op & 8) != 0;
    bool turned = code == 0x20 || code == 0xb0 || code == 0x60 || code == 0xd0;
    unsigned b = by_reg ? reg_in(e, i->src, T0) : T0;
    if (!by_reg) {
        load_const(e, T0, (uint32_t)i->imm);
    }
    if (code == 0x40) {
        test_reg(e, a, b);
    } else if (turned) {
        compare_reg(e, b, a);
    } else {
        compare_reg(e, a, b);
    }
    get_upper(e, T0, i->dst);
    if (by_reg) {
        get_upper(e, T1, i->src);
    } else {
        load_const(e, T1, i->imm < 0 ? ~0u : 0);
    }
    if (code == 0x10 || code == 0x50) {
        it(e, EQ);
        compare_reg(e, T0, T1);
    } else if (code == 0x40) {
        it(e, EQ);
        op_shifted(e, AND, 1, 15, T0, T1, LSL, 0);
    } else if (turned) {
        op_shifted(e, SBC, 1, T1, T1, T0, LSL, 0);
    } else {
        op_shifted(e, SBC, 1, T0, T0, T1, LSL, 0);
    }
}

static void compare(emitter *e, const insn *i)
{
    if (e->wide && (i->op & 7) == 5) {
        compare_wide(e, i);
        return;
    }
    unsigned rn = reg_in(e, i->dst, T1);
    if (i->op & 8) {
        unsigned rm = reg_in(e, i->src, T0);
        if ((i->op & 0xf0) == 0x40) {
            test_reg(e, rn, rm);
        } else {
            compare_reg(e, rn, rm);
        }
    } else if ((i->op & 0xf0) == 0x40) {
        test_const(e, rn, (uint32_t)i->imm);
    } else if (i->imm != 0 || e->flags != rn || (i->op & ~0x43) != 0x14) {
        compare_const(e, rn, (uint32_t)i->imm);
    }
}

/* Is there anything to branch for? */
static bool branches(const emitter *e, uint32_t pc, const insn *i)
{
    unsigned class = i->op & 7;
    return (class == 5 || class == 6) && i->op != 0x95 && i->op != 0x85 && jump_target(pc, i) != pc + 1
           && condition_of(e, i) != NONE;
}

static course course_of(const emitter *e, uint32_t pc, const insn *i)
{
    course c = { jump_target(pc, i), condition_of(e, i), false };
    if (c.cond != AL && c.to == pc + 2) {
        insn n = fetch(e, pc + 1);
        if (n.op == 0x05 && branches(e, pc + 1, &n)) {
            c = (course){ jump_target(pc + 1, &n), c.cond ^ 1, true };
        }
    }
    return c;
}

static int branch(emitter *e, const insn *i, unsigned *more)
{
    const lpn_program *p = e->job->program;
    uint32_t to = jump_target(e->pc, i), last = e->func + 1 < p->funcs ? p->func[e->func + 1].entry : e->count;
    if (to < p->func[e->func].entry || to >= last) {
        return LPN_E_JUMP;
    }
    if (!branches(e, e->pc, i)) {
        return LPN_OK;
    }
    course c = course_of(e, e->pc, i);
    if (c.over && is_target(e, e->pc + 1)) {
        c = (course){ to, c.cond ^ 1, false };
    }
    *more = c.over;
    enum form form = form_of(e, e->pc, i, c);
    if (form != ZERO_BRANCH && c.cond != AL) {
        compare(e, i);
    }
    uint16_t *at = e->at;
    if (form == LONG) {
        half(e, SHORT);
    }
    half(e, form);
    if (c.to <= e->pc && !e->full) {
        put_branch(at, form, c.cond, 0, (int32_t)(e->job->code + e->job->map[c.to] - e->at), false);
    }
    return LPN_OK;
}

/* Now that every address is known. False when one is too far for the form its branch has. */
static bool patch(const emitter *e)
{
    const lpn_program *p = e->job->program;
    const uint16_t *map = e->job->map;
    for (uint32_t pc = 0; pc < e->count; pc++) {
        insn i = fetch(e, pc);
        uint16_t *end = e->job->code + map[pc + 1];
        if (i.op == 0x85 && i.src == 1) {
            uint32_t f = 0;
            while (p->func[f].entry != jump_target(pc, &i)) {
                f++;
            }
            put_branch(end - 2, LONG, AL, 0, (int32_t)e->func_at[f] - map[pc + 1], true);
        } else if (branches(e, pc, &i)) {
            course c = course_of(e, pc, &i);
            if (c.over && map[pc + 2] != map[pc + 1]) {         /* the jump was a target: it stands */
                c = (course){ pc + 2, c.cond ^ 1, false };
            }
            pc += c.over;
            if (c.to > pc && !put_branch(end[-1] == LONG ? end - 2 : end - 1, end[-1], c.cond, e->reg[i.dst],
                                         (int32_t)map[c.to] - (int32_t)(end - e->job->code), false)) {
                return false;
            }
        }
        pc += (i.op & 7) == 0;
    }
    return true;
}

/* ------------------------------------------------------------------------------ functions and calls */

/* Low registers go to those that are used most: their instructions are half as long. A program that calls helpers has
 * their arguments where they are expected, and what calls keep in registers that calls keep. */
static void assign_registers(emitter *e, const uint16_t *uses)
{
    static const uint8_t calling[10] = { 0, 1, 2, 3, 8, 9, 4, 5, 6, 7 };
    uint32_t taken = 0;
    for (unsigned k = 0; k < 10; k++) {
        unsigned best = NONE;
        for (unsigned r = 0; r < 10; r++) {
            if (!(taken >> r & 1) && (best == NONE || uses[r] > uses[best])) {
                best = r;
            }
        }
        taken |= 1u << best;
        e->reg[best] = (uint8_t)k;
    }
    if (e->reg[1] != 0 && e->reg[0] < 8) {      /* r0 is where the result goes */
        for (unsigned r = 1; r < 10; r++) {
            if (e->reg[r] == 0) {
                e->reg[r] = e->reg[0];
            }
        }
        e->reg[0] = 0;
    }
    e->reg[10] = NONE;
    for (unsigned r = 0; r < 10; r++) {
        if (e->helpers) {
            e->reg[r] = calling[r];
        }
        uint32_t bit = uses[r] != 0 ? 1u << e->reg[r] : 0;
        e->used |= bit & ~15u;
        e->kept |= r >= 6 ? bit : 0;
    }
}

/* What lies on a function's stack, from sp up: arguments of helpers (5 words); the block (11 words), or what
 * another function keeps of it (4 words); its eBPF frame. */
static void prologue(emitter *e)
{
    bool first = e->func == 0;
    uint32_t args = e->helpers ? 20 : 0, frame = e->job->program->func[e->func].frame;
    e->base = args + (e->wide ? (first ? 44 : 16) : 0);
    e->saved = first ? e->used : e->kept;
    uint32_t room = e->base + frame, pushed = 4;
    for (uint32_t m = e->saved; m != 0; m &= m - 1) {
        pushed += 4;
    }
    if (e->native && (room + pushed) % 8 != 0) {  /* AAPCS: sp is a multiple of 8 in a call */
        room += 4;
        e->base += 4;
    }
    if (e->saved < 0x100) {
        half(e, 0xb500 | e->saved);
    } else {
        word(e, 0xe92d, e->saved | 1u << LR);
    }
    add_const(e, SP, SP, 0 - room);
    e->zero = 0;
    if (!first) {
        for (unsigned r = 6; e->wide && r < 10; r++) {
            get_upper(e, T0, r);
            access_mem(e, STORE, 4, T0, SP, (int32_t)(args + 4 * (r - 6)));
        }
        return;
    }
    if (e->wide) {
        add_const(e, BLOCK, SP, args);
        access_mem(e, STORE, 4, 1, BLOCK, NATIVE_AT);
        access_mem(e, STORE, 4, BLOCK, 1, UPPER_AT);
        load_const(e, T0, 0);
        put_upper(e, 1, T0);
    } else if (e->native) {
        move(e, BLOCK, 1);
    }
    if (e->context) {
        move(e, e->reg[1], 0);
    }
}

static void epilogue(emitter *e)
{
    uint32_t room = e->base + e->job->program->func[e->func].frame;
    if (e->func == 0) {
        move(e, 0, e->reg[0]);
    }
    for (unsigned r = 6; e->func != 0 && e->wide && r < 10; r++) {
        access_mem(e, LOAD, 4, T0, SP, (int32_t)((e->helpers ? 20 : 0) + 4 * (r - 6)));
        access_mem(e, STORE, 4, T0, BLOCK, 4 * (int32_t)r);
    }
    add_const(e, SP, SP, room);
    if (e->saved < 0x100) {
        half(e, 0xbd00 | e->saved);
    } else {
        word(e, 0xe8bd, e->saved | 1u << PC);
    }
}

/* Arguments go to memory, in the order of their registers. */
static void call_helper(emitter *e, uint32_t number)
{
    for (unsigned r = 1; r <= 5; r++) {
        access_mem(e, STORE, 4, e->reg[r], SP, 4 * (int32_t)(r - 1));
    }
    if (e->wide) {
        access_mem(e, LOAD, 4, 0, BLOCK, NATIVE_AT);
    } else {
        move(e, 0, BLOCK);
    }
    load_const(e, 1, number);
    move(e, 2, SP);
    call_native(e, HELPER_AT);
    clear_upper(e, 0);
}

/* ------------------------------------------------------------------------------------ the one pass */

/* Which register the flags tell about (zero or not) after one more instruction of the program, whose code begins at `from`. */
static unsigned flags_after(const emitter *e, const uint16_t *from)
{
    uint32_t h = from[0], d = h & 7, top = h >> 8 & 7;
    if (e->at == from) {
        return e->flags;
    }
    if (e->at - from == 2 && (h & 0xf810) == 0xf010 && !(from[1] & 0x8000)) {   /* modified immediate, S */
        return from[1] >> 8 & 15;
    }
    if (e->at - from != 1) {
        return NONE;
    }
    switch (h >> 12) {
    case 0: case 1:
        return d;
    case 2: case 3:
        return h >> 11 == 5 ? NONE : top;               /* cmp */
    case 4:
        if (h >> 10 == 0x10) {                          /* tst, cmp, cmn */
            return (h & 0x03c0) == 0x0200 || (h & 0x0380) == 0x0280 ? NONE : d;
        }
        d |= h >> 4 & 8;
        return h >> 8 == 0x45 || d == e->flags ? NONE : e->flags;
    case 6: case 7: case 8: case 9:
        if (!(h & 0x0800)) {
            return e->flags;                            /* a store */
        }
        d = h >> 12 == 9 ? top : d;
        return d == e->flags ? NONE : e->flags;
    default:
        return NONE;
    }
}

static int load_address(emitter *e, const insn *i)
{
    insn second = fetch(e, e->pc + 1);
    unsigned kind = i->op == 0xd8 ? 8 : i->op == 0xb8 ? 9 : i->src;
    uint32_t low = (uint32_t)i->imm, high = kind == 0 ? (uint32_t)second.imm : 0;
    if (kind != 0) {
        low += kind == 8 ? e->job->rodata : e->job->data;
    }
    load_const(e, e->reg[i->dst], low);
    if (e->wide && high != 0) {
        load_const(e, T0, high);
        put_upper(e, i->dst, T0);
    } else {
        clear_upper(e, i->dst);
    }
    return LPN_OK;
}

/* The instruction at `pc`; `*more`: slots beyond it that are done too. */
static int instruction(emitter *e, const insn *i, unsigned *more)
{
    int error = LPN_OK;
    switch (i->op & 7) {
    case 0:
        *more = 1;
        return load_address(e, i);
    case 1:
        *more = load(e, i);
        return LPN_OK;
    case 2:
        store(e, i);
        return LPN_OK;
    case 3:
        if ((i->op & 0xe0) == 0xc0) {
            atomic(e, i);
        } else {
            store(e, i);
        }
        return LPN_OK;
    case 4: case 7:
        *more = fuse(e, i, &error);
        if (*more != 0) {
            return error;
        }
        if ((i->op & 0xf0) == 0xd0) {
            byte_swap(e, i);
        } else if ((i->op & 0xf0) == 0xb0) {
            move_insn(e, i);
        } else if (e->wide && (i->op & 7) == 7) {
            alu_wide(e, i);
        } else {
            error = alu_low(e, i, i->op & 0xf0, e->reg[i->dst]);
            clear_upper(e, i->dst);
        }
        return error;
    default:
        if (i->op == 0x95) {
            epilogue(e);
        } else if (i->op != 0x85) {
            return branch(e, i, more);
        } else if (i->src == 0) {
            call_helper(e, (uint32_t)i->imm);
        } else {
            word(e, SHORT, LONG);       /* bl, patched */
            e->zero = 0;
        }
        return LPN_OK;
    }
}

/* What is needed before the first instruction can be written: jump targets, which registers matter, who is called. */
static void survey(emitter *e, uint16_t *uses)
{
    uint16_t *map = e->job->map;
    for (uint32_t pc = 0; pc <= e->count; pc++) {
        map[pc] = 0;
    }
    for (uint32_t pc = 0; pc < e->count; pc++) {
        insn i = fetch(e, pc);
        unsigned class = i.op & 7;
        uses[i.dst]++;
        uses[i.src & 15]++;
        if (i.op == 0x85) {
            e->helpers = e->helpers || i.src == 0;
        } else if ((class == 5 || class == 6) && i.op != 0x95) {
            map[jump_target(pc, &i)] |= TARGET;
        }
        e->native = e->native || (class == 3 && (i.op & 0xe0) == 0xc0);
        pc += class == 0;
    }
    e->native = e->native || e->helpers || e->wide;
    e->context = uses[1] != 0;
    assign_registers(e, uses);
    if (e->native) {
        e->used |= 1u << W0 | 1u << BLOCK;
    }
}

static int emit(emitter *e)
{
    const lpn_program *p = e->job->program;
    bool ended = false;
    for (e->pc = 0; e->pc < e->count;) {
        if (e->pc == 0 || (e->func + 1 < p->funcs && p->func[e->func + 1].entry == e->pc)) {
            if (e->pc != 0) {
                e->func++;
                if (!ended) {
                    return LPN_E_JUMP;
                }
            }
            e->func_at[e->func] = (uint16_t)(e->at - e->job->code);
            prologue(e);
        }
        if (is_target(e, e->pc)) {
            e->zero = 0;
            e->flags = NONE;
        }
        uint32_t here = (uint32_t)(e->at - e->job->code);
        if (here >= TARGET) {
            return LPN_E_MEMORY;
        }
        e->job->map[e->pc] = (uint16_t)here;
        if (e->pc == e->skip && e->skip != 0) {
            e->pc++;
            continue;
        }
        insn i = fetch(e, e->pc);
        unsigned more = 0;
        const uint16_t *from = e->at;
        int error = instruction(e, &i, &more);
        e->flags = e->full ? NONE : flags_after(e, from);
        if (error != LPN_OK) {
            return error;
        }
        ended = i.op == 0x95 || i.op == 0x05 || i.op == 0x06;
        for (e->pc++; more > 0; more--) {
            e->job->map[e->pc++] = (uint16_t)(e->at - e->job->code);
        }
    }
    e->job->map[e->count] = (uint16_t)(e->at - e->job->code);
    return e->full ? LPN_E_MEMORY : LPN_OK;
}

int lpn_thumb2_translate(const lpn_thumb2 *job, uint32_t *used)
{
    /* Branches are first written as if code were as dense as it usually is. Where it is not, once more with less trust. */
    static const uint8_t reaches[] = { 60, 30, 12, 0 };
    for (unsigned k = 0; k < sizeof reaches; k++) {
        emitter e = { .job = job, .at = job->code, .end = job->code + job->size / 2, .count = job->program->count,
                      .wide = !job->clean32, .reach = reaches[k], .flags = NONE };
        uint16_t uses[16] = { 0 };
        survey(&e, uses);
        int error = emit(&e);
        if (error != LPN_OK) {
            *used = e.pc;
            return error;
        }
        if (patch(&e)) {
            *used = 2 * (uint32_t)(e.at - job->code);
            return LPN_OK;
        }
    }
    return LPN_E_JUMP;                  /* out of reach of a branch of 4 bytes: no image is that long */
}
