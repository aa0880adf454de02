// A number of 1, 2, 4 or 8 octets, as the first two bits say (RFC 9000, 16): a constant is shifted by them.
// twin 19: one octet more
#include "xdp.h"
#ifdef TWIN
#define ENDS(i, n) (i > n)
#else
#define ENDS(i, n) (i >= n)
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 1 > end) return DROP;
    u32 n = 1 << (p[0] >> 6);
    if (p + n > end) return DROP;
    u64 x = p[0] & 0x3f;
    for (u32 i = 1; !ENDS(i, n); i++) x = x << 8 | p[i];
    return x & 1 ? PASS : DROP;
}
