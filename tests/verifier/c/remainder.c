// Two places of a table, by the remainders of a number that is divided by another one.
// twin 18: the divisor may be one more than the table has places
#include "xdp.h"
#ifdef TWIN
#define MOST 17
#else
#define MOST 16
#endif
XDP int program(struct xdp_md *ctx) {
    u8 table[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    u32 x = ctx->rx_queue_index, n = ctx->ingress_ifindex;
    if (n == 0 || n > MOST) return DROP;
    table[x % n] = 7;
    return table[(x >> 8) % n] & 1 ? PASS : DROP;
}
