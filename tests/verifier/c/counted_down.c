// A field that says its length: a pointer goes up, the length goes down to 0.
// twin 19: the end of the field may be one octet behind that of the packet
#include "xdp.h"
#ifdef TWIN
#define MORE 1
#else
#define MORE 0
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 1 > end) return DROP;
    u32 n = *p++, h = 0;
    if (p + n > end + MORE) return DROP;
    while (n--) h = h * 33 + *p++;
    return h & 1 ? PASS : DROP;
}
