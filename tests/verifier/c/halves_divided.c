// A binary search whose middle is a signed quotient, as the instruction set has it since v4.
// twin 22: the upper end is behind the table's last entry
// versions v4
// apart
#include "xdp.h"
#ifdef TWIN
#define LAST 16
#else
#define LAST 15
#endif
static const u16 keys[16] = {1, 3, 9, 12, 33, 44, 55, 66, 77, 88, 99, 111, 222, 333, 444, 555};
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 2 > end) return DROP;
    int key = p[0] << 8 | p[1], low = 0, high = LAST;
    while (low <= high) {
        int middle = low + (high - low) / 2;
        if (keys[middle] == key) return PASS;
        if (keys[middle] < key) low = middle + 1; else high = middle - 1;
    }
    return DROP;
}
