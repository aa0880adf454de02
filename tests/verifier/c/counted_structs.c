// A list of structs, as many as the packet says, compared with its end at once.
// twin 19: one more than there are
#include "xdp.h"
struct rec { u16 id; u32 addr; } __attribute__((packed));
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 2 > end) return DROP;
    u32 n = p[1], s = 0;
    struct rec *r = (void *)(p + 2);
    if ((u8 *)(r + n) > end) return DROP;
#ifdef TWIN
    for (u32 i = 0; i <= n; i++) s += r[i].addr ^ r[i].id;
#else
    for (u32 i = 0; i < n; i++) s += r[i].addr ^ r[i].id;
#endif
    return s & 1 ? PASS : DROP;
}
