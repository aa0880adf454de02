// A segment routing header, whose addresses are counted before its end is compared with the packet's (RFC 8754): its length is in units of eight octets.
// twin 19: it may be the address behind the last
#include "xdp.h"
#ifdef TWIN
#define LAST(n) ((n) / 2 + 1)
#else
#define LAST(n) ((n) / 2)
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 48 > end || p[6] != 43) return DROP;
    u8 *h = p + 40;
    u32 n = h[1], left = h[3];
    if (h[2] != 4 || left > LAST(n) || h + 8 + n * 8 > end) return DROP;
    if (left == 0) return PASS;
    left--;
    h[3] = left;
    u8 *address = h + 8 + left * 16;
    for (int i = 0; i < 16; i++) p[24 + i] = address[i];
    return PASS;
}
