// Open brackets are put on a stack of 16 and taken off it again.
// twin 16: the one above the last is compared
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    u8 open[17];
    u32 n = 0;
#pragma clang loop unroll(disable)
    for (u32 i = 0; i < 100; i++) {
        if (p + i + 1 > end) break;
        u8 c = p[i];
        if (c == '(' || c == '[') {
            if (n >= 16) return DROP;
            open[n++] = c;
        } else if (c == ')' || c == ']') {
            if (!n) return DROP;
#ifdef TWIN
            if ((open[n] == '(') != (c == ')')) return DROP;
            n--;
#else
            n--;
            if ((open[n] == '(') != (c == ')')) return DROP;
#endif
        }
    }
    return n ? DROP : PASS;
}
