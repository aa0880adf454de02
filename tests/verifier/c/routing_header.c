// The next address of a routing header, exchanged with the destination (RFC 8200 4.4): its length is in units of eight octets.
// twin 19: it may be the one behind the last
#include "xdp.h"
struct addr { u64 w[2]; };
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 40 > end || p[6] != 43) return DROP;
    u8 *h = p + 40;
    if (h + 8 > end) return DROP;
    u32 hdrlen = h[1], left = h[3], n = hdrlen / 2;
    if (h + 8 + hdrlen * 8 > end) return DROP;
#ifdef TWIN
    if (left > n) return DROP;
    struct addr *next = (struct addr *)(h + 8) + left;
#else
    if (left == 0 || left > n) return DROP;
    struct addr *next = (struct addr *)(h + 8) + (n - left);
#endif
    u64 t0 = *(u64 *)(p + 24), t1 = *(u64 *)(p + 32);
    *(u64 *)(p + 24) = next->w[0]; *(u64 *)(p + 32) = next->w[1];
    next->w[0] = t0; next->w[1] = t1;
    h[3] = left - 1;
    return PASS;
}
