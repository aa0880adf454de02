/* SPDX-License-Identifier: LGPL-2.1-only */
/* Execution, instruction by instruction (RFC 9669), with what must hold at each. See machine.h. */
#include "machine.h"

#include <stdlib.h>
#include <string.h>

#include "inside.h"

static const char *const names[] = {
#define X(id, text) text,
    IT_FAULTS(X)
#undef X
};

const char *it_fault_name(uint32_t fault)
{
    return fault < sizeof names / sizeof *names ? names[fault] : "?";
}

it_machine *it_new(void)
{
    return calloc(1, sizeof(it_machine));
}

void it_free(it_machine *m)
{
    free(m);
}

void it_packet(it_machine *m, const uint8_t *bytes, uint32_t size, uint32_t window)
{
    memset(m->packet, 0, size + window);
    memcpy(m->packet, bytes, size);
    m->length = size;
}

uint8_t *it_region_bytes(it_machine *m, uint32_t region)
{
    return m->region[region];
}

uint8_t *it_packet_bytes(it_machine *m)
{
    return m->packet;
}

int it_fail(it_machine *m, enum it_fault fault, uint32_t reg, uint64_t got, uint64_t other)
{
    m->out->fault = fault;
    m->out->slot = m->pc;
    m->out->node = m->node;
    m->out->reg = reg;
    m->out->got = got;
    m->out->other = other;
    return 1;
}

/* Regions lie far apart; the low halves of their addresses are anywhere, so that 32-bit arithmetic wraps. */
static void lay_out(it_machine *m, const it_program *p, uint64_t seed)
{
    for (uint32_t i = 0; i < IT_REGIONS + IT_FRAMES; i++) {
        uint32_t align = i == IT_PKT ? 1 : i >= IT_REGIONS ? p->align : p->regions[i].align;
        uint64_t low = it_random(&seed);
        low = low & 1 ? low >> 32 : 0xFFFFFFFFull - (low >> 32 & 0x3FF);
        m->base[i] = ((uint64_t)(i + 1) << 40) + (low & ~(uint64_t)(align - 1));
        if (i == IT_PKT)
            m->base[i] |= 1;            /* nothing may count on its alignment */
    }
}

static void new_frame(it_machine *m)
{
    struct frame *f = &m->frame[m->depth];
    for (uint32_t i = 0; i < 512; i += 8)
        it_put(f->bytes + i, m->rubbish[m->depth] * (i + 1), 8);
    memset(f->shadow, 0, sizeof f->shadow);
    memset(f->start, 0, sizeof f->start);
    f->deepest = 0;
    m->reg[10] = m->base[IT_STACK + m->depth] + 512;
    m->kind[10] = IT_PTR;
    m->region_of[10] = (uint8_t)(IT_STACK + m->depth);
}

/* What the functions that are running have used of the stack, when the last one is left. */
static void add_up(it_machine *m)
{
    uint32_t sum = 0;
    for (uint32_t d = 0; d <= m->depth; d++)
        sum += m->frame[d].deepest;
    if (sum > m->stack)
        m->stack = sum;
}

static int leave(it_machine *m)
{
    struct frame *f = &m->frame[m->depth];
    uint32_t gone = IT_STACK + m->depth;
    add_up(m);
    m->depth--;
    for (int i = 0; i < 4; i++) {
        m->reg[6 + i] = f->saved[i];
        m->kind[6 + i] = f->saved_kind[i];
        m->region_of[6 + i] = f->saved_region[i];
    }
    for (int i = 1; i <= 5; i++)
        m->kind[i] = IT_NONE;
    if (m->kind[0] != IT_NUM && m->region_of[0] == gone)
        m->kind[0] = IT_NONE;
    for (uint32_t d = 0; d <= m->depth; d++)
        for (uint32_t i = 0; i < 512; i++)
            if (m->frame[d].start[i] && m->frame[d].of[i] == gone)
                return it_fail(m, F_STALE_FRAME, 0, i, d);
    m->reg[10] = m->base[IT_STACK + m->depth] + 512;
    m->region_of[10] = (uint8_t)(IT_STACK + m->depth);
    m->next = f->back;
    return 0;
}

static int enter(it_machine *m, int32_t distance)
{
    if (m->depth + 2 > IT_FRAMES)
        return it_fail(m, F_DEPTH, 0, m->depth, 0);
    struct frame *f = &m->frame[++m->depth];
    f->back = m->pc + 1;
    for (int i = 0; i < 4; i++) {
        f->saved[i] = m->reg[6 + i];
        f->saved_kind[i] = m->kind[6 + i];
        f->saved_region[i] = m->region_of[6 + i];
        m->kind[6 + i] = IT_NONE;
    }
    m->kind[0] = IT_NONE;
    new_frame(m);
    m->next = (uint32_t)((int64_t)m->pc + 1 + distance);
    return 0;
}

