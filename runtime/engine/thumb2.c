/* SPDX-License-Identifier: LGPL-2.1-only */
/* eBPF to Thumb-2: ARMv7-M Architecture Reference Manual (DDI 0403), chapter A7. One instruction at a time, forward. A move, a
 * shift, a sum or a load looks at the next one, where one instruction may do both; a branch forward waits, in its own place, until its target
 * is there. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__arm__)
#pragma GCC optimize("no-forward-propagate", "no-move-loop-invariants", "no-if-conversion", "no-if-conversion2", "no-section-anchors", \
                     "no-schedule-insns2", "no-tree-tail-merge")       /* 2.7 % fewer cycles a slot, and less code */
#endif
#include "thumb2_branch.h"
#include "thumb2_memory.h"

/* ------------------------------------------------------------------------------ functions and calls */

/* What lies on a function's stack, from sp up: arguments of helpers (5 words); the block (11 words), or what
 * another function keeps of it (4 words); its eBPF frame. */
static void prologue(emitter *e)
{
    const bool first = e->func == 0;
    const uint32_t args = e->helpers ? 20 : 0, frame = e->job->program->func[e->func].frame;
    e->base = args + (WIDE(e) ? (first ? 44 : 16) : 0);
    e->saved = first ? e->used : e->used & 0x3c0;       /* another function keeps r6 to r9 */
    uint32_t room = e->base + frame, pushed = 4;
    for (uint32_t m = e->saved; m != 0; m &= m - 1) {
        pushed += 4;
    }
    if (e->native && (room + pushed) % 8 != 0) {  /* AAPCS: sp is a multiple of 8 in a call */
        room += 4;
        e->base += 4;
    }
    e->top = room;
    if (e->saved < 0x100) {
        half(e, 0xb500 | e->saved);
    } else {
        word(e, 0xe92d, e->saved | 1u << LR);
    }
    add_const(e, SP, SP, 0 - room);
    e->zero = 0;
    if (!first) {
        for (unsigned r = 6; WIDE(e) && r < 10; r++) {
            get_upper(e, T0, r);
            access_mem(e, STORE | WORD, T0 | SP << 4, (int32_t)(args + 4 * (r - 6)));
        }
        return;
    }
    if (WIDE(e)) {
        add_const(e, BLOCK, SP, args);
        access_mem(e, STORE | WORD, 1 | BLOCK << 4, NATIVE_AT);
        access_mem(e, STORE | WORD, BLOCK | 1 << 4, UPPER_AT);
        load_const(e, T0, 0);
        put_upper(e, 1, T0);
    } else if (e->native) {
        move(e, BLOCK, 1);
    }
    move(e, 1, 0);
}

APART static void epilogue(emitter *e)
{
    for (unsigned r = 6; e->func != 0 && WIDE(e) && r < 10; r++) {
        access_mem(e, LOAD | WORD, T0 | SP << 4, (int32_t)((e->helpers ? 20 : 0) + 4 * (r - 6)));
        access_mem(e, STORE | WORD, T0 | BLOCK << 4, 4 * (int32_t)r);
    }
    add_const(e, SP, SP, e->top);
    if (e->saved < 0x100) {
        half(e, 0xbd00 | e->saved);
    } else {
        word(e, 0xe8bd, e->saved | 1u << PC);
    }
}

/* Arguments go to memory, in the order of their registers. */
APART static void call_helper(emitter *e, uint32_t number)
{
    word(e, 0xe88d, 0x003e);            /* stm sp, {r1-r5} */
    if (WIDE(e)) {
        access_mem(e, LOAD | WORD, 0 | BLOCK << 4, NATIVE_AT);
    } else {
        move(e, 0, BLOCK);
    }
    load_const(e, 1, number);
    move(e, 2, SP);
    call_native(e, HELPER_AT);
    clear_upper(e, 0);
}

