// A length that is even and not 0 is at least 2: what a mask leaves of a number says what its bits are.
// twin 19: one that is odd may be 1
#include "xdp.h"
#ifdef TWIN
#define REST 0
#else
#define REST 1
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 1 > end) return DROP;
    u32 n = p[0];
    if ((n & 1) == REST || n == 0 || p + 1 + n > end) return DROP;
    return p[2] & 1 ? PASS : DROP;
}
