/* SPDX-License-Identifier: LGPL-2.1-only */
/* Little-endian access to bytes of any alignment, and the few loops a libc would offer. */
#ifndef LPN_BYTES_H
#define LPN_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What to gcc is one function and what is not: in one of all it keeps everything in memory. */
#if defined(__GNUC__)
#define APART __attribute__((noinline))
#define INLINE static inline __attribute__((always_inline))
#define RARE(condition) __builtin_expect((condition), 0)
#else
#define RARE(condition) (condition)
#define APART
#define INLINE static inline
#endif

#if defined(__GNUC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* Words at any address: one load or store where the core can, bytes where it cannot. */
typedef struct { uint16_t v; } __attribute__((packed, may_alias)) lpn_any16;
typedef struct { uint32_t v; } __attribute__((packed, may_alias)) lpn_any32;

static inline uint16_t lpn_get16(const uint8_t *p)
{
    return ((const lpn_any16 *)p)->v;
}

static inline uint32_t lpn_get32(const uint8_t *p)
{
    return ((const lpn_any32 *)p)->v;
}

/* gcc -Os for Arm stores constants in bytes, unless it does not know that they are constant. */
#if defined(__arm__)
#define LPN_HIDE(v) __asm__("" : "+r"(v))
#else
#define LPN_HIDE(v) (void)(v)
#endif

static inline void lpn_put16(uint8_t *p, uint16_t v)
{
    LPN_HIDE(v);
    ((lpn_any16 *)p)->v = v;
}

static inline void lpn_put32(uint8_t *p, uint32_t v)
{
    LPN_HIDE(v);
    ((lpn_any32 *)p)->v = v;
}
#else
static inline uint16_t lpn_get16(const uint8_t *p)
{
    return (uint16_t)(p[0] | (unsigned)p[1] << 8);
}

static inline uint32_t lpn_get32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline void lpn_put16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

static inline void lpn_put32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    p[2] = (uint8_t)(v >> 16);
    p[3] = (uint8_t)(v >> 24);
}
#endif

/* Two words, never one access of 8 bytes: the Cortex-M3 faults on those that are not aligned. */
static inline uint64_t lpn_get64(const uint8_t *p)
{
    return (uint64_t)lpn_get32(p) | (uint64_t)lpn_get32(p + 4) << 32;
}

static inline void lpn_put64(uint8_t *p, uint64_t v)
{
    lpn_put32(p, (uint32_t)v);
    lpn_put32(p + 4, (uint32_t)(v >> 32));
}

static inline uint16_t lpn_swap16(uint32_t v)
{
    return (uint16_t)((v & 0xff) << 8 | (v >> 8 & 0xff));
}

static inline uint32_t lpn_swap32(uint32_t v)
{
    return (v & 0xff) << 24 | (v & 0xff00) << 8 | (v >> 8 & 0xff00) | v >> 24;
}

static inline void lpn_copy(uint8_t *to, const uint8_t *from, size_t n)
{
    for (; n >= 4; n -= 4, to += 4, from += 4) {
        lpn_put32(to, lpn_get32(from));
    }
    for (; n > 0; n--) {
        *to++ = *from++;
    }
}

/* Written out, because -Os unrolls nothing and tests before each turn. */
INLINE void lpn_zero12(uint8_t *to)
{
    lpn_put32(to, 0);
    lpn_put32(to + 4, 0);
    lpn_put32(to + 8, 0);
}

INLINE void lpn_zero16(uint8_t *to)
{
    lpn_zero12(to);
    lpn_put32(to + 12, 0);
}

/* env.c */
void lpn_zero(uint8_t *to, size_t n);

static inline bool lpn_is_zero(const uint8_t *p, size_t n)
{
    uint8_t any = 0;
    for (size_t i = 0; i < n; i++) {
        any |= p[i];
    }
    return any == 0;
}

/* All bits up to the highest that is set. */
static inline uint32_t lpn_ones(uint32_t v)
{
#if defined(__GNUC__)
    return UINT32_MAX >> __builtin_clz(v | 1);
#else
    for (unsigned shift = 1; shift < 32; shift *= 2) {
        v |= v >> shift;
    }
    return v | 1;
#endif
}

/* The number of the lowest bit that is set; one is. */
static inline unsigned lpn_lowest(uint32_t v)
{
#if defined(__GNUC__)
    return (unsigned)__builtin_ctz(v);
#else
    unsigned k = 0;
    for (; (v & 1) == 0; v >>= 1) {
        k++;
    }
    return k;
#endif
}

/* The address a program sees: 64 bits on every host. */
static inline uint64_t lpn_address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

static inline uint8_t *lpn_pointer(uint64_t address)
{
    return (uint8_t *)(uintptr_t)address;
}

#endif
