// A list behind a variable header whose length is counted down, while a pointer moves on.
// twin 19: once more than there are entries
#include "xdp.h"
struct rec { u32 a, b; };
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 1 > end) return DROP;
    p += 1 + (p[0] & 63);
    if (p + 2 > end) return DROP;
    u32 n = p[1], s = 0;
    struct rec *r = (void *)(p + 2);
    if ((u8 *)(r + n) > end) return DROP;
#ifdef TWIN
    do { s = s * 31 + r->a; r++; } while (n--);
#else
    while (n--) { s = s * 31 + r->a; r++; }
#endif
    return s & 1 ? PASS : DROP;
}
