// A function reads what its caller has filled, as far as a byte of the packet says.
// twin 16: it is filled from the second byte on
#include "xdp.h"
#ifdef TWIN
#define FIRST 1
#else
#define FIRST 0
#endif
APART u32 sum(const u8 *b, u32 n) {
    u32 h = 0;
    if (n > 20) return 0;
#pragma clang loop unroll(disable)
    for (u32 i = 0; i < n; i++) h = h * 31 + b[i];
    return h;
}
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    u8 b[20];
    if (p + 20 > end) return DROP;
#pragma clang loop unroll(disable)
    for (u32 i = FIRST; i < 20; i++) b[i] = p[19 - i];
    return sum(b, p[0] & 15) & 1 ? PASS : DROP;
}
