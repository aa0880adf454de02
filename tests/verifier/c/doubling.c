// A bit that moves left until it leaves a byte; the bits of the packet's first byte are counted by it.
// twin 34 33: the bit moves only when the packet's is set
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 1 > end) return DROP;
    u32 n = 0;
#pragma clang loop unroll(disable)
    for (u32 bit = 1; bit < 256;) {
        if (p[0] & bit) {
            n++;
#ifdef TWIN
            bit <<= 1;
#endif
        }
#ifndef TWIN
        bit <<= 1;
#endif
        __asm__ volatile("" : "+r"(n));
    }
    return n > 3 ? PASS : DROP;
}
