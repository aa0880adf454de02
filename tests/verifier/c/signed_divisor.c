// A signed octet that is not 0 divides: between its bounds there is 0, which it cannot be.
// twin 28: it is not 0 with one more
#include "xdp.h"
#ifdef TWIN
#define ASKED(x) (x + 1)
#else
#define ASKED(x) (x)
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 1 > end) return DROP;
    s8 by = p[0];
    if (ASKED(by) == 0) return DROP;
    return (1000u / (u32)(s32)by) & 1 ? PASS : DROP;
}
