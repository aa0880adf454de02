/* SPDX-License-Identifier: LGPL-2.1-only */
/* Dispatch: events become runs of hooks, in interrupts and in one thread; timers; what is counted. */
#include "bytes.h"
#include "lpn_helpers.h"
#include "lpn_node.h"

const char *lpn_event_name(unsigned event)
{
#define NAME(code, name) name,
    static const char *const names[] = { LPN_EVENTS(NAME) };
#undef NAME
    return event < LPN_EVENT_COUNT ? names[event] : "?";
}

static uint32_t now_of(const lpn_node *node)
{
    return node->platform->now(node->platform->user);
}

/* Has the time `at` come? Times differ by less than half of what the clock counts. */
static bool reached(uint32_t now, uint32_t at)
{
    return (int32_t)(now - at) >= 0;
}

static bool is_timing(const lpn_hook *hook)
{
    return hook->chain[0]->image[LPN_IMAGE_KIND] == LPN_TIMING;
}

static uint32_t state_hash(const lpn_hook *hook)
{
    return lpn_get32(hook->chain[0]->image + LPN_IMAGE_STATE_HASH);
}

static bool is_periodic(const lpn_hook *hook)
{
    return hook->event == LPN_EVERY || hook->event == LPN_SLOT;
}

static bool is_pending(const lpn_hook *hook)
{
    return __atomic_load_n(&hook->pending, __ATOMIC_ACQUIRE) != 0;
}

/* ------------------------------------------------------------------------------------------- runs */

uint32_t lpn_node_insns(const lpn_node *node)
{
    const lpn_work *work = node->active;
    return work == NULL ? 0 : work->result.insns + work->chain.run.insns;
}

static uint32_t node_clock(void *user)
{
    return now_of(user);
}

