/* SPDX-License-Identifier: LGPL-2.1-only */
/* eBPF to Thumb-2: ARMv7-M Architecture Reference Manual (DDI 0403), chapter A7. One instruction at a time, forward. A move, a
 * shift, a sum or a load looks at the next one, where one instruction may do both; a branch forward waits, in its own place, until its target
 * is there. */
#include "thumb2_branch.h"
#include "thumb2_memory.h"
#if IN_THUMB2
uint16_t *emit(emitter *e, const uint8_t *p) __asm__("lpn_thumb2_emit");
void mark_back(uint16_t *slot, const uint8_t *p, uint32_t count, uint32_t any) __asm__("lpn_thumb2_mark_back");
#else
#include "thumb2_clean.h"
#endif

/* ------------------------------------------------------------------------------ functions and calls */

/* What lies on a function's stack, from sp up: arguments of helpers (5 words); the block (11 words), or what
 * another function keeps of it (4 words); its eBPF frame. */
static uint16_t *prologue(uint16_t *at, emitter *e)
{
    const bool first = e->func == 0;
    const uint32_t args = e->helpers ? 20 : 0;
    const uint32_t saved = first ? e->used : e->used & 0x3c0;   /* another function keeps r6 to r9 */
    uint32_t room = args + (WIDE(e) ? (first ? 44 : 16) : 0) + e->job->program->func[e->func].frame, pushed = 4;
    e->saved = saved;
    for (uint32_t m = saved; m != 0; m &= m - 1) {
        pushed += 4;
    }
    if (e->native) {                    /* AAPCS: sp is a multiple of 8 in a call */
        room += (room + pushed) & 4;
    }
    e->top = room;
    at = saved < 0x100 ? half(at, 0xb500 | saved) : word(at, 0xe92d | (saved | 1u << LR) << 16);
    at = add_const(at, e, REGISTERS(SP, SP), 0 - room);
    e->zero = 0;
    if (!first) {
        for (unsigned r = 6; WIDE(e) && r < 10; r++) {
            at = get_upper(at, e, T0, r);
            at = access_mem(at, e, ACCESS(STORE | WORD, T0, SP), args + 4 * (r - 6));
        }
        return at;
    }
    if (WIDE(e)) {
        at = add_const(at, e, REGISTERS(BLOCK, SP), args);
        at = access_mem(at, e, ACCESS(STORE | WORD, 1, BLOCK), NATIVE_AT);
        at = access_mem(at, e, ACCESS(STORE | WORD, BLOCK, 1), UPPER_AT);
        at = load_const(at, e, T0, 0);
        at = put_upper(at, e, 1, T0);
    } else if (e->native) {
        at = move(at, BLOCK, 1);
    }
    return move(at, 1, 0);
}

/* Of another function of the program. */
uint16_t *call_local(uint16_t *at, emitter *e, uint32_t w, uint32_t c)
{
    const lpn_program *p = e->job->program;
    const uint32_t to = (uint32_t)(e->slot - e->map) + 1 + c;
    (void)w;
    const uint32_t here = offset_of(e, at);
    uint32_t f = 0;
    while (p->func[f].entry != to) {
        f++;
    }
    e->zero = 0;
    if (f <= e->func) {
        return put_long(at, e, CALL, (int32_t)(e->func_at[f] - here - 2));
    }
    const uint32_t link = link_to(e->func_at[f], here);
    e->func_at[f] = (uint16_t)(TARGET | (here + 1));
    return word(at, LONG | CALL | link << 16);
}

