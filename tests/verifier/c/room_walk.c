// How much is left behind a cursor is a number, a length is compared with that, and a cursor walks over as many octets.
// twin 19: one octet more than there is room for
#include "xdp.h"
#ifdef TWIN
#define MORE 1
#else
#define MORE 0
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    u32 h = 0;
    if (p + 2 > end) return DROP;
    p += p[0] & 1;
    u32 len = *p++, left = end - p;
    if (len > left + MORE) return DROP;
#pragma clang loop unroll(disable)
    while (len--) h = h * 31 + *p++;
    return h & 1 ? PASS : DROP;
}
