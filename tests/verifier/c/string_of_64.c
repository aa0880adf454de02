// Items of CBOR (RFC 8949, 3): how long a string is, is a number of up to 64 bits, and nothing is known of it before it is compared with what is left.
// twin 19: it is compared with one octet more
#include "xdp.h"
#ifdef TWIN
#define MORE 1
#else
#define MORE 0
#endif
INSIDE int head(u8 **at, u8 *end, u8 *major, u64 *value) {
    u8 *p = *at;
    if (p + 1 > end) return -1;
    u8 first = *p++, more = first & 31;
    *major = first >> 5;
    if (more < 24) {
        *value = more;
    } else if (more <= 27) {
        u32 n = 1 << (more - 24);
        u64 v = 0;
        if (p + n > end) return -1;
        for (u32 i = 0; i < n; i++) v = v << 8 | p[i];
        *value = v;
        p += n;
    } else {
        return -1;
    }
    *at = p;
    return 0;
}
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx), major;
    u64 value;
    u32 sum = 0;
    if (end - p > 1500) return DROP;
    for (int i = 0; i < 8; i++) {
        if (head(&p, end, &major, &value)) break;
        if (major == 2 || major == 3) {
            if (value > (u64)(end - p) + MORE) return DROP;
            for (u64 j = 0; j < value; j++) sum += p[j];
            p += value;
        } else if (major == 0) {
            sum += value;
        }
    }
    return sum & 1 ? PASS : DROP;
}
