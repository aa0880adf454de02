// Options up to an end inside the packet, single octets 0 among them (Pad1); what is left goes down in 32 bits as the cursor goes up.
// twin 19 23: an option may be an octet longer than what is left
// versions v3 v4
#include "xdp.h"
#ifdef TWIN
#define MORE 1
#else
#define MORE 0
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 2 > end) return DROP;
    u32 left = (p[1] + 1) * 8, rank = 0;
    if (p + left > end) return DROP;
    p += 2; left -= 2;
    while (left > 0) {
        if (*p == 0) { p++; left--; continue; }
        if (left < 2) return DROP;
        u32 n = p[1] + 2;
        if (n > left + MORE) return DROP;
        if (p[0] == 0x63 && n == 6) rank = p[2] << 8 | p[5];
        p += n; left -= n;
    }
    return rank & 1 ? PASS : DROP;
}
