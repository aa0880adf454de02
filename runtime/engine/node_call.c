/* SPDX-License-Identifier: LGPL-2.1-only */
/* What containers call of the node: its clock, timers, the radio. */
#include "lpn_helpers.h"
#include "node.h"

uint32_t lpn_node_clock(void *user)
{
    return now_of(user);
}

void lpn_node_trace(void *user, uint64_t a, uint64_t b)
{
    const lpn_platform *platform = ((const lpn_node *)user)->platform;
    if (platform->trace != NULL) {
        platform->trace(platform->user, a, b);
    }
}

/* radio_send and net_send: out[0..r1) ++ packet[r2..r2+r3). */
static int helper_send(lpn_node *node, enum lpn_target to, const uint64_t *r, uint32_t *value)
{
    const lpn_chain *chain = &node->active->chain;
    const uint8_t *ctx = (const uint8_t *)chain->ctx;
    const uint64_t pkt = lpn_get64(ctx + LPN_CTX_PKT), size = lpn_get64(ctx + LPN_CTX_PKT_END) - pkt;
    if (r[0] > chain->run.view.out_size || r[1] > size || r[2] > size - r[1] || r[0] + r[2] > LPN_MAX_PACKET) {
        return LPN_E_HELPER_ARG;
    }
    const lpn_frame frame = { .head = (const uint8_t *)chain->out, .head_size = (uint32_t)r[0],
                              .tail = lpn_pointer(pkt) + r[1], .tail_size = (uint32_t)r[2] };
    *value = node->platform->send(node->platform->user, to, &frame);
    node->busy += *value != 0;
    return LPN_OK;
}

static int helper_timer(const lpn_node *node, uint64_t index, uint64_t delay)
{
    const lpn_set *set = node->set;
    if (index >= set->hooks || set->hook[index].event != LPN_AFTER || delay > INT32_MAX) {
        return LPN_E_HELPER_ARG;
    }
    lpn_hook *hook = &set->hook[index];
    hook->requested_at = now_of(node);
    hook->delay = (uint32_t)delay;
    __atomic_store_n(&hook->requested, 1, __ATOMIC_RELEASE);
    if (node->platform->timer != NULL) {
        node->platform->timer(node->platform->user, hook, hook->delay);
    }
    return LPN_OK;
}

/* What the interpreter does not do itself; arguments r1.. at r[0].. What interrupts call, node_check.c has looked at. */
int lpn_node_call(void *user, uint32_t number, const uint64_t *r, uint32_t *value)
{
    lpn_node *node = user;
    const lpn_platform *platform = node->platform;
    switch (number) {
    case LPN_HELPER_TIMER_START:
        return helper_timer(node, r[0], r[1]);
    case LPN_HELPER_RADIO_ON:
    case LPN_HELPER_RADIO_OFF:
        platform->radio(platform->user, number == LPN_HELPER_RADIO_ON);
        return LPN_OK;
    case LPN_HELPER_RADIO_CCA:
        *value = platform->cca(platform->user);
        return LPN_OK;
    case LPN_HELPER_RADIO_CHANNEL:
        platform->channel(platform->user, (uint32_t)r[0]);
        return LPN_OK;
    case LPN_HELPER_RADIO_POWER:
        platform->power(platform->user, (int32_t)(uint32_t)r[0]);
        return LPN_OK;
    case LPN_HELPER_RADIO_SEND:
        return helper_send(node, LPN_TO_RADIO, r, value);
    case LPN_HELPER_NET_SEND:
        return helper_send(node, LPN_TO_NET, r, value);
    default:
        return LPN_E_HELPER;
    }
}
