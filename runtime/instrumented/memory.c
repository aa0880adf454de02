/* SPDX-License-Identifier: LGPL-2.1-only */
/* Loads, stores and atomics: what may be accessed, and what stack bytes hold. */
#include <string.h>

#include "inside.h"

uint8_t *it_access(it_machine *m, uint32_t reg, int64_t off, uint64_t size, int write, int align, uint32_t *at)
{
    const it_program *p = m->p;
    if (m->kind[reg] != IT_PTR) {
        it_fail(m, m->kind[reg] == IT_NONE ? F_UNINITIALISED : F_NO_POINTER, reg, m->reg[reg], 0);
        return NULL;
    }
    uint32_t region = m->region_of[reg];
    int64_t o = (int64_t)(m->reg[reg] + (uint64_t)off - m->base[region]);
    uint8_t *bytes = NULL;
    uint64_t room = 0;
    if (region >= IT_STACK) {
        uint32_t depth = region - IT_STACK;
        if (depth > m->depth) {
            it_fail(m, F_STALE_FRAME, reg, depth, m->depth);
            return NULL;
        }
        bytes = m->frame[depth].bytes;
        room = 512;
        if (o >= 0 && o < 512 && (uint32_t)(512 - o) > m->frame[depth].deepest)
            m->frame[depth].deepest = (uint32_t)(512 - o);
    } else if (region == IT_PKT) {
        bytes = m->packet;
        room = m->length + (write ? 0 : p->window);
    } else if (region == IT_CTX) {
        bytes = m->region[IT_CTX];
        room = p->ctx_size;
    } else {
        bytes = m->region[region];
        room = p->regions[region].size;
    }
    if (o < 0 || (uint64_t)o > room || size > room - (uint64_t)o) {
        it_fail(m, write ? F_WRITE_BOUNDS : F_READ_BOUNDS, reg, (uint64_t)o, room);
        return NULL;
    }
    if (write && ((region == IT_PKT && !p->packet_write) || (region > IT_CTX && region < IT_STACK && !p->regions[region].write))) {
        it_fail(m, F_READ_ONLY, reg, region, 0);
        return NULL;
    }
    if (align && size == 8 && p->align8 > 1 && (m->base[region] + (uint64_t)o) % p->align8) {
        it_fail(m, F_ALIGNMENT, reg, (uint64_t)o, region);
        return NULL;
    }
    if (p->claims && !(p->touched[m->pc] >> (region >= IT_STACK ? IT_STACK : region) & 1)) {
        it_fail(m, F_CLAIM_REGION, reg, region, p->touched[m->pc]);
        return NULL;
    }
    if (p->claims && align && (m->base[region] + (uint64_t)o) % p->aligned[m->pc]) {
        it_fail(m, F_CLAIM_ALIGNMENT, reg, (uint64_t)o, p->aligned[m->pc]);
        return NULL;
    }
    *at = (uint32_t)o;
    return bytes + o;
}

void it_forget(struct frame *f, uint32_t at, uint64_t size)
{
    for (uint32_t i = at < 7 ? 0 : at - 7; i < at + size; i++)
        if (f->start[i] && i + f->start[i] > at)
            f->start[i] = 0;
}

static int load_context(it_machine *m, uint32_t dst, uint32_t at, uint32_t size, int sign)
{
    const it_program *p = m->p;
    for (uint32_t i = 0; i < p->n_fields; i++) {
        const it_field *f = &p->fields[i];
        if (!f->kind || at >= f->offset + f->width || f->offset >= at + size)
            continue;
        if (f->offset != at || f->width != size || sign)
            return it_fail(m, F_CONTEXT, dst, at, size);
        if (f->kind == 2)
            return it_set(m, dst, m->base[IT_PKT] + m->length, IT_PTR, IT_PKT);
        return it_set(m, dst, m->base[f->region], IT_PTR, f->region);
    }
    for (uint32_t k = at; k < at + size; k++) {
        uint32_t i = 0;
        while (i < p->n_fields && !(p->fields[i].offset <= k && k < p->fields[i].offset + p->fields[i].width))
            i++;
        if (i == p->n_fields)
            return it_fail(m, F_CONTEXT, dst, at, size);
    }
    uint64_t value = it_get(m->region[IT_CTX] + at, size);
    return it_set(m, dst, sign ? it_extend(value, 8 * size) : value, IT_NUM, 0);
}

