// A sum of 32 bits is folded until it has 16 (RFC 1071).
// twin 33: 0xffff is folded to 0xffff, for ever
#include "xdp.h"
#ifdef TWIN
#define LARGE(s) ((s) >= 0xffff)
#else
#define LARGE(s) ((s) >> 16)
#endif
XDP int program(struct xdp_md *ctx) {
    u32 s = ctx->ingress_ifindex;
    while (LARGE(s)) s = (s & 0xffff) + (s >> 16);
    return s == 0xffee ? PASS : DROP;
}
