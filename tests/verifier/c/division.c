// A quotient and a remainder by numbers of the packet, tested before.
// twin 28: the sum of the two is tested instead of each
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 8 > end) return DROP;
    u32 a = *(u32 *)p, b = p[4], c = p[5];
#ifdef TWIN
    if (b + c == 0) return DROP;
#else
    if (b == 0 || c == 0) return DROP;
#endif
    return a / b + a % c > 100 ? PASS : DROP;
}
