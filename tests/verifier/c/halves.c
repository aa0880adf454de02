// A binary search in read-only data: the middle lies between both ends, and with each turn they are closer to each other.
// twin 22: the upper end is one behind that of the table
// apart
#include "xdp.h"
#ifdef TWIN
#define KEYS 17
#else
#define KEYS 16
#endif
static const u16 keys[16] = {1, 3, 9, 12, 33, 44, 55, 66, 77, 88, 99, 111, 222, 333, 444, 555};
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 2 > end) return DROP;
    u32 key = p[0] << 8 | p[1], low = 0, high = KEYS;
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (keys[middle] < key) low = middle + 1; else high = middle;
    }
    return low < 16 && keys[low] == key ? PASS : DROP;
}
