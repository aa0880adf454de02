/* SPDX-License-Identifier: LGPL-2.1-only */
/* Is what the verifier claimed true here? Blocks, edges, loops, ranges of registers, relations, stack bytes, cost. */
#include <string.h>

#include "inside.h"

__extension__ typedef __int128 wide;    /* differences of 64-bit numbers */

static int within(const it_num *n, uint64_t v)
{
    uint32_t low = (uint32_t)v;
    return (v & ~n->mask) == n->bits && n->ulo <= v && v <= n->uhi && n->slo <= (int64_t)v && (int64_t)v <= n->shi
           && n->ulo32 <= low && low <= n->uhi32 && n->slo32 <= (int32_t)low && (int32_t)low <= n->shi32;
}

/* The number a claim of this kind is about; 0 and a fault if the place holds another kind. */
static int offset_of(it_machine *m, uint8_t claimed, uint8_t region, uint64_t v, uint8_t kind, uint8_t of, uint32_t place, uint64_t *out)
{
    *out = v;
    if (claimed == IT_NUM)
        return kind == IT_NUM || !it_fail(m, F_CLAIM_KIND, place, kind, claimed);
    if (claimed == IT_NULLABLE) {
        *out = 0;
        return (kind == IT_NUM && !v) || (kind == IT_PTR && of == region && v == m->base[of])
               || !it_fail(m, F_CLAIM_KIND, place, kind, claimed);
    }
    int whole = claimed == IT_HALF && kind == IT_PTR;       /* its lower half is that of a pointer, too */
    if ((kind != claimed && !whole) || of != region)
        return !it_fail(m, F_CLAIM_KIND, place, kind, claimed);
    uint64_t base = m->base[region] + (region >= IT_STACK ? 512 : 0);
    *out = claimed == IT_PTR ? v - base : claimed == IT_COMPLEMENT ? ~v - base : it_extend((claimed == IT_LOW_COMPLEMENT ? ~v : v) - base, 32);
    return 1;
}

/* The number a sum stands for; 0 if it is not known. */
static int sum_of(const it_machine *m, int64_t constant, uint32_t part, uint32_t parts, wide *out)
{
    *out = constant;
    for (uint32_t i = part; i < part + parts; i++) {
        const it_part *t = &m->p->parts[i];
        if (!m->known[t->sym])
            return 0;
        *out += (wide)t->factor * m->sym[t->sym];
    }
    return 1;
}

static int filled(it_machine *m, const it_span *s)
{
    wide first, end;
    if (!sum_of(m, s->first, s->part, s->parts, &first) || !sum_of(m, s->end, s->end_part, s->end_parts, &end))
        return 0;
    for (wide i = first; i < end; i++)
        if (i < -512 || i >= 0 || m->frame[s->frame].shadow[(uint32_t)(i + 512)] != IT_NUM)
            return it_fail(m, F_CLAIM_STACK_WRITTEN, s->frame, (uint64_t)i, (uint64_t)end);
    return 0;
}

