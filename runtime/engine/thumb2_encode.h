/* SPDX-License-Identifier: LGPL-2.1-only */
/* The translator's state, and Thumb-2 encodings: ARMv7-M Architecture Reference Manual (DDI 0403), chapter A5. A part of thumb2.c. */
#ifndef LPN_THUMB2_ENCODE_H
#define LPN_THUMB2_ENCODE_H

#include "bytes.h"
#include "thumb2.h"
#include "thumb2_offsets.h"

/* What is common is in thumb2_clean.S, on cores with Thumb-2. */
#if defined(__thumb2__) && defined(__GNUC__)
#define IN_THUMB2 1
#else
#define IN_THUMB2 0
#endif
/* Is there anything else to do for C? */
#define MORE_THAN_CLEAN (!IN_THUMB2 || !LPN_CLEAN32_ONLY)

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

#define TARGET (THUMB2_TARGET + 0u)
#define DONE (THUMB2_DONE + 0u)
#define END (THUMB2_END + 0u)
#define SPARE 96u                       /* halfwords: more than one slot ever takes */

/* An instruction is handed on as its two words, w and the constant c. The register that an operation begins with is its destination, or what a move
 * before it put there: A(w), in bits of the offset that operations do not use. */
#define OP(w) ((w) & 0xff)
#define CODE(w) ((w) >> 4 & 15)
#define DST(w) ((w) >> 8 & 15)
#define SRC(w) ((w) >> 12 & 15)
#define OFFSET(w) ((int32_t)(w) >> 16)
#define A(w) ((w) >> 20 & 15)
#define BEGINS_WITH(a) ((uint32_t)(a) << 20)
#define REGISTERS(rd, a) ((uint32_t)(rd) << 8 | BEGINS_WITH(a))

typedef struct emitter emitter;

/* What writes code for a slot: `at` is where it goes, and what it returns where it ends. */
typedef uint16_t *one_class(uint16_t *at, emitter *e, uint32_t w, uint32_t c);

struct emitter {                        /* what is asked most comes first: its instructions take 2 bytes */
    uint8_t tells;                      /* the register that the flags tell about, if the code still ends at `told` */
    bool wide;                          /* not clean */
    uint8_t error;                      /* in the slot of `slot`, the last that is looked at */
    const uint16_t *told;
    uint16_t *slot;                     /* the slot's place in the map */
    uint32_t zero;                      /* eBPF registers whose upper word in memory is known to be 0 */
    uint32_t top;                       /* r10 - sp */
    uint32_t reach;                     /* slots a conditional forward branch of 2 bytes may span */
    uint16_t *first;                    /* in the map: the function that `slot` lies in */
    uint32_t slots;                     /* it has */
    uint32_t far;                       /* not 0: a branch did not reach as far as was hoped */
    one_class *const *classes;
    uint16_t *code, *full;              /* where code begins; no slot's does behind this */
    uint32_t saved;                     /* registers the function pushes, as a mask */
    uint16_t *last;                     /* the next function's first slot */
    uint16_t *map;
    bool helpers, native;               /* calls helpers; anything outside */
    const lpn_thumb2 *job;
    uint32_t used;                      /* registers from r4 on that the program needs */
    uint32_t func;                      /* its number */
    uint16_t func_at[LPN_MAX_FUNCS];    /* as the map, of each function's prologue */
};

#if IN_THUMB2
_Static_assert(offsetof(emitter, tells) == THUMB2_TELLS && offsetof(emitter, wide) == THUMB2_WIDE && offsetof(emitter, told) == THUMB2_TOLD
               && offsetof(emitter, slot) == THUMB2_SLOT && offsetof(emitter, zero) == THUMB2_ZERO && offsetof(emitter, top) == THUMB2_TOP
               && offsetof(emitter, reach) == THUMB2_REACH && offsetof(emitter, first) == THUMB2_FIRST && offsetof(emitter, slots) == THUMB2_SLOTS
               && offsetof(emitter, far) == THUMB2_FAR && offsetof(emitter, classes) == THUMB2_CLASSES && offsetof(emitter, code) == THUMB2_CODE
               && offsetof(emitter, full) == THUMB2_FULL && offsetof(emitter, saved) == THUMB2_SAVED && offsetof(emitter, last) == THUMB2_LAST
               && offsetof(emitter, error) == THUMB2_ERROR && LPN_E_JUMP == THUMB2_JUMP_ERROR, "thumb2_offsets.h");
#endif

