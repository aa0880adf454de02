// Names of the DNS (RFC 1035, 3.1): room is asked for a whole label, its octets are copied one by one, and what was written is read again.
// twin 16 18: the dot behind a label has no room
#include "xdp.h"
#ifdef TWIN
#define DOT 0
#else
#define DOT 1
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx), name[64];
    u32 n = 0, hash = 0;
    for (int labels = 0; labels < 16; labels++) {
        if (p + 1 > end) return DROP;
        u8 length = *p++;
        if (!length) break;
        if (length > 63 || p + length > end || n + length + DOT > sizeof name) return DROP;
        for (u32 i = 0; i < length; i++) name[n++] = p[i];
        name[n++] = '.';
        p += length;
    }
    for (u32 i = 0; i < n; i++) hash = hash * 31 + name[i];
    return hash & 1 ? PASS : DROP;
}
