// Ethernet, IPv4 with options, UDP: each header is compared with the end before it is read.
// twin 19: the options are not counted when the UDP header is compared
#include "xdp.h"
struct eth { u8 dst[6], src[6]; u16 type; } __attribute__((packed));
struct ip4 { u8 vihl, tos; u16 len, id, frag; u8 ttl, proto; u16 sum; u32 src, dst; };
struct udp { u16 src, dst, len, sum; };
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    struct eth *e = (void *)p;
    if ((u8 *)(e + 1) > end || e->type != be16(0x0800)) return PASS;
    struct ip4 *ip = (void *)(e + 1);
    if ((u8 *)(ip + 1) > end) return DROP;
    u32 size = (ip->vihl & 15) * 4;
    if (size < 20) return DROP;
    struct udp *udp = (void *)((u8 *)ip + size);
#ifdef TWIN
    if ((u8 *)ip + 20 + sizeof *udp > end) return DROP;
#else
    if ((u8 *)(udp + 1) > end) return DROP;
#endif
    if (ip->proto != 17) return PASS;
    return be16(udp->dst) == 5683 ? PASS : DROP;
}
