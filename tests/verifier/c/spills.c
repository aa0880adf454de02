// More values than registers: they are kept on the stack, pointers among them.
// twin 19: the cursor that is kept lies behind what was compared
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 40 > end) return DROP;
    u32 a = *(u32 *)p, b = *(u32 *)(p + 4), c = *(u32 *)(p + 8), d = *(u32 *)(p + 12), e = *(u32 *)(p + 16);
    u32 f = *(u32 *)(p + 20), g = *(u32 *)(p + 24), h = *(u32 *)(p + 28);
    u8 *q = p + 40 + (a & 15);
    for (int i = 0; i < 4; i++) {
        a = (a << 3 | a >> 29) + b * 3; b = (b << 5 | b >> 27) ^ c; c = (c << 7 | c >> 25) + d * 5; d = (d << 9 | d >> 23) ^ e;
        e = (e << 11 | e >> 21) + f * 7; f = (f << 13 | f >> 19) ^ g; g = (g << 15 | g >> 17) + h * 9; h = (h << 17 | h >> 15) ^ a;
    }
#ifdef TWIN
    if (q > end) return DROP;
#else
    if (q + 1 > end) return DROP;
#endif
    return (a ^ b ^ c ^ d ^ e ^ f ^ g ^ h ^ *q) & 1 ? PASS : DROP;
}
