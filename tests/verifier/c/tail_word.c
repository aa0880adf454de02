// What is left behind whole words of 4 octets.
// twin 19: the second octet behind them, where there may be one
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 15 > end) return DROP;
    u32 ihl = (p[14] & 15) * 4, n = p[1];
    p += ihl;
    if (p + n > end) return DROP;
    u8 *tail = p + (n & ~3);
#ifdef TWIN
    return n & 3 && tail[1] ? PASS : DROP;
#else
    return n & 3 && tail[0] ? PASS : DROP;
#endif
}
