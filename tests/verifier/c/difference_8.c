// A difference of 8 bits is masked where it is compared, and again where it is used.
// twin 16 17 18: 16 is no index of 16
#include "xdp.h"
#ifdef TWIN
#define MOST 16
#else
#define MOST 15
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx), table[16] = {};
    if (p + 2 > end) return DROP;
    u32 a = p[0], b = p[1];
    u8 apart = a - b;
    if (apart > MOST) return DROP;
    table[apart] = 1;
    return table[3] ? PASS : DROP;
}
