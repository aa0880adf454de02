// The last octets of a value that begins where a length says, reached from its begin.
// twin 19: one octet behind the value
#include "xdp.h"
#ifdef TWIN
#define LAST 0
#else
#define LAST 1
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 1 > end) return DROP;
    p += *p;
    if (p + 1 > end) return DROP;
    u32 len = *p++;
    if (p + len > end || len < 4) return DROP;
    return (p[len - 4] ^ p[len - LAST]) & 1 ? PASS : DROP;
}
