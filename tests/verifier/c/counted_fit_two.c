// As many entries as fit, if there are said to be more; then a list of another size behind them, of which too many are refused.
// twin 23: the second list is asked of what was left before the first one
#include "xdp.h"
struct rec { u8 a[6]; };
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 4 > end) return DROP;
    u32 n = p[0] << 8 | p[1], m = p[2], s = 0;
    p += 4;
    u32 fit = (end - p) / sizeof(struct rec);
    if (n > fit) n = fit;
    for (struct rec *r = (void *)p, *stop = r + n; r != stop; r++) s += r->a[0] ^ r->a[5];
#ifdef TWIN
    if (m > (end - p) / sizeof(u16)) return DROP;
    p += n * sizeof(struct rec);
#else
    p += n * sizeof(struct rec);
    if (m > (end - p) / sizeof(u16)) return DROP;
#endif
    for (u16 *x = (void *)p; m--; x++) s += *x;
    return s & 1 ? PASS : DROP;
}
