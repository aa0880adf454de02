/* SPDX-License-Identifier: LGPL-2.1-only */
/* Ethernet, IPv6, UDP: hop limit less one, the next hop's address written; `next` is what the lookup found. IEEE Std 802.3,
 * RFC 8200, 3. Returns whether the frame is sent on. */
#include <stdint.h>

enum { ETHERNET = 14, IPV6 = 40, UDP = 8, TYPE = 12, NEXT_HEADER = 20, HOP_LIMIT = 21 };

uint32_t forward(uint8_t *frame, uint32_t size, const uint8_t *next)
{
    if (size < ETHERNET + IPV6 + UDP || frame[TYPE] != 0x86 || frame[TYPE + 1] != 0xdd || frame[ETHERNET] >> 4 != 6
        || frame[NEXT_HEADER] != 17 || frame[HOP_LIMIT] <= 1 || !next) {
        return 0;
    }
    frame[HOP_LIMIT]--;
    for (uint32_t i = 0; i < 6; i++) {
        frame[i] = next[i];
    }
    return 1;
}
