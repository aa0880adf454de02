/* SPDX-License-Identifier: LGPL-2.1-only */
/* eBPF to Thumb-2: ARMv7-M Architecture Reference Manual (DDI 0403), chapter A7. One instruction at a time, forward. A move, a
 * shift, a sum or a load looks at the next one, where one instruction may do both; a branch forward waits, in its own place, until its target
 * is there. */
#include "thumb2_encode.h"

#if MORE_THAN_CLEAN
#include "thumb2_branch.h"
#include "thumb2_memory.h"
#if !IN_THUMB2
#include "thumb2_clean.h"
#endif

/* ------------------------------------------------------------------------------ functions and calls */

/* Words of helpers' arguments, in bytes. */
static uint32_t args_of(const emitter *e)
{
    return (e->program->marks & LPN_MARK_HELPER) != 0 ? 20 : 0;
}

/* Upper words: the block of the first function; what another one keeps of it. */
uint16_t *keep_upper(uint16_t *at, emitter *e)
{
    const uint32_t args = args_of(e);
    if (e->funcs != 1) {
        for (unsigned r = 6; r < 10; r++) {
            at = get_upper(at, e, T0, r);
            at = access_mem(at, e, ACCESS(STORE | WORD, T0, SP), args + 4 * (r - 6));
        }
        return at;
    }
    at = add_const(at, e, REGISTERS(BLOCK, SP), args);
    at = access_mem(at, e, ACCESS(STORE | WORD, 1, BLOCK), NATIVE_AT);
    at = access_mem(at, e, ACCESS(STORE | WORD, BLOCK, 1), UPPER_AT);
    at = load_const(at, e, T0, 0);
    return put_upper(at, e, 1, T0);
}

/* Of a constant of two slots. */
uint16_t *address_upper(uint16_t *at, emitter *e, uint32_t w, uint32_t c)
{
    const uint32_t high = (w & 0xf0f0) == 0x10 ? lpn_get32(text_of(e) + 12) : 0;
    (void)c;
    if (high == 0) {
        return clear_upper(at, e, DST(w));
    }
    at = load_const(at, e, T0, high);
    return put_upper(at, e, DST(w), T0);
}

static uint16_t *epilogue(uint16_t *at, emitter *e)
{
    for (unsigned r = 6; e->funcs != 1 && STILL_WIDE(e) && r < 10; r++) {
        at = access_mem(at, e, ACCESS(LOAD | WORD, T0, SP), args_of(e) + 4 * (r - 6));
        at = access_mem(at, e, ACCESS(STORE | WORD, T0, BLOCK), 4 * r);
    }
    at = add_const(at, e, REGISTERS(SP, SP), e->top);
    return e->saved < 0x100 ? half(at, 0xbd00 | e->saved) : word(at, 0xe8bd | (e->saved | 1u << PC) << 16);
}

/* Arguments go to memory, in the order of their registers. */
static uint16_t *call_helper(uint16_t *at, emitter *e, uint32_t number)
{
    at = word(at, 0x003ee88d);          /* stm sp, {r1-r5} */
    at = STILL_WIDE(e) ? access_mem(at, e, ACCESS(LOAD | WORD, 0, BLOCK), NATIVE_AT) : move(at, 0, BLOCK);
    at = load_const(at, e, 1, number);
    at = move(at, 2, SP);
    at = call_native(at, e, HELPER_AT);
    return clear_upper(at, e, 0);
}

/* Calls and what ends a function. */
uint16_t *leave(uint16_t *at, emitter *e, uint32_t w, uint32_t c)
{
    return OP(w) == 0x95 ? epilogue(at, e) : IN_THUMB2 || SRC(w) == 0 ? call_helper(at, e, c) : call_local(at, e, w, c);
}
#endif

