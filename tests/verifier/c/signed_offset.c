// A signed number from the packet moves a cursor, both ends compared.
// twin 19: only the upper end is compared
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 41 > end) return DROP;
    s32 move = (s8)p[0];
#ifdef TWIN
    if (move > 20) return DROP;
#else
    if (move > 20 || move < -20) return DROP;
#endif
    return *(p + 20 + move) ? PASS : DROP;
}
