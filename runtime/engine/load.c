/* SPDX-License-Identifier: LGPL-2.1-only */
/* The check before the first run: after it the interpreter cannot meet an instruction it does not know, a
 * register that does not exist, or a program counter outside the text. Encodings: RFC 9669 sections 3 to 5. */
#include "bytes.h"
#include "lpn.h"
#include "lpn_helpers.h"

typedef struct { uint8_t op, dst, src; int16_t off; int32_t imm; } insn;

static insn fetch(const uint8_t *text, uint32_t pc)
{
    const uint8_t *p = text + 8 * (size_t)pc;
    return (insn){ p[0], p[1] & 15, p[1] >> 4, (int16_t)lpn_get16(p + 2), (int32_t)lpn_get32(p + 4) };
}

static bool is_lddw(uint8_t op)
{
    return op == 0x18 || op == 0xb8 || op == 0xd8;
}

/* Which registers and fields an instruction uses. */
enum { W_DST = 1, R_DST = 2, R_SRC = 4, W_SRC = 8, OFF = 16, IMM = 32, SRC_CODE = 64, BAD = 128 };

/* Instructions that use the same, and what. The first ones are looked at closely, the last ones jump. */
#define FORMS(X) \
    X(F_BAD, BAD) X(F_SWAP, W_DST | IMM) X(F_LDDW, W_DST | IMM | SRC_CODE) X(F_ADDRESS, W_DST | IMM) X(F_CALL, IMM | SRC_CODE) \
    X(F_FAR, IMM) \
    X(F_CONSTANT, W_DST | IMM) X(F_REGISTER, W_DST | R_SRC) X(F_NEGATE, W_DST) X(F_LOAD, W_DST | R_SRC | OFF) \
    X(F_PUT, R_DST | OFF | IMM) X(F_STORE, R_DST | R_SRC | OFF) X(F_EXIT, 0) \
    X(F_JUMP, OFF) X(F_IF_CONSTANT, R_DST | OFF | IMM) X(F_IF_REGISTER, R_DST | R_SRC | OFF)
#define NUMBER(form, uses) form,
enum { FORMS(NUMBER) F_PLAIN = F_CONSTANT, F_JUMPS = F_JUMP };
#define USES(form, uses) uses,
static const uint8_t uses_of[] = { FORMS(USES) };

/* A field is in its limits when this, added to it, does not carry out of it: from the second octet of an instruction on 4 bits of dst,
 * 4 of src, 16 of the offset. And the bits of the immediate that are zero. */
#define MOST(n, bits) ((1u << (bits)) - 1 - (n))
#define LIMITS(form, uses) { \
    MOST((uses) & W_DST ? 9u : (uses) & R_DST ? 10u : 0u, 4) | MOST((uses) & SRC_CODE ? 15u : (uses) & R_SRC ? 10u : 0u, 4) << 4 \
    | MOST((uses) & OFF ? 0xffffu : 0u, 16) << 8, (uses) & IMM ? 0 : ~0u },
#define CARRIES 0x01000110u
static const struct { uint32_t fields, imm; } limits[] = { FORMS(LIMITS) };

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
static const uint8_t forms[256] = { FORMS64(0), FORMS64(64), FORMS64(128), FORMS64(192) };

static unsigned atomic_form(const insn *i)
{
    bool word = (i->op & 0x18) == 0x00 || (i->op & 0x18) == 0x18;
    switch (i->imm) {
    case 0x100:                 /* load-acquire */
        return W_DST | R_SRC | OFF | IMM;
    case 0x110:                 /* store-release */
        return R_DST | R_SRC | OFF | IMM;
    case 0x00: case 0x40: case 0x50: case 0xa0: case 0xf1:
        return word ? R_DST | R_SRC | OFF | IMM : BAD;
    case 0x01: case 0x41: case 0x51: case 0xa1: case 0xe1:
        return word ? R_DST | W_SRC | OFF | IMM : BAD;
    default:
        return BAD;
    }
}

