// A state machine by a table in read-only data: a state leads to states that the table has rows for, as the table's content says.
// twin 22: one of the entries is a state that has no row
// constants
#include "xdp.h"
#ifdef TWIN
#define LAST 4
#else
#define LAST 1
#endif
static const u8 next[4][4] = {{1, 0, 2, 3}, {1, 2, 0, 3}, {3, 2, 1, 0}, {0, 0, 3, LAST}};
XDP int program(struct xdp_md *ctx) {
    u8 *p = START(ctx), *end = END(ctx);
    u32 state = 0;
    for (int i = 0; i < 32; i++) {
        if (p + 1 > end) break;
        state = next[state][*p++ & 3];
    }
    return state == 3 ? PASS : DROP;
}