#if !IN_THUMB2
/* Of another function of the program. */
uint16_t *call_local(uint16_t *at, emitter *e, uint32_t w, uint32_t c)
{
    const uint32_t to = (uint32_t)(e->slot - e->map) + 1 + c, here = offset_of(e, at);
    uint32_t f = 0;
    (void)w;
    while (e->program->func[f].entry != to) {
        f++;
    }
    e->zero = 0;
    if (f < e->funcs) {
        return put_long(at, e, CALL, (int32_t)(e->func_at[f] - here - 2));
    }
    const uint32_t link = link_to(e->func_at[f], here);
    e->func_at[f] = (uint16_t)(TARGET | (here + 1));
    return word(at, LONG | CALL | link << 16);
}

uint16_t *load_address(uint16_t *at, emitter *e, uint32_t w, uint32_t c)
{
    const unsigned kind = OP(w) == 0xd8 ? 8 : OP(w) == 0xb8 ? 9 : SRC(w);
    at = load_const(at, e, DST(w), c + (kind == 0 ? 0 : kind == 8 ? e->job->rodata : e->job->data));
    if (WIDE(e)) {
        at = address_upper(at, e, w, c);
    }
    e->told = NULL;
    take_next(e, at);
    return at;
}

/* ------------------------------------------------------------------------------------ the one pass */

/* What lies on a function's stack, from sp up: arguments of helpers (5 words); the block (11 words), or what
 * another function keeps of it (4 words); its eBPF frame. */
static uint16_t *prologue(uint16_t *at, emitter *e)
{
    const bool first = e->funcs == 1, native = WIDE(e) || (e->program->marks & (LPN_MARK_HELPER | LPN_MARK_ATOMIC)) != 0;
    const uint32_t used = (e->program->marks & 0x3f0u) | (native ? 1u << W0 | 1u << BLOCK : 0);
    const uint32_t saved = first ? used : used & 0x3c0;         /* another function keeps r6 to r9 */
    uint32_t room = args_of(e) + (WIDE(e) ? (first ? 44 : 16) : 0) + e->program->func[e->funcs - 1].frame, pushed = 4;
    e->saved = saved;
    for (uint32_t m = saved; m != 0; m &= m - 1) {
        pushed += 4;
    }
    if (native) {                       /* AAPCS: sp is a multiple of 8 in a call */
        room += (room + pushed) & 4;
    }
    e->top = room;
    at = saved < 0x100 ? half(at, 0xb500 | saved) : word(at, 0xe92d | (saved | 1u << LR) << 16);
    at = add_const(at, e, REGISTERS(SP, SP), 0 - room);
    if (WIDE(e)) {
        at = keep_upper(at, e);
    } else if (first && native) {
        at = move(at, BLOCK, 1);
    }
    return first ? move(at, 1, 0) : at;
}

/* By class, without and with the bit that says: of a register. */
static one_class *const classes[][16] = {
    { load_address, load, store_const, store_reg, clean_imm, jump, jump, clean_imm,
      load_address, load, store_const, store_reg, clean_reg, jump, jump, clean_reg },
#if !LPN_CLEAN32_ONLY
    { load_address, load_other, store_const, store_reg, alu, jump, jump, alu,
      load_address, load_other, store_const, store_reg, alu, jump, jump, alu },
#endif
};

/* The targets of jumps back, marked: calls lead where functions begin, which is known. */
static void mark_back(uint16_t *slot, const uint8_t *p, uint32_t count)
{
    for (; count != 0; count--, slot++, p += 8) {
        const uint32_t w = lpn_get32(p);
        if ((w & 7) == 5 || (w & 7) == 6) {
            const int32_t slots = 1 + (OP(w) == 0x06 ? (int32_t)lpn_get32(p + 4) : OFFSET(w));
            if (slots <= 0) {
                slot[slots] = TARGET;
            }
        }
    }
}

