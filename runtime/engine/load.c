/* SPDX-License-Identifier: LGPL-2.1-only */
/* The check before the first run: after it the interpreter cannot meet an instruction it does not know, a
 * register that does not exist, or a program counter outside the text. Encodings: RFC 9669 sections 3 to 5. */
#include "bytes.h"
#include "lpn.h"
#include "lpn_helpers.h"

#if defined(__thumb2__) && defined(__GNUC__)
#include "load_offsets.h"
#define IN_THUMB2 1             /* lpn_check_function is in load_thumb2.S */
#endif

typedef struct { uint8_t op, dst, src; int16_t off; int32_t imm; } insn;

static insn fetch(const uint8_t *text, uint32_t pc)
{
    const uint8_t *p = text + 8 * (size_t)pc;
    return (insn){ p[0], p[1] & 15, p[1] >> 4, (int16_t)lpn_get16(p + 2), (int32_t)lpn_get32(p + 4) };
}

/* Of those that are known, which has two slots? */
static bool is_lddw(uint32_t op)
{
    return (op & 7) == 0;
}

/* Which registers and fields an instruction uses. */
enum { W_DST = 1, R_DST = 2, R_SRC = 4, W_SRC = 8, OFF = 16, IMM = 32, SRC_CODE = 64, BAD = 128 };

/* Instructions that use the same, and what. The first ones are right where they are within their limits; of the next there is more to know: what
 * they swap, where they jump; the last ones are looked at closely. */
#define FORMS(X) \
    X(F_CONSTANT, W_DST | IMM) X(F_REGISTER, W_DST | R_SRC) X(F_NEGATE, W_DST) X(F_LOAD, W_DST | R_SRC | OFF) \
    X(F_PUT, R_DST | OFF | IMM) X(F_STORE, R_DST | R_SRC | OFF) X(F_EXIT, 0) \
    X(F_SWAP, W_DST | IMM) X(F_JUMP, OFF) X(F_IF_CONSTANT, R_DST | OFF | IMM) X(F_IF_REGISTER, R_DST | R_SRC | OFF) \
    X(F_BAD, BAD) X(F_LDDW, W_DST | IMM | SRC_CODE) X(F_ADDRESS, W_DST | IMM) X(F_CALL, IMM | SRC_CODE) X(F_FAR, IMM)
#define NUMBER(form, uses) form,
enum { FORMS(NUMBER) FORM_COUNT };
#define USES(form, uses) uses,
static const uint8_t uses_of[] = { FORMS(USES) };

/* The form by opcode, where nothing else matters. */
#define CODE(op) ((op) >> 4)
#define ALU_FORM(op) \
    (CODE(op) == 13 ? (((op) & 15) == 15 ? F_BAD : F_SWAP) \
     : CODE(op) > 13 || (CODE(op) == 8 && ((op) & 8)) ? F_BAD : CODE(op) == 8 ? F_NEGATE : (op) & 8 ? F_REGISTER : F_CONSTANT)
#define JUMP_FORM(op) \
    (CODE(op) == 0 ? ((op) & 8 ? F_BAD : ((op) & 7) == 6 ? F_FAR : F_JUMP) \
     : CODE(op) == 8 || CODE(op) == 9 ? ((op) & 8 || ((op) & 7) == 6 ? F_BAD : CODE(op) == 8 ? F_CALL : F_EXIT) \
     : CODE(op) > 13 ? F_BAD : (op) & 8 ? F_IF_REGISTER : F_IF_CONSTANT)
#define MODE(op) ((op) & 0xe0)
#define FORM(op) \
    (((op) & 7) == 4 || ((op) & 7) == 7 ? ALU_FORM(op) \
     : ((op) & 7) >= 5 ? JUMP_FORM(op) \
     : ((op) & 7) == 0 ? ((op) == 0x18 ? F_LDDW : (op) == 0xb8 || (op) == 0xd8 ? F_ADDRESS : F_BAD) \
     : ((op) & 7) == 1 ? (MODE(op) == 0x60 || (MODE(op) == 0x80 && (op) != 0x99) ? F_LOAD : F_BAD) \
     : MODE(op) == 0x60 ? (((op) & 7) == 2 ? F_PUT : F_STORE) : F_BAD)
