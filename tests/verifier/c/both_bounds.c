// A length is compared with both its bounds, which LLVM does at once, in the low octet of a difference; then words are taken while there is one.
// twin 23: a word is taken where three octets are left
#include "xdp.h"
#ifdef TWIN
#define LEAST 3
#else
#define LEAST 4
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 2 > end) return DROP;
    u32 n = p[0], h = 0;
    if (n > 60 || n < LEAST) return DROP;
    p += 1;
    if (p + n > end) return DROP;
    while (n >= LEAST) { h = h * 33 + *(u32 *)p; p += 4; n -= 4; }
    return h & 1 ? PASS : DROP;
}
