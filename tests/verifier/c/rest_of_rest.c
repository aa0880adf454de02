// What lies behind a mark, whose place is counted: `len - at - 1` octets.
// twin 19: one more of them
#include "xdp.h"
#ifdef TWIN
#define LESS 0
#else
#define LESS 1
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *h = START(ctx), *end = END(ctx);
    u32 len = end - h, at = 0, x = 0;
    if (len > 300) return DROP;
    while (at < len && h[at] != ':') at++;
    if (at >= len) return DROP;
    u8 *behind = h + at + 1;
    u32 n = len - at - LESS;
    for (u32 i = 0; i < n; i++) x = x * 7 ^ behind[i];
    return x & 1 ? PASS : DROP;
}
