// A loop in a loop: a matrix of 8 x 8 bytes of the packet, its diagonal weighed.
// twin 19: the inner loop goes one too far
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 64 > end) return DROP;
    u32 sum = 0;
#pragma clang loop unroll(disable)
    for (u32 i = 0; i < 8; i++) {
#ifdef TWIN
#pragma clang loop unroll(disable)
        for (u32 j = 0; j <= 8; j++) sum += p[i * 8 + j] * (i == j ? 3 : 1);
#else
#pragma clang loop unroll(disable)
        for (u32 j = 0; j < 8; j++) sum += p[i * 8 + j] * (i == j ? 3 : 1);
#endif
    }
    return sum & 1 ? PASS : DROP;
}
