// Insertion sort while the bytes arrive: those before the i-th are there, and while they move up all but one up to it.
// twin 16: it begins with the place that is not written yet
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    u8 b[16];
    if (p + 16 > end) return DROP;
#pragma clang loop unroll(disable)
    for (int i = 0; i < 16; i++) {
        u8 x = p[i];
#ifdef TWIN
        int j = i + 1;
#else
        int j = i;
#endif
#pragma clang loop unroll(disable)
        while (j > 0 && b[j - 1] > x) { b[j] = b[j - 1]; j--; }
        b[j] = x;
    }
    return b[8] > 100 ? PASS : DROP;
}
