// A list whose length is in network order: compared with 0 before its octets are swapped.
// twin 19: from the second to the one behind the last
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 4 > end) return DROP;
    u32 n = be16(*(u16 *)(p + 2)), s = 0;
    if (n > 64) return DROP;
    u16 *a = (u16 *)(p + 4);
    if ((u8 *)(a + n) > end) return DROP;
#ifdef TWIN
    for (u32 i = 1; i <= n; i++) s += be16(a[i]);
#else
    for (u32 i = 0; i < n; i++) s += be16(a[i]);
#endif
    return s & 1 ? PASS : DROP;
}
