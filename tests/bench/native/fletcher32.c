/* SPDX-License-Identifier: LGPL-2.1-only */
/* Fletcher's checksum over 16-bit little-endian words; `bytes` is even. The sums are folded often enough not to overflow: after
 * 359 words (RFC 1146, appendix I, for 16-bit words). */
#include <stdint.h>

uint32_t fletcher32(const uint16_t *data, uint32_t bytes)
{
    uint32_t a = 0xffff, b = 0xffff, words = bytes / 2;
    while (words) {
        uint32_t run = words > 359 ? 359 : words;
        words -= run;
#pragma clang loop unroll(disable) vectorize(disable)
        do {
            a += *data++;
            b += a;
        } while (--run);
        a = (a & 0xffff) + (a >> 16);
        b = (b & 0xffff) + (b >> 16);
    }
    a = (a & 0xffff) + (a >> 16);
    b = (b & 0xffff) + (b >> 16);
    return b << 16 | a;
}
