// A 6LoWPAN-like dispatch: a header whose length the bits of its first bytes say.
// twin 19: one of the inline lengths is forgotten
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 2 > end) return DROP;
    if (p[0] >> 5 != 3) return PASS;
    u32 size = 2, tf = p[0] >> 3 & 3, nh = p[0] >> 2 & 1, hlim = p[0] & 3;
    size += tf == 0 ? 4 : tf == 1 ? 3 : tf == 2 ? 1 : 0;
    if (!nh) size += 1;
    if (!hlim) size += 1;
    u32 sam = p[1] >> 4 & 3, dam = p[1] & 3;
    size += sam == 0 ? 16 : sam == 1 ? 8 : sam == 2 ? 2 : 0;
#ifdef TWIN
    if (p + size + 8 > end) return DROP;
#endif
    size += dam == 0 ? 16 : dam == 1 ? 8 : dam == 2 ? 2 : 0;
#ifndef TWIN
    if (p + size + 8 > end) return DROP;
#endif
    return *(u32 *)(p + size + 4) ? PASS : DROP;
}
