// A function that is not inlined is called twice, with a cursor and the end.
// twin 19: it is told of two bytes less than it reads
#include "xdp.h"
APART u32 word(u8 *q, u8 *end) {
#ifdef TWIN
    if (q + 2 > end) return 0;
#else
    if (q + 4 > end) return 0;
#endif
    return be32(*(u32 *)q);
}
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    return word(p, end) + word(p + 8, end) > 77 ? PASS : DROP;
}
