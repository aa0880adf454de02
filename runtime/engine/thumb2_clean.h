/* SPDX-License-Identifier: LGPL-2.1-only */
/* What thumb2_clean.S has, for other cores: a workstation that translates for one elsewhere. Both write the same code. A part of thumb2.c. */
#ifndef LPN_THUMB2_CLEAN_H
#define LPN_THUMB2_CLEAN_H

#include "thumb2_clean_alu.h"

/* ------------------------------------------------------------------------------------ constants */

/* movw 0xf240, movt 0xf2c0 */
static uint16_t *move_half(uint16_t *at, uint32_t op, unsigned rd, uint32_t v)
{
    return word(at, op | PLAIN(v) | v >> 12 | (uint32_t)rd << 24);
}

/* What has no form with this constant has one with T0. */
static uint16_t *op_far(uint16_t *at, emitter *e, uint32_t insn, uint32_t v)
{
    if ((insn & 15) == PC) {            /* no operation but a move: movw, movt */
        at = move_half(at, 0xf240, insn >> 24, v & 0xffff);
        return v >> 16 ? move_half(at, 0xf2c0, insn >> 24, v >> 16) : at;
    }
    const uint32_t minus = 0 - v;
    if ((insn & 0xfff0) == OP_CONST(ADD, 0, 0, 0, 0) && (v < 4096 || minus < 4096)) {   /* addw, subw */
        return word(at, v < 4096 ? (insn ^ 0xf100 ^ 0xf200) | PLAIN(v) : (insn ^ 0xf100 ^ 0xf2a0) | PLAIN(minus));
    }
    at = op_const(at, e, OP_CONST(ORR, 0, T0, PC, EITHER), v);
    if ((insn & 0xfff0) == OP_CONST(SUB, 1, 0, 0, 0)) {     /* a comparison has 2 bytes */
        return half(at, 0x4500 | (insn & 8) << 4 | T0 << 3 | (insn & 7));
    }
    if (insn >> 24 != 15) {
        insn &= ~0x10u;
    }
    return word(at, (insn ^ OP_CONST(0, 0, 0, 0, 0) ^ OP_REG(0, 0, 0, 0, 0)) | T0 << 16);
}

/* A5.3.2: the constant as i:imm3:a:bcdefgh, where instructions have it; or 1, which is none. */
INLINE uint32_t modified(uint32_t v)
{
    if (v < 0x100) {
        return v << 16;
    }
    if (v >> 16 == (v & 0xffff)) {
        const uint32_t low = v & 0xff, high = v >> 24;
        if (high == 0 || high == low) {
            return (high == 0 ? 0x10000000u : 0x30000000u) | low << 16;
        }
        return low == 0 ? 0x20000000u | high << 16 : 1;
    }
    const uint32_t shift = 24 - (uint32_t)__builtin_clz(v);     /* v = (0x80..0xff) << shift; v is 0x100 at least */
    if ((v & ~(0xffu << shift)) != 0) {
        return 1;
    }
    const uint32_t rotation = 32 - shift;                       /* 8 to 31 */
    return (rotation & 16) << 6 | (rotation & 14) << 27 | (rotation & 1) << 23 | (v >> shift & 0x7f) << 16;
}

/* An OP_CONST() whose constant is v. */
uint16_t *op_const(uint16_t *at, emitter *e, uint32_t insn, uint32_t v)
{
    unsigned turns = insn >> 15 & 2;    /* the other operation, and back to this one */
    insn &= ~EITHER;
    for (;;) {
        const uint32_t imm = modified(v);
        if (imm != 1) {
            at = word(at, insn | imm);
            if ((insn & 0x10) != 0) {
                e->tells = (uint8_t)(insn >> 24);
                e->told = at;
            }
            return at;
        }
        if (turns-- == 0) {
            return op_far(at, e, insn, v);
        }
        v = ~v + (insn >> 8 & 1);
        insn ^= insn & ADD << 5 ? (ADD ^ SUB) << 5 : (AND ^ BIC) << 5;
    }
}

