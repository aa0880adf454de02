/* SPDX-License-Identifier: LGPL-2.1-only */
/* Loads, stores and atomics of eBPF in Thumb-2. A part of thumb2.c. */
#ifndef LPN_THUMB2_MEMORY_H
#define LPN_THUMB2_MEMORY_H

#include "thumb2_alu.h"

/* Is the next slot a swap of what was just loaded? */
static bool swapped_next(const emitter *e, const insn *i, unsigned size)
{
    if (e->pc + 1 >= e->count || is_target(e, e->pc + 1)) {
        return false;
    }
    insn n = fetch(e, e->pc + 1);
    return (n.op == 0xdc || n.op == 0xd7) && n.dst == i->dst && (unsigned)n.imm == 8 * size;
}

/* The slot, soon after a load, that adds a constant to its base: the load can do that too. 0: there is none. */
static uint32_t advance_after(const emitter *e, const insn *i)
{
    for (uint32_t pc = e->pc + 1; pc <= e->pc + 3 && pc < e->count && !is_target(e, pc); pc++) {
        insn n = fetch(e, pc);
        unsigned class = n.op & 7;
        if (n.op == 0x07 && n.dst == i->src && n.imm > 0 && n.imm < 256) {
            return pc;
        }
        if (class == 0 || class == 5 || class == 6 || n.dst == i->src || n.src == i->src) {
            return 0;
        }
    }
    return 0;
}

/* Returns how many slots beyond this one are done. */
static unsigned load(emitter *e, const insn *i)
{
    unsigned size = size_of(i->op), rd = e->reg[i->dst];
    bool is_signed = (i->op & 0xe0) == 0x80;
    int32_t off = i->off;
    unsigned rn = base_of(e, i->src, &off);
    if (size == 8) {
        if (e->wide) {
            access_mem(e, LOAD, 4, T0, rn, off + 4);
        }
        access_mem(e, LOAD, 4, rd, rn, off);
        if (e->wide) {
            put_upper(e, i->dst, T0);
        }
        return 0;
    }
    if (!e->wide && !is_signed && off == 0 && i->src != 10 && i->src != i->dst && (e->skip = advance_after(e, i)) != 0) {
        insn n = fetch(e, e->skip);
        word(e, 0xf810 | (size == 4 ? 0x40u : size == 2 ? 0x20u : 0) | rn, rd << 12 | 0xb00 | (uint32_t)n.imm);
    } else {
        access_mem(e, is_signed && size != 4 ? LOAD_SIGNED : LOAD, size, rd, rn, off);
    }
    unsigned more = 0;
    if (!is_signed && size > 1 && swapped_next(e, i, size)) {
        swap(e, rd, rd, 8 * size, true);
        more = 1;
    }
    if (is_signed && e->wide) {
        op_shifted(e, ORR, 0, T1, PC, rd, ASR, 31);
        put_upper(e, i->dst, T1);
    } else {
        clear_upper(e, i->dst);
    }
    return more;
}

static void store(emitter *e, const insn *i)
{
    unsigned size = size_of(i->op);
    bool by_reg = (i->op & 7) == 3;
    int32_t off = i->off;
    unsigned rn = base_of(e, i->dst, &off), rt = T0;
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
static void atomic(emitter *e, const insn *i)
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
    for (unsigned r = 0; r < 10; r++) {                 /* the function looks for upper words in memory */
        e->zero &= ~(1u << r);
    }
    add_const(e, T1, rn, (uint32_t)off);
    move(e, W0, reg_in(e, i->src, W0));
    half(e, 0xb40f);                                    /* push {r0-r3} */
    word(e, 0xf84d, (uint32_t)e->reg[0] << 12 | 0xd08); /* push {reg of r0}, and a word that keeps sp aligned */
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
        move(e, e->reg[result], T0);
        if (!two) {
            clear_upper(e, result);
        }
    }
}

#endif
