// Two digits of each octet: LLVM compares how far the digits are, which is twice as far as the octets are.
// twin 19: one octet more than there are
#include "xdp.h"
#ifdef TWIN
#define COUNT 17
#else
#define COUNT 16
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 16 > end) return DROP;
    char out[2 * COUNT], *o = out;
    u32 h = 0;
#pragma clang loop unroll(disable)
    for (int i = 0; i < COUNT; i++) { *o++ = p[i] >> 4; *o++ = p[i] & 15; }
#pragma clang loop unroll(disable)
    for (int i = 0; i < 2 * COUNT; i++) h = h * 31 + out[i];
    return h & 1 ? PASS : DROP;
}
