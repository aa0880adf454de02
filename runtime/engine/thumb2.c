/* SPDX-License-Identifier: LGPL-2.1-only */
/* eBPF to Thumb-2: ARMv7-M Architecture Reference Manual (DDI 0403), chapter A7. One instruction at a time, forward; where the
 * next one completes it (a move before an operation, a shift before a mask, a load before a swap) both become one.
 * Branches are patched when all code is there. */
#include "thumb2_branch.h"
#include "thumb2_memory.h"

/* ------------------------------------------------------------------------------ functions and calls */

/* Low registers go to those that are used most: their instructions are half as long. A program that calls helpers has
 * their arguments where they are expected, and what calls keep in registers that calls keep. */
static void assign_registers(emitter *e, const uint16_t *uses)
{
    static const uint8_t calling[10] = { 0, 1, 2, 3, 8, 9, 4, 5, 6, 7 };
    uint32_t taken = 0;
    for (unsigned k = 0; k < 10; k++) {
        unsigned best = NONE;
        for (unsigned r = 0; r < 10; r++) {
            if (!(taken >> r & 1) && (best == NONE || uses[r] > uses[best])) {
                best = r;
            }
        }
        taken |= 1u << best;
        e->reg[best] = (uint8_t)k;
    }
    if (e->reg[1] != 0 && e->reg[0] < 8) {      /* r0 is where the result goes */
        for (unsigned r = 1; r < 10; r++) {
            if (e->reg[r] == 0) {
                e->reg[r] = e->reg[0];
            }
        }
        e->reg[0] = 0;
    }
    e->reg[10] = NONE;
    for (unsigned r = 0; r < 10; r++) {
        if (e->helpers) {
            e->reg[r] = calling[r];
        }
        uint32_t bit = uses[r] != 0 ? 1u << e->reg[r] : 0;
        e->used |= bit & ~15u;
        e->kept |= r >= 6 ? bit : 0;
    }
}

/* What lies on a function's stack, from sp up: arguments of helpers (5 words); the block (11 words), or what
 * another function keeps of it (4 words); its eBPF frame. */
static void prologue(emitter *e)
{
    bool first = e->func == 0;
    uint32_t args = e->helpers ? 20 : 0, frame = e->job->program->func[e->func].frame;
    e->base = args + (e->wide ? (first ? 44 : 16) : 0);
    e->saved = first ? e->used : e->kept;
    uint32_t room = e->base + frame, pushed = 4;
    for (uint32_t m = e->saved; m != 0; m &= m - 1) {
        pushed += 4;
    }
    if (e->native && (room + pushed) % 8 != 0) {  /* AAPCS: sp is a multiple of 8 in a call */
        room += 4;
        e->base += 4;
    }
    if (e->saved < 0x100) {
        half(e, 0xb500 | e->saved);
    } else {
        word(e, 0xe92d, e->saved | 1u << LR);
    }
    add_const(e, SP, SP, 0 - room);
    e->zero = 0;
    if (!first) {
        for (unsigned r = 6; e->wide && r < 10; r++) {
            get_upper(e, T0, r);
            access_mem(e, STORE, 4, T0, SP, (int32_t)(args + 4 * (r - 6)));
        }
        return;
    }
    if (e->wide) {
        add_const(e, BLOCK, SP, args);
        access_mem(e, STORE, 4, 1, BLOCK, NATIVE_AT);
        access_mem(e, STORE, 4, BLOCK, 1, UPPER_AT);
        load_const(e, T0, 0);
        put_upper(e, 1, T0);
    } else if (e->native) {
        move(e, BLOCK, 1);
    }
    if (e->context) {
        move(e, e->reg[1], 0);
    }
}

static void epilogue(emitter *e)
{
    uint32_t room = e->base + e->job->program->func[e->func].frame;
    if (e->func == 0) {
        move(e, 0, e->reg[0]);
    }
    for (unsigned r = 6; e->func != 0 && e->wide && r < 10; r++) {
        access_mem(e, LOAD, 4, T0, SP, (int32_t)((e->helpers ? 20 : 0) + 4 * (r - 6)));
        access_mem(e, STORE, 4, T0, BLOCK, 4 * (int32_t)r);
    }
    add_const(e, SP, SP, room);
    if (e->saved < 0x100) {
        half(e, 0xbd00 | e->saved);
    } else {
        word(e, 0xe8bd, e->saved | 1u << PC);
    }
}

