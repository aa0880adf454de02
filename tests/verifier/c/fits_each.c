// As many octets as a length says, 40 at most, the end compared for each of them: clang asks once how many there are, with what is left turned negative.
// twin 19: each time the octet behind the one that was compared
// apart
#include "xdp.h"
#ifdef TWIN
#define BEHIND 1
#else
#define BEHIND 0
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *h = START(ctx), *end = END(ctx);
    if (h + 3 > end) return DROP;
    u32 n = h[2], x = 0;
    u8 *body = h + 3;
    if (n > 40) n = 40;
    for (u32 i = 0; i < n; i++) {
        if (body + i + 1 > end) return DROP;
        x = x << 1 ^ body[i + BEHIND];
    }
    return x & 4 ? PASS : DROP;
}
