// Octets in the other order: one pointer goes up and another down, and a counter beside them.
// twin 19 23: one turn more than the lower one has octets below it, and it is read from one before
#include "xdp.h"
#ifdef TWIN
#define TURNS 61
#else
#define TURNS 28
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 60 > end) return PASS;
#pragma clang loop unroll(disable)
    for (int k = 0; k < TURNS; k++) {
        u8 t = p[k];
        p[k] = p[59 - k];
        p[59 - k] = t;
    }
    return 3;
}