#define FORMS4(op) FORM(op), FORM((op) + 1), FORM((op) + 2), FORM((op) + 3)
#define FORMS16(op) FORMS4(op), FORMS4((op) + 4), FORMS4((op) + 8), FORMS4((op) + 12)
#define FORMS64(op) FORMS16(op), FORMS16((op) + 16), FORMS16((op) + 32), FORMS16((op) + 48)
#define ALL_FORMS { FORMS64(0), FORMS64(64), FORMS64(128), FORMS64(192) }

#ifdef IN_THUMB2
/* What a form does not allow: bits for dst in the lower half, for src in the upper one; and what must be zero: the offset where the lower half says so, the
 * immediate where the sign does. */
typedef struct { uint32_t not, zero; } limit;
#define BEYOND(n) (0xffffu << (n) << 1 & 0xffffu)
#define LIMITS(form, uses) { \
    BEYOND((uses) & W_DST ? 9 : (uses) & R_DST ? 10 : 0) | BEYOND((uses) & SRC_CODE ? 15 : (uses) & R_SRC ? 10 : 0) << 16, \
    ((uses) & OFF ? 0 : 0xffffu) | ((uses) & IMM ? 0 : 1u << 31) },
typedef struct { uint8_t form[256]; limit limits[FORM_COUNT]; } forms;
const forms lpn_forms = { ALL_FORMS, { FORMS(LIMITS) } };
_Static_assert(offsetof(forms, limits) == LIMITS_AT && F_SWAP == SWAP && F_BAD == BAD_FORM && LPN_STACK_SIZE == BOTTOM && LPN_MARK_BACK == MARK_BACK
               && offsetof(lpn_program, text) == PROGRAM_TEXT && offsetof(lpn_program, count) == PROGRAM_TEXT + 4
               && offsetof(lpn_program, marks) == PROGRAM_MARKS && offsetof(lpn_func, entry) == FUNC_ENTRY && offsetof(lpn_func, frame) == FUNC_FRAME
               && sizeof(lpn_func) == 4, "load_offsets.h");
#else
static const struct { uint8_t form[256]; } lpn_forms = { ALL_FORMS };
#endif

static unsigned atomic_form(const insn *i)
{
    const uint32_t imm = (uint32_t)i->imm;
    if (imm == 0x100) {         /* load-acquire */
        return W_DST | R_SRC | OFF | IMM;
    }
    if (imm == 0x110) {         /* store-release */
        return R_DST | R_SRC | OFF | IMM;
    }
    /* add, or, and, xor; what is there before is fetched (1), always by xchg and cmpxchg */
    const uint32_t known = (imm & 1) != 0 ? 0xc431 : 0x0431;
    if ((imm & ~0xf1u) != 0 || (known >> (imm >> 4) & 1) == 0 || ((i->op & 0x18) != 0x00 && (i->op & 0x18) != 0x18)) {
        return BAD;
    }
    return R_DST | OFF | IMM | ((imm & 1) != 0 && imm != 0xf1 ? W_SRC : R_SRC);
}

/* Of 16, 32 or 64 bits? */
static inline bool swaps(uint32_t imm)
{
    return imm != 0 && (imm & ~(16u | 32u | 64u)) == 0 && (imm & (imm - 1)) == 0;
}

static APART unsigned uses(const insn *i)
{
    const unsigned class = i->op & 7, code = i->op >> 4;
    if (class == 4 || class == 7) {
        if (code == 13 && !swaps((uint32_t)i->imm)) {
            return BAD;
        }
        if (i->off != 0 && (((code == 3 || code == 9) && i->off == 1)           /* signed division and modulo */
                            || (code == 11 && (i->op & 8)                       /* move with sign extension */
                                && (i->off == 8 || i->off == 16 || (i->off == 32 && class == 7))))) {
            return uses_of[lpn_forms.form[i->op]] | OFF;
        }
    } else if (class == 3 && MODE(i->op) == 0xc0) {
        return atomic_form(i);
    }
    return uses_of[lpn_forms.form[i->op]];
}

static int check_fields(const insn *i, unsigned form)
{
    if (form & BAD) {
        return LPN_E_OPCODE;
    }
    if (((form & (W_DST | R_DST)) && i->dst > 10) || ((form & (R_SRC | W_SRC)) && i->src > 10)) {
        return LPN_E_REGISTER;
    }
    if (((form & W_DST) && i->dst == 10) || ((form & W_SRC) && i->src == 10)) {
        return LPN_E_WRITE_R10;
    }
    if ((!(form & (W_DST | R_DST)) && i->dst != 0) || (!(form & (R_SRC | W_SRC | SRC_CODE)) && i->src != 0)
        || (!(form & OFF) && i->off != 0) || (!(form & IMM) && i->imm != 0)) {
        return LPN_E_RESERVED;
    }
    return LPN_OK;
}

