// Bytes until the packet ends, at most 24; as many are read.
// twin 16: the one at which it ended counts
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    u8 b[24];
    u32 n = 0;
#pragma clang loop unroll(disable)
    for (u32 i = 0; i < 24; i++) {
#ifdef TWIN
        n = i + 1;
#endif
        if (p + i + 1 > end) break;
        b[i] = p[i];
#ifndef TWIN
        n = i + 1;
#endif
    }
    u32 h = 0;
#pragma clang loop unroll(disable)
    for (u32 i = 0; i < n; i++) h = h * 31 + b[i];
    return h & 1 ? PASS : DROP;
}
