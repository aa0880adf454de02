// A list of which is asked how many entries fit, then a pointer walks it: n > left / size.
// twin 23: one more than fit
#include "xdp.h"
struct rec { u32 a, b, c; };
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 34 > end) return DROP;
    u32 ihl = (p[14] & 15) * 4;
    if (ihl < 20) return DROP;
    p += 14 + ihl;
    if (p + 4 > end) return DROP;
    u32 n = p[1], s = 0;
    p += 4;
#ifdef TWIN
    if (n > (end - p) / sizeof(struct rec) + 1) return DROP;
#else
    if (n > (end - p) / sizeof(struct rec)) return DROP;
#endif
    for (struct rec *r = (void *)p; n--; r++) s += r->a ^ r->c;
    return s & 1 ? PASS : DROP;
}
