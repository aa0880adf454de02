// An IPv4 header's checksum, its length from its first octet: clang compares with the end before the loop, what the loop reads ends at a multiple of 2.
// twin 19: the header is as long as its length says, but nobody looks whether the packet is
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 34 > end) return PASS;
    u32 size = (p[14] & 15) * 4, sum = 0;
    u16 *w = (u16 *)(p + 14);
    if (size < 20) return DROP;
#ifndef TWIN
    if (p + 14 + size > end) return DROP;
#endif
    for (u32 k = 0; k < 30; k++) {
        if (k * 2 >= size) break;
#ifndef TWIN
        if ((u8 *)(w + 1) > end) return DROP;
#endif
        sum += *w++;
    }
    sum = (sum >> 16) + (sum & 0xffff);
    sum += sum >> 16;
    return (u16)~sum ? DROP : PASS;
}
