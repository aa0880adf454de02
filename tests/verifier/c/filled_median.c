// The median of five words: copied, sorted by exchanges.
// twin 16: four are copied
#include "xdp.h"
#ifdef TWIN
#define COUNT 4
#else
#define COUNT 5
#endif
INSIDE u32 median(u32 *v) {
#pragma clang loop unroll(disable)
    for (int i = 0; i < 4; i++)
#pragma clang loop unroll(disable)
        for (int j = 0; j < 4 - i; j++)
            if (v[j] > v[j + 1]) { u32 t = v[j]; v[j] = v[j + 1]; v[j + 1] = t; }
    return v[2];
}
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    u32 v[5];
    if (p + 20 > end) return DROP;
#pragma clang loop unroll(disable)
    for (int i = 0; i < COUNT; i++) v[i] = be32(((u32 *)p)[i]);
    return median(v) > 1000 ? PASS : DROP;
}
