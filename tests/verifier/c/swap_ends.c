// The ends of a value change places, and the next ones, up to its middle: two cursors from the value's begin and length.
// twin 19: the last octet is taken for the length
#include "xdp.h"
#ifdef TWIN
#define LAST 0
#else
#define LAST 1
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 1 > end) return DROP;
    u32 len = *p++, h = 0;
    p += len & 7;
    if (p + len > end || len < 2) return DROP;
#pragma clang loop unroll(disable)
    for (u32 i = 0; i < len; i++) h = h * 31 + (p[i] ^ p[len - LAST - i]);
    return h & 1 ? PASS : DROP;
}
