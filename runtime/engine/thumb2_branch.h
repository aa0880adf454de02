/* SPDX-License-Identifier: LGPL-2.1-only */
/* Comparisons and branches of eBPF in Thumb-2, and their patching when all code is there. A part of thumb2.c. */
#ifndef LPN_THUMB2_BRANCH_H
#define LPN_THUMB2_BRANCH_H

#include "thumb2_alu.h"

/* By comparison, the upper half of the opcode: of signed numbers as they are; all as unsigned ones; of pairs, see compare_wide. */
enum { AS_IT_IS, UNSIGNED, OF_PAIRS };
static const uint8_t conditions[3][14] = {
    { AL, EQ, HI, CS, NE, NE, GT, GE, NONE, NONE, CC, LS, LT, LE },
    { AL, EQ, HI, CS, NE, NE, HI, CS, NONE, NONE, CC, LS, CC, LS },
    { AL, EQ, CC, CS, NE, NE, LT, GE, NONE, NONE, CC, CS, LT, GE },
};

/* The condition under which a branch is taken; AL: always, NONE: never. */
static unsigned condition_of(const emitter *e, uint32_t w, uint32_t c)
{
    const unsigned code = OP(w) >> 4;
    if ((OP(w) & 7) == 6) {
        return conditions[AS_IT_IS][code];
    }
    if (WIDE(e)) {
        return conditions[OF_PAIRS][code];
    }
    if (code != 0 && !(OP(w) & 8) && (int32_t)c < 0 && code != 4) {
        /* a clean number is not negative, and less than any such number without a sign */
        return code == 5 || code == 6 || code == 7 || code == 10 || code == 11 ? AL : NONE;
    }
    return conditions[UNSIGNED][code];
}

static uint32_t jump_target(uint32_t pc, uint32_t w, uint32_t c)
{
    return pc + 1 + (OP(w) == 0x06 || OP(w) == 0x85 ? c : (uint32_t)OFFSET(w));
}

/* How a branch is written: cbz or cbnz, 2 bytes, 4 bytes. As long as its target is not there yet, what will be its distance is
 * how far before it (0: nowhere) another branch to the same place lies; map[target] has the last of them, 1 more than its offset.
 * The first halfword tells the forms apart. A call of 4 bytes has condition 15. */
enum { ZERO_BRANCH = 0xb100, CONDITIONAL = 0xd000, ALWAYS = 0xe000, LONG = 0xf000, CALL = 15 };

/* A branch of 4 bytes, `distance` halfwords from its own end. */
static void put_long(uint16_t *at, unsigned cond, int32_t distance)
{
    const uint32_t u = (uint32_t)distance, s = u >> 31;
    if (cond >= AL) {
        const uint32_t j1 = (u >> 22 & 1) ^ s ^ 1, j2 = (u >> 21 & 1) ^ s ^ 1;
        at[0] = (uint16_t)(0xf000 | s << 10 | (u >> 11 & 0x3ff));
        at[1] = (uint16_t)((cond == CALL ? 0xd000 : 0x9000) | j1 << 13 | j2 << 11 | (u & 0x7ff));
    } else {
        at[0] = (uint16_t)(0xf000 | s << 10 | cond << 6 | (u >> 11 & 0x3f));
        at[1] = (uint16_t)(0x8000 | (u >> 17 & 1) << 13 | (u >> 18 & 1) << 11 | (u & 0x7ff));
    }
}

/* Everything that waits for this place, from the branch before `next` - 1 on. */
static bool arrive(emitter *e, uint32_t next)
{
    const uint32_t here = code_size(e);
    while (next != 0) {
        uint16_t *at = e->code + next - 1;
        const uint32_t h = *at, d = here - (next - 1) - 2;      /* pc is 4 bytes ahead of a branch */
        uint32_t link;
        if ((h & 0xf000) == CONDITIONAL) {
            link = h & 0xff;
            *at = (uint16_t)((h & 0xff00) | (d & 0xff));
            e->far |= d >> 7;
        } else if ((h & 0xf000) == ALWAYS) {
            link = h & 0x7ff;
            *at = (uint16_t)(ALWAYS | (d & 0x7ff));
            e->far |= d >> 10;
        } else if ((h & 0xf000) == (ZERO_BRANCH & 0xf000)) {
            link = (h >> 4 & 32) | (h >> 3 & 31);
            if ((int32_t)d < 0) {       /* it lies before its target */
                *at = 0xbf00;
            } else {
                *at = (uint16_t)((h & 0xfd07) | (d & 32) << 4 | (d & 31) << 3);
                e->far |= d >> 6;
            }
        } else {
            link = at[1];
            put_long(at, h & 15, (int32_t)d);
        }
        next = link == 0 ? 0 : next - link;
    }
    return true;
}

/* How far before a branch that begins at `here` lies the last one that waits for the same place; `last`: as in the map. */
INLINE uint32_t link_to(uint32_t last, uint32_t here)
{
    last &= ~TARGET;
    return last == 0 ? 0 : here + 1 - last;
}

