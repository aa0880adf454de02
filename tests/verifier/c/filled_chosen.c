// Odd bytes are kept: what is written goes by a counter of its own.
// twin 16: all are read
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    u8 b[20];
    u32 n = 0;
    if (p + 20 > end) return DROP;
#pragma clang loop unroll(disable)
    for (u32 i = 0; i < 20; i++)
        if (p[i] & 1) b[n++] = p[i];
    u32 h = 0;
#ifdef TWIN
    n = 20;
#endif
#pragma clang loop unroll(disable)
    for (u32 i = 0; i < n; i++) h = h * 31 + b[i];
    return h & 1 ? PASS : DROP;
}