static int relations(it_machine *m, const it_relations *r)
{
    const it_program *p = m->p;
    uint32_t syms = 2;
    m->sym[0] = 0;
    m->sym[1] = m->length;
    m->known[0] = m->known[1] = 1;
    for (uint32_t i = r->var; i < r->var + r->vars; i++)
        if ((uint32_t)p->vars[i].sym >= syms)
            syms = (uint32_t)p->vars[i].sym + 1;
    memset(m->known + 2, 0, syms - 2);
    for (uint32_t i = r->place; i < r->place + r->places; i++) {
        const it_place *c = &p->places[i];
        uint64_t v, x;
        uint8_t kind, of;
        if (c->where < 1000) {
            v = m->reg[c->where], kind = m->kind[c->where], of = m->region_of[c->where];
        } else {
            struct frame *f = &m->frame[c->where / 1000 - 1];
            uint32_t k = (uint32_t)c->where % 1000;
            if (k < 4) {
                v = f->saved[k], kind = f->saved_kind[k], of = f->saved_region[k];
            } else {
                k -= 88;                /* 600 + off, and 512 + off is the byte */
                v = it_get(f->bytes + k, c->size), kind = f->shadow[k], of = f->of[k];
                if (kind != IT_NUM && f->start[k] != c->size)
                    kind = IT_NONE;
                for (uint32_t b = k; kind == IT_NUM && b < k + c->size; b++)
                    if (f->shadow[b] != IT_NUM)
                        kind = f->shadow[b];
            }
        }
        if (!offset_of(m, c->kind, c->region, v, kind, of, (uint32_t)c->where, &x))
            return 1;
        if (c->kind == IT_NULLABLE)
            continue;
        x -= (uint64_t)c->off;
        if (!m->known[c->sym]) {
            m->known[c->sym] = 1;
            m->sym[c->sym] = (int64_t)x;
        } else if ((uint64_t)m->sym[c->sym] != x)
            return it_fail(m, F_CLAIM_RELATION, (uint32_t)c->where, x, (uint64_t)m->sym[c->sym]);
    }
    for (uint32_t i = r->var; i < r->var + r->vars; i++)
        if (m->known[p->vars[i].sym] && !within(&p->nums[p->vars[i].num], (uint64_t)m->sym[p->vars[i].sym]))
            return it_fail(m, F_CLAIM_NUMBER, (uint32_t)p->vars[i].sym, (uint64_t)m->sym[p->vars[i].sym], i);
    for (uint32_t i = r->diff; i < r->diff + r->diffs; i++) {
        const it_diff *d = &p->diffs[i];
        if (!m->known[d->a] || !m->known[d->b])
            continue;
        wide gap = (wide)m->sym[d->b] - m->sym[d->a];
        if ((d->has & 1 && gap < d->lo) || (d->has & 2 && gap > d->hi))
            return it_fail(m, F_CLAIM_RELATION, 100, (uint64_t)gap, i);
    }
    for (uint32_t i = r->def; i < r->def + r->defs; i++) {
        const it_def *d = &p->defs[i];
        if (m->known[d->x] && m->known[d->v] && m->known[d->w]
            && (uint64_t)m->sym[d->x] != (uint64_t)m->sym[d->w] - (uint64_t)m->sym[d->v] + (uint64_t)d->c)
            return it_fail(m, F_CLAIM_RELATION, 101, (uint64_t)m->sym[d->x], i);
    }
    for (uint32_t i = r->stride; i < r->stride + r->strides; i++) {
        const it_stride *s = &p->strides[i];
        if (m->known[s->x] && ((wide)m->sym[s->x] - s->r) % s->m != 0)
            return it_fail(m, F_CLAIM_RELATION, 102, (uint64_t)m->sym[s->x], i);
    }
    for (uint32_t i = r->span; i < r->span + r->spans; i++)
        if (filled(m, &p->spans[i]))
            return 1;
    for (uint32_t d = 0; d < r->frames; d++) {
        const uint8_t *bits = p->written + r->written + 64 * d;
        for (uint32_t octet = 0; octet < 64; octet++)
            for (uint32_t left = bits[octet], i = 8 * octet; left; left >>= 1, i++)
                if (left & 1 && m->frame[d].shadow[i] == IT_NONE)
                    return it_fail(m, F_CLAIM_STACK_WRITTEN, d, i, 0);
    }
    return 0;
}

int it_enter_node(it_machine *m, uint32_t node, uint32_t from)
{
    const it_program *p = m->p;
    const it_node *n = &p->nodes[node];
    m->node = node;
    m->step = n->step;
    if (!n->reachable)
        return it_fail(m, F_CLAIM_UNREACHABLE, 0, node, from);
    if (n->loop >= 0) {
        const it_loop *loop = &p->loops[n->loop];
        int again = from != UINT32_MAX && p->members[loop->member + from];
        m->turns[n->loop] = again ? m->turns[n->loop] + 1 : 1;
        if (m->turns[n->loop] > loop->bound)
            return it_fail(m, F_CLAIM_TURNS, 0, m->turns[n->loop], loop->bound);
    }
    return n->before >= 0 ? relations(m, &p->relations[n->before]) : 0;
}

int it_before(it_machine *m)
{
    const it_program *p = m->p;
    for (uint32_t i = p->check_at[m->step]; i < p->check_at[m->step + 1]; i++) {
        const it_check *c = &p->checks[i];
        uint64_t x;
        if (!offset_of(m, c->kind, c->region, m->reg[c->reg], m->kind[c->reg], m->region_of[c->reg], c->reg, &x))
            return 1;
        if (c->kind != IT_NULLABLE && !within(&p->nums[c->num], x))
            return it_fail(m, F_CLAIM_NUMBER, c->reg, x, c->num);
    }
    const it_node *n = &p->nodes[m->node];
    return m->step + 1 == n->step + n->steps && n->last >= 0 ? relations(m, &p->relations[n->last]) : 0;
}

int it_after(it_machine *m, int taken)
{
    const it_program *p = m->p;
    const it_node *n = &p->nodes[m->node];
    m->out->cost += p->step_cost[m->step];
    if (++m->step < n->step + n->steps)
        return 0;
    uint32_t from = m->node;
    for (uint32_t i = n->succ; i < n->succ + n->succs; i++) {
        const it_succ *s = &p->succs[i];
        if (s->taken != taken || p->nodes[s->node].slot != m->next)
            continue;
        if (!s->live)
            return it_fail(m, F_CLAIM_DEAD, 0, m->next, i - n->succ);
        m->out->cost += s->cost;
        uint32_t pc = m->pc;
        m->pc = m->next;
        if (it_enter_node(m, s->node, from))
            return 1;
        m->pc = pc;
        return 0;
    }
    return it_fail(m, F_CLAIM_EDGE, 0, m->next, 0);
}