static unsigned uses(const insn *i)
{
    const unsigned class = i->op & 7, code = i->op >> 4;
    if (class == 4 || class == 7) {
        if (code == 13 && i->imm != 16 && i->imm != 32 && i->imm != 64) {
            return BAD;
        }
        if (i->off != 0 && (((code == 3 || code == 9) && i->off == 1)           /* signed division and modulo */
                            || (code == 11 && (i->op & 8)                       /* move with sign extension */
                                && (i->off == 8 || i->off == 16 || (i->off == 32 && class == 7))))) {
            return uses_of[forms[i->op]] | OFF;
        }
    } else if (class == 3 && MODE(i->op) == 0xc0) {
        return atomic_form(i);
    }
    return uses_of[forms[i->op]];
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

static int check_lddw(const uint8_t *text, uint32_t count, uint32_t pc, const insn *i)
{
    if (i->src != 0 && i->src != 8 && i->src != 9) {
        return LPN_E_OPCODE;
    }
    if (pc + 1 >= count) {
        return LPN_E_LDDW;
    }
    insn second = fetch(text, pc + 1);
    bool address = i->op != 0x18 || i->src != 0;
    bool clean = second.op == 0 && second.dst == 0 && second.src == 0 && second.off == 0
                 && (!address || second.imm == 0);
    return clean ? LPN_OK : LPN_E_LDDW;
}

/* A jump may go to any slot that starts an instruction: no instruction has opcode 0, and the second slot of
 * every lddw has. */
static int check_target(const uint8_t *text, uint32_t count, uint32_t pc, int32_t distance)
{
    const int64_t to = (int64_t)pc + 1 + distance;
    return to >= 0 && to < count && text[8 * to] != 0 ? LPN_OK : LPN_E_JUMP;
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
    if (i->op != 0x85) {
        return check_target(program->text, program->count, pc, i->op == 0x06 ? i->imm : i->off);
    }
    if (i->src == 0) {
        return helper_known(i->imm) ? LPN_OK : LPN_E_HELPER;
    }
    if (i->src != 1) {
        return LPN_E_OPCODE;    /* calls by BTF id are the Linux kernel's */
    }
    int error = check_target(program->text, program->count, pc, i->imm);
    return error ? error : add_func(program, (uint32_t)((int64_t)pc + 1 + i->imm));
}

/* An instruction whose form does not say all, or in which something is wrong. `*at` becomes the last of its slots. */
static int check_closely(lpn_program *program, uint32_t *at)
{
    const insn i = fetch(program->text, *at);
    const int error = check_fields(&i, uses(&i));
    if (error != LPN_OK) {
        return error;
    }
    if (!is_lddw(i.op)) {
        return check_control(program, *at, &i);
    }
    return check_lddw(program->text, program->count, (*at)++, &i);
}

/* How much stack each function uses: the lowest address it forms from r10 by constants, as compilers do. A
 * callee's r10 starts below that. Stack reached in other ways than these may overlap a callee's, which can only
 * spoil the container's own values: accesses stay checked against the stack as a whole. */
static void find_frames(lpn_program *program)
{
    int32_t below[16];          /* per register: its distance to r10 */
    uint32_t known = 0;         /* for these registers, as a mask */
    const uint8_t *p = program->text, *next = p;
    const uint8_t *const end = p + 8 * (size_t)program->count;
    lpn_func *f = program->func;
    below[10] = 0;
    for (; p < end; p += 8) {
        if (p == next) {
            f += p != program->text;
            next = f + 1 < program->func + program->funcs ? program->text + 8 * (size_t)f[1].entry : end;
            known = 1u << 10;
        }
        const uint32_t w = lpn_get32(p), dst = w >> 8 & 15, src = w >> 12 & 15;
        if (((known >> dst | known >> src) & 1) == 0) {
            continue;
        }
        const uint32_t op = w & 0xff, class = op & 7;
        int32_t low = 0, result = 0;
        uint32_t gives = 0;
        if (class == 5 || class == 6 || op == 0) {      /* a jump; the second slot of an lddw */
            continue;
        }
        if (class >= 1 && class <= 3) {
            const uint32_t base = class == 1 ? src : dst;
            low = known >> base & 1 ? below[base] + (int16_t)(w >> 16) : 0;
        } else if (op == 0xbf) {
            gives = w >> 16 == 0 ? known >> src & 1 : 0;
            result = below[src];
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
    }
}

int lpn_load(lpn_program *program, lpn_func *func, const uint8_t *text, size_t size, uint32_t *pc)
{
    *pc = 0;
    if (size == 0 || size % 8 != 0 || size > LPN_MAX_IMAGE) {
        return LPN_E_TEXT;
    }
    const uint32_t count = (uint32_t)(size / 8);
    *program = (lpn_program){ .text = text, .count = count, .stack = LPN_STACK_SIZE,
                              .func = func, .funcs = 1 };
    func[0] = (lpn_func){ 0, 0 };
    uint32_t op = 0, carries = CARRIES;
    const uint8_t *of = forms;
    LPN_HIDE(carries);                  /* or gcc takes it to pieces */
    LPN_HIDE(of);
    for (uint32_t at = 0; at < count; at++) {
        const uint8_t *p = text + 8 * (size_t)at;
        const uint32_t w = lpn_get32(p), imm = lpn_get32(p + 4);
        op = w & 0xff;
        const unsigned form = of[op];
        const uint32_t fields = w >> 8, more = limits[form].fields;
        if (form >= F_PLAIN && ((((fields + more) ^ fields ^ more) & carries) | (imm & limits[form].imm)) == 0
            && (form < F_JUMPS || check_target(text, count, at, (int32_t)w >> 16) == LPN_OK)) {
            continue;
        }
        *pc = at;
        const int error = check_closely(program, &at);
        if (error != LPN_OK) {
            return error;
        }
    }
    if (op != 0x95 && op != 0x05 && op != 0x06) {
        *pc = count - (text[size - 8] == 0 ? 2 : 1);     /* the last instruction may have two slots */
        return LPN_E_FALL;
    }
    find_frames(program);
    return LPN_OK;
}
