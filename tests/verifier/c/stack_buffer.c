// A header copied to the stack with an index, then summed.
// twin 18: the copy goes one byte beyond the buffer
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    volatile u8 copy[32] = {0};
    if (p + 33 > end) return DROP;
    u32 at = p[0];
#ifdef TWIN
    if (at > 32) return DROP;
#else
    if (at > 31) return DROP;
#endif
#pragma clang loop unroll(disable)
    for (u32 i = 0; i < 32; i++) copy[i] = p[i];
    copy[at] = 1;
    u32 sum = 0;
#pragma clang loop unroll(disable)
    for (u32 i = 0; i < 32; i++) sum += copy[i];
    return sum & 1 ? PASS : DROP;
}
