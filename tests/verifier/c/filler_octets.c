// Options among which single octets 0 may stand: of what clang makes a loop inside, which counts what is left down and walks up.
// twin 19: the length of an option of which only the first octet may be there
#include "xdp.h"
#ifdef TWIN
#define ROOM 1
#else
#define ROOM 2
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *at = START(ctx), *end = END(ctx);
    u32 x = 0;
    while (at < end) {
        if (at[0] == 0) { at++; continue; }
        if (end - at < ROOM) return DROP;
        u32 size = at[1] + 2;
        if (size > end - at) return DROP;
        x = x * 3 + at[0];
        at += size;
    }
    return x & 16 ? PASS : DROP;
}