static int check_lddw(const lpn_program *program, uint32_t pc, const insn *i)
{
    if (i->src != 0 && i->src != 8 && i->src != 9) {
        return LPN_E_OPCODE;
    }
    const uint8_t *second = program->text + 8 * (size_t)pc + 8;
    const bool address = i->op != 0x18 || i->src != 0;
    return pc + 1 < program->count && lpn_get32(second) == 0 && (!address || lpn_get32(second + 4) == 0) ? LPN_OK : LPN_E_LDDW;
}

/* A jump may go to any slot that starts an instruction: no instruction has opcode 0, and the second slot of
 * every lddw has. One to before the text wraps, and lies behind its end. */
static inline bool starts(const lpn_program *program, uint32_t to)
{
    return to < program->count && program->text[8 * (size_t)to] != 0;
}

static bool helper_known(int32_t number)
{
#define KNOWN(n, name, a, b, c, d, e) case n:
    switch (number) {
    LPN_HELPERS(KNOWN)
        return true;
    default:
        return number >= LPN_HELPER_OWN && number <= LPN_HELPER_OWN_MAX;
    }
#undef KNOWN
}

/* Insert a function's entry, kept in ascending order. */
static int add_func(lpn_program *program, uint32_t entry)
{
    uint32_t at = program->funcs;
    while (at > 0 && program->func[at - 1].entry >= entry) {
        if (program->func[--at].entry == entry) {
            return LPN_OK;
        }
    }
    if (program->funcs == LPN_MAX_FUNCS || entry > UINT16_MAX) {
        return LPN_E_FUNCS;
    }
    for (uint32_t i = program->funcs++; i > at; i--) {
        program->func[i] = program->func[i - 1];
    }
    program->func[at].entry = (uint16_t)entry;
    program->func[at].frame = 0;
    return LPN_OK;
}

static int check_control(lpn_program *program, uint32_t pc, const insn *i)
{
    if (((i->op & 7) != 5 && (i->op & 7) != 6) || i->op == 0x95) {
        return LPN_OK;
    }
    const int32_t distance = i->op == 0x06 || i->op == 0x85 ? i->imm : i->off;
    const uint32_t to = pc + 1 + (uint32_t)distance;
    if (i->op != 0x85) {            /* one by a constant may jump back */
        program->marks |= i->op == 0x06 ? LPN_MARK_FAR | LPN_MARK_BACK : distance < 0 ? LPN_MARK_BACK : 0;
        return starts(program, to) ? LPN_OK : LPN_E_JUMP;
    }
    if (i->src == 0) {
        program->marks |= LPN_MARK_HELPER;
        return helper_known(i->imm) ? LPN_OK : LPN_E_HELPER;
    }
    if (i->src != 1) {
        return LPN_E_OPCODE;    /* calls by BTF id are the Linux kernel's */
    }
    return starts(program, to) ? add_func(program, to) : LPN_E_JUMP;
}

/* An instruction by itself, and in its text. */
int lpn_check_closely(lpn_program *program, uint32_t pc);
int lpn_check_closely(lpn_program *program, uint32_t pc)
{
    const insn i = fetch(program->text, pc);
    const int error = check_fields(&i, uses(&i));
    if (error != LPN_OK) {
        return error;
    }
    if (is_lddw(i.op)) {
        return check_lddw(program, pc, &i);
    }
    if ((i.op & 7) == 3 && MODE(i.op) == 0xc0) {
        program->marks |= (uint16_t)(LPN_MARK_ATOMIC | 1u << i.src);     /* which it may write */
    }
    return check_control(program, pc, &i);
}

/* All instructions of a function, up to slot `last`. The registers that they have as their first: in the upper half of `*used`. */
int lpn_check_function(lpn_program *program, lpn_func *f, uint32_t last, uint32_t *used, uint32_t *pc);

#ifndef IN_THUMB2
/* How much stack each function uses: the lowest address it forms from r10 by constants, as compilers do; an index that is
 * added goes up from there. A callee's r10 starts below that. Stack reached in other ways than these may overlap a callee's,
 * which can only spoil the container's own values: accesses stay checked against the stack as a whole, and the verifier
 * (verifier/frames.py) accepts no container that does so.
 *
 * The instruction at p, one of whose registers is `known`. `below`: their distances to r10. Returns which are known behind it. */
