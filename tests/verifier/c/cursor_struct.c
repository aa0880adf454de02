// A cursor is a struct on the stack, with both its ends, that functions take by reference and move on.
// twin 19: an octet is compared, two are read
#include "xdp.h"
#ifdef TWIN
#define WIDE 1
#else
#define WIDE 2
#endif
struct cursor { u8 *at, *end; u32 short_of; };
APART u32 octet(struct cursor *c) {
    if (c->at + 1 > c->end) { c->short_of = 1; return 0; }
    return *c->at++;
}
APART u32 word(struct cursor *c) {
    if (c->at + WIDE > c->end) { c->short_of = 1; return 0; }
    u32 value = c->at[0] << 8 | c->at[1];
    c->at += 2;
    return value;
}
XDP int program(struct xdp_md *ctx) {
    struct cursor c = {START(ctx), END(ctx), 0};
    u32 type = octet(&c), length = word(&c), flags = octet(&c);
    if (c.short_of) return DROP;
    return type + length + flags > 50 ? PASS : DROP;
}
