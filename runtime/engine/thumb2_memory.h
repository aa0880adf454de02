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

/* Behind a load of two bytes into rd: the next slot may ask for the other order. */
APART static void loaded_half(emitter *e, unsigned rd)
{
    const uint32_t next = next_slot(e);
    if ((OP(next) == 0xdc || OP(next) == 0xd7) && DST(next) == rd && e->text[8 * (size_t)e->pc + 12] == 16) {
        take_next(e);
        swap(e, rd, rd, 16);
    }
}

/* rd = *(a + b) */
static void load_pair(emitter *e, unsigned unit, unsigned rd, unsigned a, unsigned b)
{
    if ((rd | a | b) < 8) {
        half(e, (0x5c00 - (unit << 4)) | b << 6 | a << 3 | rd);
    } else {
        word(e, (0xf810 | unit) | a, rd << 12 | b);
    }
    if (unit == HALF) {
        loaded_half(e, rd);
    }
}

/* With a sign, or of a program that is not clean. */
APART static void load_other(emitter *e, uint32_t w)
{
    const unsigned rd = DST(w), unit = unit_of(w);
    const bool two = (w & 0x18) == 0x18, is_signed = (w & 0x20) == 0;
    if (WIDE(e) && two) {
        access_mem(e, LOAD | WORD, T0 | SRC(w) << 4, OFFSET(w) + 4);
    }
    access_mem(e, (is_signed && unit != WORD ? LOAD_SIGNED : LOAD) | unit, w >> 8 & 0xff, OFFSET(w));
    if (!WIDE(e)) {
        return;
    }
    if (two) {
        put_upper(e, rd, T0);
    } else if (is_signed) {
        op_shifted(e, ORR, 0, T1, PC, rd, ASR, 31);
        put_upper(e, rd, T1);
    } else {
        if (unit == HALF) {
            loaded_half(e, rd);
        }
        clear_upper(e, rd);
    }
}

/* One without an offset: can it add to its base what a slot behind it does? */
APART static bool load_advancing(emitter *e, uint32_t w, unsigned unit)
{
    const unsigned rd = DST(w), rn = SRC(w);
    if (rn == 10 || rn == rd || (w & 0x18) == 0x18) {
        return false;
    }
    const uint32_t later = advance_after(e, rn);
    if (later == 0) {
        return false;
    }
    word(e, 0xf810 | unit | rn, rd << 12 | 0xb00 | e->text[8 * (size_t)later + 4]);
    e->map[later] = DONE;
    return true;
}

static void load(emitter *e, uint32_t w, uint32_t c)
{
    (void)c;
    if (WIDE(e) || (w & 0x20) == 0) {
        load_other(e, w);
        return;
    }
    const unsigned unit = unit_of(w);
    if (OFFSET(w) != 0 || !load_advancing(e, w, unit)) {
        access_mem(e, LOAD | unit, w >> 8 & 0xff, OFFSET(w));
    }
    if (unit == HALF) {
        loaded_half(e, DST(w));
    }
}

static void store(emitter *e, uint32_t w, uint32_t c);

/* Rare enough to be a function. */
APART static void atomic(emitter *e, uint32_t w, uint32_t c)
{
    if (c == 0x100 || c == 0x110) {           /* load-acquire, store-release: one core sees them in order */
        w = (w & ~0xe7u) | (c == 0x100 ? 0x61 : 0x63);
        if (c == 0x100) {
            load(e, w, 0);
        } else {
            store(e, w, 0);
        }
        return;
    }
    bool two = (w & 0x18) == 0x18, exchanges = c == 0xf1;
    unsigned result = exchanges ? 0 : SRC(w);
    int32_t off = OFFSET(w);
    unsigned rn = base_of(e, DST(w), &off);
    e->told = NULL;
    e->zero = 0;                                        /* the function looks for upper words in memory */
    add_const(e, T1, rn, (uint32_t)off);
    move(e, W0, reg_in(e, SRC(w), W0));
    half(e, 0xb40f);                                    /* push {r0-r3} */
    word(e, 0xf84d, 0x0d08);            /* push {r0}, and a word that keeps sp aligned */
    move(e, 1, T1);
    move(e, 3, W0);
    load_const(e, 2, c | (two ? 0x10000 : 0) | SRC(w) << 17);
    if (WIDE(e)) {
        access_mem(e, LOAD | WORD, 0 | BLOCK << 4, NATIVE_AT);
    } else {
        move(e, 0, BLOCK);
    }
    call_native(e, ATOMIC_AT);
    move(e, T0, 0);
    half(e, 0xb002);                                    /* add sp, #8 */
    half(e, 0xbc0f);                                    /* pop {r0-r3} */
    if (c & 1) {
        move(e, result, T0);
        if (!two) {
            clear_upper(e, result);
        }
    }
}

/* The upper half of eight bytes. */
APART static void store_upper(emitter *e, uint32_t w, uint32_t c)
{
    if ((w & 7) == 3 && WIDE(e)) {
        get_upper(e, T0, SRC(w));
    } else {
        load_const(e, T0, (w & 7) == 2 && (int32_t)c < 0 ? ~0u : 0);
    }
    access_mem(e, STORE | WORD, T0 | DST(w) << 4, OFFSET(w) + 4);
}

static void store(emitter *e, uint32_t w, uint32_t c)
{
    if ((w & 0xe0) == 0xc0) {
        atomic(e, w, c);
        return;
    }
    unsigned rt = T0;
    const uint16_t *const before = e->at;
    if ((w & 7) == 3) {
        rt = reg_in(e, SRC(w), T0);
    } else {
        load_const(e, T0, c);
    }
    access_mem(e, STORE | unit_of(w), rt | DST(w) << 4, OFFSET(w));
    keep_flags(e, before);
    if ((w & 0x18) == 0x18) {
        store_upper(e, w, c);
    }
}

#endif
