// An address of which the last 16, 8, 2 or no octets are in the packet (RFC 6282, 3.1.1), by a table: so many before its end they go.
// twin 18: one place further
// constants
#include "xdp.h"
#ifdef TWIN
#define MORE 1
#else
#define MORE 0
#endif
static const u8 carried[4] = {16, 8, 2, 0};
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx), address[16] = {};
    if (p + 2 > end) return DROP;
    u8 mode = p[1] >> 4 & 3, context = p[1] >> 6 & 1;
    p += 2;
    u32 n = carried[mode];
    if (context && mode == 0) n = 0;
    if (p + n > end) return DROP;
    for (u32 i = 0; i < n; i++) address[16 - n + i + MORE] = p[i];
    p += n;
    if (p + 1 > end) return DROP;
    return address[15] ^ address[0] ^ *p ? PASS : DROP;
}
