/* SPDX-License-Identifier: LGPL-2.1-only */
/* The UDP destination port of an 802.15.4 data frame with LOWPAN_IPHC and LOWPAN_NHC, or 0. IEEE Std 802.15.4-2020, 7.2;
 * RFC 6282, 3.1 and 4.3. Every read lies inside the frame. */
#include <stdint.h>

enum { NONE, RESERVED, SHORT, EXTENDED };

uint32_t hdrparse(const uint8_t *frame, uint32_t size)
{
    if (size < 3 || size > 127) {
        return 0;
    }
    uint32_t fcf0 = frame[0], fcf1 = frame[1], at = 3;
    if ((fcf0 & 0x0f) != 1) {                   /* a data frame without security */
        return 0;
    }
    uint32_t dst = fcf1 >> 2 & 3, src = fcf1 >> 6;
    if (dst == RESERVED || src == RESERVED) {
        return 0;
    }
    if (dst != NONE) {
        at += dst == SHORT ? 4 : 10;
    }
    if (src != NONE) {
        if (dst == NONE || !(fcf0 & 0x40)) {    /* a PAN of its own */
            at += 2;
        }
        at += src == SHORT ? 2 : 8;
    }
    if (at + 2 > size) {
        return 0;
    }
    uint32_t h0 = frame[at], h1 = frame[at + 1];
    at += 2;
    if ((h0 & 0xe4) != 0x64) {                  /* IPHC, next header compressed */
        return 0;
    }
    if (h1 & 0x80) {                            /* CID */
        at += 1;
    }
    switch (h0 >> 3 & 3) {                      /* TF */
    case 0: at += 4; break;
    case 1: at += 3; break;
    case 2: at += 1; break;
    default: break;
    }
    if (!(h0 & 3)) {                            /* HLIM in line */
        at += 1;
    }
    switch (h1 >> 4 & 3) {                      /* SAM */
    case 0: at += h1 & 0x40 ? 0 : 16; break;    /* with SAC: the unspecified address */
    case 1: at += 8; break;
    case 2: at += 2; break;
    default: break;
    }
    uint32_t dam = h1 & 3;
    if (!(h1 & 0x08)) {                         /* unicast */
        switch (dam) {
        case 0:
            if (h1 & 0x04) {
                return 0;                       /* reserved */
            }
            at += 16;
            break;
        case 1: at += 8; break;
        case 2: at += 2; break;
        default: break;
        }
    } else if (h1 & 0x04) {                     /* multicast from a context */
        if (dam) {
            return 0;
        }
        at += 6;
    } else {
        switch (dam) {
        case 0: at += 16; break;
        case 1: at += 6; break;
        case 2: at += 4; break;
        default: at += 1; break;
        }
    }
    if (at + 4 > size) {
        return 0;
    }
    uint32_t nhc = frame[at];
    if ((nhc & 0xf8) != 0xf0) {                 /* LOWPAN_NHC, UDP */
        return 0;
    }
    switch (nhc & 3) {                          /* P */
    case 3:
        return 0xf0b0 | (frame[at + 1] & 15);
    case 2:
        return (uint32_t)frame[at + 2] << 8 | frame[at + 3];
    case 1:
        return 0xf000 | frame[at + 3];
    default:
        if (at + 5 > size) {
            return 0;
        }
        return (uint32_t)frame[at + 3] << 8 | frame[at + 4];
    }
}
