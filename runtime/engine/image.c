/* SPDX-License-Identifier: LGPL-2.1-only */
/* The container image, parsed. compiler/image.py makes the same checks in the same order. */
#include "bytes.h"
#include "lpn.h"

#define HEADER_SIZE 64u
#define SIZES 20u               /* of the five sections */
#define MAX_NAME 64u

uint32_t lpn_crc32(uint32_t crc, const uint8_t *bytes, size_t size)
{
    /* By the lower half of an octet, by its upper half: two rows of 64 bytes, and nobody waits for the other's load. */
    static const uint32_t rows[2][16] = { {
        0x00000000, 0x77073096, 0xee0e612c, 0x990951ba, 0x076dc419, 0x706af48f, 0xe963a535, 0x9e6495a3,
        0x0edb8832, 0x79dcb8a4, 0xe0d5e91e, 0x97d2d988, 0x09b64c2b, 0x7eb17cbd, 0xe7b82d07, 0x90bf1d91,
    }, {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
        0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    } };
    const uint32_t *lower = rows[0], *upper = rows[1];
    LPN_HIDE(lower);                    /* or gcc adds up their address each time */
    LPN_HIDE(upper);
    uint32_t low, high;                 /* both before the loads, of which the second then takes one cycle */
#define OCTET low = crc & 15; high = crc >> 4 & 15; LPN_HIDE(low); LPN_HIDE(high); low = lower[low]; high = upper[high]; crc = low ^ high ^ crc >> 8
    crc = ~crc;
    const uint8_t *const end = bytes + size;
    for (; (size & 3) != 0; size--) {
        crc ^= *bytes++;
        OCTET;
    }
    if (size != 0) {
        do {
            crc ^= lpn_get32(bytes);
            bytes += 4;
            OCTET; OCTET; OCTET; OCTET;
        } while (bytes != end);
    }
#undef OCTET
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
    const uint8_t **const section[5] = { &image->text, &image->rodata, &image->data, &image->certificate, &image->name };
    uint32_t *const size[5] = { &image->text_size, &image->rodata_size, &image->data_size, &image->certificate_size, &image->name_size };
    const uint8_t *at = bytes + HEADER_SIZE;
    for (unsigned i = 0; i < 5; i++) {
        *section[i] = at;
        *size[i] = lpn_get32(bytes + SIZES + 4 * i);
        const uint32_t odd = i == 0 ? 7 : 3;
        at += (*size[i] + odd) & ~odd;
    }
    image->kind = bytes[LPN_IMAGE_KIND];
    image->profile = bytes[LPN_IMAGE_KIND + 1];
    image->flags = lpn_get16(bytes + LPN_IMAGE_FLAGS);
    image->record_hash = lpn_get32(bytes + LPN_IMAGE_RECORD_HASH);
    image->record_size = lpn_get16(bytes + LPN_IMAGE_RECORD_SIZE);
    image->state_size = lpn_get16(bytes + LPN_IMAGE_STATE_SIZE);
    image->state_hash = lpn_get32(bytes + LPN_IMAGE_STATE_HASH);
    image->stack_used = lpn_get16(bytes + LPN_IMAGE_STACK);
}

/* The checksum, its own place taken as zeros. */
static uint32_t sum_of(const uint8_t *bytes, uint32_t total)
{
    static const uint8_t zeros[4];
    return lpn_crc32(lpn_crc32(lpn_crc32(0, bytes, 12), zeros, 4), bytes + 16, total - 16);
}

int lpn_image_check(const uint8_t *bytes, size_t size, bool summed)
{
    if (size < 4 || lpn_get32(bytes) != 0x314e504cu /* "LPN1" */) {
        return LPN_E_MAGIC;
    }
    if (size < HEADER_SIZE) {
        return LPN_E_TRUNCATED;
    }
    if (lpn_get16(bytes + 4) != 1) {
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
    /* Five 32-bit lengths and the header cannot overflow 64 bits. */
    uint32_t sizes[5];
    uint64_t sum = HEADER_SIZE;
    for (unsigned i = 0; i < 5; i++) {
        const uint64_t odd = i == 0 ? 7 : 3;
        sizes[i] = lpn_get32(bytes + SIZES + 4 * i);
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
    if ((flags & ~(unsigned)(LPN_FLAG_CLEAN32 | LPN_FLAG_CERTIFIED | LPN_FLAG_DEPARSES)) != 0
        || ((flags & LPN_FLAG_CERTIFIED) != 0) != (sizes[3] != 0)
        || ((flags & LPN_FLAG_DEPARSES) != 0 && kind != LPN_FUSED)) {
        return LPN_E_FLAGS;
    }
    if (!lpn_is_zero(bytes + 54, 10)) {
        return LPN_E_HEADER_RESERVED;
    }
    if (sizes[0] == 0 || sizes[0] % 8 != 0) {
        return LPN_E_TEXT;
    }
    if (lpn_get16(bytes + LPN_IMAGE_STACK) > LPN_STACK_SIZE) {
        return LPN_E_FIELD;
    }
    const uint8_t *at = bytes + HEADER_SIZE, *name = at;
    for (unsigned i = 0; i < 5; i++) {
        name = at;
        at += sizes[i];
        const size_t padding = (0u - sizes[i]) & (i == 0 ? 7u : 3u);
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