/* Of another function of the program. */
static void call_local(emitter *e, uint32_t w, uint32_t c)
{
    const lpn_program *p = e->job->program;
    const uint32_t to = jump_target(e->pc, w, c);
    uint32_t f = 0;
    while (p->func[f].entry != to) {
        f++;
    }
    if (f > e->func) {
        const uint32_t here = code_size(e), link = link_to(e->func_at[f], here);
        word(e, LONG | CALL, link);
        e->func_at[f] = (uint16_t)(TARGET | (here + 1));
    } else {
        put_long(e->at, CALL, (int32_t)e->func_at[f] - (int32_t)code_size(e) - 2);
        e->at += 2;
    }
    e->zero = 0;
}

/* ------------------------------------------------------------------------------------ the one pass */

static void load_address(emitter *e, uint32_t w, uint32_t c)
{
    const unsigned kind = OP(w) == 0xd8 ? 8 : OP(w) == 0xb8 ? 9 : SRC(w);
    const uint32_t high = kind == 0 ? lpn_get32(e->text + 8 * (size_t)e->pc + 12) : 0;
    load_const(e, DST(w), c + (kind == 0 ? 0 : kind == 8 ? e->job->rodata : e->job->data));
    if (WIDE(e) && high != 0) {
        load_const(e, T0, high);
        put_upper(e, DST(w), T0);
    } else {
        clear_upper(e, DST(w));
    }
    e->told = NULL;
    take_next(e);
}

#if !LPN_CLEAN32_ONLY
/* Arithmetic of a program that is not clean. */
static void alu(emitter *e, uint32_t w, uint32_t c)
{
    const unsigned code = w & 0xf0;
    if (code == 0xb0) {
        move_insn(e, w, c);
    } else if (code == 0xd0) {
        byte_swap(e, w, c);
    } else if ((w & 7) == 7) {
        alu_wide(e, w, c);
    } else {
        alu_low(e, w, c, DST(w));
        clear_upper(e, DST(w));
    }
}
#endif

static void jump(emitter *e, uint32_t w, uint32_t c)
{
    if ((w & 0xef) != 0x85) {
        branch(e, w, c);
        return;
    }
    if (OP(w) == 0x95) {
        epilogue(e);
    } else if (SRC(w) == 0) {
        call_helper(e, c);
    } else {
        call_local(e, w, c);
    }
}

/* By class, without and with the bit that says: of a register. */
typedef void one_class(emitter *e, uint32_t w, uint32_t c);
static one_class *const classes[][16] = {
    { load_address, load, store, store, clean_imm, jump, jump, clean_imm, load_address, load, store, store, clean_reg, jump, jump, clean_reg },
#if !LPN_CLEAN32_ONLY
    { load_address, load, store, store, alu, jump, jump, alu, load_address, load, store, store, alu, jump, jump, alu },
#endif
};

/* The target of the instruction at p, if it jumps back. */
static void jumps_back(emitter *e, const uint8_t *p)
{
    const uint32_t w = lpn_get32(p);
    if ((w & 7) == 5 || (w & 7) == 6) {
        const uint32_t pc = (uint32_t)(p - e->text) / 8, to = jump_target(pc, w, lpn_get32(p + 4));
        if (to <= pc) {
            e->map[to] = TARGET;
        }
    }
}

/* What is needed before the first instruction can be written: where functions begin, and where jumps go that come later, registers that
 * change, who is called. */
static void survey(emitter *e)
{
    const lpn_program *program = e->job->program;
    const uint32_t marks = program->marks;
    lpn_zero((uint8_t *)e->map, 2 * (e->count + 1));
    for (uint32_t i = 0; i < program->funcs; i++) {
        e->map[program->func[i].entry] = TARGET;
    }
    if ((marks & LPN_MARK_BACK) != 0 && e->count > 1) {
        /* Two at once: the first of an odd number jumps to itself at most, where a function begins. Class 5 or 6 and an offset below 0, or
         * one that has none. */
        const uint8_t *p = e->text + 8 * (size_t)(e->count & 1);
        const uint8_t *const end = e->text + 8 * (size_t)e->count;
        const uint32_t any = (marks & LPN_MARK_FAR) != 0 ? ~0u : 0;
        do {
            const uint32_t v = lpn_get32(p), w = lpn_get32(p + 8);
            if ((int32_t)((v & v << 29) | (w & w << 29) | any) < 0) {
                jumps_back(e, p);
                jumps_back(e, p + 8);
            }
            p += 16;
        } while (p != end);
    }
    e->used = marks & 0x3f0;
    e->helpers = (marks & LPN_MARK_HELPER) != 0;
    e->native = WIDE(e) || (marks & (LPN_MARK_HELPER | LPN_MARK_ATOMIC)) != 0;
    if (e->native) {
        e->used |= 1u << W0 | 1u << BLOCK;
    }
}

