// Two lists of one length, one behind the other.
// twin 19: one octet more may be compared
#include "xdp.h"
struct addr { u32 w[4]; };
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 4 > end) return DROP;
    u32 n = p[1], s = 0;
    struct addr *a = (void *)(p + 4);
    if ((u8 *)(a + n) > end) return DROP;
    u32 *m = (u32 *)(a + n);
#ifdef TWIN
    if ((u8 *)(m + n) > end + 1) return DROP;
#else
    if ((u8 *)(m + n) > end) return DROP;
#endif
    for (u32 i = 0; i < n; i++) s += a[i].w[3] ^ m[i];
    return s & 1 ? PASS : DROP;
}
