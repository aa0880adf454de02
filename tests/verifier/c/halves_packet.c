// The same in the packet, over as many entries of four octets as it says.
// twin 19: three octets for each are compared with the packet's end
// apart
#include "xdp.h"
#ifdef TWIN
#define SIZE 3
#else
#define SIZE 4
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 4 > end) return DROP;
    u32 key = p[0] << 8 | p[1], n = p[2], low = 0, high = n;
    u8 *entry = p + 4;
    if (entry + n * SIZE > end) return DROP;
    while (low < high) {
        u32 middle = low + (high - low) / 2, there = entry[middle * 4] << 8 | entry[middle * 4 + 1];
        if (there == key) return entry[middle * 4 + 3] & 1 ? PASS : DROP;
        if (there < key) low = middle + 1; else high = middle;
    }
    return DROP;
}
