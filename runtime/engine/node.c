/* SPDX-License-Identifier: LGPL-2.1-only */
/* Dispatch: events become runs of hooks, in interrupts and in one thread; timers; what is counted. */
#include "node.h"

const char *lpn_event_name(unsigned event)
{
#define NAME(code, name, context) name,
    static const char *const names[] = { LPN_EVENTS(NAME) };
#undef NAME
    return event < LPN_EVENT_COUNT ? names[event] : "?";
}

bool lpn_hook_is_timing(const lpn_hook *hook)
{
    return hook->chain[0]->image[LPN_IMAGE_KIND] == LPN_TIMING;
}

/* Has the time `at` come? Times differ by less than half of what the clock counts. */
static bool reached(uint32_t now, uint32_t at)
{
    return (int32_t)(now - at) >= 0;
}

/* ------------------------------------------------------------------------------------------- runs */

uint32_t lpn_node_insns(const lpn_node *node)
{
    const lpn_work *work = node->active;
    return work == NULL ? 0 : work->result.insns + work->chain.run.insns;
}

/* The chain of `hook` in the memory of `work`, not yet run. */
static void take_chain(lpn_work *work, const lpn_set *set, const lpn_hook *hook)
{
    lpn_chain *chain = &work->chain;
    chain->containers = hook->containers;
    for (uint32_t i = 0; i < hook->containers && i < LPN_MAX_CHAIN; i++) {
        chain->container[i] = hook->chain[i];
    }
    chain->state = set->state;
    chain->state_size = set->state_size;
}

static void count_drop(const lpn_set *set, uint32_t reason)
{
    if (set->drops > 0) {
        set->drop[reason < set->drops ? reason : set->drops - 1]++;
    }
}

static void keep_worst(uint32_t *worst, uint32_t value)
{
    if (value > *worst) {
        *worst = value;
    }
}

/* The packet as a finished chain left it. */
static lpn_frame left(const lpn_work *work, const uint8_t *packet)
{
    const lpn_result *r = &work->result;
    if (!r->rebuilt) {
        return (lpn_frame){ .head = packet, .tail = packet, .tail_size = r->size };
    }
    return (lpn_frame){ .head = (const uint8_t *)work->chain.out, .head_size = r->out_len,
                        .tail = packet + r->payload, .tail_size = r->size - r->payload };
}

/* Run one hook's chain over one event. */
static void run_once(lpn_node *node, lpn_work *work, lpn_hook *hook, const lpn_event *event)
{
    const lpn_platform *platform = node->platform;
    const lpn_set *set = node->set;
    lpn_result *result = &work->result;
    uint8_t *packet = event->packet != NULL ? event->packet : work->nothing;
    const uint32_t size = event->packet != NULL ? event->size : 0, start = now_of(node);
    const lpn_meta meta = { .iface = event->iface, .lqi = event->lqi, .rssi = event->rssi,
                            .time = event->time, .clock = start, .node_ext = node->ext,
                            .node_short = node->short_address, .node_pan = node->pan,
                            .port = event->event == LPN_APP_TX ? event->selector[0] : 0,
                            .event = event->event == LPN_TX_DONE ? event->selector[0] : 0 };
    node->running = hook;
    work->chain.env = &node->env;
    take_chain(work, set, hook);
    lpn_chain_run(&work->chain, packet, size, &meta, result);

    lpn_outcome outcome = { .hook = hook, .event = event, .result = result, .start = start,
                            .packet = left(work, packet) };
    outcome.payload = lpn_get32((const uint8_t *)work->chain.ctx + LPN_CTX_PAYLOAD);
    if (outcome.payload > result->size) {
        outcome.payload = result->size;
    }
    if (result->verdict == LPN_TRANSMIT) {
        bool busy = result->rebuilt && platform->send(platform->user, LPN_TO_RADIO, &outcome.packet) != 0;
        outcome.unsent = busy || !result->rebuilt;
        node->busy += busy;
    }
    outcome.end = now_of(node);

    lpn_hook_stats *stats = &hook->stats;
    stats->runs++;
    stats->insns += result->insns;
    stats->time += outcome.end - start;
    keep_worst(&stats->insns_worst, result->insns);
    keep_worst(&stats->time_worst, outcome.end - start);
    keep_worst(&stats->wait_worst, start - event->time);
    stats->misses += hook->within != 0 && outcome.end - start > hook->within;
    if (result->verdict == LPN_DROP) {
        stats->drops++;
        stats->errors += result->error != LPN_OK;
        count_drop(set, result->arg);
    }
    if (platform->outcome != NULL) {
        platform->outcome(platform->user, &outcome);
    }
    result->insns = 0;          /* `lpn_node_insns` starts anew */
}

