// Run lengths: a run is cut to the room that is left, and only what was written is read.
// twin 16 18: one octet more is read than was written
// apart
#include "xdp.h"
#ifdef TWIN
#define MORE 1
#else
#define MORE 0
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *start = START(ctx), *end = END(ctx), out[64];
    u32 n = 0, sum = 0;
    if (end - start > 256) return DROP;
    for (u8 *p = start; p + 2 <= end; p += 2) {
        u32 run = p[0];
        if (run > 64 - n) run = 64 - n;
        for (u32 i = 0; i < run; i++) out[n + i] = p[1];
        n += run;
        if (n >= 64) break;
    }
    for (u32 i = 0; i < n + MORE; i++) sum = sum * 31 + out[i];
    return sum & 1 ? PASS : DROP;
}
