// What lies before a padding whose length is the last octet: `len - 1 - pad` is `len + ~pad`.
// twin 19 23: the padding may be as long as everything
#include "xdp.h"
#ifdef TWIN
#define LONGER(pad, len) ((pad) > (len))
#else
#define LONGER(pad, len) ((pad) >= (len))
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *h = START(ctx), *end = END(ctx);
    u32 len = end - h;
    if (len < 3 || len > 900) return DROP;
    u8 pad = h[len - 1];
    if (LONGER(pad, len)) return DROP;
    return h[len - 1 - pad] == 7 ? PASS : DROP;
}