uint16_t *load_const(uint16_t *at, emitter *e, unsigned rd, uint32_t v)
{
    if (rd < 8 && v < 256) {
        return flagged(at, e, rd, 0x2000 | rd << 8 | v);
    }
    return op_const(at, e, OP_CONST(ORR, 0, rd, PC, EITHER), v);
}

/* dst = a + constant */
uint16_t *add_const(uint16_t *at, emitter *e, uint32_t w, uint32_t v)
{
    const unsigned rd = DST(w), rn = A(w);
    const uint32_t minus = 0 - v;
    if (v == 0) {
        return move(at, rd, rn);
    }
    if ((w & (BEGINS_WITH(8) | 0x800)) == 0) {
        if (v < 8 || minus < 8) {
            return flagged(at, e, rd, (v < 8 ? 0x1c00 | v << 6 : 0x1e00 | minus << 6) | rn << 3 | rd);
        }
        if (rd == rn && (v < 256 || minus < 256)) {
            return flagged(at, e, rd, (v < 256 ? 0x3000 | v : 0x3800 | minus) | rd << 8);
        }
    } else if (rn == SP) {
        if (rd == SP && (v < 512 || minus < 512)) {
            return half(at, v < 512 ? 0xb000 | v >> 2 : 0xb080 | minus >> 2);
        }
        if (rd < 8 && v < 1024 && v % 4 == 0) {
            return half(at, 0xa800 | rd << 8 | v >> 2);
        }
    }
    return op_const(at, e, OP_CONST(ADD, 0, rd, rn, EITHER), v);
}

/* ------------------------------------------------------------------------------------ loads and stores */

/* With an index. `op`: as the instruction has it; bit 16: KEEPS. */
static uint16_t *access_far(uint16_t *at, emitter *e, uint32_t op, uint32_t place)
{
    uint16_t *const after = word(load_const(at, e, T1, place), (op & ~0x10000u) | T1 << 16);
    return op & 0x10000 ? keep_flags(after, e, at) : after;
}

uint16_t *access_mem(uint16_t *at, emitter *e, uint32_t what, uint32_t place)
{
    const unsigned unit = what >> 13 & 3;
    uint32_t rt = what & 15, rn = what >> 4 & 15, h;
    if ((what & 0x10088) == 0 && (place & ~(31u << unit)) == 0) {       /* up to 31 units, with no sign */
        h = (0x687u >> 4 * unit) << 12 | (what & LOAD << 8) >> 1 | place << (6 - unit) | rn << 3 | rt;
    } else {
        if (rn == 10) {                 /* eBPF's: the end of the frame */
            rn = SP;
            place += e->top;
        }
        if (rn != SP || rt >= 8 || unit != 2 || (place & ~0x3fcu) != 0) {
            uint32_t op = 0xf800 | (what >> 8 & 0xfff) | rn | rt << 28;
            if (place < 4096) {
                op |= 0x80;
            } else if (0 - place <= 255) {
                place = 0xc00 | (0 - place);
            } else {
                return access_far(at, e, op | (what >> 15 & 0x10000), place);
            }
            uint16_t *const after = word(at, op | place << 16);
            return what & KEEPS ? keep_flags(after, e, at) : after;
        }
        h = 0x9000 | (what & LOAD << 8) >> 1 | rt << 8 | place >> 2;
    }
    uint16_t *const after = half(at, h);
    return what & KEEPS ? keep_flags(after, e, at) : after;
}

/* The distance to the slot, soon after a load, that adds a constant to its base: the load can do that too. 0: there is none. The last slot
 * of all ends the search. */
