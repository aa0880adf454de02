// TCP-like options: type, length, value, until the end or 40 of them.
// twin 33: an option of length 0 is not refused and the number of options is not counted
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    u32 found = 0;
#ifdef TWIN
    for (;;) {
#else
#pragma clang loop unroll(disable)
    for (u32 i = 0; i < 40; i++) {
#endif
        if (p + 2 > end) break;
        u32 kind = p[0], size = p[1];
        if (kind == 0) break;
#ifndef TWIN
        if (kind == 1) { p += 1; continue; }
        if (size < 2) return DROP;
#endif
        if (kind == 8) found = 1;
        p += size;
    }
    return found ? PASS : DROP;
}