/* Is the program one that is not 32-bit clean? */
#if LPN_CLEAN32_ONLY
#define WIDE(e) ((void)(e), false)
#else
#define WIDE(e) ((e)->wide)
#endif

/* The same where thumb2_clean.S has done what is clean. */
#define STILL_WIDE(e) (IN_THUMB2 || WIDE(e))

/* No slot after this one. */
static uint16_t *refuse(emitter *e, int error)
{
    e->error = (uint8_t)error;
    return e->full + 1;
}

/* Halfwords before this one. */
INLINE uint32_t offset_of(const emitter *e, const uint16_t *at)
{
    return (uint32_t)(at - e->code);
}

/* 2 bytes; 4, the second halfword in the upper half. */
INLINE uint16_t *half(uint16_t *at, uint32_t h)
{
    *at = (uint16_t)h;
    return at + 1;
}

INLINE uint16_t *word(uint16_t *at, uint32_t both)
{
#if defined(__GNUC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    ((lpn_any32 *)(void *)at)->v = both;
#else
    at[0] = (uint16_t)both;
    at[1] = (uint16_t)(both >> 16);
#endif
    return at + 2;
}

/* One that leaves in the flags whether rd is zero. */
INLINE uint16_t *flagged(uint16_t *at, emitter *e, unsigned rd, uint32_t h)
{
    *at++ = (uint16_t)h;
    e->tells = (uint8_t)rd;
    e->told = at;
    return at;
}

/* What was written from `before` on changed no flags, nor the register that they tell about. */
INLINE uint16_t *keep_flags(uint16_t *at, emitter *e, const uint16_t *before)
{
    if (e->told == before) {
        e->told = at;
    }
    return at;
}

/* Between C and thumb2_clean.S. */
#if IN_THUMB2
#define BETWEEN(name, ...) uint16_t *name(uint16_t *at, emitter *e, __VA_ARGS__) __asm__("lpn_thumb2_" #name)
#else
#define BETWEEN(name, ...) static uint16_t *name(uint16_t *at, emitter *e, __VA_ARGS__)
#endif
#define HANDLES(name) BETWEEN(name, uint32_t w, uint32_t c)

/* What thumb2_clean.S has, and thumb2_clean.h for other cores. */
BETWEEN(op_const, uint32_t insn, uint32_t v);                   /* an OP_CONST() with the constant v */
BETWEEN(load_const, unsigned rd, uint32_t v);
BETWEEN(add_const, uint32_t w, uint32_t v);                     /* dst = a + v */
BETWEEN(access_mem, uint32_t what, uint32_t place);             /* an ACCESS() to `place` behind its register */
BETWEEN(put_long, uint32_t cond, int32_t distance);             /* a branch of 4 bytes, so many halfwords from its own end */
BETWEEN(arrive, uint32_t next);                                 /* everything that waits for this place, from the branch before `next` - 1 on */
HANDLES(alu_imm);                                               /* dst = a OP constant */
HANDLES(alu_reg);                                               /* dst = a OP register */
HANDLES(byte_swap);
HANDLES(move_other);                                            /* with a sign */
HANDLES(load);
HANDLES(store_const);
HANDLES(store_reg);
HANDLES(clean_imm);
HANDLES(clean_reg);
HANDLES(jump);

/* And what these leave to C: all that is not clean; */
#if MORE_THAN_CLEAN
BETWEEN(clear_upper, unsigned r);
HANDLES(load_other);
HANDLES(store_other);
HANDLES(leave);                                                 /* calls, and what ends a function */
#endif
#if !LPN_CLEAN32_ONLY
HANDLES(alu);                                                   /* arithmetic */
HANDLES(compare_wide);                                          /* of all 64 bits, before a branch */
#endif
HANDLES(call_local);
HANDLES(load_address);
BETWEEN(begin, uint16_t *slot, const uint8_t *p);

/* Those of a slot that the table has. */
#if IN_THUMB2
HANDLES(to_load_address);
HANDLES(to_load_other);
HANDLES(to_alu);
#else
#define to_load_address load_address
#define to_load_other load_other
#define to_alu alu
#endif

