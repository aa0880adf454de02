// The Internet checksum over a header of 20 bytes, a loop that ends with !=.
// twin 33 23: the step does not divide the length
#include "xdp.h"
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    if (p + 64 > end) return DROP;
    u32 sum = 0, i = 0;
#pragma clang loop unroll(disable)
    do {
        sum += *(u16 *)(p + i);
        i += 2;
        __asm__ volatile("" : "+r"(sum));
#ifdef TWIN
    } while (i != 41);
#else
    } while (i != 40);
#endif
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return sum == 0xffff ? PASS : DROP;
}
