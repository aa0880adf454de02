// A fragment (RFC 4944, 5.3) goes to where it belongs in a datagram of 256 octets: what is copied ends before a sum that was compared.
// twin 18: the last octet of a datagram may lie behind the buffer
// versions v3 v4
#include "xdp.h"
#ifdef TWIN
#define MOST 257
#else
#define MOST 256
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx), datagram[256] = {0};
    if (p + 5 > end) return DROP;
    u32 total = (p[0] & 7) << 8 | p[1], offset = p[4], size = end - (p + 5), sum = 0;
    if (total > MOST || 8 * offset + size > total) return DROP;
    for (u32 i = 0; i < size; i++) datagram[8 * offset + i] = p[5 + i];
    for (u32 i = 0; i < sizeof datagram; i++) sum = sum * 31 + datagram[i];
    return sum & 1 ? PASS : DROP;
}
