/* SPDX-License-Identifier: LGPL-2.1-only */
/* The few functions of a libc that the engine's host border and gcc itself call. The heap is never given back: a
 * program that is loaded anew gets a new core. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

uint32_t lpn_outside(void *user, const uint32_t *args);
int lpn_effect(void *user, uint32_t helper, const uint64_t *r, uint32_t *value);

uint8_t *lpn_heap, *lpn_heap_end;       /* the core sets them before the first call */

/* 8-aligned. The core's memory is zero from the start. */
void *calloc(size_t count, size_t size)
{
    size_t bytes = (count * size + 7) & ~(size_t)7;
    if ((size_t)(lpn_heap_end - lpn_heap) < bytes) {
        return NULL;
    }
    uint8_t *p = lpn_heap;
    lpn_heap += bytes;
    return p;
}

void free(void *p)
{
    (void)p;
}

/* A function of the node's own, for all: the core sees that it is called (`user`: which), and gives what it returns. */
volatile uint32_t lpn_outside_value;

uint32_t lpn_outside(void *user, const uint32_t *args)
{
    (void)user;
    (void)args;
    return lpn_outside_value;
}

/* Helpers that reach beyond the chain's memory: the core sees which one is called with r1 to r5, and gives the result. */
volatile uint32_t lpn_effect_value;
volatile int lpn_effect_error;

int lpn_effect_seen(uint32_t helper, const uint64_t *r);

__attribute__((noinline, noclone)) int lpn_effect_seen(uint32_t helper, const uint64_t *r)
{
    (void)helper;
    (void)r;
    return lpn_effect_error;
}

int lpn_effect(void *user, uint32_t helper, const uint64_t *r, uint32_t *value)
{
    (void)user;
    int error = lpn_effect_seen(helper, r);
    *value = lpn_effect_value;
    return error;
}

/* A word at a time: the core loads and stores words at any address. */
typedef struct { uint32_t v; } __attribute__((packed, may_alias)) word;

void *memcpy(void *to, const void *from, size_t n)
{
    uint8_t *t = to;
    const uint8_t *f = from;
    for (; n >= 4; n -= 4, t += 4, f += 4) {
        ((word *)t)->v = ((const word *)f)->v;
    }
    for (; n > 0; n--) {
        *t++ = *f++;
    }
    return to;
}

void *memset(void *to, int byte, size_t n)
{
    uint8_t *t = to;
    uint32_t all = (uint8_t)byte * 0x01010101u;
    for (; n >= 4; n -= 4, t += 4) {
        ((word *)t)->v = all;
    }
    for (; n > 0; n--) {
        *t++ = (uint8_t)byte;
    }
    return to;
}
