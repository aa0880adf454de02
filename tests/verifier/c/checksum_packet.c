// A sum over all of the packet, two bytes at a time, by a walking pointer.
// twin 19: the odd byte at the end is read without a comparison
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    u32 sum = 0;
#pragma clang loop unroll(disable)
    while (p + 2 <= end) { sum += *(u16 *)p; p += 2; }
#ifdef TWIN
    sum += *p;
#else
    if (p + 1 <= end) sum += *p;
#endif
    sum = (sum & 0xffff) + (sum >> 16);
    return (u16)sum ? PASS : DROP;
}