static uint32_t advance_after(const emitter *e, unsigned base)
{
    const uint8_t *p = text_of(e);
    for (uint32_t k = 1; k <= 3 && (e->slot[k] & TARGET) == 0; k++) {
        const uint32_t w = lpn_get32(p += 8);
        if ((w & 0xfff) == (base << 8 | 0x07) && lpn_get32(p + 4) - 1 < 255) {
            return k;
        }
        const unsigned class = w & 7;
        if (class == 0 || class == 5 || class == 6 || DST(w) == base || SRC(w) == base) {
            break;
        }
    }
    return 0;
}

/* Without an offset: one that adds to its base what a slot behind it does, if there is one. */
uint16_t *load(uint16_t *at, emitter *e, uint32_t w, uint32_t c)
{
    if ((w & 0x20) == 0) {
        return load_other(at, e, w, c);
    }
    const unsigned rd = DST(w), rn = SRC(w), unit = unit_of(w);
    const bool may = OFFSET(w) == 0 && rn != 10 && rn != rd && (w & 0x18) != 0x18;
    const uint32_t later = may ? advance_after(e, rn) : 0;
    if (later == 0) {
        at = access_mem(at, e, LOAD << 8 | unit << 8 | (w >> 8 & 0xff), (uint32_t)OFFSET(w));
    } else {
        at = word(at, 0x0b00f810 | unit | rn | (uint32_t)rd << 28 | lpn_get32(text_of(e) + 8 * later + 4) << 16);
        e->slot[later] = DONE;
    }
    return unit == HALF ? swap_next(at, e, w) : at;
}

uint16_t *store_const(uint16_t *at, emitter *e, uint32_t w, uint32_t c)
{
    uint16_t *const before = at;
    at = keep_flags(load_const(at, e, T0, c), e, before);
    at = store(at, e, w, T0);
    return (w & 0x18) == 0x18 ? store_upper(load_const(at, e, T0, (int32_t)c < 0 ? ~0u : 0), e, w) : at;
}

/* Rare enough to be a function. */
static uint16_t *atomic(uint16_t *at, emitter *e, uint32_t w, uint32_t c)
{
    if (c == 0x100 || c == 0x110) {     /* load-acquire, store-release: one core sees them in order */
        w = (w & ~0xe7u) | (c == 0x100 ? 0x61 : 0x63);
        return e->classes[w & 15](at, e, w, 0);
    }
    const bool two = (w & 0x18) == 0x18, exchanges = c == 0xf1;
    const unsigned result = exchanges ? 0 : SRC(w);
    unsigned rn = DST(w), rs = SRC(w);
    uint32_t place = (uint32_t)OFFSET(w);
    if (rn == 10) {
        rn = SP;
        place += e->top;
    }
    e->told = NULL;
    e->zero = 0;                                        /* the function looks for upper words in memory */
    at = add_const(at, e, REGISTERS(T1, rn), place);
    at = reg_in(at, e, &rs, W0);
    at = move(at, W0, rs);
    at = half(at, 0xb40f);                              /* push {r0-r3} */
    at = word(at, 0x0d08f84d);          /* push {r0}, and a word that keeps sp aligned */
    at = move(at, 1, T1);
    at = move(at, 3, W0);
    at = load_const(at, e, 2, c | (two ? 0x10000 : 0) | SRC(w) << 17);
    at = WIDE(e) ? access_mem(at, e, ACCESS(LOAD | WORD, 0, BLOCK), NATIVE_AT) : move(at, 0, BLOCK);
    at = call_native(at, e, ATOMIC_AT);
    at = move(at, T0, 0);
    at = half(at, 0xb002);                              /* add sp, #8 */
    at = half(at, 0xbc0f);                              /* pop {r0-r3} */
    if (c & 1) {
        at = move(at, result, T0);
        if (!two) {
            at = clear_upper(at, e, result);
        }
    }
    return at;
}

uint16_t *store_reg(uint16_t *at, emitter *e, uint32_t w, uint32_t c)
{
    if ((w & 0xe0) == 0xc0) {
        return atomic(at, e, w, c);
    }
    return SRC(w) == 10 || (w & 0x18) == 0x18 ? store_other(at, e, w, c) : store(at, e, w, SRC(w));
}