/* A branch that waits for slot `to`: its first halfword. */
INLINE void wait_for(emitter *e, uint32_t to, uint32_t h)
{
    uint16_t *const at = e->at;
    e->at = at + 1;
    *at = (uint16_t)h;
    e->map[to] = (uint16_t)(TARGET | (uint32_t)(at + 1 - e->code));
}

/* A comparison of all 64 bits: lower words, then upper words, whose flags `condition_of` reads. */
APART static void compare_wide(emitter *e, uint32_t w, uint32_t c)
{
    const unsigned code = OP(w) & 0xf0, a = reg_in(e, DST(w), W0);
    bool by_reg = (OP(w) & 8) != 0;
    bool turned = code == 0x20 || code == 0xb0 || code == 0x60 || code == 0xd0;
    unsigned b = by_reg ? reg_in(e, SRC(w), T0) : T0;
    if (!by_reg) {
        load_const(e, T0, c);
    }
    if (code == 0x40) {
        test_reg(e, a, b);
    } else if (turned) {
        compare_reg(e, b, a);
    } else {
        compare_reg(e, a, b);
    }
    get_upper(e, T0, DST(w));
    if (by_reg) {
        get_upper(e, T1, SRC(w));
    } else {
        load_const(e, T1, (int32_t)c < 0 ? ~0u : 0);
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

static void compare(emitter *e, uint32_t w, uint32_t c)
{
    if (WIDE(e) && (OP(w) & 7) == 5) {
        compare_wide(e, w, c);
        return;
    }
    unsigned rn = reg_in(e, DST(w), T1);
    if (OP(w) & 8) {
        unsigned rm = reg_in(e, SRC(w), T0);
        if ((OP(w) & 0xf0) == 0x40) {
            test_reg(e, rn, rm);
        } else {
            compare_reg(e, rn, rm);
        }
    } else if ((OP(w) & 0xf0) == 0x40) {
        test_const(e, rn, c);
    } else if (c != 0 || e->told != e->at || e->tells != rn || (OP(w) & ~0x43u) != 0x14) {
        compare_const(e, rn, c);
    }
}

/* To slot `to`, `slots` further, under a condition; `w`, `c`: what to compare before. */
INLINE void put_branch(emitter *e, uint32_t w, uint32_t c, uint32_t to, int32_t slots, unsigned cond)
{
    const bool back = slots <= 0;
    if (!back && cond != AL && (OP(w) & ~0x43u) == 0x14 && c == 0 && DST(w) < 8 && (!WIDE(e) || (OP(w) & 7) == 6)
        && 2 * (uint32_t)slots <= e->reach) {       /* 0x15, 0x16, 0x55, 0x56: equal to zero or not */
        const uint32_t link = link_to(e->map[to], code_size(e));
        if (link < 64) {
            wait_for(e, to, ZERO_BRANCH | (cond == EQ ? 0u : 0x800u) | (link & 32) << 4 | (link & 31) << 3 | DST(w));
            return;
        }
    }
    if (cond != AL) {
        compare(e, w, c);
    }
    LPN_HIDE(to);                       /* or gcc computes the next before the comparison, and keeps it in memory */
    const uint32_t here = code_size(e);
    const uint32_t known = e->map[to];
    if (back) {
        const int32_t d = (int32_t)known - (int32_t)here - 2;
        if (cond != AL && d >= -128) {
            half(e, CONDITIONAL | cond << 8 | ((uint32_t)d & 0xff));
        } else if (cond == AL && d >= -1024) {
            half(e, ALWAYS | ((uint32_t)d & 0x7ff));
        } else {
            put_long(e->at, cond, d);
            e->at += 2;
        }
        return;
    }
    const uint32_t link = link_to(known, here);
    if (cond != AL && (uint32_t)slots <= e->reach && link < 256) {
        wait_for(e, to, CONDITIONAL | cond << 8 | link);
    } else if (cond == AL && (uint32_t)slots <= 6 * e->reach && link < 2048) {
        wait_for(e, to, ALWAYS | link);
    } else {
        wait_for(e, to, LONG | cond);
        half(e, link);
    }
}

static void branch(emitter *e, uint32_t w, uint32_t c)
{
    uint32_t to = e->pc + 1 + (OP(w) == 0x06 ? c : (uint32_t)OFFSET(w));
    if (to - e->first >= e->last - e->first) {
        refuse(e, LPN_E_JUMP);
        return;
    }
    unsigned cond = condition_of(e, w, c);
    uint32_t slots = to - e->pc;
    if (slots == 1 || cond == NONE) {
        return;
    }
    if (cond != AL && slots == 2 && !is_target(e, to - 1)) {
        const uint32_t next = lpn_get32(e->text + 8 * (size_t)to - 8);
        if (OP(next) == 0x05 && OFFSET(next) != 0) {    /* one over a jump goes where that jump goes, when it would not be taken */
            to += (uint32_t)OFFSET(next);
            if (to - e->first >= e->last - e->first) {
                refuse(e, LPN_E_JUMP);
                return;
            }
            slots = to - e->pc;
            cond ^= 1;
            e->map[e->pc + 1] = DONE;
        }
    }
    put_branch(e, w, c, to, (int32_t)slots, cond);
}

#endif
