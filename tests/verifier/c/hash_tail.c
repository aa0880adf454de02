// A hash over all octets: words of eight, then what is left behind the last whole one, as SipHash and others do.
// twin 19: where one octet is left there is none behind it
#include "xdp.h"
#ifdef TWIN
#define BEHIND 1
#else
#define BEHIND 0
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    u32 n = end - p, i = 0;
    u64 v = n, m = 0;
    for (; i + 8 <= n; i += 8) {
        v ^= *(u64 *)(p + i);
        v = (v << 13 | v >> 51) * 5;
    }
    switch (n & 7) {
    case 7: m |= (u64)p[i + 6] << 48;
    case 6: m |= (u64)p[i + 5] << 40;
    case 5: m |= (u64)p[i + 4] << 32;
    case 4: m |= (u64)p[i + 3] << 24;
    case 3: m |= (u64)p[i + 2] << 16;
    case 2: m |= (u64)p[i + 1] << 8;
    case 1: m |= p[i + BEHIND];
    }
    v ^= m;
    return (v ^ v >> 32) % 5 ? PASS : DROP;
}
