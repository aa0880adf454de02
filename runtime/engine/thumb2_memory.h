/* SPDX-License-Identifier: LGPL-2.1-only */
/* Loads, stores and atomics of eBPF in Thumb-2. A part of thumb2.c. */
#ifndef LPN_THUMB2_MEMORY_H
#define LPN_THUMB2_MEMORY_H

#include "thumb2_alu.h"

/* The slot, soon after a load, that adds a constant to its base: the load can do that too. 0: there is none. */
static uint32_t advance_after(const emitter *e, unsigned base)
{
    for (uint32_t pc = e->pc + 1; pc <= e->pc + 3 && pc < e->count && !is_target(e, pc); pc++) {
        const uint8_t *p = e->text + 8 * (size_t)pc;
        const unsigned class = p[0] & 7, dst = p[1] & 15;
        const int32_t imm = (int32_t)lpn_get32(p + 4);
        if (p[0] == 0x07 && dst == base && imm > 0 && imm < 256) {
            return pc;
        }
        if (class == 0 || class == 5 || class == 6 || dst == base || p[1] >> 4 == base) {
            return 0;
        }
    }
    return 0;
}

APART static void load(emitter *e, const insn *i)
{
    const unsigned size = size_of(i->op), rd = i->dst;
    const bool is_signed = (i->op & 0xe0) == 0x80;
    if (e->pending == SUM && e->rd == rd && i->src == rd && i->off == 0 && !is_signed && size <= 4) {
        static const uint16_t narrow[5] = { 0, 0x5c00, 0x5a00, 0, 0x5800 };
        e->pending = NOTHING;           /* rd = *(a + b) */
        if ((rd | e->a | e->b) < 8) {
            half(e, narrow[size] | (uint32_t)e->b << 6 | (uint32_t)e->a << 3 | rd);
        } else {
            word(e, (0xf810 | (size >> 1) << 5) | e->a, rd << 12 | e->b);
        }
        e->halfword = size == 2 ? i->dst : NONE;
        e->flags = e->before == rd ? NONE : e->before;
        return;
    }
    flush(e);
    e->flags = e->before == rd ? NONE : e->before;
    int32_t off = i->off;
    const unsigned rn = base_of(e, i->src, &off);
    if (e->wide) {
        if (size == 8) {
            access_mem(e, LOAD, 4, T0, rn, off + 4);
        }
    } else if (!is_signed && off == 0 && size != 8 && rn < 10 && rn != rd) {
        const uint32_t later = advance_after(e, rn);
        if (later != 0) {
            word(e, 0xf810 | (size >> 1) << 5 | rn, rd << 12 | 0xb00 | e->text[8 * (size_t)later + 4]);
            e->map[later] = DONE;
            e->halfword = size == 2 ? i->dst : NONE;
            return;
        }
    }
    access_mem(e, is_signed && size != 4 ? LOAD_SIGNED : LOAD, size == 8 ? 4 : size, rd, rn, off);
    e->halfword = size == 2 && !is_signed ? i->dst : NONE;
    if (!e->wide) {
        return;
    }
    if (size == 8) {
        put_upper(e, rd, T0);
    } else if (is_signed) {
        op_shifted(e, ORR, 0, T1, PC, rd, ASR, 31);
        put_upper(e, rd, T1);
    } else {
        clear_upper(e, rd);
    }
}

APART static void store(emitter *e, const insn *i)
{
    const unsigned size = size_of(i->op);
    const bool by_reg = (i->op & 7) == 3;
    flush(e);
    e->flags = e->before;
    int32_t off = i->off;
    const unsigned rn = base_of(e, i->dst, &off);
    unsigned rt = T0;
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
APART static void atomic(emitter *e, const insn *i)
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
    flush(e);
    e->flags = e->before = NONE;
    e->zero = 0;                                        /* the function looks for upper words in memory */
    add_const(e, T1, rn, (uint32_t)off);
    move(e, W0, reg_in(e, i->src, W0));
    half(e, 0xb40f);                                    /* push {r0-r3} */
    word(e, 0xf84d, 0x0d08);            /* push {r0}, and a word that keeps sp aligned */
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
        move(e, result, T0);
        if (!two) {
            clear_upper(e, result);
        }
    }
}

#endif
