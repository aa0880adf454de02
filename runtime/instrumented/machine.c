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

uint64_t it_random(uint64_t *state)
{
    /* splitmix64 */
    uint64_t z = (*state += 0x9E3779B97F4A7C15ull);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return z ^ z >> 31;
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
        uint32_t align = i == IT_PKT ? 1 : i >= IT_REGIONS ? 512 : p->regions[i].align;
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
    memset(f->shadow, 0, sizeof f->shadow);
    memset(f->start, 0, sizeof f->start);
    f->deepest = 0;
    m->reg[10] = m->base[IT_STACK + m->depth] + 512;
    m->kind[10] = IT_PTR;
    m->region_of[10] = (uint8_t)(IT_STACK + m->depth);
}

/* Where an access of `size` bytes at register + off lies, or NULL and a fault. */
static uint8_t *access_at(it_machine *m, uint32_t reg, int64_t off, uint64_t size, int write, int align, uint32_t *at)
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
    *at = (uint32_t)o;
    return bytes + o;
}

static struct frame *frame_of(it_machine *m, uint32_t reg)
{
    return &m->frame[m->region_of[reg] - IT_STACK];
}

static void forget(struct frame *f, uint32_t at, uint64_t size)
{
    for (uint32_t i = at < 7 ? 0 : at - 7; i < at + size; i++)
        if (f->start[i] && i + f->start[i] > at)
            f->start[i] = 0;
}

static int set(it_machine *m, uint32_t reg, uint64_t value, uint8_t kind, uint8_t region)
{
    m->reg[reg] = value;
    m->kind[reg] = kind;
    m->region_of[reg] = region;
    if (kind == IT_NUM && value >> 32) {
        m->clean = 0;
        if (m->p->claims && !m->p->wide[m->pc])
            return it_fail(m, F_CLAIM_CLEAN, reg, value, 0);
    }
    return 0;
}

/* Context ------------------------------------------------------------------------------------- */
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
            return set(m, dst, m->base[IT_PKT] + m->length, IT_PTR, IT_PKT);
        return set(m, dst, m->base[f->region], IT_PTR, f->region);
    }
    for (uint32_t k = at; k < at + size; k++) {
        uint32_t i = 0;
        while (i < p->n_fields && !(p->fields[i].offset <= k && k < p->fields[i].offset + p->fields[i].width))
            i++;
        if (i == p->n_fields)
            return it_fail(m, F_CONTEXT, dst, at, size);
    }
    uint64_t value = it_get(m->region[IT_CTX] + at, size);
    return set(m, dst, sign ? it_extend(value, 8 * size) : value, IT_NUM, 0);
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

/* Loads and stores ---------------------------------------------------------------------------- */
static int load(it_machine *m, uint32_t dst, uint32_t src, int64_t off, uint32_t size, int sign)
{
    uint32_t at;
    const uint8_t *bytes = access_at(m, src, off, size, 0, 1, &at);
    if (bytes == NULL)
        return 1;
    uint32_t region = m->region_of[src];
    if (region == IT_CTX)
        return load_context(m, dst, at, size, sign);
    uint64_t value = it_get(bytes, size);
    uint8_t kind = IT_NUM, of = 0;
    if (region >= IT_STACK) {
        struct frame *f = frame_of(m, src);
        if (f->start[at] == size && !sign) {
            kind = f->shadow[at];
            of = f->of[at];
        } else
            for (uint32_t i = at; i < at + size; i++)
                if (f->shadow[i] != IT_NUM)
                    return it_fail(m, f->shadow[i] ? F_PART_OF_POINTER : F_STACK_UNINITIALISED, src, i, size);
    }
    return set(m, dst, sign ? it_extend(value, 8 * size) : value, kind, of);
}

static int store(it_machine *m, uint32_t dst, int64_t off, uint32_t size, uint64_t value, uint8_t kind, uint8_t of)
{
    uint32_t at;
    uint8_t *bytes = access_at(m, dst, off, size, 1, 1, &at);
    if (bytes == NULL)
        return 1;
    uint32_t region = m->region_of[dst];
    if (region == IT_CTX && !context_writable(m, at, size))
        return it_fail(m, F_CONTEXT, dst, at, size);
    if (kind != IT_NUM && (region < IT_STACK || !(size == 8 || (size == 4 && kind == IT_HALF))))
        return it_fail(m, F_LEAK, dst, region, size);
    it_put(bytes, value, size);
    if (region >= IT_STACK) {
        struct frame *f = frame_of(m, dst);
        forget(f, at, size);
        memset(f->shadow + at, kind, size);
        if (kind != IT_NUM) {
            f->start[at] = (uint8_t)size;
            f->of[at] = of;
        }
    }
    return 0;
}

