// Octets in the other order: one pointer goes up and another down, and a counter beside them.
// twin 19 23: one turn more than the lower one has octets below it, and it is read from one before
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 60 > end) return PASS;
#ifdef TWIN
#pragma clang loop unroll(disable)
    for (int k = 0; k < 61; k++) {
        u8 t = p[k];
        p[k] = p[59 - k];
        p[59 - k] = t;
    }
#else
#pragma clang loop unroll(disable)
    for (int k = 0; k < 28; k++) {
        u8 t = p[k];
        p[k] = p[59 - k];
        p[59 - k] = t;
    }
#endif
    return 3;
}
