// A length of 32 bits that is asked for 0: clang compares the pointers, in 32 bits.
// twin 19: the second octet
#include "xdp.h"
#ifdef TWIN
#define AT 1
#else
#define AT 0
#endif
XDP int program(struct xdp_md *ctx) {
    u32 len = ctx->data_end - ctx->data;
    if (len == 0) return DROP;
    u8 *p = START(ctx);
    return p[AT] ? PASS : DROP;
}
