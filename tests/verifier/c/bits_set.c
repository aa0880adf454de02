// The bits of a mask, one by one, the lowest first.
// twin 33: it never becomes 4 where that bit is not set
#include "xdp.h"
#ifdef TWIN
#define LAST 4
#else
#define LAST 0
#endif
XDP int program(struct xdp_md *ctx) {
    u32 x = ctx->rx_queue_index, n = 0;
    while (x != LAST) { n = n * 5 + (x ^ x >> 7); x &= x - 1; }
    return n & 8 ? PASS : DROP;
}
