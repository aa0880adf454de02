// The same where two bounds are compared in each turn: the least of three numbers is how often it turns.
// twin 19: one more than the length says, of which nobody asked
// apart
#include "xdp.h"
#ifdef TWIN
#define MORE 1
#else
#define MORE 0
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *h = START(ctx), *end = END(ctx);
    if (h + 2 > end) return DROP;
    u32 n = h[0], x = 0;
    u8 *body = h + 2;
    for (u32 i = 0; i < n && i < 24; i++) {
        if (body + i + 1 > end) return DROP;
        x = x * 5 + body[i + MORE];
    }
    return x & 8 ? PASS : DROP;
}
