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

/* Which registers and fields an instruction uses: an insn is checked against one of these. */
enum { W_DST = 1, R_DST = 2, R_SRC = 4, W_SRC = 8, OFF = 16, IMM = 32, SRC_CODE = 64, BAD = 128 };

/* By opcode, where nothing else matters. */
#define CODE(op) ((op) >> 4)
#define ALU_FORM(op) \
    (CODE(op) == 13 ? (((op) & 15) == 15 ? BAD : W_DST | IMM) \
     : CODE(op) > 13 || (CODE(op) == 8 && ((op) & 8)) ? BAD : W_DST | (CODE(op) == 8 ? 0 : (op) & 8 ? R_SRC : IMM))
#define JUMP_FORM(op) \
    (CODE(op) == 0 ? ((op) & 8 ? BAD : ((op) & 7) == 6 ? IMM : OFF) \
     : CODE(op) == 8 || CODE(op) == 9 ? ((op) & 8 || ((op) & 7) == 6 ? BAD : CODE(op) == 8 ? IMM | SRC_CODE : 0) \
     : CODE(op) > 13 ? BAD : R_DST | OFF | ((op) & 8 ? R_SRC : IMM))
#define MODE(op) ((op) & 0xe0)
#define FORM(op) \
    (((op) & 7) == 4 || ((op) & 7) == 7 ? ALU_FORM(op) \
     : ((op) & 7) >= 5 ? JUMP_FORM(op) \
     : ((op) & 7) == 0 ? ((op) == 0x18 ? W_DST | IMM | SRC_CODE : (op) == 0xb8 || (op) == 0xd8 ? W_DST | IMM : BAD) \
     : ((op) & 7) == 1 ? (MODE(op) == 0x60 || (MODE(op) == 0x80 && (op) != 0x99) ? W_DST | R_SRC | OFF : BAD) \
     : MODE(op) == 0x60 ? R_DST | OFF | (((op) & 7) == 2 ? IMM : R_SRC) : BAD)
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

static unsigned form_of(const insn *i)
{
    const unsigned class = i->op & 7, code = i->op >> 4;
    if (class == 4 || class == 7) {
        if (code == 13 && i->imm != 16 && i->imm != 32 && i->imm != 64) {
            return BAD;
        }
        if (i->off != 0 && (((code == 3 || code == 9) && i->off == 1)           /* signed division and modulo */
                            || (code == 11 && (i->op & 8)                       /* move with sign extension */
                                && (i->off == 8 || i->off == 16 || (i->off == 32 && class == 7))))) {
            return forms[i->op] | OFF;
        }
    } else if (class == 3 && MODE(i->op) == 0xc0) {
        return atomic_form(i);
    }
    return forms[i->op];
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
    int64_t to = (int64_t)pc + 1 + distance;
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
    if ((i->op & 7) != 5 && (i->op & 7) != 6) {
        return LPN_OK;
    }
    if (i->op == 0x95) {
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

#define UNKNOWN INT32_MIN

/* How much stack each function uses: the lowest address it forms from r10 by constants, as compilers do. A
 * callee's r10 starts below that. Stack reached in other ways than these may overlap a callee's, which can only
 * spoil the container's own values: accesses stay checked against the stack as a whole. */
static void find_frames(lpn_program *program)
{
    int32_t below[16];          /* per register: its distance to r10, when known */
    const uint8_t *p = program->text;
    uint32_t f = 0, next = 0;
    for (uint32_t pc = 0; pc < program->count; pc++, p += 8) {
        if (pc == next) {
            f += pc != 0;
            next = f + 1 < program->funcs ? program->func[f + 1].entry : program->count;
            for (unsigned reg = 0; reg < 16; reg++) {
                below[reg] = UNKNOWN;
            }
            below[10] = 0;
        }
        const unsigned op = p[0], class = op & 7, dst = p[1] & 15, src = p[1] >> 4;
        int32_t low = 0, result = UNKNOWN;
        if (class == 5 || class == 6) {
            continue;
        }
        if (class >= 1 && class <= 3) {
            const int32_t base = below[class == 1 ? src : dst];
            low = base == UNKNOWN ? 0 : base + (int16_t)lpn_get16(p + 2);
        } else if (op == 0xbf) {
            result = lpn_get16(p + 2) == 0 ? below[src] : UNKNOWN;
        } else if ((op == 0x07 || op == 0x17) && below[dst] != UNKNOWN) {
            const int32_t imm = (int32_t)lpn_get32(p + 4);
            /* what is further away than the stack is long lies below it, or nowhere */
            if (imm >= -2 * LPN_STACK_SIZE && imm <= 2 * LPN_STACK_SIZE) {
                low = below[dst] + (op == 0x07 ? imm : -imm);
                result = low >= -LPN_STACK_SIZE && low <= 0 ? low : UNKNOWN;
            } else if ((imm < 0) == (op == 0x07)) {
                low = -LPN_STACK_SIZE;
            }
        }
        if (class != 2 && (class != 3 || (op >= 0xc0 && lpn_get32(p + 4) == 0x100))) {
            below[dst] = result;
        }
        if (low < -LPN_STACK_SIZE) {
            low = -LPN_STACK_SIZE;
        }
        if (-low > program->func[f].frame) {
            program->func[f].frame = (uint16_t)((-low + 7) & ~7);
        }
        if (class == 0) {
            pc++;
            p += 8;
        }
    }
}

int lpn_load(lpn_program *program, const uint8_t *text, size_t size, uint32_t *pc)
{
    *pc = 0;
    if (size == 0 || size % 8 != 0 || size > LPN_MAX_IMAGE) {
        return LPN_E_TEXT;
    }
    *program = (lpn_program){ .text = text, .count = (uint32_t)(size / 8), .stack = LPN_STACK_SIZE,
                              .funcs = 1 };
    insn last = { 0 };
    for (uint32_t at = 0; at < program->count; at++) {
        insn i = fetch(text, at);
        *pc = at;
        int error = check_fields(&i, form_of(&i));
        if (error == LPN_OK && is_lddw(i.op)) {
            error = check_lddw(text, program->count, at, &i);
            at++;
        }
        if (error == LPN_OK) {
            error = check_control(program, at, &i);
        }
        if (error != LPN_OK) {
            return error;
        }
        last = i;
    }
    if (last.op != 0x95 && last.op != 0x05 && last.op != 0x06) {
        return LPN_E_FALL;
    }
    find_frames(program);
    return LPN_OK;
}
