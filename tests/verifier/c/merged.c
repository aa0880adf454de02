// Two sorted lists, merged: in every turn one of two indices goes on.
// apart
// twin 33: where both entries are alike neither does
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 2 > end) return DROP;
    u32 n = p[0] & 31, m = p[1] & 31, i = 0, j = 0, h = 0;
    u8 *a = p + 2, *b = a + n;
    if (b + m > end) return DROP;
    while (i < n && j < m) {
#ifdef TWIN
        if (a[i] == b[j]) continue;
#endif
        if (a[i] <= b[j]) h = h * 31 + a[i++];
        else h = h * 31 + b[j++];
    }
    while (i < n) h = h * 31 + a[i++];
    while (j < m) h = h * 31 + b[j++];
    return h & 1 ? PASS : DROP;
}
