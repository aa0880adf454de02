// Of what a loop meets the first four are kept: the counter is asked where nothing leaves the loop.
// twin 16 17 18: a fifth one has no room
#include "xdp.h"
#ifdef TWIN
#define ROOM 5
#else
#define ROOM 4
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    u8 kept[4] = {};
    u32 n = 0;
#pragma clang loop unroll(disable)
    for (int i = 0; i < 64; i++) {
        if (p + i + 1 > end) break;
        if (p[i] == 3 && n < ROOM) kept[n++] = i;
    }
    return n && kept[n - 1] > 9 ? PASS : DROP;
}
