// A switch over a type with many cases, some with a comparison of their own.
// twin 19: one case reads more than was compared
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 4 > end) return DROP;
    u32 r = 0;
    switch (p[0]) {
    case 0: r = p[1]; break;
    case 1: r = p[1] + p[2]; break;
    case 2: r = *(u16 *)(p + 2); break;
    case 3: if (p + 8 > end) return DROP; r = *(u32 *)(p + 4); break;
#ifdef TWIN
    case 4: r = *(u32 *)(p + 2); break;
#else
    case 4: r = *(u32 *)p >> 8; break;
#endif
    case 7: r = p[3] << 4; break;
    case 9: if (end - p < 12) return DROP; r = p[11]; break;
    case 40: case 41: case 42: r = p[0] - 40; break;
    case 200: r = 7; break;
    default: return PASS;
    }
    return r > 100 ? PASS : DROP;
}