static int atomic(it_machine *m, uint32_t dst, uint32_t src, int64_t off, uint32_t size, int32_t imm)
{
    uint32_t at;
    uint8_t *bytes = access_at(m, dst, off, size, 1, 1, &at);
    if (bytes == NULL)
        return 1;
    uint32_t region = m->region_of[dst];
    if (region == IT_CTX || region == IT_PKT)
        return it_fail(m, F_CONTEXT, dst, region, 0);
    if (region >= IT_STACK)
        for (uint32_t i = at; i < at + size; i++)
            if (frame_of(m, dst)->shadow[i] != IT_NUM)
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
    return imm & 1 ? set(m, imm == 0xF1 ? 0 : src, old, IT_NUM, 0) : 0;
}

/* Arithmetic ---------------------------------------------------------------------------------- */
/* x OP y in `bits` bits; 1 if it must not be. Operands are cut to the width. */
static int compute(uint32_t code, int off, uint64_t x, uint64_t y, uint32_t bits, uint64_t *out)
{
    int64_t sx = (int64_t)it_extend(x, bits), sy = (int64_t)it_extend(y, bits);
    uint64_t mask = bits == 64 ? ~0ull : 0xFFFFFFFFull, r;
    switch (code) {
    case 0x00: r = x + y; break;
    case 0x10: r = x - y; break;
    case 0x20: r = x * y; break;
    case 0x30: case 0x90:
        if (!y)
            return 1;
        if (!off)
            r = code == 0x30 ? x / y : x % y;
        else if (sy == -1)
            r = code == 0x30 ? 0 - x : 0;
        else
            r = (uint64_t)(code == 0x30 ? sx / sy : sx % sy);
        break;
    case 0x40: r = x | y; break;
    case 0x50: r = x & y; break;
    case 0xA0: r = x ^ y; break;
    case 0x60: case 0x70: case 0xC0:
        if (y >= bits)
            return 1;
        r = code == 0x60 ? x << y : code == 0x70 ? x >> y : it_arithmetic_right(sx, (uint32_t)y);
        break;
    default: return 1;
    }
    *out = r & mask;
    return 0;
}

