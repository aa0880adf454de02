/* SPDX-License-Identifier: LGPL-2.1-only */
/* The container image, parsed. compiler/image.py makes the same checks in the same order. */
#include "bytes.h"
#include "lpn.h"

#define HEADER_SIZE 64u
#define SIZES 20u               /* of the five sections */
#define MAX_NAME 64u

/* w * x^32 modulo the polynomial, by shifts alone: first what to multiply it by so that the lower 32 bits of the sum vanish, which is w
 * by the polynomial's inverse modulo 2^32, (1 + f)(1 + f^2)(1 + f^4); then the upper 32. Of neighbouring terms there is one sum. */
static APART uint32_t reduce(uint32_t w)
{
    const uint32_t g = w ^ w << 1;
    uint32_t q = w ^ w << 6 ^ g << 9 ^ w << 16 ^ g << 20 ^ w << 22 ^ g << 24 ^ g << 27 ^ g << 30;
    q ^= q << 24;
    q ^= q << 12 ^ q << 18 ^ q << 20;
    const uint32_t h = q ^ q >> 1;
    return h ^ q >> 2 ^ h >> 4 ^ h >> 7 ^ h >> 10 ^ q >> 12 ^ q >> 16 ^ h >> 22 ^ q >> 26;
}

/* to = from ^ w shifted. gcc would add the terms of two words first, which takes more instructions. */
#if defined(__thumb2__) && defined(__GNUC__)
#define LEFT(to, from, w, n) __asm__("eor %0, %1, %2, lsl #" #n : "=r"(to) : "r"(from), "r"(w))
#define RIGHT(to, from, w, n) __asm__("eor %0, %1, %2, lsr #" #n : "=r"(to) : "r"(from), "r"(w))
#else
#define LEFT(to, from, w, n) to = (from) ^ (w) << (n)
#define RIGHT(to, from, w, n) to = (from) ^ (w) >> (n)
#endif

/* No table: 1 + x^32 + x^37 + x^110 + x^180 + x^248 + x^288, bits in the order in which they are sent, is a multiple of the polynomial.
 * So a word may be added to the nine behind it, at these distances, instead of being divided. Only the last nine or ten are. */
uint32_t lpn_crc32(uint32_t crc, const uint8_t *bytes, size_t size)
{
#define WORD(w) \
    LEFT(s1, s2, w, 5); s1 ^= (w); RIGHT(s2, s3, w, 27); LEFT(s3, s4, w, 14); RIGHT(s4, s5, w, 18); LEFT(s5, s6, w, 20); RIGHT(s6, s7, w, 12); \
    LEFT(s7, s8, w, 24); RIGHT(s8, s9, w, 8); s9 = (w)
    uint32_t s1 = ~crc, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0, s8 = 0, s9 = 0;      /* what is to be added to the next words */
    const uint8_t *last = bytes + (size & ~(size_t)3);
    if (size >= 44) {
        last -= 44;
        LPN_HIDE(last);                 /* or gcc keeps the end, too */
        do {
            const uint32_t a = s1 ^ lpn_get32(bytes), behind = lpn_get32(bytes + 4);
            WORD(a);
            const uint32_t b = s1 ^ behind;
            WORD(b);
            bytes += 8;
            LPN_HIDE(bytes);            /* or gcc computes it once more behind the loop */
        } while (bytes <= last);
        last += 44;
    }
#undef WORD
    const uint32_t next[11] = { s1, s2, s3, s4, s5, s6, s7, s8, s9 }, *more = next;
    crc = *more;
    while (bytes != last) {
        crc = reduce(crc ^ lpn_get32(bytes)) ^ *++more;
        bytes += 4;
    }
    for (size &= 3; size != 0; size--) {
        crc ^= *bytes++;
        crc = crc >> 8 ^ reduce(crc << 24);
    }
    return ~crc;
}

/* Length of the UTF-8 sequence at p (RFC 3629 section 4), 0 when there is none or it is a control character. */
static size_t utf8(const uint8_t *p, size_t n)
{
    static const struct { uint8_t lead_lo, lead_hi, size, second_lo, second_hi; } forms[] = {
        { 0x20, 0x7e, 1, 0, 0 },       { 0xc2, 0xdf, 2, 0x80, 0xbf }, { 0xe0, 0xe0, 3, 0xa0, 0xbf },
        { 0xe1, 0xec, 3, 0x80, 0xbf }, { 0xed, 0xed, 3, 0x80, 0x9f }, { 0xee, 0xef, 3, 0x80, 0xbf },
        { 0xf0, 0xf0, 4, 0x90, 0xbf }, { 0xf1, 0xf3, 4, 0x80, 0xbf }, { 0xf4, 0xf4, 4, 0x80, 0x8f },
    };
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        if (p[0] < forms[f].lead_lo || p[0] > forms[f].lead_hi) {
            continue;
        }
        if (n < forms[f].size) {
            return 0;
        }
        for (size_t i = 1; i < forms[f].size; i++) {
            uint8_t lo = i == 1 ? forms[f].second_lo : 0x80, hi = i == 1 ? forms[f].second_hi : 0xbf;
            if (p[i] < lo || p[i] > hi) {
                return 0;
            }
        }
        return forms[f].size;
    }
    return 0;
}

