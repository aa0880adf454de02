// A list in an option, whose length its first octet says: it is shorter than the option, and that ends in the packet.
// twin 19: the list may be as long as the option, and begins behind that octet
#include "xdp.h"
#ifdef TWIN
#define MORE 0
#else
#define MORE 1
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    u32 h = 0;
    for (int i = 0; i < 8; i++) {
        if (p + 2 > end) break;
        u32 type = p[0], len = p[1];
        p += 2;
        if (p + len > end) return DROP;
        if (type == 55) {
            if (len < 1) return DROP;
            u32 n = p[0];
            if (n + MORE > len) return DROP;
            for (u32 k = 0; k < n; k++) h = h * 31 + p[1 + k];
        }
        p += len;
    }
    return h & 1 ? DROP : PASS;
}