static int arithmetic(it_machine *m, uint8_t op, uint32_t dst, uint32_t src, int off, int32_t imm)
{
    uint32_t code = op & 0xF0, wide = (op & 7) == 7, bits = wide ? 64 : 32;
    uint64_t mask = wide ? ~0ull : 0xFFFFFFFFull, out;
    uint64_t b = (uint64_t)(int64_t)imm;
    uint8_t bk = IT_NUM, br = 0;
    if (op & 8 && code != 0xD0) {
        b = m->reg[src], bk = m->kind[src], br = m->region_of[src];
        if (bk == IT_NONE)
            return it_fail(m, F_UNINITIALISED, src, 0, 0);
    }
    if (code == 0xB0) {
        if (off) {
            if (bk != IT_NUM)
                return it_fail(m, F_POINTER_ARITHMETIC, dst, code, 0);
            return set(m, dst, it_extend(b, (uint32_t)off) & mask, IT_NUM, 0);
        }
        if (bk != IT_NUM && !wide)
            bk = IT_HALF;
        return set(m, dst, b & mask, bk, br);
    }
    uint64_t a = m->reg[dst];
    uint8_t ak = m->kind[dst], ar = m->region_of[dst];
    if (ak == IT_NONE)
        return it_fail(m, F_UNINITIALISED, dst, 0, 0);
    if (code == 0xD0 || code == 0x80) {
        if (ak != IT_NUM)
            return it_fail(m, F_POINTER_ARITHMETIC, dst, code, 0);
        if (code == 0x80)
            return set(m, dst, (0 - a) & mask, IT_NUM, 0);
        uint32_t n = (uint32_t)imm / 8;
        uint64_t low = it_cut(a, 8 * n), swapped = 0;
        for (uint32_t i = 0; i < n; i++)
            swapped |= (low >> 8 * i & 255) << 8 * (n - 1 - i);
        return set(m, dst, op & 8 || wide ? swapped : low, IT_NUM, 0);
    }
    if (ak == IT_NUM && bk == IT_NUM) {
        if (compute(code, off, a & mask, b & mask, bits, &out))
            return it_fail(m, code == 0x30 || code == 0x90 ? F_DIVISION : F_SHIFT, op & 8 ? src : dst, a, b);
        /* What is 32-bit clean does the same in 32 bits. */
        uint64_t half;
        if (wide && m->p->claims && !m->p->wide[m->pc] && !((code == 0x60 || code == 0x70 || code == 0xC0) && b > 31)) {
            if (compute(code, off, a & 0xFFFFFFFF, b & 0xFFFFFFFF, 32, &half) || half != out)
                return it_fail(m, F_CLAIM_CLEAN, dst, out, half);
        }
        return set(m, dst, out, IT_NUM, 0);
    }
    if (code != 0x00 && code != 0x10)
        return it_fail(m, F_POINTER_ARITHMETIC, dst, code, 0);
    if (code == 0x10 && ak != IT_NUM && bk != IT_NUM) {
        if (ar != br)
            return it_fail(m, F_OTHER_REGION, dst, ar, br);
        if (wide && (ak == IT_HALF || bk == IT_HALF))
            return it_fail(m, F_POINTER_ARITHMETIC, dst, ak, bk);
        return set(m, dst, (a - b) & mask, IT_NUM, 0);
    }
    if ((ak != IT_NUM && bk != IT_NUM) || (code == 0x10 && ak == IT_NUM))
        return it_fail(m, F_POINTER_ARITHMETIC, dst, code, 0);
    uint8_t kind = ak == IT_NUM ? bk : ak, region = ak == IT_NUM ? br : ar;
    if (wide == (kind == IT_HALF))
        return it_fail(m, F_POINTER_ARITHMETIC, dst, code, kind);
    return set(m, dst, (code == 0x00 ? a + b : a - b) & mask, kind, region);
}

static int holds(uint32_t code, uint64_t a, uint64_t b, uint32_t bits)
{
    int64_t x = (int64_t)it_extend(a, bits), y = (int64_t)it_extend(b, bits);
    switch (code) {
    case 0x10: return a == b;
    case 0x20: return a > b;
    case 0x30: return a >= b;
    case 0x40: return (a & b) != 0;
    case 0x50: return a != b;
    case 0x60: return x > y;
    case 0x70: return x >= y;
    case 0xA0: return a < b;
    case 0xB0: return a <= b;
    case 0xC0: return x < y;
    default: return x <= y;
    }
}

/* -1: a fault. */
static int branch(it_machine *m, uint8_t op, uint32_t dst, uint32_t src, int32_t imm)
{
    uint32_t code = op & 0xF0, wide = (op & 7) == 5, bits = wide ? 64 : 32;
    uint64_t mask = wide ? ~0ull : 0xFFFFFFFFull;
    uint64_t a = m->reg[dst], b = (uint64_t)(int64_t)imm;
    uint8_t ak = m->kind[dst], bk = IT_NUM, br = 0;
    if (op & 8)
        b = m->reg[src], bk = m->kind[src], br = m->region_of[src];
    if (ak == IT_NONE || bk == IT_NONE)
        return it_fail(m, F_UNINITIALISED, ak == IT_NONE ? dst : src, 0, 0), -1;
    if (ak != IT_NUM || bk != IT_NUM) {
        int null = wide && (code == 0x10 || code == 0x50) && ((bk == IT_NUM && !b) || (ak == IT_NUM && !a));
        if (!null && (!wide || ak != IT_PTR || bk != IT_PTR || m->region_of[dst] != br || (code >= 0x60 && code < 0xA0) || code == 0x40
                      || code >= 0xC0))
            return it_fail(m, F_POINTER_COMPARED, dst, ak, bk), -1;
        return holds(code, a, b, 64);
    }
    int taken = holds(code, a & mask, b & mask, bits);
    if (wide && m->p->claims && !m->p->wide[m->pc] && holds(code, a & 0xFFFFFFFF, b & 0xFFFFFFFF, 32) != taken)
        return it_fail(m, F_CLAIM_CLEAN, dst, a, b), -1;
    return taken;
}

/* Helpers ------------------------------------------------------------------------------------- */
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