static int context_writable(it_machine *m, uint32_t at, uint32_t size)
{
    const it_program *p = m->p;
    for (uint32_t k = at; k < at + size; k++) {
        uint32_t i = 0;
        while (i < p->n_fields && !(p->fields[i].offset <= k && k < p->fields[i].offset + p->fields[i].width))
            i++;
        if (i == p->n_fields || !p->fields[i].writable)
            return 0;
    }
    return 1;
}

int it_load(it_machine *m, uint32_t dst, uint32_t src, int64_t off, uint32_t size, int sign)
{
    uint32_t at;
    const uint8_t *bytes = it_access(m, src, off, size, 0, 1, &at);
    if (bytes == NULL)
        return 1;
    uint32_t region = m->region_of[src];
    if (region == IT_CTX)
        return load_context(m, dst, at, size, sign);
    uint64_t value = it_get(bytes, size);
    uint8_t kind = IT_NUM, of = 0;
    if (region >= IT_STACK) {
        struct frame *f = it_frame_of(m, src);
        if (f->start[at] == size && !sign) {
            kind = f->shadow[at];
            of = f->of[at];
        } else
            for (uint32_t i = at; i < at + size; i++)
                if (f->shadow[i] != IT_NUM)
                    return it_fail(m, f->shadow[i] ? F_PART_OF_POINTER : F_STACK_UNINITIALISED, src, i, size);
    }
    return it_set(m, dst, sign ? it_extend(value, 8 * size) : value, kind, of);
}

int it_store(it_machine *m, uint32_t dst, int64_t off, uint32_t size, uint64_t value, uint8_t kind, uint8_t of)
{
    uint32_t at;
    uint8_t *bytes = it_access(m, dst, off, size, 1, 1, &at);
    if (bytes == NULL)
        return 1;
    uint32_t region = m->region_of[dst];
    if (region == IT_CTX && !context_writable(m, at, size))
        return it_fail(m, F_CONTEXT, dst, at, size);
    if (kind != IT_NUM && (region < IT_STACK || !(size == 8 || (size == 4 && kind == IT_HALF))))
        return it_fail(m, F_LEAK, dst, region, size);
    it_put(bytes, value, size);
    if (region >= IT_STACK) {
        struct frame *f = it_frame_of(m, dst);
        it_forget(f, at, size);
        memset(f->shadow + at, kind, size);
        if (kind != IT_NUM) {
            f->start[at] = (uint8_t)size;
            f->of[at] = of;
        }
    }
    return 0;
}

int it_atomic(it_machine *m, uint32_t dst, uint32_t src, int64_t off, uint32_t size, int32_t imm)
{
    uint32_t at;
    uint8_t *bytes = it_access(m, dst, off, size, 1, 1, &at);
    if (bytes == NULL)
        return 1;
    uint32_t region = m->region_of[dst];
    if (region == IT_CTX || region == IT_PKT)
        return it_fail(m, F_CONTEXT, dst, region, 0);
    if (region >= IT_STACK)
        for (uint32_t i = at; i < at + size; i++)
            if (it_frame_of(m, dst)->shadow[i] != IT_NUM)
                return it_fail(m, F_STACK_UNINITIALISED, dst, i, size);
    if (m->kind[src] != IT_NUM || (imm == 0xF1 && m->kind[0] != IT_NUM))
        return it_fail(m, F_LEAK, src, 0, 0);
    uint64_t mask = size == 8 ? ~0ull : 0xFFFFFFFFull;
    uint64_t old = it_get(bytes, size), value = m->reg[src] & mask, fresh;
    switch (imm & ~1) {
    case 0x00: fresh = old + value; break;
    case 0x40: fresh = old | value; break;
    case 0x50: fresh = old & value; break;
    case 0xA0: fresh = old ^ value; break;
    case 0xE0: fresh = value; break;
    default: fresh = (m->reg[0] & mask) == old ? value : old; break;
    }
    it_put(bytes, fresh, size);
    return imm & 1 ? it_set(m, imm == 0xF1 ? 0 : src, old, IT_NUM, 0) : 0;
}