static int ended(it_machine *m)
{
    const it_program *p = m->p;
    it_result *out = m->out;
    if (m->kind[0] != IT_NUM)
        return it_fail(m, m->kind[0] ? F_LEAK : F_UNINITIALISED, 0, 0, 0);
    add_up(m);
    out->r0 = m->reg[0];
    out->stack = m->stack;
    out->clean32 = (uint32_t)m->clean;
    if (!p->claims)
        return 0;
    if (out->stack > p->stack_used)
        return it_fail(m, F_CLAIM_STACK, 10, out->stack, p->stack_used);
    if (out->branches > p->max_branches)
        return it_fail(m, F_CLAIM_BRANCHES, 0, out->branches, p->max_branches);
    if (out->cost > p->most_cost)
        return it_fail(m, F_CLAIM_MOST, 0, out->cost, p->most_cost);
    if (out->cost < p->least_cost)
        return it_fail(m, F_CLAIM_LEAST, 0, out->cost, p->least_cost);
    if (p->clean32 && !m->clean)
        return it_fail(m, F_CLAIM_CLEAN, 0, 0, 0);
    return 0;
}

int it_run(it_machine *m, const it_program *p, uint64_t place, uint64_t seed, it_result *out)
{
    m->p = p;
    m->out = out;
    memset(out, 0, sizeof *out);
    memset(m->kind, 0, sizeof m->kind);
    lay_out(m, p, place);
    m->random = seed;
    m->depth = 0;
    m->pc = m->node = m->step = m->stack = 0;
    m->clean = 1;
    new_frame(m);
    m->reg[1] = m->base[IT_CTX];
    m->kind[1] = IT_PTR;
    m->region_of[1] = IT_CTX;
    if (p->claims && it_enter_node(m, 0, UINT32_MAX))
        return 1;
    for (;;) {
        if (m->pc >= p->slots)
            return it_fail(m, F_LEFT_TEXT, 0, m->pc, p->slots);
        const uint8_t *raw = p->text + 8 * (size_t)m->pc;
        uint8_t op = raw[0];
        uint32_t dst = raw[1] & 15, src = raw[1] >> 4, size = it_size(op);
        int16_t off = (int16_t)it_get(raw + 2, 2);
        int32_t imm = (int32_t)(uint32_t)it_get(raw + 4, 4);
        if (p->claims && it_before(m))
            return 1;
        if (p->covered)
            p->covered[m->pc] = 1;
        if (++out->insns > p->max_insns)
            return it_fail(m, F_CLAIM_INSNS, 0, out->insns, p->max_insns);
        int failed = 0, taken = 0;
        m->next = m->pc + 1;
        switch (op & 7) {
        case 4: case 7:
            failed = it_arithmetic(m, op, dst, src, off, imm);
            break;
        case 0:
            if (op != 0x18 || m->pc + 1 >= p->slots)
                return it_fail(m, F_OPCODE, 0, op, 0);
            m->next = m->pc + 2;
            if (src)
                failed = it_set(m, dst, m->base[src == 8 ? 5 : 6] + (uint32_t)imm, IT_PTR, src == 8 ? 5 : 6);
            else
                failed = it_set(m, dst, (uint32_t)imm | it_get(raw + 12, 4) << 32, IT_NUM, 0);
            break;
        case 1:
            failed = it_load(m, dst, src, off, size, (op & 0xE0) == 0x80);
            break;
        case 2:
            failed = it_store(m, dst, off, size, (uint64_t)(int64_t)imm, IT_NUM, 0);
            break;
        case 3:
            if ((op & 0xE0) == 0xC0)
                failed = m->kind[src] == IT_NONE ? it_fail(m, F_UNINITIALISED, src, 0, 0) : it_atomic(m, dst, src, off, size, imm);
            else
                failed = m->kind[src] == IT_NONE ? it_fail(m, F_UNINITIALISED, src, 0, 0)
                                                 : it_store(m, dst, off, size, m->reg[src], m->kind[src], m->region_of[src]);
            break;
        default:
            if (op == 0x05 || op == 0x06) {
                taken = 1;
                m->next = (uint32_t)((int64_t)m->pc + 1 + (op == 0x05 ? off : imm));
            } else if (op == 0x95) {
                if (!m->depth) {
                    if (p->claims)
                        out->cost += p->step_cost[m->step];
                    return ended(m);
                }
                failed = leave(m);
            } else if (op == 0x85) {
                failed = src == 1 ? enter(m, imm) : it_call_helper(m, (uint32_t)imm);
            } else {
                taken = it_branch(m, op, dst, src, imm);
                if (taken < 0)
                    return 1;
                if (taken)
                    m->next = (uint32_t)((int64_t)m->pc + 1 + off);
            }
        }
        if (failed)
            return 1;
        out->branches += (uint64_t)taken;
        if (p->claims && it_after(m, taken && op != 0x05 && op != 0x06))
            return 1;
        m->pc = m->next;
    }
}