/* What is needed before the first instruction can be written: where functions begin, and where jumps go that come later. */
static void survey(emitter *e, const lpn_program *program)
{
    const uint32_t count = program->count;
    uint16_t *slot = e->map;
    lpn_zero((uint8_t *)slot, 2 * count);
    slot[count] = END;
    for (uint32_t i = 0; i < program->funcs; i++) {
        slot[program->func[i].entry] = TARGET;
    }
    if ((program->marks & LPN_MARK_BACK) != 0) {
        mark_back(slot, program->text, count);
    }
}

/* A slot that a function begins with. */
static uint16_t *begin(uint16_t *at, emitter *e, uint16_t *slot, const uint8_t *p)
{
    const lpn_program *const program = e->program;
    const uint32_t f = e->funcs;
    if (f != 0) {
        const unsigned before = p[-8];
        if (before != 0x95 && before != 0x05 && before != 0x06) {      /* it goes on into this one */
            return refuse(e, LPN_E_JUMP);
        }
    }
    e->funcs++;
    e->first = slot;
    e->last = e->map + (f + 1 < program->funcs ? program->func[f + 1].entry : program->count);
    at = arrive(at, e, e->func_at[f] & ~TARGET);        /* calls arrive before the prologue, jumps behind it */
    e->func_at[f] = (uint16_t)offset_of(e, at);
    at = prologue(at, e);
    e->told = NULL;
    return arrive(at, e, *slot & ~TARGET);
}

/* All slots, or as many as there is room for: the map says whether the end was reached. Returns where the code ends. */
static uint16_t *emit(emitter *e, const uint8_t *p)
{
    uint16_t *at = e->code;
    for (uint16_t *slot = e->map; at <= e->full; slot++, p += 8) {
        const uint32_t waiting = *slot;
        if (waiting == END) {
            *slot = (uint16_t)offset_of(e, at);
            break;
        }
        if (waiting != 0 && (waiting & TARGET) == 0) {  /* a slot before did its work, and may have noted where */
            *slot = (uint16_t)(waiting == DONE ? offset_of(e, at) : waiting);
            continue;
        }
        e->slot = slot;
        if (waiting != 0) {             /* others jump to it, or a function begins with it */
            e->zero = 0;
            e->told = NULL;
            at = slot == e->last ? begin(at, e, slot, p) : arrive(at, e, waiting & ~TARGET);
            if (at > e->full) {
                break;
            }
        }
        *slot = (uint16_t)offset_of(e, at);
        const uint32_t w = lpn_get32(p);
        at = e->classes[w & 15](at, e, w, lpn_get32(p + 4));
    }
    return at;
}

int lpn_thumb2_translate(const lpn_thumb2 *job, uint32_t *used)
{
    /* Room for one slot more: of what was given, and of what the map can say. */
    const uint32_t given = job->size / 2, room = given < TARGET - 1 ? given : TARGET - 1;
    *used = 0;
    if (LPN_CLEAN32_ONLY && !job->clean32) {
        return LPN_E_LEFT_OUT;
    }
    if (room < SPARE) {
        return LPN_E_MEMORY;
    }
    /* Branches are first written as if code were as dense as it usually is. Where it is not, once more with less trust. */
    static const uint8_t reaches[] = { 48, 24, 8, 0 };
    for (unsigned k = 0;; k++) {
        const lpn_program *program = job->program;
        emitter e;
        lpn_zero((uint8_t *)&e, sizeof e);
        e.job = job;
        e.program = program;
        e.code = job->code;
        e.full = job->code + room - SPARE;
        e.first = e.last = e.slot = e.map = job->map;
        e.wide = !job->clean32;
        e.reach = reaches[k];
        e.classes = classes[WIDE(&e)];
        survey(&e, program);
        const uint16_t *const at = emit(&e, program->text);
        if (e.error == LPN_OK && e.map[program->count] == END) {
            e.error = LPN_E_MEMORY;
        }
        if (!e.far) {
            *used = e.error != LPN_OK ? (uint32_t)(e.slot - e.map) : 2 * (uint32_t)(at - e.code);
            return e.error;
        }
    }
}
#endif
