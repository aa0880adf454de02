// Generic header compression (RFC 7400, 2): literals, runs of zeros, and copies of what was written before, from as far back as the code says.
// twin 16 18 23: how far back it is, is not compared with what was written
// versions v3 v4
#include "xdp.h"
#ifdef TWIN
#define ASKED 0
#else
#define ASKED back > n
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx), out[128];
    u32 n = 0, sum = 0;
    if (end - p > 127) return DROP;
    while (p < end) {
        u8 code = *p++;
        if (code < 0x60) {
            if (p + code > end || n + code > sizeof out) return DROP;
            for (u32 i = 0; i < code; i++) out[n + i] = p[i];
            n += code; p += code;
        } else if ((code & 0xf0) == 0x80) {
            u32 zeros = (code & 15) + 2;
            if (n + zeros > sizeof out) return DROP;
            for (u32 i = 0; i < zeros; i++) out[n + i] = 0;
            n += zeros;
        } else if (code == 0x90) {
            break;
        } else if (code >= 0xc0) {
            u32 len = (code >> 3 & 7) + 2, back = (code & 7) + len;
            if (ASKED || n + len > sizeof out) return DROP;
            for (u32 i = 0; i < len; i++) out[n + i] = out[n + i - back];
            n += len;
        } else {
            return DROP;
        }
    }
    for (u32 i = 0; i < n; i++) sum += out[i];
    return sum & 1 ? PASS : DROP;
}
