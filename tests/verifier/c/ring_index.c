// A ring of 16 octets whose ends go round by a mask, as a queue between two loops has them.
// twin 18: the mask is one bit too wide
#include "xdp.h"
#ifdef TWIN
#define MASK 31
#else
#define MASK 15
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx), ring[16] = {};
    u32 head = 0, tail = 0, sum = 0;
    if (end - p > 1500) return DROP;
    while (p < end) {
        u8 c = *p++;
        if (c & 1) {
            u32 next = (head + 1) & MASK;
            if (next != tail) { ring[head] = c; head = next; }
        } else if (tail != head) {
            sum += ring[tail];
            tail = (tail + 1) & MASK;
        }
    }
    return sum & 1 ? PASS : DROP;
}
