// A table in read-only data, looked up by a masked and by a compared index.
// twin 22: the comparison allows one more than the table has
#include "xdp.h"
static const u8 cost[16] = {1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 7, 9, 11, 15};
static const u32 words[10] = {10, 200, 3000, 40000, 500000, 6000000, 70000000, 8, 90, 1000};
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 2 > end) return DROP;
    u32 i = p[1];
#ifdef TWIN
    if (i > 10) return DROP;
#else
    if (i >= 10) return DROP;
#endif
    return cost[p[0] & 15] + words[i] > 1000 ? PASS : DROP;
}
