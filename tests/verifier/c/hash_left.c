// Twelve octets of a field a turn, then what is left of it, which a switch that falls through reads from the last octet to the first.
// twin 19: a last octet that is not there
#include "xdp.h"
#ifdef TWIN
#define LAST 4
#else
#define LAST 3
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *k = START(ctx), *end = END(ctx);
    if (k + 2 > end) return DROP;
    u32 n = k[0], a = 0, b = 0, c = 0;
    if (n > 60) return DROP;
    k += 1;
    if (k + n > end) return DROP;
    while (n > 12) {
        a += *(u32 *)k;
        b += *(u32 *)(k + 4);
        c += *(u32 *)(k + 8);
        a ^= c << 4 | c >> 28;
        b ^= a << 6 | a >> 26;
        n -= 12;
        k += 12;
    }
    switch (n) {
    case 4: c += k[LAST]; __attribute__((fallthrough));
    case 3: c += k[2] << 16; __attribute__((fallthrough));
    case 2: b += k[1] << 8; __attribute__((fallthrough));
    case 1: a += k[0];
    }
    return (a ^ b ^ c) & 3;
}
