/* SPDX-License-Identifier: LGPL-2.1-only */
/* The container image, parsed. compiler/image.py makes the same checks in the same order. */
#include "bytes.h"
#include "lpn.h"

#define HEADER_SIZE 64u
#define MAX_NAME 64u

const char *lpn_error_name(int error)
{
#define NAME(code, name) name,
    static const char *const names[] = { LPN_ERRORS(NAME) };
#undef NAME
    return error >= 0 && error < LPN_ERROR_COUNT ? names[error] : "?";
}

uint32_t lpn_crc32(uint32_t crc, const uint8_t *bytes, size_t size)
{
    /* One nibble a step: 64 bytes of table, a quarter of the time of one bit a step. Four bytes are taken at once. */
    static const uint32_t table[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
        0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
#define NIBBLE crc = crc >> 4 ^ table[crc & 15]
    crc = ~crc;
    for (; size >= 4; size -= 4, bytes += 4) {
        crc ^= lpn_get32(bytes);
        NIBBLE; NIBBLE; NIBBLE; NIBBLE; NIBBLE; NIBBLE; NIBBLE; NIBBLE;
    }
    for (; size > 0; size--) {
        crc ^= *bytes++;
        NIBBLE; NIBBLE;
    }
#undef NIBBLE
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

int lpn_image_parse(lpn_image *image, const uint8_t *bytes, size_t size)
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
        uint64_t align = i == 0 ? 8 : 4;
        sizes[i] = lpn_get32(bytes + 20 + 4 * i);
        sum += (sizes[i] + align - 1) / align * align;
    }
    if (sum != total) {
        return LPN_E_LENGTH;
    }
    static const uint8_t no_crc[4] = { 0, 0, 0, 0 };
    uint32_t crc = lpn_crc32(lpn_crc32(0, bytes, 12), no_crc, 4);
    if (lpn_crc32(crc, bytes + 16, total - 16) != lpn_get32(bytes + 12)) {
        return LPN_E_CHECKSUM;
    }
    image->kind = bytes[16];
    if (image->kind < LPN_PARSER || image->kind > LPN_MIGRATION) {
        return LPN_E_KIND;
    }
    image->profile = bytes[17];
    if (image->profile != 1) {
        return LPN_E_PROFILE;
    }
    image->flags = lpn_get16(bytes + 18);
    if ((image->flags & ~(LPN_FLAG_CLEAN32 | LPN_FLAG_CERTIFIED | LPN_FLAG_DEPARSES)) != 0
        || ((image->flags & LPN_FLAG_CERTIFIED) != 0) != (sizes[3] != 0)
        || ((image->flags & LPN_FLAG_DEPARSES) != 0 && image->kind != LPN_FUSED)) {
        return LPN_E_FLAGS;
    }
    if (!lpn_is_zero(bytes + 54, 10)) {
        return LPN_E_HEADER_RESERVED;
    }
    if (sizes[0] == 0 || sizes[0] % 8 != 0) {
        return LPN_E_TEXT;
    }
    image->stack_used = lpn_get16(bytes + 52);
    if (image->stack_used > LPN_STACK_SIZE) {
        return LPN_E_FIELD;
    }
    const uint8_t *section[5];
    const uint8_t *at = bytes + HEADER_SIZE;
    for (unsigned i = 0; i < 5; i++) {
        section[i] = at;
        at += sizes[i];
        size_t padding = (0u - sizes[i]) % (i == 0 ? 8u : 4u);
        if (!lpn_is_zero(at, padding)) {
            return LPN_E_PADDING;
        }
        at += padding;
    }
    if (!name_ok(section[4], sizes[4])) {
        return LPN_E_NAME;
    }
    image->text = section[0], image->text_size = sizes[0];
    image->rodata = section[1], image->rodata_size = sizes[1];
    image->data = section[2], image->data_size = sizes[2];
    image->certificate = section[3], image->certificate_size = sizes[3];
    image->name = section[4], image->name_size = sizes[4];
    image->record_hash = lpn_get32(bytes + 40);
    image->record_size = lpn_get16(bytes + 44);
    image->state_size = lpn_get16(bytes + 46);
    image->state_hash = lpn_get32(bytes + 48);
    return LPN_OK;
}
