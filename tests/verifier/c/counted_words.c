// A header as long as it says in words of four octets, summed by words of two.
// twin 19 23: one more than there are
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 20 > end) return DROP;
    u32 words = p[0] & 15, s = 0;
    if (words < 5 || p + words * 4 > end) return DROP;
    u16 *h = (u16 *)p;
#ifdef TWIN
    for (u32 i = 0; i <= words * 2; i++) s += h[i];
#else
    for (u32 i = 0; i < words * 2; i++) s += h[i];
#endif
    s = (s & 0xffff) + (s >> 16);
    return s == 0xffff ? PASS : DROP;
}