/* Arguments go to memory, in the order of their registers. */
static void call_helper(emitter *e, uint32_t number)
{
    for (unsigned r = 1; r <= 5; r++) {
        access_mem(e, STORE, 4, e->reg[r], SP, 4 * (int32_t)(r - 1));
    }
    if (e->wide) {
        access_mem(e, LOAD, 4, 0, BLOCK, NATIVE_AT);
    } else {
        move(e, 0, BLOCK);
    }
    load_const(e, 1, number);
    move(e, 2, SP);
    call_native(e, HELPER_AT);
    clear_upper(e, 0);
}

/* ------------------------------------------------------------------------------------ the one pass */

/* Which register the flags tell about (zero or not) after one more instruction of the program, whose code begins at `from`. */
static unsigned flags_after(const emitter *e, const uint16_t *from)
{
    uint32_t h = from[0], d = h & 7, top = h >> 8 & 7;
    if (e->at == from) {
        return e->flags;
    }
    if (e->at - from == 2 && (h & 0xf810) == 0xf010 && !(from[1] & 0x8000)) {   /* modified immediate, S */
        return from[1] >> 8 & 15;
    }
    if (e->at - from != 1) {
        return NONE;
    }
    switch (h >> 12) {
    case 0: case 1:
        return d;
    case 2: case 3:
        return h >> 11 == 5 ? NONE : top;               /* cmp */
    case 4:
        if (h >> 10 == 0x10) {                          /* tst, cmp, cmn */
            return (h & 0x03c0) == 0x0200 || (h & 0x0380) == 0x0280 ? NONE : d;
        }
        d |= h >> 4 & 8;
        return h >> 8 == 0x45 || d == e->flags ? NONE : e->flags;
    case 6: case 7: case 8: case 9:
        if (!(h & 0x0800)) {
            return e->flags;                            /* a store */
        }
        d = h >> 12 == 9 ? top : d;
        return d == e->flags ? NONE : e->flags;
    default:
        return NONE;
    }
}

static int load_address(emitter *e, const insn *i)
{
    insn second = fetch(e, e->pc + 1);
    unsigned kind = i->op == 0xd8 ? 8 : i->op == 0xb8 ? 9 : i->src;
    uint32_t low = (uint32_t)i->imm, high = kind == 0 ? (uint32_t)second.imm : 0;
    if (kind != 0) {
        low += kind == 8 ? e->job->rodata : e->job->data;
    }
    load_const(e, e->reg[i->dst], low);
    if (e->wide && high != 0) {
        load_const(e, T0, high);
        put_upper(e, i->dst, T0);
    } else {
        clear_upper(e, i->dst);
    }
    return LPN_OK;
}

/* The instruction at `pc`; `*more`: slots beyond it that are done too. */
static int instruction(emitter *e, const insn *i, unsigned *more)
{
    int error = LPN_OK;
    switch (i->op & 7) {
    case 0:
        *more = 1;
        return load_address(e, i);
    case 1:
        *more = load(e, i);
        return LPN_OK;
    case 2:
        store(e, i);
        return LPN_OK;
    case 3:
        if ((i->op & 0xe0) == 0xc0) {
            atomic(e, i);
        } else {
            store(e, i);
        }
        return LPN_OK;
    case 4: case 7:
        *more = fuse(e, i, &error);
        if (*more != 0) {
            return error;
        }
        if ((i->op & 0xf0) == 0xd0) {
            byte_swap(e, i);
        } else if ((i->op & 0xf0) == 0xb0) {
            move_insn(e, i);
        } else if (e->wide && (i->op & 7) == 7) {
            alu_wide(e, i);
        } else {
            error = alu_low(e, i, i->op & 0xf0, e->reg[i->dst]);
            clear_upper(e, i->dst);
        }
        return error;
    default:
        if (i->op == 0x95) {
            epilogue(e);
        } else if (i->op != 0x85) {
            return branch(e, i, more);
        } else if (i->src == 0) {
            call_helper(e, (uint32_t)i->imm);
        } else {
            word(e, SHORT, LONG);       /* bl, patched */
            e->zero = 0;
        }
        return LPN_OK;
    }
}

