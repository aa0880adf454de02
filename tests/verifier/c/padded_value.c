// Attributes as of STUN (RFC 8489, 14): a length of two octets, and a value that is padded to a multiple of 4. What is compared with the end is padded, what is read is not.
// twin 19: of a padded value the octet behind it is read
// apart
#include "xdp.h"
#ifdef TWIN
#define AT 8
#else
#define AT 7
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    u32 h = 0;
    if (end - p > 1500) return DROP;
    while (p + 4 <= end) {
        u16 type = p[0] << 8 | p[1], len = p[2] << 8 | p[3];
        u8 *v = p + 4;
        u32 padded = (len + 3) & ~3u;
        if (v + padded > end) return DROP;
        if (type == 6) for (u32 i = 0; i < len; i++) h += v[i];
        if (type == 0x20 && len >= 8) h += v[AT];
        p = v + padded;
    }
    return h & 1 ? PASS : DROP;
}