static void node_trace(void *user, uint64_t a, uint64_t b)
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
    if (r[0] > LPN_OUT_SIZE || r[1] > size || r[2] > size - r[1] || r[0] + r[2] > LPN_MAX_PACKET) {
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

/* What the interpreter does not do itself; arguments r1.. at r[0].. */
static int node_call(void *user, uint32_t number, const uint64_t *r, uint32_t *value)
{
    lpn_node *node = user;
    const lpn_platform *platform = node->platform;
    if (node->active == node->isr && (LPN_HELPERS_NOT_IN_ISR >> number & 1) != 0) {
        return LPN_E_CONTEXT;
    }
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

static void release(const lpn_node *node, uint8_t *packet)
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
        if (wants(hook, event) && !is_timing(hook) && (best == NULL || hook->selectors > best->selectors)) {
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

/* Let the hook wait for its run, unless it does already. */
static bool mark(const lpn_node *node, lpn_hook *hook, const lpn_event *event)
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
        release(node, event->packet);
        return 0;
    }
    lpn_hook *chain = chain_for(set, event);
    bool wanted = false;
    unsigned todo = 0;
    for (uint32_t i = 0; i < set->hooks; i++) {
        lpn_hook *hook = &set->hook[i];
        if (hook != chain && (!wants(hook, event) || !is_timing(hook))) {
            continue;
        }
        wanted = true;
        if (hook->context != LPN_ISR) {
            if (mark(node, hook, event)) {
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
        release(node, event->packet);
    }
    return todo;
}

/* ------------------------------------------------------------------------------------------- the thread */

/* Start the timers that chains asked for, and mark the hooks whose time has come. */
static void run_timers(lpn_node *node, uint32_t now)
{
    for (uint32_t i = 0; i < node->set->hooks; i++) {
        lpn_hook *hook = &node->set->hook[i];
        if (__atomic_load_n(&hook->requested, __ATOMIC_ACQUIRE) != 0) {
            hook->requested = 0;
            hook->due = hook->requested_at + hook->delay;
            hook->armed = 1;
        }
        if (hook->armed == 0 || !reached(now, hook->due)) {
            continue;
        }
        const lpn_event event = { .event = hook->event, .time = hook->due };
        mark(node, hook, &event);
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

/* Does a hook wait with this packet? */
static bool waits(const lpn_set *set, const uint8_t *packet)
{
    for (uint32_t i = 0; i < set->hooks; i++) {
        if (is_pending(&set->hook[i]) && set->hook[i].got.packet == packet) {
            return true;
        }
    }
    return false;
}

/* The one hardware timer follows the first of the hooks' timers. */
static void set_timer(lpn_node *node, uint32_t now)
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

bool lpn_node_poll(lpn_node *node)
{
    if (node->set == NULL) {
        return false;
    }
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
        if (!waits(node->set, event.packet)) {
            release(node, event.packet);
        }
        now = now_of(node);
        run_timers(node, now);
    }
    set_timer(node, now);
    return next_hook(node, now) != NULL;
}

/* ------------------------------------------------------------------------------------------- sets */

int lpn_node_check(const lpn_node *node, const lpn_set *set, uint32_t *hook)
{
    *hook = 0;
    if (set->hooks > LPN_MAX_HOOKS || (lpn_address(set->state) & 7) != 0 || node->thread == NULL) {
        return set->hooks > LPN_MAX_HOOKS ? LPN_E_HOOK : LPN_E_MEMORY;
    }
    for (uint32_t i = 0; i < set->hooks; i++) {
        const lpn_hook *h = &set->hook[i];
        *hook = i;
        if (h->event >= LPN_EVENT_COUNT || h->context > LPN_NET || h->selectors > LPN_MAX_SELECTORS
            || h->containers == 0 || h->containers > LPN_MAX_CHAIN || h->period > INT32_MAX
            || h->offset > INT32_MAX || (is_periodic(h) && h->period == 0)) {
            return LPN_E_HOOK;
        }
        bool timer = is_periodic(h) || h->event == LPN_AFTER;
        const lpn_work *work = h->context == LPN_ISR ? node->isr : node->thread;
        if (timer && (h->context == LPN_ISR || !is_timing(h))) {
            return LPN_E_HOOK;
        }
        if (work == NULL || (lpn_address(work->chain.record) & 7) != 0) {
            return LPN_E_MEMORY;
        }
        int error = lpn_chain_fits(h->chain, h->containers, work->chain.record_size, set->state_size);
        if (error != LPN_OK) {
            return error;
        }
        if (state_hash(h) != state_hash(&set->hook[0])) {
            return LPN_E_HASH;
        }
    }
    return LPN_OK;
}

static bool same_bytes(const uint8_t *a, uint32_t a_size, const uint8_t *b, uint32_t b_size)
{
    for (uint32_t i = 0; a_size == b_size && i < a_size; i++) {
        if (a[i] != b[i]) {
            return false;
        }
    }
    return a_size == b_size;
}

/* Do both wait for the same? Handlers of a timing block are told apart by their names. */
static bool equal(const lpn_hook *a, const lpn_hook *b)
{
    lpn_image x, y;
    lpn_image_view(&x, a->chain[0]->image);
    lpn_image_view(&y, b->chain[0]->image);
    if (a->event != b->event || a->context != b->context || a->selectors != b->selectors
        || a->period != b->period || a->offset != b->offset || is_timing(a) != is_timing(b)
        || (is_timing(a) && !same_bytes(x.name, x.name_size, y.name, y.name_size))) {
        return false;
    }
    for (unsigned i = 0; i < a->selectors; i++) {
        if (a->selector[i] != b->selector[i]) {
            return false;
        }
    }
    return true;
}

/* What goes on from the old set to the new one: the beat of timers, and what is pending. */
static void hand_over(lpn_node *node, lpn_set *from, lpn_set *to)
{
    for (uint32_t i = 0; i < from->hooks; i++) {
        lpn_hook *old = &from->hook[i], *new = NULL;
        for (uint32_t k = 0; k < to->hooks && new == NULL; k++) {
            new = equal(old, &to->hook[k]) ? &to->hook[k] : NULL;
        }
        if (new == NULL) {
            continue;
        }
        new->armed = old->armed;
        new->due = old->due;
        new->requested = old->requested;
        new->requested_at = old->requested_at;
        new->delay = old->delay;
        if (old->pending && mark(node, new, &old->got)) {
            old->pending = 0;
            old->stats.moved++;
        }
    }
    for (uint32_t i = 0; i < from->hooks; i++) {
        lpn_hook *old = &from->hook[i];
        if (old->pending) {
            old->pending = 0;
            old->stats.moved++;
            node->lost++;
            if (!waits(from, old->got.packet) && !waits(to, old->got.packet)) {
                release(node, old->got.packet);
            }
        }
    }
}

/* The new set's state: what is persistent in the old one's, then what migrations make of it. */
static int carry(lpn_node *node, const lpn_set *from, const lpn_set *to)
{
    const lpn_kept mine = { to->kept, to->kept_count, to->state, to->state_size };
    const lpn_kept theirs = { from->kept, from->kept_count, from->state, from->state_size };
    enum lpn_carry mode = LPN_CARRY_NEW;
    uint32_t at;
    for (uint32_t i = 0; i < to->migrations; i++) {
        mode = to->migration[i].version == from->version ? LPN_CARRY_SAME : mode;
    }
    int error = lpn_state_carry(&mine, &theirs, mode, &at);
    for (uint32_t i = 0; i < to->migrations && error == LPN_OK; i++) {
        const lpn_migration *migration = &to->migration[i];
        if (migration->version == from->version) {
            lpn_chain *chain = &node->thread->chain;
            chain->state = to->state;
            chain->state_size = to->state_size;
            error = lpn_state_migrate(chain, migration->container, &migration->needs, &theirs, &at);
        }
    }
    return error;
}

int lpn_node_swap(lpn_node *node, lpn_set *set)
{
    lpn_set *old = node->set;
    const uint32_t now = now_of(node);
    int error = old == NULL ? LPN_OK : carry(node, old, set);
    if (error != LPN_OK) {
        return error;
    }
    for (uint32_t i = 0; i < set->hooks; i++) {
        lpn_hook *hook = &set->hook[i];
        hook->stats = (lpn_hook_stats){ 0 };
        hook->pending = hook->requested = 0;
        hook->armed = (uint8_t)is_periodic(hook);
        hook->due = now + hook->offset;
    }
    node->env = (lpn_env){ .tables = set->tables, .table_count = set->table_count,
                           .externs = set->externs, .extern_count = set->extern_count, .clock = node_clock,
                           .trace = node_trace, .call = node_call, .user = node };
    __atomic_store_n(&node->set, set, __ATOMIC_RELEASE);
    if (old != NULL) {
        hand_over(node, old, set);
    }
    set_timer(node, now);
    return LPN_OK;
}
