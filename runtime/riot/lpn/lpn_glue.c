/*
 * SPDX-FileCopyrightText: 2026 The LPN authors
 * SPDX-License-Identifier: LGPL-2.1-only
 */

/**
 * @ingroup     pkg_lpn
 * @{
 *
 * @file
 * @brief       The node in the thread of the network interface: its platform, timer and ports; what is counted
 *
 * @}
 */

#include <errno.h>
#include <string.h>

#include "auto_init_utils.h"
#include "auto_init_priorities.h"
#include "irq.h"
#include "log.h"
#include "mutex.h"
#include "net/netdev/ieee802154.h"
#include "net/netopt.h"
#include "ztimer.h"

#include "lpn_internal.h"

/* Instructions that hooks of a clock may take. */
#define CLOCK_LOAD      (CONFIG_LPN_CLOCK_SHARE * LPN_LOAD_US * 10 / CONFIG_LPN_INSN_NS)
#if CONFIG_LPN_CLOCK_SHARE && !CLOCK_LOAD
#  error "CONFIG_LPN_CLOCK_SHARE is less than one instruction of CONFIG_LPN_INSN_NS"
#endif

#define RUNS_AT_ONCE    (4U)        /* then frames and messages have their turn */

gnrc_netif_t *lpn_netif;
lpn_node lpn_the_node;
lpn_counts_t lpn_counts;

static lpn_work _thread_work;
static lpn_port_t *_ports;
static const uint8_t *_released;    /* the packet that was released last */
static lpn_ran_t _ran[CONFIG_LPN_TRACE];
static unsigned _ran_next, _ran_count;

static void _poll(event_t *event);
static void _wake(void *arg);
static event_t _poll_event = { .handler = _poll };
static ztimer_t _timer = { .callback = _wake };

/* ------------------------------------------------------------------------------------- the thread */

uint32_t lpn_now(void)
{
    return ztimer_now(ZTIMER_USEC);
}

void lpn_post(event_t *event)
{
    event_post(&lpn_netif->evq[GNRC_NETIF_EVQ_INDEX_PRIO_LOW], event);
}

void lpn_poll_soon(void)
{
    lpn_post(&_poll_event);
}

unsigned lpn_raise(const lpn_event *event)
{
    unsigned state = irq_disable();
    unsigned todo = lpn_node_event(&lpn_the_node, event);
    irq_restore(state);
    return todo;
}

static void _poll(event_t *event)
{
    (void)event;
    for (unsigned i = 0; lpn_node_poll(&lpn_the_node); i++) {
        if (i == RUNS_AT_ONCE) {
            lpn_poll_soon();
            return;
        }
    }
}

void lpn_run_until_released(const uint8_t *packet)
{
    bool more;
    _released = NULL;
    do {
        more = lpn_node_poll(&lpn_the_node);
    } while (more && (_released != packet));
    if (more) {
        lpn_poll_soon();
    }
}

/* In the timer's interrupt. */
static void _wake(void *arg)
{
    (void)arg;
    lpn_poll_soon();
}

typedef struct {
    event_t super;
    int (*function)(void *arg);
    void *arg;
    int result;
    mutex_t done;
} _call_t;

static void _do_call(event_t *event)
{
    _call_t *call = container_of(event, _call_t, super);
    call->result = call->function(call->arg);
    mutex_unlock(&call->done);
}

int lpn_call(int (*function)(void *arg), void *arg)
{
    if (lpn_netif == NULL) {
        return -ENODEV;
    }
    _call_t call = { .super.handler = _do_call, .function = function, .arg = arg, .done = MUTEX_INIT_LOCKED };
    lpn_post(&call.super);
    mutex_lock(&call.done);
    return call.result;
}

/* ------------------------------------------------------------------------------------- the platform */

static uint32_t _now(void *user)
{
    (void)user;
    return lpn_now();
}

static void _set_timer(void *user, uint32_t at)
{
    (void)user;
    int32_t delay = (int32_t)(at - lpn_now());
    ztimer_set(ZTIMER_USEC, &_timer, (delay > 0) ? (uint32_t)delay : 0);
}

static void _stop_timer(void *user)
{
    (void)user;
    ztimer_remove(ZTIMER_USEC, &_timer);
}

static uint32_t _send(void *user, enum lpn_target to, const lpn_frame *frame)
{
    (void)user;
    if (to == LPN_TO_RADIO) {
        return lpn_radio_send(frame);
    }
#if IS_USED(MODULE_LPN_NET)
    return lpn_net_send(frame);
#else
    return 1;
#endif
}

