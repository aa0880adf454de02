// The same with signed ends, both of which are in the table; the upper one goes to -1 where the key is below all.
// twin 33: the lower end may stay where it is
// versions v3 v4
// apart
#include "xdp.h"
#ifdef TWIN
#define NEXT 0
#else
#define NEXT 1
#endif
static const u16 keys[16] = {1, 3, 9, 12, 33, 44, 55, 66, 77, 88, 99, 111, 222, 333, 444, 555};
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 2 > end) return DROP;
    int key = p[0] << 8 | p[1], low = 0, high = 15;
    while (low <= high) {
        int middle = (low + high) >> 1;
        if (keys[middle] == key) return PASS;
        if (keys[middle] < key) low = middle + NEXT; else high = middle - 1;
    }
    return DROP;
}
