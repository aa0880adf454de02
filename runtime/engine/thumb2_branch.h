/* SPDX-License-Identifier: LGPL-2.1-only */
/* Comparisons and branches of eBPF in Thumb-2, and their patching when all code is there. A part of thumb2.c. */
#ifndef LPN_THUMB2_BRANCH_H
#define LPN_THUMB2_BRANCH_H

#include "thumb2_alu.h"

/* How a branch is written: cbz or cbnz, 2 bytes, 4 bytes. As long as its target is not there yet, what will be its distance is
 * how far before it (0: nowhere) another branch to the same place lies; map[target] has the last of them, 1 more than its offset.
 * The first halfword tells the forms apart. A call of 4 bytes has condition 15. */
enum { ZERO_BRANCH = 0xb100, CONDITIONAL = 0xd000, ALWAYS = 0xe000, LONG = 0xf000, CALL = 15 };

/* How far before a branch that begins at `here` lies the last one that waits for the same place; `last`: as in the map. */
INLINE uint32_t link_to(uint32_t last, uint32_t here)
{
    last &= ~TARGET;
    return last == 0 ? 0 : here + 1 - last;
}

#if !LPN_CLEAN32_ONLY
/* One instruction that runs only if `cond` follows. */
static uint16_t *it(uint16_t *at, unsigned cond)
{
    return half(at, 0xbf08 | cond << 4);
}

/* A comparison of all 64 bits: lower words, then upper words, whose flags `condition_of` reads. */
uint16_t *compare_wide(uint16_t *at, emitter *e, uint32_t w, uint32_t c)
{
    const unsigned code = CODE(w);
    const bool by_reg = (w & 8) != 0, turned = code == 2 || code == 11 || code == 6 || code == 13;
    unsigned a = DST(w), b = by_reg ? SRC(w) : T0;
    at = reg_in(at, e, &a, W0);
    at = by_reg ? reg_in(at, e, &b, T0) : load_const(at, e, T0, c);
    at = code == 4 ? test_reg(at, a, b) : turned ? compare_reg(at, b, a) : compare_reg(at, a, b);
    at = get_upper(at, e, T0, DST(w));
    at = by_reg ? get_upper(at, e, T1, SRC(w)) : load_const(at, e, T1, (int32_t)c < 0 ? ~0u : 0);
    if (code == 1 || code == 5) {
        return compare_reg(it(at, EQ), T0, T1);
    }
    if (code == 4) {
        return word(it(at, EQ), OP_REG(AND, 1, 15, T0, T1));
    }
    return word(at, turned ? OP_REG(SBC, 1, T1, T1, T0) : OP_REG(SBC, 1, T0, T0, T1));
}
#endif

#endif
