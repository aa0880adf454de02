// Shifts by numbers of the packet, masked or compared.
// twin 29: compared with more than the width
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 8 > end) return DROP;
    u32 a = *(u32 *)p, n = p[4], m = p[5] & 31;
    __asm__ volatile("" : "+r"(n));
#ifdef TWIN
    if (n > 64) return DROP;
#else
    if (n > 31) return DROP;
#endif
    __asm__ volatile("" : "+r"(m));
    return ((a << n) ^ (a >> (m & 31))) & 0x80 ? PASS : DROP;
}
