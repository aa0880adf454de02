// A prefix of so many bits lies in (bits + 7) / 8 octets, as in RPL's Target option (RFC 6550, 6.7.7); of the last one the bits behind it are cleared.
// twin 18 19: all bits of the prefix may be octets' first ones
// apart
#include "xdp.h"
#ifdef TWIN
#define ASKED 1
#else
#define ASKED (bits & 7)
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx), prefix[16] = {};
    if (end - p > 1500) return DROP;
    while (p < end) {
        if (p[0] == 0) { p++; continue; }
        if (p + 2 > end || p + 2 + p[1] > end) return DROP;
        if (p[0] == 5) {
            if (p[1] < 2) return DROP;
            u32 bits = p[3], n = (bits + 7) / 8;
            if (bits > 128 || n > p[1] - 2) return DROP;
            for (u32 i = 0; i < n; i++) prefix[i] = p[4 + i];
            if (ASKED) prefix[bits / 8] &= 0xff << (8 - (bits & 7));
        }
        p += 2 + p[1];
    }
    return prefix[0] == 0xfd ? PASS : DROP;
}
