// The octet in the middle of a field, and the one that a number chooses from all of them.
// twin 19: in a field of one octet there is none behind the middle
#include "xdp.h"
#ifdef TWIN
#define BEHIND 2
#else
#define BEHIND 1
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 1 > end) return DROP;
    u32 n = p[0];
    if (!n || p + 1 + n > end) return DROP;
    return (p[BEHIND + n / 2] ^ p[1 + p[1] % n]) & 1 ? PASS : DROP;
}
