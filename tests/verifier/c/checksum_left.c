// The Internet checksum as stacks write it: a pointer goes up while what is left goes down, and only that is compared.
// twin 23: a word of two octets is read where one may be left, and what is left goes past 0
#include "xdp.h"
#ifdef TWIN
#define LEAST 0
#else
#define LEAST 1
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    u32 n = end - p, sum = 0;
    while (n > LEAST) { sum += *(u16 *)p; p += 2; n -= 2; }
    if (n) sum += *p;
    sum = (sum & 0xffff) + (sum >> 16);
    return (u16)~(sum + (sum >> 16)) ? DROP : PASS;
}
