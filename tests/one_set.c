/* A firmware with one set, compiled with LPN_ONE_SET: it begins, ends, and begins anew. Prints what is wrong; status 1. */
#include LINKED_FILE
#include <stdio.h>

#include "lpn_node.h"

#define MUST(what) do { if (!(what)) { printf("line %d: not %s\n", __LINE__, #what); return 1; } } while (0)

static uint32_t clock_us, wake;
static unsigned released, switched_on, switched_off;

static uint32_t now(void *user) { (void)user; return clock_us; }
static void set_timer(void *user, uint32_t at) { (void)user; wake = at; }
static void stop_timer(void *user) { (void)user; wake = UINT32_MAX; }
static void radio(void *user, bool on) { (void)user; switched_on += on; switched_off += !on; }
static void release(void *user, uint8_t *packet) { (void)user; (void)packet; released++; }

int main(void)
{
    static const lpn_platform platform = { .now = now, .set_timer = set_timer, .stop_timer = stop_timer, .radio = radio, .release = release };
    static lpn_work thread;
    static uint64_t nothing_record[1];
    static uint8_t frame[16];
    static lpn_node node = { .platform = &platform, .thread = &thread };
    lpn_set nothing = { .state = (uint8_t *)nothing_record };
    uint32_t hook;
    thread.chain.record = lpn_linked.record;
    thread.chain.record_size = lpn_linked.record_size;
    node.isr = lpn_linked.isr;
    node.isr->chain.record = lpn_linked.isr_record;
    node.isr->chain.record_size = lpn_linked.record_size;
    for (unsigned turn = 1; turn <= 2; turn++) {
        clock_us += 1000;
        MUST(lpn_linked_begin() == LPN_OK);
        MUST(lpn_node_check(&node, &lpn_linked.set, &hook) == LPN_OK);
        MUST(lpn_node_swap(&node, &lpn_linked.set) == LPN_OK);
        MUST(wake == clock_us);                                 /* `every` begins at once, and again */
        lpn_node_settle(&node);
        MUST(switched_on == turn - 1 && switched_off == turn);  /* its budget finds the radio off */
        const lpn_event event = { .event = LPN_RX_DONE, .packet = frame, .size = sizeof frame, .time = clock_us };
        MUST(lpn_node_event(&node, &event) == (LPN_POLL | LPN_KEPT));
        MUST(lpn_node_swap(&node, &nothing) == LPN_OK);
        MUST(released == turn && node.lost == turn && wake == UINT32_MAX);
        lpn_node_settle(&node);                                 /* nobody switches it any more */
        MUST(switched_on == turn && switched_off == turn);
    }
    return 0;
}
