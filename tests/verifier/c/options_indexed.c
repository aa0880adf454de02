// Options that an index goes over, from where each begins: all its turns together are as many as the packet has octets.
// twin 34: the next option begins eight octets behind, however long this one is
#include "xdp.h"
#ifdef TWIN
#define NEXT 8
#else
#define NEXT n
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    u32 h = 0;
    if (p + 16 > end) return DROP;
    p += 16;
    while (p < end) {
        if (p + 8 > end) return DROP;
        u32 n = p[1] * 8;
        if (n == 0 || p + n > end) return DROP;
        if (p[0] == 3 && n == 32) {
            u32 bits = p[2];
            if (bits <= 128) for (u32 i = 0; i < bits / 8; i++) h = h * 31 + p[16 + i];
        } else if (p[0] == 1) {
            for (u32 i = 2; i < n; i++) h ^= p[i];
        }
        p += NEXT;
    }
    return h & 1 ? PASS : DROP;
}
