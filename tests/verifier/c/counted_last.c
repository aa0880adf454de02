// The entry that is so many before the end of a list, whose length was compared with the packet's end.
// twin 19: it may be the one behind the last
#include "xdp.h"
struct addr { u32 w[4]; };
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 8 > end) return DROP;
    u32 n = p[4], left = p[3];
    struct addr *a = (void *)(p + 8);
    if ((u8 *)(a + n) > end) return DROP;
#ifdef TWIN
    if (left > n) return DROP;
    return a[left].w[0] & 1 ? PASS : DROP;
#else
    if (left == 0 || left > n) return DROP;
    return a[n - left].w[0] & 1 ? PASS : DROP;
#endif
}
