// Up to three VLAN tags are walked over before the type is read.
// twin 19: the tag is read before it is compared
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 14 > end) return DROP;
    u8 *t = p + 12;
    for (int i = 0; i < 3; i++) {
        u16 type = be16(*(u16 *)t);
        if (type != 0x8100 && type != 0x88a8) break;
        t += 4;
#ifndef TWIN
        if (t + 2 > end) return DROP;
#endif
    }
    return *(u16 *)t == be16(0x86dd) ? PASS : DROP;
}
