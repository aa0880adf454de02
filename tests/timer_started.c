/* A timer that an interrupt starts anew while the thread looks at it; tests/test_node_interrupts.py lets the interrupt come at each instruction. */
#include <stddef.h>

#include "lpn_node.h"

#define NOW 1045u

static uint32_t now(void *user) { (void)user; return NOW; }
static void set_timer(void *user, uint32_t at) { (void)user; (void)at; }
static void stop_timer(void *user) { (void)user; }

lpn_hook hook;
const uint32_t places[] = { offsetof(lpn_hook, requested), offsetof(lpn_hook, requested_at), offsetof(lpn_hook, delay) };
static const lpn_platform platform = { .now = now, .set_timer = set_timer, .stop_timer = stop_timer };
static lpn_set set = { .hook = &hook, .hooks = 1 };
static lpn_node node = { .platform = &platform, .set = &set };

/* It was started at 1000, for 500 us. */
void begin(void)
{
    hook = (lpn_hook){ .event = LPN_AFTER, .context = LPN_RADIO, .requested = 1, .requested_at = 1000, .delay = 500 };
}

void poll(void)
{
    lpn_node_poll(&node);
}

/* When it is due; 0: never, or it has run. */
uint32_t due(void)
{
    return hook.armed && hook.stats.events == 0 ? hook.due : 0;
}

/* No chain runs. */
void lpn_chain_run(lpn_chain *chain, uint8_t *packet, uint32_t size, const lpn_meta *meta, lpn_result *result)
{
    (void)chain, (void)packet, (void)size, (void)meta, (void)result;
}

bool lpn_buffers_release(lpn_buffers *buffers, const uint8_t *content)
{
    (void)buffers, (void)content;
    return false;
}

void *memset(void *to, int value, size_t size)
{
    for (uint8_t *p = to; size > 0; size--) {
        *p++ = (uint8_t)value;
    }
    return to;
}

void *memcpy(void *to, const void *from, size_t size)
{
    const uint8_t *q = from;
    for (uint8_t *p = to; size > 0; size--) {
        *p++ = *q++;
    }
    return to;
}
