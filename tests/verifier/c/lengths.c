// Lengths by a table in read-only data, two of them behind one another, compared once with the longest that there are.
// twin 19: an octet less is compared
// constants
#include "xdp.h"
#ifdef TWIN
#define ROOM 17
#else
#define ROOM 18
#endif
static const u8 length[8] = {0, 2, 8, 8, 1, 4, 6, 3};
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + ROOM > end) return DROP;
    u32 to = length[p[0] & 7], from = length[p[0] >> 5];
    p++;
    return p[to + from] & 1 ? PASS : DROP;
}
