// So many words, compared with what is left of the packet.
// twin 19: one octet more may be compared
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 1 > end) return DROP;
    u32 n = *p++, s = 0;
    u64 room = end - p;
#ifdef TWIN
    if (n * 2 > room + 1) return DROP;
#else
    if (n * 2 > room) return DROP;
#endif
    for (u32 i = 0; i < n; i++) s += p[2*i] << 8 | p[2*i+1];
    return s & 1 ? PASS : DROP;
}