/* ------------------------------------------------------------------------------------ jumps */

/* By comparison, the upper half of the opcode: all as unsigned ones; of signed numbers as they are; of pairs, see compare_wide. */
enum { UNSIGNED, AS_IT_IS, OF_PAIRS };
static const uint8_t conditions[][16] = {
    { AL, EQ, HI, CS, NE, NE, HI, CS, NONE, NONE, CC, LS, CC, LS },
    { AL, EQ, HI, CS, NE, NE, GT, GE, NONE, NONE, CC, LS, LT, LE },
#if !LPN_CLEAN32_ONLY
    { AL, EQ, CC, CS, NE, NE, LT, GE, NONE, NONE, CC, CS, LT, GE },
#endif
};

/* The condition under which a branch is taken; AL: always, NONE: never. */
INLINE unsigned condition_of(const emitter *e, uint32_t w, uint32_t c)
{
    const unsigned code = CODE(w);
    if ((w & 2) != 0) {
        return conditions[AS_IT_IS][code];
    }
    if (WIDE(e)) {
        return conditions[OF_PAIRS][code];
    }
    if ((int32_t)c < 0 && code != 4) {
        /* a clean number is not negative, and less than any such number without a sign */
        return 0x0ce0u >> code & 1 ? AL : NONE;
    }
    return conditions[UNSIGNED][code];
}

/* A branch of 4 bytes, `distance` halfwords from its own end. */
uint16_t *put_long(uint16_t *at, emitter *e, uint32_t cond, int32_t distance)
{
    (void)e;
    const uint32_t u = (uint32_t)distance, s = u >> 31;
    if (cond >= AL) {
        const uint32_t j1 = (u >> 22 & 1) ^ s ^ 1, j2 = (u >> 21 & 1) ^ s ^ 1;
        return word(at, 0x9000f000 | (cond == CALL ? 0x40000000u : 0) | s << 10 | (u >> 11 & 0x3ff) | j1 << 29 | j2 << 27 | (u & 0x7ff) << 16);
    }
    return word(at, 0x8000f000 | s << 10 | cond << 6 | (u >> 11 & 0x3f) | (u >> 17 & 1) << 29 | (u >> 18 & 1) << 27 | (u & 0x7ff) << 16);
}

/* Everything that waits for this place, from the branch before `next` - 1 on. */
uint16_t *arrive(uint16_t *at, emitter *e, uint32_t next)
{
    if (next == 0) {
        return at;
    }
    uint16_t *b = e->code + next - 1;
    do {
        const uint32_t h = *b, d = (uint32_t)(at - b) - 2;      /* pc is 4 bytes ahead of a branch */
        if ((h & 0xf000) == CONDITIONAL) {
            next = h & 0xff;
            *b = (uint16_t)((h & 0xff00) | (d & 0xff));
            e->far |= d >> 7;
        } else if ((h & 0xf000) == ALWAYS) {
            next = h & 0x7ff;
            *b = (uint16_t)(ALWAYS | (d & 0x7ff));
            e->far |= d >> 10;
        } else if ((h & 0xf000) == (ZERO_BRANCH & 0xf000)) {
            next = (h >> 4 & 32) | (h >> 3 & 31);
            if ((int32_t)d < 0) {       /* it lies before its target */
                *b = 0xbf00;
            } else {
                *b = (uint16_t)((h & 0xfd07) | (d & 32) << 4 | (d & 31) << 3);
                e->far |= d >> 6;
            }
        } else {
            next = b[1];
            put_long(b, e, h & 15, (int32_t)d);
        }
        b -= next;
    } while (next != 0);
    return at;
}

