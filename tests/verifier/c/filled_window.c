// As many bytes as the packet says, at most 32, are written and read.
// twin 16: the first one is not written
#include "xdp.h"
#ifdef TWIN
#define FIRST 1
#else
#define FIRST 0
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    u8 b[32];
    if (p + 1 > end) return DROP;
    u32 n = p[0];
    if (n > 32 || n == 0) return DROP;
    p++;
    if (p + n > end) return DROP;
#pragma clang loop unroll(disable)
    for (u32 i = FIRST; i < n; i++) b[i] = p[i] ^ 0x55;
    u32 h = 0;
#pragma clang loop unroll(disable)
    for (u32 i = 0; i < n; i++) h = h * 31 + b[i];
    return h & 1 ? PASS : DROP;
}