static int call_helper(it_machine *m, uint32_t number)
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
            if (arg <= IT_ARG_SIZE) {
                if (m->kind[r] != IT_NUM)
                    return it_fail(m, F_LEAK, r, number, 0);
                continue;
            }
            if (arg == IT_ARG_REGION) {
                if (m->kind[r] != IT_PTR || m->reg[r] != m->base[h->region])
                    return it_fail(m, F_HELPER, r, number, 0);
                continue;
            }
            uint64_t size = h->sizes[r - 1] ? h->sizes[r - 1] : m->reg[r + 1];
            if (!size || pass != (arg == IT_ARG_WRITE))
                continue;
            uint32_t at;
            uint8_t *bytes = access_at(m, r, 0, size, arg == IT_ARG_WRITE, 0, &at);
            if (bytes == NULL)
                return 1;
            if (m->region_of[r] == IT_CTX)
                return it_fail(m, F_CONTEXT, r, at, size);
            struct frame *f = m->region_of[r] >= IT_STACK ? frame_of(m, r) : NULL;
            if (arg == IT_ARG_READ) {
                for (uint64_t i = at; f && i < at + size; i++)
                    if (f->shadow[i] != IT_NUM)
                        return it_fail(m, F_STACK_UNINITIALISED, r, i, size);
                continue;
            }
            for (uint64_t i = 0; i < size; i++)
                bytes[i] = m->random ? (uint8_t)it_random(&m->random) : (uint8_t)i;
            if (f) {
                forget(f, at, size);
                memset(f->shadow + at, IT_NUM, size);
            }
        }
    if (h->changes_packet)
        change_packet(m);
    for (int i = 1; i <= 5; i++)
        m->kind[i] = IT_NONE;
    if (h->ret == 0)
        return set(m, 0, 0, IT_NUM, 0);
    uint64_t value = m->random ? it_random(&m->random) : number == 1 ? 1 : 0x89ABCDEF;
    if (h->ret == 3)
        return value & 1 ? set(m, 0, m->base[h->region], IT_PTR, h->region) : set(m, 0, 0, IT_NUM, 0);
    if (m->random && value >> 60 < 6)
        value &= 0xFF;
    return set(m, 0, h->ret == 1 ? value & 0xFFFFFFFF : value, IT_NUM, 0);
}

/* The run ------------------------------------------------------------------------------------- */
static int leave(it_machine *m)
{
    struct frame *f = &m->frame[m->depth];
    uint32_t gone = IT_STACK + m->depth;
    m->stack += (f->deepest > m->used[m->depth] ? f->deepest - m->used[m->depth] : 0);
    if (f->deepest > m->used[m->depth])
        m->used[m->depth] = f->deepest;
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
    uint32_t deepest = m->frame[0].deepest > m->used[0] ? m->frame[0].deepest : m->used[0];
    for (uint32_t i = 1; i < IT_FRAMES; i++)
        deepest += m->used[i];
    out->r0 = m->reg[0];
    out->stack = deepest;
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
    memset(m->used, 0, sizeof m->used);
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
            failed = arithmetic(m, op, dst, src, off, imm);
            break;
        case 0:
            if (op != 0x18 || m->pc + 1 >= p->slots)
                return it_fail(m, F_OPCODE, 0, op, 0);
            m->next = m->pc + 2;
            if (src)
                failed = set(m, dst, m->base[src == 8 ? 5 : 6] + (uint32_t)imm, IT_PTR, src == 8 ? 5 : 6);
            else
                failed = set(m, dst, (uint32_t)imm | it_get(raw + 12, 4) << 32, IT_NUM, 0);
            break;
        case 1:
            failed = load(m, dst, src, off, size, (op & 0xE0) == 0x80);
            break;
        case 2:
            failed = store(m, dst, off, size, (uint64_t)(int64_t)imm, IT_NUM, 0);
            break;
        case 3:
            if ((op & 0xE0) == 0xC0)
                failed = m->kind[src] == IT_NONE ? it_fail(m, F_UNINITIALISED, src, 0, 0) : atomic(m, dst, src, off, size, imm);
            else
                failed = m->kind[src] == IT_NONE ? it_fail(m, F_UNINITIALISED, src, 0, 0)
                                                 : store(m, dst, off, size, m->reg[src], m->kind[src], m->region_of[src]);
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
                failed = src == 1 ? enter(m, imm) : call_helper(m, (uint32_t)imm);
            } else {
                taken = branch(m, op, dst, src, imm);
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
