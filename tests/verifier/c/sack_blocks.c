// An option that holds as many blocks of eight octets as its length has room for.
// twin 19: one more than there is room for
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 2 > end) return DROP;
    u32 len = p[1], s = 0;
    if (len < 2 || p + len > end) return DROP;
    u32 n = (len - 2) / 8;
#ifdef TWIN
    for (u32 i = 0; i <= n; i++) s += *(u32 *)(p + 2 + 8 * i) ^ *(u32 *)(p + 6 + 8 * i);
#else
    for (u32 i = 0; i < n; i++) s += *(u32 *)(p + 2 + 8 * i) ^ *(u32 *)(p + 6 + 8 * i);
#endif
    return s & 1 ? PASS : DROP;
}
