// A name of labels (RFC 1035, 3.1): each begins with its length, and its octets are reached by an index behind a cursor that moves.
// twin 19: the length is compared with the end as if the label had begun with it
#include "xdp.h"
#ifdef TWIN
#define BEFORE 1
#else
#define BEFORE 0
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    u32 h = 5381;
    for (int i = 0; i < 10; i++) {
        if (p + 1 > end) return DROP;
        u8 len = *p++;
        if (!len) break;
        if (p - BEFORE + len > end) return DROP;
#pragma clang loop unroll(disable)
        for (int j = 0; j < len; j++) h = h * 33 + p[j];
        p += len;
    }
    return h & 1 ? PASS : DROP;
}
