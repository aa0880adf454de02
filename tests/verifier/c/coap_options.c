// CoAP's options (RFC 7252, 3.1), with deltas and lengths of one or two octets more; Uri-Path is read octet by octet.
// twin 19: two octets of a delta are read where one was compared
#include "xdp.h"
#ifdef TWIN
#define WIDE 1
#else
#define WIDE 2
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 4 > end) return DROP;
    u32 token = p[0] & 15, number = 0, h = 0;
    if (token > 8) return DROP;
    p += 4 + token;
    for (int n = 0; p < end && n < 16; n++) {
        u8 first = *p++;
        if (first == 0xff) break;
        u32 delta = first >> 4, length = first & 15;
        if (delta == 15 || length == 15) return DROP;
        if (delta == 13) { if (p + 1 > end) return DROP; delta += *p++; }
        else if (delta == 14) { if (p + WIDE > end) return DROP; delta = (p[0] << 8 | p[1]) + 269; p += 2; }
        if (length == 13) { if (p + 1 > end) return DROP; length += *p++; }
        else if (length == 14) { if (p + 2 > end) return DROP; length = (p[0] << 8 | p[1]) + 269; p += 2; }
        number += delta;
        u8 *value = p + length;
        if (value > end) return DROP;
        if (number == 11) for (; p < value; p++) h = h * 33 + *p;
        p = value;
    }
    return h & 1 ? PASS : DROP;
}
