// Records of 12 bytes, written field by field, then compared with one of them.
// twin 16: a field is not written
#include "xdp.h"
struct peer { u32 addr; u16 port; u16 age; u32 seen; };
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    struct peer t[6];
    if (p + 36 > end) return DROP;
#pragma clang loop unroll(disable)
    for (u32 i = 0; i < 6; i++) {
        t[i].addr = p[6 * i] | p[6 * i + 1] << 8; t[i].port = p[6 * i + 2]; t[i].age = p[6 * i + 3];
#ifndef TWIN
        t[i].seen = p[6 * i + 4];
#endif
    }
    u32 at = p[0];
    if (at > 5) return DROP;
    u32 h = 0;
#pragma clang loop unroll(disable)
    for (u32 i = 0; i < 6; i++) if (t[i].port > t[at].port) h += t[i].addr ^ t[i].seen;
    return h & 1 ? PASS : DROP;
}
