// A UDP datagram in an IPv4 packet: its length is compared with what the packet's length leaves behind the header.
// twin 19: it is compared with the packet's length
// apart
#include "xdp.h"
#ifdef TWIN
#define LEFT tot
#else
#define LEFT n
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 34 > end) return DROP;
    u8 *ip = p + 14;
    u32 ihl = (ip[0] & 15) << 2, tot = ip[2] << 8 | ip[3], s = 0;
    if (ihl < 20 || tot < ihl || ip + tot > end) return DROP;
    for (u32 i = 0; i < ihl; i += 2) s += ip[i] << 8 | ip[i + 1];
    while (s >> 16) s = (s & 0xffff) + (s >> 16);
    if (s != 0xffff) return DROP;
    u8 *udp = ip + ihl;
    u32 n = tot - ihl;
    if (ip[9] != 17 || n < 8) return PASS;
    u32 len = udp[4] << 8 | udp[5];
    if (len > LEFT || len < 8) return DROP;
    s = 17 + len;
    for (u32 i = 0; i + 1 < len; i += 2) s += udp[i] << 8 | udp[i + 1];
    if (len & 1) s += udp[len - 1] << 8;
    return s & 1 ? PASS : DROP;
}
