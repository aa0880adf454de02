// Rows of eight: a loop in a loop, of which each fills what the other one begins.
// twin 16: a row's last byte is not written
#include "xdp.h"
#ifdef TWIN
#define WIDTH 7
#else
#define WIDTH 8
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    u8 m[4][8];
    if (p + 4 > end) return DROP;
#pragma clang loop unroll(disable)
    for (u32 i = 0; i < 4; i++)
#pragma clang loop unroll(disable)
        for (u32 j = 0; j < WIDTH; j++) m[i][j] = p[i] >> j & 1;
    u32 h = 0;
#pragma clang loop unroll(disable)
    for (u32 i = 0; i < 32; i++) h = h * 31 + ((u8 *)m)[i];
    return h & 1 ? PASS : DROP;
}
