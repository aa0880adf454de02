// A list whose entries are compared with the packet's end one by one. clang knows how many fit: it takes the complement of a pointer.
// twin 19: its last octet was not compared
#include "xdp.h"
struct rec { u8 type; u8 value[7]; };
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 1 > end) return DROP;
    u32 n = p[0], s = 0;
    struct rec *r = (void *)(p + 1);
    for (u32 i = 0; i < n; i++) {
#ifdef TWIN
        if ((u8 *)&r[i].value[6] > end) return DROP;
#else
        if ((u8 *)&r[i + 1] > end) return DROP;
#endif
        if (r[i].type == 3) s += r[i].value[6];
    }
    return s & 1 ? PASS : DROP;
}
