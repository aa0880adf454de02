// 64-bit lengths and offsets, compared in 64 bits.
// twin 30 23: compared after their upper halves were cut off
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 80 > end) return DROP;
    u64 at = *(u64 *)p;
#ifdef TWIN
    u32 low = at;
    if (low > 60) return DROP;
    __asm__ volatile("" :: "r"(low));
    return *(p + 16 + at) ? PASS : DROP;
#else
    if (at > 60) return DROP;
    return *(p + 16 + at) ? PASS : DROP;
#endif
}
