// A trailer of 4 bytes, found from the end.
// twin 19: nothing says that the packet has 4 bytes
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    (void)p;
#ifndef TWIN
    if (end - p < 4) return DROP;
#endif
    u8 *t = end - 4;
    return t[0] ^ t[1] ^ t[2] ^ t[3] ? PASS : DROP;
}
