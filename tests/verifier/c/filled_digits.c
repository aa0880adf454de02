// Two digits for each byte, up to a 0 behind them.
// twin 16: the second digit goes where the next first one does
#include "xdp.h"
#ifdef TWIN
#define SECOND 2
#else
#define SECOND 1
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    char out[34];
    if (p + 16 > end) return DROP;
#pragma clang loop unroll(disable)
    for (u32 i = 0; i < 16; i++) {
        u8 high = p[i] >> 4, low = p[i] & 15;
        out[2 * i] = high < 10 ? '0' + high : 'a' + high - 10;
        out[2 * i + SECOND] = low < 10 ? '0' + low : 'a' + low - 10;
    }
    out[32] = 0;
    u32 h = 0;
#pragma clang loop unroll(disable)
    for (u32 i = 0; i < 40; i++) {
        if (i > 32 || !out[i]) break;
        h = h * 31 + out[i];
    }
    return h & 1 ? PASS : DROP;
}
