/* SPDX-License-Identifier: LGPL-2.1-only */
/* Runs over random memory that likes the numbers of the program: its constants, their neighbours, small ones, all ones. */
#include <string.h>

#include "inside.h"

/* One of `n` by 32 random bits: dividing would take longer than all the rest. */
static uint32_t one_of(uint64_t random, uint32_t n)
{
    return (uint32_t)((uint64_t)(uint32_t)random * n >> 32);
}

static uint64_t pick(const it_program *p, uint64_t *rng)
{
    uint64_t r = it_random(rng), v;
    switch (r & 7) {
    case 0: return r >> 56;
    case 1: return r >> 61;
    case 2: return r >> 32;
    case 3: return ~(r >> 60);
    case 4: return r;
    default:
        v = p->n_words ? p->words[one_of(r >> 8, p->n_words)] : r >> 48;
        return v + (r >> 40 & 3) - 1;
    }
}

static void fill(const it_program *p, uint8_t *bytes, uint32_t size, uint64_t *rng)
{
    uint64_t how = it_random(rng);
    switch (how & 7) {
    case 0:
        memset(bytes, 0, size);
        break;
    case 1:
        memset(bytes, 0xFF, size);
        break;
    case 2: case 3:
        for (uint32_t i = 0; i < size; i += 4)       /* to the end: a run left its own octets there */
            it_put(bytes + i, pick(p, rng), size - i < 4 ? size - i : 4);
        break;
    default:
        for (uint32_t i = 0; i < size; i += 8) {
            uint64_t r = it_random(rng);
            if (how & 8)
                r &= it_random(rng) & 0x0F0F0F0F0F0F0F0Full;
            memcpy(bytes + i, &r, size - i < 8 ? size - i : 8);
        }
    }
    for (uint32_t n = size < 64 ? 6 : 20; size >= 8 && n; n--) {
        uint64_t r = it_random(rng), v = pick(p, rng);
        uint32_t at = one_of(r >> 8, size - 7);
        if (r & 1)
            at = one_of(r >> 8, size < 64 ? size - 7 : 57);
        it_put(bytes + at, v, 1u << (r >> 4 & 3));
    }
}

static uint32_t some_length(const it_program *p, uint64_t *rng)
{
    uint64_t r = it_random(rng), n;
    switch (r & 7) {
    case 0: n = r >> 62; break;
    case 1: n = r >> 59; break;
    case 2: n = r >> 57; break;
    case 3: n = (r >> 63 ? p->max_packet - (r >> 61 & 1) : r >> 53); break;
    case 4: n = r >> 56; break;
    default: n = (pick(p, rng) + (r >> 8 & 1)) & 0xFFF; n = n > 300 ? r >> 58 : n; break;
    }
    return (uint32_t)(n > p->max_packet ? p->max_packet : n);
}

static void make_input(it_machine *m, const it_program *p, uint64_t *rng)
{
    m->length = some_length(p, rng);
    fill(p, m->packet, m->length + p->window, rng);
    for (uint32_t i = 2; i < IT_REGIONS; i++)
        if (p->regions[i].used && p->regions[i].holds)
            memcpy(m->region[i], p->regions[i].holds, p->regions[i].size);
        else if (p->regions[i].used)
            fill(p, m->region[i], p->regions[i].size, rng);
    for (uint32_t i = 0; i < p->n_fields; i++) {
        const it_field *f = &p->fields[i];
        uint64_t v = pick(p, rng);
        if (f->max && v > f->max)
            v %= (uint64_t)f->max + 1;
        if (!f->kind)
            it_put(m->region[IT_CTX] + f->offset, v, f->width);
    }
    for (uint32_t d = 0; d < IT_FRAMES; d++)
        m->rubbish[d] = it_random(rng);
}

/* A digest of everything a run leaves that others may see. */
static uint64_t visible(const it_machine *m, const it_program *p)
{
    uint64_t h = m->out->r0 * 31 + m->out->insns;
#define EAT(bytes, size) do { for (uint32_t i_ = 0; i_ < (size); i_++) h = (h ^ (bytes)[i_]) * 0x100000001B3ull; } while (0)
    EAT(m->packet, m->length);
    for (uint32_t i = 2; i < IT_REGIONS; i++)
        if (p->regions[i].used)
            EAT(m->region[i], p->regions[i].size);
    EAT(m->region[IT_CTX], p->ctx_size);
#undef EAT
    return h;
}

int it_batch(it_machine *m, const it_program *p, uint64_t seed, uint64_t runs, it_result *out)
{
    uint64_t insns = 0;
    it_result one;
    for (uint64_t run = 0; run < runs; run++) {
        uint64_t rng = seed + run * 0xD1342543DE82EF95ull;
        uint64_t start = rng;
        make_input(m, p, &rng);
        uint64_t helpers = it_random(&rng) | 1;
        int failed = it_run(m, p, it_random(&rng), helpers, &one);
        insns += one.insns;
        if (!failed && !(run & 3)) {
            m->out = &one;
            uint64_t first = visible(m, p), again = start;
            make_input(m, p, &again);
            failed = it_run(m, p, it_random(&rng), helpers, &one);
            if (!failed && visible(m, p) != first)
                failed = it_fail(m, F_ADDRESSES_VISIBLE, 0, one.r0, 0);
        }
        if (failed) {
            *out = one;
            out->run = run;
            return 1;
        }
    }
    memset(out, 0, sizeof *out);
    out->insns = insns;
    out->run = runs;
    return 0;
}