static bool name_ok(const uint8_t *p, size_t n)
{
    if (n < 1 || n > MAX_NAME) {
        return false;
    }
    while (n > 0) {
        size_t step = utf8(p, n);
        if (step == 0) {
            return false;
        }
        p += step;
        n -= step;
    }
    return true;
}

void lpn_image_view(lpn_image *image, const uint8_t *bytes)
{
    const uint8_t *at = bytes + HEADER_SIZE;
#define SECTION(name, n, odd) \
    image->name = at; \
    image->name##_size = lpn_get32(bytes + SIZES + 4 * (n)); \
    at += (image->name##_size + (odd)) & ~(uint32_t)(odd)
    SECTION(text, 0, 7);
    SECTION(rodata, 1, 3);
    SECTION(data, 2, 3);
    SECTION(certificate, 3, 3);
    SECTION(name, 4, 3);
#undef SECTION
    image->kind = bytes[LPN_IMAGE_KIND];
    image->flags = lpn_get16(bytes + LPN_IMAGE_FLAGS);
    image->record_hash = lpn_get32(bytes + LPN_IMAGE_RECORD_HASH);
    image->record_size = lpn_get16(bytes + LPN_IMAGE_RECORD_SIZE);
    image->state_size = lpn_get16(bytes + LPN_IMAGE_STATE_SIZE);
    image->state_hash = lpn_get32(bytes + LPN_IMAGE_STATE_HASH);
    image->stack_used = lpn_get16(bytes + LPN_IMAGE_STACK);
    image->out_size = (uint16_t)(LPN_OUT_SIZE - lpn_get16(bytes + LPN_IMAGE_OUT_SPARE));
}

/* The checksum, its own place taken as zeros. */
static uint32_t sum_of(const uint8_t *bytes, uint32_t total)
{
    const uint32_t zero = 0;
    return lpn_crc32(lpn_crc32(lpn_crc32(0, bytes, 12), (const uint8_t *)&zero, 4), bytes + 16, total - 16);
}

int lpn_image_check(const uint8_t *bytes, size_t size, bool summed)
{
    if (size < 4 || lpn_get32(bytes) != 0x314e504cu /* "LPN1" */) {
        return LPN_E_MAGIC;
    }
    if (size < HEADER_SIZE) {
        return LPN_E_TRUNCATED;
    }
    if (lpn_get16(bytes + 4) != LPN_IMAGE_VERSION) {
        return LPN_E_VERSION;
    }
    if (lpn_get16(bytes + 6) != HEADER_SIZE) {
        return LPN_E_LENGTH;
    }
    uint32_t total = lpn_get32(bytes + 8);
    if (total > LPN_MAX_IMAGE) {
        return LPN_E_TOO_LARGE;
    }
    if (size < total) {
        return LPN_E_TRUNCATED;
    }
    if (size > total) {
        return LPN_E_LENGTH;
    }
    uint32_t sizes[5], sum = HEADER_SIZE;
    for (unsigned i = 0; i < 5; i++) {
        const uint32_t odd = i == 0 ? 7 : 3;
        sizes[i] = lpn_get32(bytes + SIZES + 4 * i);
        if (sizes[i] > total) {         /* so that the sum does not overflow */
            return LPN_E_LENGTH;
        }
        sum += (sizes[i] + odd) & ~odd;
    }
    if (sum != total) {
        return LPN_E_LENGTH;
    }
    if (!summed && sum_of(bytes, total) != lpn_get32(bytes + 12)) {
        return LPN_E_CHECKSUM;
    }
    const unsigned kind = bytes[LPN_IMAGE_KIND], flags = lpn_get16(bytes + LPN_IMAGE_FLAGS);
    if (kind < LPN_PARSER || kind > LPN_MIGRATION) {
        return LPN_E_KIND;
    }
    if (bytes[17] != 1) {
        return LPN_E_PROFILE;
    }
    if ((flags & ~(unsigned)LPN_FLAGS) != 0
        || ((flags & LPN_FLAG_CERTIFIED) != 0) != (sizes[3] != 0)
        || ((flags & LPN_FLAG_DEPARSES) != 0 && kind != LPN_FUSED)) {
        return LPN_E_FLAGS;
    }
    if ((lpn_get32(bytes + 56) | lpn_get32(bytes + 60)) != 0) {
        return LPN_E_HEADER_RESERVED;
    }
    if (sizes[0] == 0 || sizes[0] % 8 != 0) {
        return LPN_E_TEXT;
    }
    if (lpn_get16(bytes + LPN_IMAGE_STACK) > LPN_STACK_SIZE || lpn_get16(bytes + LPN_IMAGE_OUT_SPARE) > LPN_OUT_SIZE) {
        return LPN_E_FIELD;
    }
    const uint8_t *at = bytes + HEADER_SIZE, *name = at;
    for (unsigned i = 0; i < 5; i++) {
        name = at;
        at += sizes[i];
        const size_t padding = (0u - sizes[i]) & 3;     /* text has whole instructions, and none */
        if (!lpn_is_zero(at, padding)) {
            return LPN_E_PADDING;
        }
        at += padding;
    }
    if (!name_ok(name, sizes[4])) {
        return LPN_E_NAME;
    }
    return LPN_OK;
}

int lpn_image_parse(lpn_image *image, const uint8_t *bytes, size_t size)
{
    const int error = lpn_image_check(bytes, size, false);
    if (error == LPN_OK) {
        lpn_image_view(image, bytes);
    }
    return error;
}
