// The first bytes of the packet move down by two, in place; what is written stays inside.
// twin 19: they move up by two
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 18 > end) return DROP;
#pragma clang loop unroll(disable)
    for (u32 i = 0; i < 16; i++) {
#ifdef TWIN
        p[17 - i + 2] = p[17 - i];
#else
        p[i] = p[i + 2];
#endif
    }
    return PASS;
}
