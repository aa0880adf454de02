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
#define SPARE (THUMB2_SPARE + 0u)

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
    const uint16_t *told;
    uint16_t *slot;                     /* the slot's place in the map */
    uint32_t zero;                      /* eBPF registers whose upper word in memory is known to be 0 */
    uint32_t top;                       /* r10 - sp */
    uint32_t reach;                     /* slots a conditional forward branch of 2 bytes may span */
    uint16_t *first, *last;             /* in the map: the function that `slot` lies in, and the next one */
    uint32_t saved;                     /* registers the function pushes, as a mask */
    const lpn_program *program;
    uint32_t far;                       /* not 0: a branch did not reach as far as was hoped */
    uint32_t funcs;                     /* that have begun */
    uint16_t func_at[LPN_MAX_FUNCS];    /* as the map, of each function's prologue */
    const lpn_thumb2 *job;
    uint16_t *map;
#if MORE_THAN_CLEAN
    one_class *const *classes;
    uint16_t *code;                     /* where it begins */
#endif
#if !IN_THUMB2
    uint16_t *full;                     /* no slot's code begins behind this */
    uint8_t error;                      /* in the slot of `slot`, the last that is looked at */
#endif
};

#if IN_THUMB2
#define AT(name, place) (offsetof(emitter, name) == THUMB2_##place)
#define JOB_AT(name, place) (offsetof(lpn_thumb2, name) == THUMB2_JOB_##place)
#define PROGRAM_AT(name, place) (offsetof(lpn_program, name) == THUMB2_PROGRAM_##place)
_Static_assert(AT(tells, TELLS) && AT(wide, WIDE) && AT(told, TOLD) && AT(slot, SLOT) && AT(zero, ZERO) && AT(top, TOP)
               && AT(reach, REACH) && AT(first, FIRST) && AT(last, LAST) && AT(far, FAR) && AT(saved, SAVED) && AT(funcs, FUNCS)
               && AT(program, PROGRAM) && AT(func_at, FUNC_AT) && AT(job, JOB) && AT(map, MAP) && sizeof(emitter) <= THUMB2_STATE, "thumb2_offsets.h");
#if MORE_THAN_CLEAN
_Static_assert(AT(classes, CLASSES) && AT(code, CODE), "thumb2_offsets.h");
#endif
_Static_assert(JOB_AT(program, PROGRAM) && JOB_AT(clean32, CLEAN) && JOB_AT(rodata, RODATA) && JOB_AT(data, DATA) && JOB_AT(code, CODE)
               && JOB_AT(size, SIZE) && JOB_AT(map, MAP) && PROGRAM_AT(text, TEXT) && PROGRAM_AT(count, COUNT) && PROGRAM_AT(func, FUNC)
               && PROGRAM_AT(funcs, FUNCS) && PROGRAM_AT(marks, MARKS) && sizeof(lpn_func) == 4 && offsetof(lpn_func, frame) == 2, "thumb2_offsets.h");
_Static_assert(LPN_MARK_ATOMIC == 1 << THUMB2_MARK_ATOMIC && LPN_MARK_HELPER == 1 << THUMB2_MARK_HELPER && LPN_MARK_BACK == 1 << THUMB2_MARK_BACK
               && LPN_E_JUMP == THUMB2_JUMP_ERROR && LPN_E_MEMORY == THUMB2_NO_MEMORY && LPN_E_LEFT_OUT == THUMB2_LEFT_OUT, "thumb2_offsets.h");
#endif

/* Is the program one that is not 32-bit clean? */
#if LPN_CLEAN32_ONLY
#define WIDE(e) ((void)(e), false)
#else
#define WIDE(e) ((e)->wide)
#endif

/* The same where thumb2_clean.S has done what is clean. */
#define STILL_WIDE(e) (IN_THUMB2 || WIDE(e))

#if !IN_THUMB2
/* No slot after this one. */
static uint16_t *refuse(emitter *e, int error)
{
    e->error = (uint8_t)error;
    return e->full + 1;
}
#endif

#if MORE_THAN_CLEAN

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

#endif
/* Between C and thumb2_clean.S. */
#if IN_THUMB2
#define LOCAL
#define NAMED(name) __asm__("lpn_thumb2_" #name)
#else
#define LOCAL static
#define NAMED(name)
#endif
#define BETWEEN(name, ...) LOCAL uint16_t *name(uint16_t *at, emitter *e, __VA_ARGS__) NAMED(name)
#define HANDLES(name) BETWEEN(name, uint32_t w, uint32_t c)

/* What thumb2_clean.S has, and thumb2_clean.h for other cores. */
BETWEEN(op_const, uint32_t insn, uint32_t v);                   /* an OP_CONST() with the constant v */
BETWEEN(load_const, unsigned rd, uint32_t v);
BETWEEN(add_const, uint32_t w, uint32_t v);                     /* dst = a + v */
BETWEEN(access_mem, uint32_t what, uint32_t place);             /* an ACCESS() to `place` behind its register */
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
HANDLES(call_local);
HANDLES(load_address);

/* And what these leave to C: all that is not clean; */
#if MORE_THAN_CLEAN
BETWEEN(clear_upper, unsigned r);
HANDLES(load_other);
HANDLES(store_other);
HANDLES(leave);                                                 /* calls, and what ends a function */
HANDLES(address_upper);                                         /* the upper word of a constant of two slots */
LOCAL uint16_t *keep_upper(uint16_t *at, emitter *e) NAMED(keep_upper);     /* those of a function that begins */
#endif
#if !LPN_CLEAN32_ONLY
HANDLES(alu);                                                   /* arithmetic */
HANDLES(compare_wide);                                          /* of all 64 bits, before a branch */
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

#if MORE_THAN_CLEAN
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

static uint16_t *compare_reg(uint16_t *at, unsigned rn, unsigned rm)
{
    return half(at, (rn | rm) < 8 ? 0x4280 | rm << 3 | rn : 0x4500 | (rn & 8) << 4 | rm << 3 | (rn & 7));
}

static uint16_t *test_reg(uint16_t *at, unsigned rn, unsigned rm)
{
    return (rn | rm) < 8 ? half(at, 0x4200 | rm << 3 | rn) : word(at, OP_REG(AND, 1, 15, rn, rm));
}

/* ------------------------------------------------------------------------------------- operands */

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

/* Where the slot's text is. */
INLINE const uint8_t *text_of(const emitter *e)
{
    return e->program->text + 8 * (e->slot - e->map);
}

/* It is done with that one, from here on, and looks at it now. */
INLINE void take_next(emitter *e, const uint16_t *at)
{
    *++e->slot = (uint16_t)offset_of(e, at);
}

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