/* rd = rn OP constant; EITHER: or the operation that does the same with -v, of sums, or with ~v. */
#define EITHER 0x10000u
#define OP_CONST(op, s, rd, rn, imm) (0xf000u | (uint32_t)(op) << 5 | (uint32_t)(s) << 4 | (rn) | (uint32_t)(rd) << 24 | (imm))
/* rd = rn OP rm */
#define OP_REG(op, s, rd, rn, rm) (0xea00u | (uint32_t)(op) << 5 | (uint32_t)(s) << 4 | (rn) | (uint32_t)(rd) << 24 | (uint32_t)(rm) << 16)
/* rm shifted */
#define SHIFTED(type, n) (((n) >> 2 & 7) << 28 | ((n) & 3) << 22 | (uint32_t)(type) << 20)
/* addw, subw, movw, movt: 12 bits of the constant */
#define PLAIN(v) (((v) >> 11 & 1) << 10 | ((v) >> 8 & 7) << 28 | ((v) & 0xff) << 16)

/* By the upper half of the opcode: with three registers below 8, or two where the result is one of the operands; with any, in the upper half. */
#define FORMS_OF(narrow, op) ((narrow) | OP_REG(op, 0, 0, 0, 0) << 16)
static const uint32_t operations[16] = { FORMS_OF(0x1800, ADD), FORMS_OF(0x1a00, SUB), 0, 0, FORMS_OF(0x4300, ORR), FORMS_OF(0x4000, AND), 0, 0, 0, 0,
                                         FORMS_OF(0x4040, EOR) };

/* Loads and stores of 1, 2 and 4 octets: what is asked for, as instructions of 4 bytes have it in the first half, then both registers, the
 * address's first. KEEPS: the flags tell what they told, where they did that when it begins. */
enum { STORE = 0, LOAD = 0x10, LOAD_SIGNED = 0x110, BYTE = 0, HALF = 0x20, WORD = 0x40 };
#define ACCESS(op, rt, rn) ((uint32_t)(op) << 8 | (uint32_t)(rn) << 4 | (rt))
#define KEEPS 0x80000000u

static uint16_t *move(uint16_t *at, unsigned rd, unsigned rm)
{
    return rd == rm ? at : half(at, 0x4600 | (rd & 8) << 4 | rm << 3 | (rd & 7));
}

#if MORE_THAN_CLEAN
static uint16_t *compare_reg(uint16_t *at, unsigned rn, unsigned rm)
{
    return half(at, (rn | rm) < 8 ? 0x4280 | rm << 3 | rn : 0x4500 | (rn & 8) << 4 | rm << 3 | (rn & 7));
}

static uint16_t *test_reg(uint16_t *at, unsigned rn, unsigned rm)
{
    return (rn | rm) < 8 ? half(at, 0x4200 | rm << 3 | rn) : word(at, OP_REG(AND, 1, 15, rn, rm));
}

#endif
/* ------------------------------------------------------------------------------------- operands */

#if MORE_THAN_CLEAN
static uint16_t *end_of_frame(uint16_t *at, emitter *e, unsigned rd)
{
    return add_const(at, e, REGISTERS(rd, SP), e->top);
}

/* eBPF's r0 to r9 are those of the core. r10 is computed into `scratch`, which then stands for it: in `*r`. */
static uint16_t *reg_in(uint16_t *at, emitter *e, unsigned *r, unsigned scratch)
{
    if (*r == 10) {
        *r = scratch;
        at = end_of_frame(at, e, scratch);
    }
    return at;
}
#endif

/* Where the slot's text is. */
INLINE const uint8_t *text_of(const emitter *e)
{
    return e->job->program->text + 8 * (e->slot - e->map);
}

/* It is done with that one, from here on, and looks at it now. */
INLINE void take_next(emitter *e, const uint16_t *at)
{
    *++e->slot = (uint16_t)offset_of(e, at);
}

#if MORE_THAN_CLEAN
/* Of a load or store: BYTE, HALF or WORD, which is moved at once. */
INLINE unsigned unit_of(uint32_t w)
{
    return 0x10c0u >> 2 * (w >> 3 & 3) & 0x60;
}

/* The slot behind it, where one instruction may do both; 0, which none is, where something else leads to it, or another slot did it. */
INLINE uint32_t next_slot(const emitter *e)
{
    return e->slot[1] == 0 ? lpn_get32(text_of(e) + 8) : 0;
}

/* That one may ask for the other order of the two bytes that were loaded. */
INLINE uint16_t *swap_next(uint16_t *at, emitter *e, uint32_t w)
{
    const uint32_t next = next_slot(e), rd = DST(w);
    if (((next ^ w) & 0xf00) != 0 || (OP(next) != 0xdc && OP(next) != 0xd7) || text_of(e)[12] != 16) {
        return at;
    }
    take_next(e, at);
    return rd < 8 ? half(at, 0xba40 | rd << 3 | rd) : word(at, 0xf090fa90 | rd | rd << 24 | rd << 16);
}
#endif

#endif
