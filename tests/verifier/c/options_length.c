// TCP's options, as many octets as the header's length says beyond 20: that is asked of the number from which the nibble is taken.
// twin 19 23: a length that is less than the header's is let through
// versions v3 v4
#include "xdp.h"
#ifdef TWIN
#define LEAST 4
#else
#define LEAST 5
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 20 > end || p[12] >> 4 < LEAST) return DROP;
    int left = (p[12] >> 4) * 4 - 20;
    p += 20;
    if (p + left > end) return DROP;
    while (left > 0) {
        u8 kind = *p, n = 1;
        if (kind == 0) break;
        if (kind != 1) {
            if (left < 2) return DROP;
            n = p[1];
            if (n < 2 || n > left) return DROP;
        }
        if (kind == 2 && n == 4) { p[2] = 1220 >> 8; p[3] = 1220 & 255; }
        p += n; left -= n;
    }
    return PASS;
}
