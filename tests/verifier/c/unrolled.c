// 16 bytes compared with another 16, unrolled.
// twin 19: 31 bytes are proven, 32 are read
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
#ifdef TWIN
    if (p + 31 > end) return DROP;
#else
    if (p + 32 > end) return DROP;
#endif
    u32 differ = 0;
#pragma unroll
    for (int i = 0; i < 16; i++) differ |= p[i] ^ p[16 + i];
    return differ ? DROP : PASS;
}