static uint32_t follow(lpn_func *f, int32_t *below, uint32_t known, const uint8_t *p)
{
    const uint32_t w = lpn_get32(p), op = w & 0xff, class = op & 7, dst = w >> 8 & 15, src = w >> 12 & 15;
    int32_t low = 0, result = 0;
    uint32_t gives = 0;
    if (class == 5 || class == 6) {
        return known;
    }
    if (class >= 1 && class <= 3) {
        const uint32_t base = class == 1 ? src : dst;
        low = known >> base & 1 ? below[base] + (int16_t)(w >> 16) : 0;
    } else if (op == 0xbf) {
        gives = w >> 16 == 0 ? known >> src & 1 : 0;
        result = below[src];
    } else if (op == 0x0f || op == 0x1f) {
        gives = known >> dst & 1;
        result = below[dst];
    } else if ((op == 0x07 || op == 0x17) && (known >> dst & 1) != 0) {
        const int32_t imm = (int32_t)lpn_get32(p + 4);
        /* what is further away than the stack is long lies below it, or nowhere */
        if (imm >= -2 * LPN_STACK_SIZE && imm <= 2 * LPN_STACK_SIZE) {
            low = result = below[dst] + (op == 0x07 ? imm : -imm);
            gives = low >= -LPN_STACK_SIZE && low <= 0;
        } else if ((imm < 0) == (op == 0x07)) {
            low = -LPN_STACK_SIZE;
        }
    }
    if (class != 2 && (class != 3 || (op >= 0xc0 && lpn_get32(p + 4) == 0x100))) {
        known = (known & ~(1u << dst)) | gives << dst;
        below[dst] = result;
    }
    if (low < -LPN_STACK_SIZE) {
        low = -LPN_STACK_SIZE;
    }
    if (-low > f->frame) {
        f->frame = (uint16_t)((-low + 7) & ~7);
    }
    return known;
}

int lpn_check_function(lpn_program *program, lpn_func *f, uint32_t last, uint32_t *used, uint32_t *pc)
{
    int32_t below[16];
    uint32_t known = *used | 1u << 10;
    below[10] = 0;
    for (uint32_t at = f->entry; at < last; at++) {
        const uint8_t *p = program->text + 8 * (size_t)at;
        const uint32_t w = lpn_get32(p);
        known |= 0x10000u << (w >> 8 & 15);
        if (((known >> (w >> 8 & 15) | known >> (w >> 12 & 15)) & 1) != 0) {        /* whether or not it is right */
            known = follow(f, below, known, p);
        }
        *pc = at;
        const int error = lpn_check_closely(program, at);
        if (error != LPN_OK) {
            return error;
        }
        if (is_lddw(w)) {
            at++;
        }
    }
    *used = known & 0xffff0000;
    return LPN_OK;
}
#endif

/* All functions that are known. */
static int check_all(lpn_program *program, uint32_t *pc)
{
    uint32_t used = 0;
    for (uint32_t i = 0, funcs = program->funcs; i < funcs; i++) {
        lpn_func *f = &program->func[i];
        f->frame = 0;
        const int error = lpn_check_function(program, f, i + 1 < funcs ? f[1].entry : program->count, &used, pc);
        if (error != LPN_OK) {
            return error;
        }
    }
    program->marks |= (uint16_t)(used >> 16 & 0x3ff);
    return LPN_OK;
}

int lpn_load(lpn_program *program, lpn_func *func, const uint8_t *text, size_t size, uint32_t *pc)
{
    *pc = 0;
    if (size == 0 || size % 8 != 0 || size > LPN_MAX_IMAGE) {
        return LPN_E_TEXT;
    }
    *program = (lpn_program){ .text = text, .count = (uint32_t)(size / 8), .stack = LPN_STACK_SIZE, .func = func, .funcs = 1 };
    func[0].entry = 0;
    int error = check_all(program, pc);
    if (error != LPN_OK) {
        return error;
    }
    const uint8_t *last = text + size - 8;
    *pc = program->count - 1;
    if (*last == 0) {               /* the last instruction has two slots */
        last -= 8;
        *pc -= 1;
    }
    if (*last != 0x95 && *last != 0x05 && *last != 0x06) {
        return LPN_E_FALL;
    }
    return program->funcs == 1 ? LPN_OK : check_all(program, pc);       /* once more for their frames: now it is known where each begins */
}
