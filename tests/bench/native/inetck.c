/* SPDX-License-Identifier: LGPL-2.1-only */
/* UDP's checksum over IPv6: the pseudo header's addresses (32 bytes), then header and payload. RFC 8200, 8.1; RFC 1071.
 * Returns the complemented sum as it is stored. */
#include <stdint.h>

enum { ADDRESSES = 32, UDP = 17 };

uint32_t inetck(const uint16_t *data, uint32_t bytes)
{
    uint32_t length = bytes - ADDRESSES, words = bytes / 2;
    uint32_t sum = (length >> 8 | (length & 0xff) << 8) + (UDP << 8);       /* in network order, read little-endian */
#pragma clang loop unroll(disable) vectorize(disable)
    while (words--) {
        sum += *data++;
    }
    if (bytes & 1) {
        sum += *(const uint8_t *)data;
    }
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return ~sum & 0xffff;
}
