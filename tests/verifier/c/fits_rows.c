// Rows of 5 octets, at most 12, the end compared for each: how many fit is a quotient.
// twin 19: of each row the octet behind it, too
// apart
#include "xdp.h"
#ifdef TWIN
#define LAST 5
#else
#define LAST 4
#endif
struct row { u8 b[5]; } __attribute__((packed));
XDP int program(struct xdp_md *ctx) {
    u8 *h = START(ctx), *end = END(ctx);
    if (h + 1 > end) return DROP;
    u32 n = h[0], x = 0;
    struct row *rows = (struct row *)(h + 1);
    for (u32 i = 0; i < n && i < 12; i++) {
        if ((u8 *)(rows + i + 1) > end) return DROP;
        x += rows[i].b[0] ^ ((u8 *)(rows + i))[LAST];
    }
    return x & 2 ? PASS : DROP;
}
