// How far two numbers are apart: in 32 bits clang takes one difference before it compares them, which may go through 0.
// twin 19 23: the other way round
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 32 > end) return DROP;
    u32 a = p[0] & 31, b = p[1] & 31;
#ifdef TWIN
    u32 n = a < b ? a - b : b - a;
#else
    u32 n = a > b ? a - b : b - a;
#endif
    return p[n] & 1 ? PASS : DROP;
}
