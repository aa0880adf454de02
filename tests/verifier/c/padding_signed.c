// The same up to the packet's end, as of a DIO's options, with a signed number for what is left.
// twin 19: of an option that need not have it the last octet is read
// versions v3 v4
#include "xdp.h"
#ifdef TWIN
#define LEAST 31
#else
#define LEAST 32
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    int left = end - p;
    u32 h = 0;
    if (left < 24 || left > 2048) return DROP;
    p += 24; left -= 24;
    while (left > 0) {
        if (p[0] == 0) { p++; left--; continue; }
        if (left < 2) return DROP;
        int n = p[1] + 2;
        if (n > left) return DROP;
        switch (p[0]) {
        case 4: if (n < 16) return DROP; h += p[3] << 8 | p[15]; break;
        case 8: if (n < LEAST) return DROP; h += p[2] + p[31]; break;
        default: break;
        }
        p += n; left -= n;
    }
    return h & 1 ? PASS : DROP;
}
