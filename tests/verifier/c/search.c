// A byte is looked for, at most 100; where it was found is read again.
// twin 19: the byte behind where it was found
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    u8 *found = 0;
#pragma clang loop unroll(disable)
    for (u32 i = 0; i < 100; i++) {
        if (p + i + 1 > end) break;
        if (p[i] == 0x41) { found = p + i; break; }
    }
    if (!found) return DROP;
#ifdef TWIN
    return found[1] ? PASS : DROP;
#else
    return found[0] ? PASS : DROP;
#endif
}