static lpn_hook *chain_for(const lpn_set *set, const lpn_event *event);

void lpn_node_free(const lpn_node *node, uint8_t *packet)
{
    if (packet != NULL && node->platform->release != NULL) {
        node->platform->release(node->platform->user, packet);
    }
}

/* What the chain that has just run completed in a buffer: `event`, which made it run, becomes the event of it, and
 * keeps what is known of the packet. */
static bool take_completed(lpn_buffers *buffers, lpn_event *event)
{
    if (LPN_NO_BUFFERS || buffers == NULL || !buffers->completed) {
        return false;
    }
    buffers->completed = false;
    *event = (lpn_event){ .event = LPN_BUFFER_COMPLETE, .selector = { buffers->index }, .packet = buffers->content,
                          .size = buffers->size, .time = event->time, .lqi = event->lqi, .iface = event->iface,
                          .rssi = event->rssi };
    return true;
}

/* Run a hook, then the chain of the buffer that its chain completed, and so on: no more often than a chain has
 * containers, so that it ends. */
static void run(lpn_node *node, lpn_work *work, lpn_hook *hook, const lpn_event *event)
{
    lpn_work *const outer = node->active;       /* an interrupt comes in the middle of a thread's run */
    const lpn_hook *const outer_hook = node->running;
    lpn_buffers *const buffers = work == node->isr ? NULL : node->set->buffers;
    lpn_event complete = *event;
    node->active = work;
    work->chain.buffers = buffers;
    run_once(node, work, hook, event);
    for (unsigned more = LPN_MAX_CHAIN; take_completed(buffers, &complete); more -= more > 0) {
        hook = chain_for(node->set, &complete);
        if (hook == NULL) {
            node->ignored++;
        } else {
            hook->stats.events++;
            if (more > 0) {
                run_once(node, work, hook, &complete);
            } else {
                hook->stats.overruns++;
            }
        }
        (void)lpn_buffers_release(buffers, complete.packet);
    }
    node->active = outer;
    node->running = outer_hook;
}

/* ------------------------------------------------------------------------------------------- events */

static bool wants(const lpn_hook *hook, const lpn_event *event)
{
    if (hook->event != event->event) {
        return false;
    }
    for (unsigned i = 0; i < hook->selectors; i++) {
        if (hook->selector[i] != event->selector[i]) {
            return false;
        }
    }
    return true;
}

/* The one chain that takes the event's packet: the one that names it most exactly. NULL: there is none. */
static lpn_hook *chain_for(const lpn_set *set, const lpn_event *event)
{
    lpn_hook *best = NULL;
    for (uint32_t i = 0; i < set->hooks; i++) {
        lpn_hook *hook = &set->hook[i];
        if (wants(hook, event) && !lpn_hook_is_timing(hook) && (best == NULL || hook->selectors > best->selectors)) {
            best = hook;
        }
    }
    return best;
}

static void overrun(const lpn_node *node, lpn_hook *hook)
{
    hook->stats.overruns++;
    if (node->platform->overrun != NULL) {
        node->platform->overrun(node->platform->user, hook);
    }
}

bool lpn_node_mark(const lpn_node *node, lpn_hook *hook, const lpn_event *event)
{
    hook->stats.events++;
    if (is_pending(hook)) {
        overrun(node, hook);
        return false;
    }
    hook->got = *event;
    __atomic_store_n(&hook->pending, 1, __ATOMIC_RELEASE);
    return true;
}

unsigned lpn_node_event(lpn_node *node, const lpn_event *event)
{
    const lpn_set *set = __atomic_load_n(&node->set, __ATOMIC_ACQUIRE);
    if (set == NULL || (event->event == LPN_RX_DONE && event->size > LPN_MAX_FRAME)) {
        node->ignored++;
        lpn_node_free(node, event->packet);
        return 0;
    }
    lpn_hook *chain = chain_for(set, event);
    bool wanted = false;
    unsigned todo = 0;
    for (uint32_t i = 0; i < set->hooks; i++) {
        lpn_hook *hook = &set->hook[i];
        if (hook != chain && (!wants(hook, event) || !lpn_hook_is_timing(hook))) {
            continue;
        }
        wanted = true;
        if (hook->context != LPN_ISR) {
            if (lpn_node_mark(node, hook, event)) {
                todo |= LPN_POLL | (event->packet != NULL ? LPN_KEPT : 0u);
            }
            continue;
        }
        hook->stats.events++;
        if (node->active == node->isr) {        /* an interrupt within an interrupt: its memory is in use */
            overrun(node, hook);
            continue;
        }
        run(node, node->isr, hook, event);
        for (uint32_t k = 0; k < set->hooks; k++) {
            todo |= set->hook[k].requested ? LPN_POLL : 0u;
        }
    }
    node->ignored += !wanted;
    if ((todo & LPN_KEPT) == 0) {
        lpn_node_free(node, event->packet);
    }
    return todo;
}

