// A list of structs behind a header of variable length.
// twin 19: the entry behind this one
#include "xdp.h"
struct rec { u16 id; u16 v; };
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 34 > end) return DROP;
    u32 ihl = (p[14] & 15) * 4;
    if (ihl < 20) return DROP;
    p += 14 + ihl;
    if (p + 4 > end) return DROP;
    u32 n = p[1], s = 0;
    struct rec *r = (void *)(p + 4);
    if ((u8 *)(r + n) > end) return DROP;
#ifdef TWIN
    for (u32 i = 0; i < n; i++) s += r[i + 1].v;
#else
    for (u32 i = 0; i < n; i++) s += r[i].v ^ r[i].id;
#endif
    return s & 1 ? PASS : DROP;
}
