// The digits of a number, until nothing is left of it.
// twin 33: 0 divided by 10 is not 1, either
#include "xdp.h"
#ifdef TWIN
#define LAST 1
#else
#define LAST 0
#endif
XDP int program(struct xdp_md *ctx) {
    u32 v = ctx->ingress_ifindex, sum = 0;
    while (v != LAST) { sum += v % 10; v /= 10; }
    return sum & 1 ? PASS : DROP;
}
