// Rows of 12 bytes behind a header of variable length: the compiler moves a pointer by 12 and counts the rows beside it.
// twin 19: one row more than was compared
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 1 > end) return DROP;
    u8 *rows = p + 1 + (p[0] & 15) * 4;
    if (rows + 6 * 12 > end) return DROP;
    u32 sum = 0;
#ifdef TWIN
    int count = 7;
#else
    int count = 6;
#endif
#pragma clang loop unroll(disable)
    for (int i = 0; i < count; i++) { sum += rows[i * 12] + rows[i * 12 + 11]; __asm__ volatile("" : "+r"(sum)); }
    return sum & 1 ? PASS : DROP;
}
