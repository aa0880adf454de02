// A small machine with a stack of operands: what is taken was put there.
// twin 16 18 23: of an operation that takes two only one is asked for
#include "xdp.h"
#ifdef TWIN
#define TAKEN 1
#else
#define TAKEN 2
#endif
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    s32 stack[8];
    u32 n = 0;
    if (end - p > 1500) return DROP;
    while (p < end) {
        u8 op = *p++;
        if (op < 128) {
            if (n >= 8) return DROP;
            stack[n++] = op;
        } else {
            if (n < TAKEN) return DROP;
            s32 b = stack[--n], a = stack[--n];
            stack[n++] = op == 128 ? a + b : op == 129 ? a - b : a * b;
        }
    }
    if (n != 1) return DROP;
    return stack[0] & 1 ? PASS : DROP;
}