/* What is needed before the first instruction can be written: jump targets, which registers matter, who is called. */
static void survey(emitter *e, uint16_t *uses)
{
    uint16_t *map = e->job->map;
    for (uint32_t pc = 0; pc <= e->count; pc++) {
        map[pc] = 0;
    }
    for (uint32_t pc = 0; pc < e->count; pc++) {
        insn i = fetch(e, pc);
        unsigned class = i.op & 7;
        uses[i.dst]++;
        uses[i.src & 15]++;
        if (i.op == 0x85) {
            e->helpers = e->helpers || i.src == 0;
        } else if ((class == 5 || class == 6) && i.op != 0x95) {
            map[jump_target(pc, &i)] |= TARGET;
        }
        e->native = e->native || (class == 3 && (i.op & 0xe0) == 0xc0);
        pc += class == 0;
    }
    e->native = e->native || e->helpers || e->wide;
    e->context = uses[1] != 0;
    assign_registers(e, uses);
    if (e->native) {
        e->used |= 1u << W0 | 1u << BLOCK;
    }
}

static int emit(emitter *e)
{
    const lpn_program *p = e->job->program;
    bool ended = false;
    for (e->pc = 0; e->pc < e->count;) {
        if (e->pc == 0 || (e->func + 1 < p->funcs && p->func[e->func + 1].entry == e->pc)) {
            if (e->pc != 0) {
                e->func++;
                if (!ended) {
                    return LPN_E_JUMP;
                }
            }
            e->func_at[e->func] = (uint16_t)(e->at - e->job->code);
            prologue(e);
        }
        if (is_target(e, e->pc)) {
            e->zero = 0;
            e->flags = NONE;
        }
        uint32_t here = (uint32_t)(e->at - e->job->code);
        if (here >= TARGET) {
            return LPN_E_MEMORY;
        }
        e->job->map[e->pc] = (uint16_t)here;
        if (e->pc == e->skip && e->skip != 0) {
            e->pc++;
            continue;
        }
        insn i = fetch(e, e->pc);
        unsigned more = 0;
        const uint16_t *from = e->at;
        int error = instruction(e, &i, &more);
        e->flags = e->full ? NONE : flags_after(e, from);
        if (error != LPN_OK) {
            return error;
        }
        ended = i.op == 0x95 || i.op == 0x05 || i.op == 0x06;
        for (e->pc++; more > 0; more--) {
            e->job->map[e->pc++] = (uint16_t)(e->at - e->job->code);
        }
    }
    e->job->map[e->count] = (uint16_t)(e->at - e->job->code);
    return e->full ? LPN_E_MEMORY : LPN_OK;
}

int lpn_thumb2_translate(const lpn_thumb2 *job, uint32_t *used)
{
    /* Branches are first written as if code were as dense as it usually is. Where it is not, once more with less trust. */
    static const uint8_t reaches[] = { 60, 30, 12, 0 };
    for (unsigned k = 0; k < sizeof reaches; k++) {
        emitter e = { .job = job, .at = job->code, .end = job->code + job->size / 2, .count = job->program->count,
                      .wide = !job->clean32, .reach = reaches[k], .flags = NONE };
        uint16_t uses[16] = { 0 };
        survey(&e, uses);
        int error = emit(&e);
        if (error != LPN_OK) {
            *used = e.pc;
            return error;
        }
        if (patch(&e)) {
            *used = 2 * (uint32_t)(e.at - job->code);
            return LPN_OK;
        }
    }
    return LPN_E_JUMP;                  /* out of reach of a branch of 4 bytes: no image is that long */
}
