// A loop that shifts its counter until nothing is left: the population count of a byte.
// twin 33: it shifts by what the packet says, which may be nothing
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 2 > end) return DROP;
    u32 x = p[0], n = 0, by = p[1] & 3;
    (void)by;
#pragma clang loop unroll(disable)
    while (x) {
        n += x & 1;
        __asm__ volatile("" : "+r"(x));
#ifdef TWIN
        x >>= by;
#else
        x >>= 1;
#endif
    }
    return n > 3 ? PASS : DROP;
}
