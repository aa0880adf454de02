/* SPDX-License-Identifier: LGPL-2.1-only */
/* Helpers: what they are given, and what they leave. */
#include <string.h>

#include "inside.h"
#include "../engine/lpn_helpers.h"

static void change_packet(it_machine *m)
{
    uint64_t seed = m->random ? m->random : 1;
    m->length = (uint32_t)(it_random(&seed) % (m->p->max_packet < 256 ? m->p->max_packet + 1 : 256));
    for (uint32_t i = 0; i < m->length + m->p->window; i += 8)
        it_put(m->packet + i, it_random(&seed), 8);
    m->random = seed;
    m->base[IT_PKT] += 0x5000;
    for (int i = 0; i < 10; i++)
        if (m->kind[i] != IT_NUM && m->region_of[i] == IT_PKT)
            m->kind[i] = IT_NONE;
    for (uint32_t d = 0; d <= m->depth; d++) {
        struct frame *f = &m->frame[d];
        for (uint32_t i = 0; i < 512; i++)
            if (f->start[i] && f->of[i] == IT_PKT) {
                memset(f->shadow + i, IT_NONE, f->start[i]);
                f->start[i] = 0;
            }
        if (d)
            for (int i = 0; i < 4; i++)
                if (f->saved_kind[i] != IT_NUM && f->saved_region[i] == IT_PKT)
                    f->saved_kind[i] = IT_NONE;
    }
}

int it_call_helper(it_machine *m, uint32_t number)
{
    const it_helper *h = NULL;
    for (uint32_t i = 0; i < m->p->n_helpers && !h; i++)
        if (m->p->helpers[i].number == number)
            h = &m->p->helpers[i];
    if (h == NULL)
        return it_fail(m, F_HELPER, 0, number, 0);
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t r = 1; r <= 5; r++) {
            uint8_t arg = h->args[r - 1];
            if (arg == IT_ARG_NONE)
                continue;
            if (m->kind[r] == IT_NONE)
                return it_fail(m, F_UNINITIALISED, r, 0, 0);
            if (arg <= IT_ARG_CONST) {
                if (m->kind[r] != IT_NUM)
                    return it_fail(m, F_LEAK, r, number, 0);
                continue;
            }
            if (arg == IT_ARG_REGION) {
                if (m->kind[r] != IT_PTR || m->reg[r] != m->base[h->region])
                    return it_fail(m, F_HELPER, r, number, 0);
                continue;
            }
            uint64_t size = h->sizes[r - 1] ? h->sizes[r - 1] : r == 2 ? LPN_SIZE2((uint32_t)m->reg[1]) : LPN_SIZE3((uint32_t)m->reg[1]);
            if (!size || pass != (arg == IT_ARG_WRITE))
                continue;
            uint32_t at;
            uint8_t *bytes = it_access(m, r, 0, size, arg == IT_ARG_WRITE, 0, &at);
            if (bytes == NULL)
                return 1;
            if (m->region_of[r] == IT_CTX)
                return it_fail(m, F_CONTEXT, r, at, size);
            struct frame *f = m->region_of[r] >= IT_STACK ? it_frame_of(m, r) : NULL;
            if (arg == IT_ARG_READ) {
                for (uint64_t i = at; f && i < at + size; i++)
                    if (f->shadow[i] != IT_NUM)
                        return it_fail(m, F_STACK_UNINITIALISED, r, i, size);
                continue;
            }
            for (uint64_t i = 0; i < size; i++)
                bytes[i] = m->random ? (uint8_t)it_random(&m->random) : (uint8_t)i;
            if (f) {
                it_forget(f, at, size);
                memset(f->shadow + at, IT_NUM, size);
            }
        }
    if (h->changes_packet)
        change_packet(m);
    for (int i = 1; i <= 5; i++)
        m->kind[i] = IT_NONE;
    if (h->ret == 0)
        return it_set(m, 0, 0, IT_NUM, 0);
    uint64_t value = m->random ? it_random(&m->random) : number == 1 ? 1 : 0x89ABCDEF;
    if (h->ret == 3)
        return value & 1 ? it_set(m, 0, m->base[h->region], IT_PTR, h->region) : it_set(m, 0, 0, IT_NUM, 0);
    if (m->random && value >> 60 < 6)
        value &= 0xFF;
    return it_set(m, 0, h->ret == 1 ? value & 0xFFFFFFFF : value, IT_NUM, 0);
}
