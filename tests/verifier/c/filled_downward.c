// From the last byte to the first.
// twin 16: the first one is left out
#include "xdp.h"
#ifdef TWIN
#define FIRST 1
#else
#define FIRST 0
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    u8 b[12];
    if (p + 12 > end) return DROP;
#pragma clang loop unroll(disable)
    for (int i = 11; i >= FIRST; i--) b[i] = p[11 - i];
    u32 h = 0;
#pragma clang loop unroll(disable)
    for (u32 i = 0; i < 12; i++) h = h * 31 + b[i];
    return h & 1 ? PASS : DROP;
}
