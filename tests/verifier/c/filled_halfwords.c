// Halfwords to the stack, sorted there; their places come from a counter that is doubled and from a pointer beside it.
// twin 16: the last one is not written
#include "xdp.h"
#ifdef TWIN
#define LAST 15
#else
#define LAST 16
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    u16 b[16];
    if (p + 32 > end) return DROP;
#pragma clang loop unroll(disable)
    for (int i = 0; i < LAST; i++) b[i] = p[2 * i] << 8 | p[2 * i + 1];
#pragma clang loop unroll(disable)
    for (int i = 1; i < 16; i++) {
        u16 x = b[i];
        int j = i;
#pragma clang loop unroll(disable)
        while (j > 0 && b[j - 1] > x) { b[j] = b[j - 1]; j--; }
        b[j] = x;
    }
    return b[8] > 100 ? PASS : DROP;
}
