// Bytes of the packet, each with a key, to the stack; then they are read in another order.
// twin 16: the last one is not written
#include "xdp.h"
#ifdef TWIN
#define LAST 15
#else
#define LAST 16
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    u8 b[16];
    if (p + 17 > end) return DROP;
    u8 key = p[16];
#pragma clang loop unroll(disable)
    for (int i = 0; i < LAST; i++) b[i] = p[i] ^ key;
    u32 sum = 0;
#pragma clang loop unroll(disable)
    for (int i = 0; i < 16; i++) sum = sum * 31 + b[15 - i];
    return sum & 1 ? PASS : DROP;
}