/* What the parser left, to everybody who has that port: in an interrupt, where there is no packet, to nobody. */
static void _deliver(const lpn_outcome *outcome)
{
    const lpn_frame *packet = &outcome->packet;
    const uint32_t skip = outcome->payload < packet->tail_size ? outcome->payload : packet->tail_size;
    unsigned takers = 0;
    for (lpn_port_t *port = _ports; port != NULL; port = port->next) {
        if ((port->port == outcome->result->arg) && (outcome->hook->context != LPN_ISR)) {    /* ports are the thread's */
            port->deliver(port, packet->tail + skip, packet->tail_size - skip, outcome->event);
            takers++;
        }
    }
    lpn_counts.delivered += (takers != 0);
    lpn_counts.undelivered += (takers == 0);
}

void lpn_port_register(lpn_port_t *port)
{
    unsigned state = irq_disable();
    port->next = _ports;
    _ports = port;
    irq_restore(state);
}

static void _remember(const lpn_outcome *outcome)
{
    unsigned state = irq_disable();
    _ran[_ran_next] = (lpn_ran_t){
        .time = outcome->start, .took = outcome->end - outcome->start, .insns = outcome->result->insns,
        .verdict = outcome->result->verdict, .arg = outcome->result->arg,
        .hook = (uint8_t)(outcome->hook - lpn_the_node.set->hook), .event = outcome->hook->event,
    };
    _ran_next = (_ran_next + 1) % CONFIG_LPN_TRACE;
    _ran_count += (_ran_count < CONFIG_LPN_TRACE);
    irq_restore(state);
}

static void _outcome(void *user, const lpn_outcome *outcome)
{
    (void)user;
    _remember(outcome);
    if (outcome->hook->event == LPN_RX_DONE) {
        lpn_radio_outcome(outcome);
    }
    if (outcome->result->verdict == LPN_DELIVER) {
        _deliver(outcome);
    }
}

static void _release(void *user, uint8_t *packet)
{
    (void)user;
    _released = packet;
    lpn_queue_free(packet);
}

static const lpn_platform _platform = {
    .now = _now, .set_timer = _set_timer, .stop_timer = _stop_timer, .radio = lpn_radio_switch, .cca = lpn_radio_cca,
    .channel = lpn_radio_channel, .power = lpn_radio_power, .send = _send, .outcome = _outcome, .release = _release,
};

/* ------------------------------------------------------------------------------------- what is known */

const lpn_node *lpn_node_get(void)
{
    return &lpn_the_node;
}

void lpn_trace_clear(void)
{
    _ran_count = 0;
}

static int _account(void *arg)
{
    (void)arg;
    lpn_radio_account();
    return 0;
}

void lpn_counts_get(lpn_counts_t *counts)
{
    lpn_call(_account, NULL);
    *counts = lpn_counts;
}

static int _reset(void *arg)
{
    (void)arg;
    lpn_radio_reset();
    memset(&lpn_counts, 0, sizeof(lpn_counts));
    lpn_the_node.ignored = lpn_the_node.lost = lpn_the_node.busy = 0;
    const lpn_set *set = lpn_the_node.set;
    for (uint32_t i = 0; (set != NULL) && (i < set->hooks); i++) {
        set->hook[i].stats = (lpn_hook_stats){ 0 };
    }
    for (uint32_t i = 0; (set != NULL) && (i < set->drops); i++) {
        set->drop[i] = 0;
    }
    return 0;
}

void lpn_counts_reset(void)
{
    lpn_call(_reset, NULL);
}

unsigned lpn_trace_get(lpn_ran_t *runs, unsigned count)
{
    unsigned state = irq_disable();
    count = (count < _ran_count) ? count : _ran_count;
    for (unsigned i = 0; i < count; i++) {
        runs[i] = _ran[(_ran_next + CONFIG_LPN_TRACE - count + i) % CONFIG_LPN_TRACE];
    }
    irq_restore(state);
    return count;
}

/* ------------------------------------------------------------------------------------- start */

/* The first interface of an IEEE 802.15.4 radio. */
static gnrc_netif_t *_find(void)
{
    gnrc_netif_t *netif = NULL;
    while ((netif = gnrc_netif_iter(netif)) != NULL) {
        uint16_t type;
        if ((netif->dev->driver->get(netif->dev, NETOPT_DEVICE_TYPE, &type, sizeof(type)) > 0)
            && (type == NETDEV_TYPE_IEEE802154)) {
            return netif;
        }
    }
    return NULL;
}

static int _begin(void *arg)
{
    return lpn_radio_init(arg);
}

void auto_init_lpn(void)
{
    lpn_the_node.platform = &_platform;
    lpn_the_node.thread = &_thread_work;
    _thread_work.chain.fuel = CONFIG_LPN_FUEL;
    lpn_the_node.load = CLOCK_LOAD;
    gnrc_netif_t *netif = _find();
    if (netif == NULL) {
        LOG_ERROR("lpn: no IEEE 802.15.4 interface, nothing runs\n");
        return;
    }
    lpn_netif = netif;
    lpn_call(_begin, netif);
}

AUTO_INIT(auto_init_lpn, AUTO_INIT_PRIORITY_AFTER(AUTO_INIT_PRIO_MOD_GNRC_NETIF));
