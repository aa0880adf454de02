// Octets in another order: where each is, says a table in read-only data.
// twin 16 18: one of the places is behind them
// constants
#include "xdp.h"
#ifdef TWIN
#define LAST 16
#else
#define LAST 14
#endif
static const u8 place[16] = {3, 1, 0, 2, 7, 5, 4, 6, 8, 10, 9, 11, 15, 13, 12, LAST};
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx), b[16];
    if (p + 16 > end) return DROP;
    for (int i = 0; i < 16; i++) b[i] = p[i];
    u32 h = 0;
    for (int i = 0; i < 16; i++) h = h * 31 + b[place[b[i] & 15]];
    return h & 1 ? PASS : DROP;
}
