// The odd places of a table on the stack: twice a number, less one.
// twin 18: the number may be one more
#include "xdp.h"
#ifdef TWIN
#define MOST 9
#else
#define MOST 8
#endif
XDP int program(struct xdp_md *ctx) {
    u8 table[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    u32 n = ctx->rx_queue_index;
    if (n == 0 || n > MOST) return DROP;
    table[2 * n - 1] = 7;
    return table[ctx->ingress_ifindex & 15] & 1 ? PASS : DROP;
}
