/* SPDX-License-Identifier: LGPL-2.1-only */
/* Comparisons and branches of eBPF in Thumb-2, and their patching when all code is there. A part of thumb2.c. */
#ifndef LPN_THUMB2_BRANCH_H
#define LPN_THUMB2_BRANCH_H

#include "thumb2_alu.h"

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

#endif