/* To slot `to` under a condition; what to compare is done. */
static uint16_t *put_branch(uint16_t *at, emitter *e, uint16_t *to, unsigned cond)
{
    const uint32_t known = *to, here = offset_of(e, at);
    if (to <= e->slot) {
        const int32_t d = (int32_t)known - (int32_t)here - 2;
        if (cond != AL && d >= -128) {
            return half(at, CONDITIONAL | cond << 8 | ((uint32_t)d & 0xff));
        }
        if (cond == AL && d >= -1024) {
            return half(at, ALWAYS | ((uint32_t)d & 0x7ff));
        }
        return put_long(at, e, cond, d);
    }
    const uint32_t link = link_to(known, here), slots = (uint32_t)(to - e->slot);
    *to = (uint16_t)(TARGET | (here + 1));
    if (cond != AL) {
        if (slots <= e->reach && link < 256) {
            return half(at, CONDITIONAL | cond << 8 | link);
        }
    } else if (slots <= 6 * e->reach && link < 2048) {
        return half(at, ALWAYS | link);
    }
    return word(at, LONG | cond | link << 16);
}

/* What a branch asks, where it needs more than one instruction of 2 bytes. */
static uint16_t *compare(uint16_t *at, emitter *e, uint32_t w, uint32_t c)
{
#if !LPN_CLEAN32_ONLY
    if (WIDE(e) && (w & 7) == 5) {
        return compare_wide(at, e, w, c);
    }
#endif
    const bool test = CODE(w) == 4;
    unsigned rn = DST(w), rm = SRC(w);
    at = reg_in(at, e, &rn, T1);
    if (w & 8) {
        at = reg_in(at, e, &rm, T0);
        return test ? test_reg(at, rn, rm) : compare_reg(at, rn, rm);
    }
    return op_const(at, e, test ? OP_CONST(AND, 1, 15, rn, 0) : OP_CONST(SUB, 1, 15, rn, EITHER), c);
}

uint16_t *jump(uint16_t *at, emitter *e, uint32_t w, uint32_t c)
{
    if ((w & 0xef) == 0x85) {
        return leave(at, e, w, c);
    }
    uint16_t *to = e->slot + 1 + (OP(w) == 0x06 ? (int32_t)c : OFFSET(w));
    unsigned cond = condition_of(e, w, c);
    if (to < e->first || to >= e->last) {
        return refuse(e, LPN_E_JUMP);
    }
    if (cond < AL && to == e->slot + 2 && (to[-1] & TARGET) == 0) {
        const uint32_t next = lpn_get32(text_of(e) + 8);
        if (OP(next) == 0x05 && OFFSET(next) != 0) {    /* one over a jump goes where that jump goes, when it would not be taken */
            to += OFFSET(next);
            if (to < e->first || to >= e->last) {
                return refuse(e, LPN_E_JUMP);
            }
            cond ^= 1;
            e->slot[1] = DONE;
        }
    }
    if (cond >= AL) {
        return cond == NONE || to == e->slot + 1 ? at : put_branch(at, e, to, cond);
    }
    if (to == e->slot + 1) {
        return at;
    }
    if (WIDE(e) && (w & 2) == 0) {
        return put_branch(compare(at, e, w, c), e, to, cond);
    }
    if (c == 0 && (w & 0xbc) == 0x14) {         /* 0x15, 0x16, 0x55, 0x56: equal to zero or not */
        if (DST(w) < 8 && (uint32_t)(to - e->slot - 1) < e->reach / 2) {
            const uint32_t here = offset_of(e, at), link = link_to(*to, here);
            if (link < 64) {
                *to = (uint16_t)(TARGET | (here + 1));
                return half(at, ZERO_BRANCH | (cond == EQ ? 0u : 0x800u) | (link & 32) << 4 | (link & 31) << 3 | DST(w));
            }
        }
        if (e->told == at && e->tells == DST(w)) {
            return put_branch(at, e, to, cond);
        }
    }
    if (CODE(w) == 4 || (w & 0x808) != 0 || c >= 256) {
        return put_branch(compare(at, e, w, c), e, to, cond);
    }
    return put_branch(half(at, 0x2800 | DST(w) << 8 | c), e, to, cond);
}

#endif
