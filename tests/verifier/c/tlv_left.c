// Options of type, length and value, where what is left is a number that goes down.
// twin 23: the length is compared with what is left before type and length are taken
#include "xdp.h"
#ifdef TWIN
#define HEADER 0
#else
#define HEADER 2
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    u32 h = 0, left = end - p;
#pragma clang loop unroll(disable)
    for (int i = 0; i < 20 && left >= 2; i++) {
        u32 len = p[1];
        if (len > left - HEADER) return DROP;
        if (*p == 7)
#pragma clang loop unroll(disable)
            for (u32 j = 0; j < len; j++) h = h * 31 + p[2 + j];
        p += 2 + len;
        left -= 2 + len;
    }
    return h & 1 ? PASS : DROP;
}
