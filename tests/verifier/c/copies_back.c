// LZ77: an octet as it is, or up to 15 octets of what was written `back` octets before.
// twin 16 18 23: as far back as where the first octet would be before the buffer
#include "xdp.h"
#ifdef TWIN
#define FIRST 1
#else
#define FIRST 0
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx), out[64];
    u32 n = 0, sum = 0;
    for (int i = 0; i < 32 && p + 2 <= end; i++, p += 2) {
        u32 back = p[0] + 1, length = p[1] & 15;
        if (back > n + FIRST || n + length > sizeof out) {
            if (n < sizeof out) out[n++] = p[1];
            continue;
        }
        for (u32 k = 0; k < length; k++) {
            out[n] = out[n - back];
            n++;
        }
    }
    for (u32 i = 0; i < n; i++) sum = sum * 31 + out[i];
    return sum & 1 ? PASS : DROP;
}