/* ------------------------------------------------------------------------------------------- the thread */

/* Start the timers that chains asked for, and mark the hooks whose time has come. */
static void run_timers(lpn_node *node, uint32_t now)
{
    for (uint32_t i = 0; i < node->set->hooks; i++) {
        lpn_hook *hook = &node->set->hook[i];
        while (__atomic_load_n(&hook->requested, __ATOMIC_ACQUIRE) != 0) {      /* once more where an interrupt starts it meanwhile */
            __atomic_store_n(&hook->requested, 0, __ATOMIC_RELAXED);
            __atomic_signal_fence(__ATOMIC_SEQ_CST);
            hook->due = hook->requested_at + hook->delay;
            hook->armed = 1;
        }
        if (hook->armed == 0 || !reached(now, hook->due)) {
            continue;
        }
        const lpn_event event = { .event = hook->event, .time = hook->due };
        lpn_node_mark(node, hook, &event);
        hook->armed = (uint8_t)is_periodic(hook);
        if (hook->armed) {      /* whole periods that nobody polled in are overruns, too */
            uint32_t missed = (now - hook->due) / hook->period;
            hook->stats.events += missed;
            hook->due += (missed + 1) * hook->period;
            for (; missed > 0; missed--) {
                overrun(node, hook);
            }
        }
    }
}

/* The pending hook to run: radio before net, then the oldest event, then the first in the set. */
static lpn_hook *next_hook(const lpn_node *node, uint32_t now)
{
    lpn_hook *best = NULL;
    for (uint32_t i = 0; i < node->set->hooks; i++) {
        lpn_hook *hook = &node->set->hook[i];
        if (is_pending(hook)
            && (best == NULL || hook->context < best->context
                || (hook->context == best->context && now - hook->got.time > now - best->got.time))) {
            best = hook;
        }
    }
    return best;
}

bool lpn_node_waits(const lpn_set *set, const uint8_t *packet)
{
    for (uint32_t i = 0; i < set->hooks; i++) {
        if (is_pending(&set->hook[i]) && set->hook[i].got.packet == packet) {
            return true;
        }
    }
    return false;
}

void lpn_node_set_timer(lpn_node *node, uint32_t now)
{
    const lpn_platform *platform = node->platform;
    bool any = false;
    uint32_t first = 0;
    for (uint32_t i = 0; i < node->set->hooks; i++) {
        const lpn_hook *hook = &node->set->hook[i];
        if (hook->armed && (!any || (int32_t)(hook->due - now) < (int32_t)(first - now))) {
            any = true;
            first = hook->due;
        }
    }
    if (any && (!node->timer_set || node->timer != first)) {
        platform->set_timer(platform->user, first);
    } else if (!any && node->timer_set) {
        platform->stop_timer(platform->user);
    }
    node->timer_set = any;
    node->timer = first;
}

void lpn_node_settle(lpn_node *node)
{
    const uint8_t asked = node->radio;
    node->radio = LPN_RADIO_AS_IT_IS;
    if (asked != LPN_RADIO_AS_IT_IS) {
        node->platform->radio(node->platform->user, asked == LPN_RADIO_ON);
    }
}

bool lpn_node_poll(lpn_node *node)
{
    if (node->set == NULL) {
        return false;
    }
    lpn_node_settle(node);
    uint32_t now = now_of(node);
    if (node->timer_set && reached(now, node->timer)) {
        node->timer_set = false;                /* it has fired, or is about to */
    }
    run_timers(node, now);
    lpn_hook *hook = next_hook(node, now);
    if (hook != NULL) {
        const lpn_event event = hook->got;
        __atomic_store_n(&hook->pending, 0, __ATOMIC_RELEASE);
        run(node, node->thread, hook, &event);
        if (!lpn_node_waits(node->set, event.packet)) {
            lpn_node_free(node, event.packet);
        }
        now = now_of(node);
        run_timers(node, now);
    }
    lpn_node_set_timer(node, now);
    return next_hook(node, now) != NULL;
}