#if MORE_THAN_CLEAN
static uint16_t *epilogue(uint16_t *at, emitter *e)
{
    for (unsigned r = 6; e->func != 0 && STILL_WIDE(e) && r < 10; r++) {
        at = access_mem(at, e, ACCESS(LOAD | WORD, T0, SP), (e->helpers ? 20 : 0) + 4 * (r - 6));
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
    return OP(w) == 0x95 ? epilogue(at, e) : SRC(w) == 0 ? call_helper(at, e, c) : call_local(at, e, w, c);
}
#endif

/* ------------------------------------------------------------------------------------ the one pass */

uint16_t *load_address(uint16_t *at, emitter *e, uint32_t w, uint32_t c)
{
    const unsigned kind = OP(w) == 0xd8 ? 8 : OP(w) == 0xb8 ? 9 : SRC(w);
    const uint32_t high = kind == 0 ? lpn_get32(text_of(e) + 12) : 0;
    at = load_const(at, e, DST(w), c + (kind == 0 ? 0 : kind == 8 ? e->job->rodata : e->job->data));
    if (WIDE(e) && high != 0) {
        at = load_const(at, e, T0, high);
        at = put_upper(at, e, DST(w), T0);
    } else {
        at = clear_upper(at, e, DST(w));
    }
    e->told = NULL;
    take_next(e, at);
    return at;
}

/* By class, without and with the bit that says: of a register. */
static one_class *const classes[][16] = {
    { to_load_address, load, store_const, store_reg, clean_imm, jump, jump, clean_imm,
      to_load_address, load, store_const, store_reg, clean_reg, jump, jump, clean_reg },
#if !LPN_CLEAN32_ONLY
    { to_load_address, to_load_other, store_const, store_reg, to_alu, jump, jump, to_alu,
      to_load_address, to_load_other, store_const, store_reg, to_alu, jump, jump, to_alu },
#endif
};

#if !IN_THUMB2
/* The targets of jumps back, marked. `any`: not 0 if there are some by a constant, whose offset does not say where they go. */
static void mark_back(uint16_t *slot, const uint8_t *p, uint32_t count, uint32_t any)
{
    (void)any;
    for (; count != 0; count--, slot++, p += 8) {
        const uint32_t w = lpn_get32(p);
        if ((w & 7) == 5 || (w & 7) == 6) {
            const int32_t slots = 1 + (OP(w) == 0x06 || OP(w) == 0x85 ? (int32_t)lpn_get32(p + 4) : OFFSET(w));
            if (slots <= 0) {
                slot[slots] = TARGET;
            }
        }
    }
}
#endif

/* What is needed before the first instruction can be written: where functions begin, and where jumps go that come later, registers that
 * change, who is called. */
static void survey(emitter *e, const lpn_program *program)
{
    const uint32_t marks = program->marks, count = program->count;
    uint16_t *slot = e->map;
    lpn_zero((uint8_t *)slot, 2 * count);
    slot[count] = END;
    for (uint32_t i = 0; i < program->funcs; i++) {
        slot[program->func[i].entry] = TARGET;
    }
    if ((marks & LPN_MARK_BACK) != 0) {
        mark_back(slot, program->text, count, marks & LPN_MARK_FAR);
    }
    e->used = marks & 0x3f0;
    e->helpers = (marks & LPN_MARK_HELPER) != 0;
    e->native = WIDE(e) || (marks & (LPN_MARK_HELPER | LPN_MARK_ATOMIC)) != 0;
    if (e->native) {
        e->used |= 1u << W0 | 1u << BLOCK;
    }
}

/* A slot that a function begins with. */
uint16_t *begin(uint16_t *at, emitter *e, uint16_t *slot, const uint8_t *p)
{
    const lpn_program *const program = e->job->program;
    if (slot != e->map) {
        const unsigned before = p[-8];
        if (before != 0x95 && before != 0x05 && before != 0x06) {      /* it goes on into this one */
            return refuse(e, LPN_E_JUMP);
        }
        e->func++;
    }
    const uint32_t f = e->func;
    e->first = slot;
    e->slots = (f + 1u < program->funcs ? program->func[f + 1].entry : program->count) - program->func[f].entry;
    e->last = slot + e->slots;
    at = arrive(at, e, e->func_at[f] & ~TARGET);        /* calls arrive before the prologue, jumps behind it */
    e->func_at[f] = (uint16_t)offset_of(e, at);
    at = prologue(at, e);
    e->told = NULL;
    return arrive(at, e, *slot & ~TARGET);
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
