// Eight octets on the stack, aligned to as many: the address of one of them is an OR.
// twin 16: only seven are written
#include "xdp.h"
#ifdef TWIN
#define SIZE 7
#else
#define SIZE 8
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 16 > end) return DROP;
    u8 t[8];
    __builtin_memcpy(t, p, SIZE);
    u32 h = 0;
    for (int i = 0; i < 8; i++) h = h * 31 + t[p[8 + i] & 7];
    return h & 1 ? PASS : DROP;
}
