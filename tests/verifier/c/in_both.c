// How many octets two sorted lists have in common, by a cursor in each.
// apart
// twin 19: the second one ends behind its list
#include "xdp.h"
#ifdef TWIN
#define LAST <=
#else
#define LAST <
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 2 > end) return DROP;
    u8 *a = p + 2, *b = a + (p[0] & 31), *a_end = b, *b_end = b + (p[1] & 31);
    if (b_end > end) return DROP;
    u32 h = 0;
    while (a < a_end && b LAST b_end) {
        if (*a == *b) { h++; a++; b++; }
        else if (*a < *b) a++;
        else b++;
    }
    return h & 1 ? PASS : DROP;
}
