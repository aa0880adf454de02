// The last octet behind a cursor that one of two ways has moved; what is left is taken in 32 bits.
// twin 19: the octet behind it
#include "xdp.h"
#ifdef TWIN
#define LAST 0
#else
#define LAST 1
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 6 > end) return DROP;
    if (p[1] & 2) p += 3; else p += 2;
    if (p >= end) return DROP;
    u32 n = end - p;
    return p[n - LAST] & 1 ? PASS : DROP;
}
