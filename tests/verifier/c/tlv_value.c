// Type, length, value: the value's end is compared with the packet's, and its length with 4 later.
// twin 19: the length is 4 or more, and 8 octets are read
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    u32 sum = 0;
    for (int k = 0; k < 32; k++) {
        if (p + 2 > end) break;
        u32 size = p[1];
        u8 *v = p + 2;
        if (v + size > end) return DROP;
#ifdef TWIN
        if (p[0] == 7 && size >= 4) sum += *(u32 *)v + *(u32 *)(v + 4);
#else
        if (p[0] == 7 && size == 4) sum += *(u32 *)v;
#endif
        p = v + size;
    }
    return sum & 1 ? DROP : PASS;
}
