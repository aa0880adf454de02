// An octet below 128 as the number of a bit on the stack: clang looks at its sign.
// twin 18: 129 bits, of which the last one has no octet
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 8 > end) return PASS;
    u8 got[16] = {0};
    u32 from = p[4];
#ifdef TWIN
    if (from > 128) return DROP;
#else
    if (from >= 128) return DROP;
#endif
    got[from >> 3] |= 1 << (from & 7);
    for (u32 k = from; k < from + p[5] && k < 128; k++) got[k >> 3] |= 1 << (k & 7);
    u32 n = 0;
#pragma clang loop unroll(disable)
    for (int k = 0; k < 16; k++) n += __builtin_popcount(got[k]);
    return n == 128 ? PASS : DROP;
}