/* Function `func` begins here. */
static void begin(emitter *e)
{
    const lpn_program *p = e->job->program;
    e->first = p->func[e->func].entry;
    e->last = e->func + 1 < p->funcs ? p->func[e->func + 1].entry : e->count;
    const uint32_t here = code_size(e);
    arrive(e, e->func_at[e->func] & ~TARGET);
    e->func_at[e->func] = (uint16_t)here;
    prologue(e);
}

/* The next function begins at slot pc. False: one goes on into it. */
APART static bool next_function(emitter *e, uint32_t pc)
{
    if (pc != 0) {
        const uint8_t before = e->text[8 * (size_t)pc - 8];
        if (before != 0x95 && before != 0x05 && before != 0x06) {
            e->pc = pc;
            refuse(e, LPN_E_JUMP);
            return false;
        }
        e->func++;
    }
    begin(e);
    return true;
}

/* A slot that others jump to, that a function begins with, or whose work is done. False: it is. */
APART static bool come_to(emitter *e, uint32_t pc, uint32_t waiting)
{
    if (waiting == DONE) {
        return false;
    }
    if (pc == e->last && !next_function(e, pc)) {
        return false;
    }
    e->zero = 0;
    e->told = NULL;
    return arrive(e, waiting & ~TARGET);
}

APART static int emit(emitter *e)
{
    /* Room for one slot more: of what was given, and of what the map can say. */
    const uint32_t room = e->job->size / 2, count = e->count;
    if (room < SPARE) {
        return LPN_E_MEMORY;
    }
    uint16_t *const code = e->code, *const full = code + (room < TARGET - 1 ? room : TARGET - 1) - SPARE, *map = e->map;
    one_class *const *of = classes[WIDE(e)];
    const uint8_t *const text = e->text;
    e->full = full;
    LPN_HIDE(of);
    uint32_t pc = 0;
    do {
        const uint32_t waiting = map[pc];
        const bool todo = waiting == 0 || come_to(e, pc, waiting);
        uint16_t *const at = e->at;
        if (at > full) {
            return e->error != LPN_OK ? e->error : LPN_E_MEMORY;
        }
        map[pc] = (uint16_t)(at - code);
        if (todo) {
            e->pc = pc;
            const uint8_t *const p = text + 8 * (size_t)pc;
            const uint32_t w = lpn_get32(p);
            of[w & 15](e, w, lpn_get32(p + 4));
            pc = e->pc;                 /* that may have done others, too */
        }
    } while (++pc < count);
    map[pc] = (uint16_t)(e->at - code);
    return e->error;
}

int lpn_thumb2_translate(const lpn_thumb2 *job, uint32_t *used)
{
    if (LPN_CLEAN32_ONLY && !job->clean32) {
        *used = 0;
        return LPN_E_LEFT_OUT;
    }
    /* Branches are first written as if code were as dense as it usually is. Where it is not, once more with less trust. */
    static const uint8_t reaches[] = { 48, 24, 8, 0 };
    for (unsigned k = 0;; k++) {
        emitter e;
        lpn_zero((uint8_t *)&e, sizeof e);
        e.job = job;
        e.text = job->program->text;
        e.at = e.code = job->code;
        e.map = job->map;
        e.count = job->program->count;
        e.wide = !job->clean32;
        e.reach = reaches[k];
        survey(&e);
        const int error = emit(&e);
        if (!e.far) {
            *used = error == LPN_OK ? 2 * (uint32_t)(e.at - e.code) : e.pc;
            return error;
        }
    }
}
