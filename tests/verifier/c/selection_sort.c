// The least of what is left comes to the front: the inner loop begins where the outer one is, with a pointer beside its counter.
// twin 16 18 22: it goes one too far
#include "xdp.h"
#ifdef TWIN
#define COUNT 10
#else
#define COUNT 9
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    u32 v[9];
    if (p + 36 > end) return DROP;
#pragma clang loop unroll(disable)
    for (int i = 0; i < 9; i++) v[i] = ((u32 *)p)[i] ^ 0x5555;
#pragma clang loop unroll(disable)
    for (int i = 0; i < 8; i++) {
        int least = i;
#pragma clang loop unroll(disable)
        for (int j = i + 1; j < COUNT; j++) if (v[j] < v[least]) least = j;
        u32 t = v[i]; v[i] = v[least]; v[least] = t;
    }
    return v[4] > 1000 ? PASS : DROP;
}
