// Consistent overhead byte stuffing: a code says how many octets follow it; both the packet's end and the buffer's are asked for each of them.
// twin 16 18: the zero behind a code is written without asking for room
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx), out[64];
    u32 n = 0, sum = 0;
    if (end - p > 256) return DROP;
    while (p < end) {
        u8 code = *p++;
        if (!code) break;
        for (u32 i = 1; i < code; i++) {
            if (p >= end || n >= sizeof out) return DROP;
            out[n++] = *p++;
        }
        if (code < 255 && p < end) {
#ifndef TWIN
            if (n >= sizeof out) return DROP;
#endif
            out[n++] = 0;
        }
    }
    for (u32 i = 0; i < n; i++) sum = sum * 31 + out[i];
    return sum & 1 ? PASS : DROP;
}
