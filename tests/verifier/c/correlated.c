// A copy is compared, the source is used; a sum is compared, its part is used.
// twin 19: the copy is made before the source changes
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 2 > end) return DROP;
    u32 n = p[0], m = p[1];
    u32 copy = n;
    __asm__ volatile("" : "+r"(copy));
#ifdef TWIN
    n += m;
#endif
    u8 *q = p + n;
    if (q + m > end) return DROP;
    if (q + m + 1 > end) return DROP;
    return q[0] + (copy < 8 ? q[m] : 0) + (n < 100 ?
#ifdef TWIN
        q[m + 1]
#else
        q[m]
#endif
        : 0) > 9 ? PASS : DROP;
}
