/*
 * SPDX-FileCopyrightText: 2026 The LPN authors
 * SPDX-License-Identifier: LGPL-2.1-only
 */

/**
 * @ingroup     pkg_lpn
 * @{
 *
 * @file
 * @brief       The radio's side: its driver's functions and events, wrapped
 *
 * Everything here runs in the interface's thread, but what says otherwise. A frame is read once, when GNRC asks how
 * long it is; hooks run over it then, and GNRC gets what they leave.
 *
 * @}
 */

#include <errno.h>
#include <string.h>

#include "byteorder.h"
#include "irq.h"
#include "net/ieee802154.h"
#include "net/netdev/ieee802154.h"
#include "ztimer.h"
#if IS_USED(MODULE_NETDEV_IEEE802154_SUBMAC)
#  include "net/netdev/ieee802154_submac.h"
#endif

#include "lpn_internal.h"

#define FRAME_MAX       (IEEE802154_FRAME_LEN_MAX - IEEE802154_FCS_LEN)
#define RETRY_US        (1000U)     /* a radio that is receiving takes no frame */
#define RETRIES         (100U)
#define LOST_US         (200000U)   /* later than any result of a transmission */

/* Whose frame the radio has. */
enum { NOBODYS, OURS, THEIRS };

static const netdev_driver_t *_driver;          /* the driver's own functions */
static netdev_driver_t _wrapped;
static netdev_event_cb_t _event_callback;       /* GNRC's */

static struct {
    uint8_t bytes[IEEE802154_FRAME_LEN_MAX + LPN_WINDOW];
    uint16_t size;                  /* what is left for GNRC; 0: nothing */
    bool ours;                      /* GNRC does not get it */
    netdev_ieee802154_rx_info_t info;
} _rx;

static struct {
    uint8_t bytes[FRAME_MAX];
    uint8_t size;                   /* 0: no frame waits or is sent */
    uint8_t owner;                  /* of the frame that the radio has */
    uint8_t tries;
    iolist_t iolist;
    uint32_t since;
} _tx;

static struct {
    bool on, lit;                   /* as hooks want it; as it is */
    uint32_t since;
    uint64_t lit_us, all_us;
    uint32_t all_since;
} _power;

/* Of the driver's interrupts since its thread last looked. */
static struct {
    uint32_t first, last;
    bool any;
} _stamp;

static void _kick(event_t *event);
static void _again(event_t *event);
static void _retry(void *arg);
static event_t _kick_event = { .handler = _kick };
static event_t _power_event = { .handler = _again };
static ztimer_t _retry_timer = { .callback = _retry };

static bool _is_new(void)
{
    return IS_USED(MODULE_NETDEV_NEW_API) && (_driver->confirm_send != NULL);
}

const char *lpn_radio_model(void)
{
    return (_driver == NULL) ? "none" : _is_new() ? "radio HAL" : "legacy netdev";
}

/* ------------------------------------------------------------------------------------- on and off */

static void _lit(bool lit)
{
    uint32_t now = lpn_now();
    if (_power.lit) {
        _power.lit_us += now - _power.since;
    }
    _power.since = now;
    _power.lit = lit;
}

void lpn_radio_account(void)
{
    uint32_t now = lpn_now();
    _lit(_power.lit);
    _power.all_us += now - _power.all_since;
    _power.all_since = now;
    lpn_counts.on_us = _power.lit_us;
    lpn_counts.all_us = _power.all_us;
}

void lpn_radio_reset(void)
{
    lpn_radio_account();
    _power.lit_us = _power.all_us = 0;
}

/* The driver goes back to listening after each frame: what hooks want is said again then. */
static void _apply(void)
{
    netdev_t *dev = lpn_netif->dev;
    netopt_state_t state = _power.on ? NETOPT_STATE_IDLE : NETOPT_STATE_SLEEP;
    if (_tx.owner != NOBODYS) {
        return;
    }
    if (_driver->set(dev, NETOPT_STATE, &state, sizeof(state)) >= 0) {
        _lit(_power.on);
    }
}

static void _again(event_t *event)
{
    (void)event;
    if (!_power.on) {
        _apply();
    }
}

void lpn_radio_switch(void *user, bool on)
{
    (void)user;
    _power.on = on;
    _apply();
}

uint32_t lpn_radio_cca(void *user)
{
    (void)user;
    netdev_t *dev = lpn_netif->dev;
#if IS_USED(MODULE_NETDEV_IEEE802154_SUBMAC)
    if (_is_new()) {
        netdev_ieee802154_submac_t *submac = container_of(container_of(dev, netdev_ieee802154_t, netdev),
                                                          netdev_ieee802154_submac_t, dev);
        ieee802154_dev_t *hal = &submac->submac.dev;
        int busy;
        if (ieee802154_radio_request_cca(hal) < 0) {
            return 0;               /* CCA mode 4, ALOHA: the medium is always idle */
        }
        do {
            busy = ieee802154_radio_confirm_cca(hal);
        } while (busy == -EAGAIN);
        return (busy == 0) ? 1 : 0;
    }
#endif
    netopt_enable_t clear = NETOPT_ENABLE;
    if (_driver->get(dev, NETOPT_IS_CHANNEL_CLR, &clear, sizeof(clear)) < 0) {
        return 0;
    }
    return (clear == NETOPT_DISABLE) ? 1 : 0;
}

void lpn_radio_channel(void *user, uint32_t number)
{
    (void)user;
    uint16_t channel = (uint16_t)number;
    _driver->set(lpn_netif->dev, NETOPT_CHANNEL, &channel, sizeof(channel));
}

void lpn_radio_power(void *user, int32_t dbm)
{
    (void)user;
    int16_t power = (int16_t)dbm;
    _driver->set(lpn_netif->dev, NETOPT_TX_POWER, &power, sizeof(power));
}

/* ------------------------------------------------------------------------------------- transmission */

static void _radio_event(uint8_t code, uint32_t selector, uint32_t time)
{
    const lpn_event event = { .event = code, .selector = { selector }, .time = time };
    if (lpn_raise(&event) & LPN_POLL) {
        lpn_poll_soon();
    }
}

static void _result(enum lpn_tx_result result)
{
    lpn_counts.acked += (result == LPN_TX_OK);
    lpn_counts.noack += (result == LPN_TX_NOACK);
    lpn_counts.channel_busy += (result == LPN_TX_BUSY);
    _tx.size = 0;
    if (result == LPN_TX_NOACK) {
        _radio_event(LPN_ACK_TIMEOUT, 0, lpn_now());
    }
    _radio_event(LPN_TX_DONE, result, lpn_now());
}

static void _retry(void *arg)
{
    (void)arg;
    lpn_post(&_kick_event);
}

/* Give the radio the frame that waits, if it has none. */
static void _try(void)
{
    if ((_tx.size == 0) || (_tx.owner == OURS)) {
        return;
    }
    if ((_tx.owner == THEIRS) && (lpn_now() - _tx.since < LOST_US)) {
        return;                     /* the end of theirs tries again */
    }
    _tx.iolist = (iolist_t){ .iol_base = _tx.bytes, .iol_len = _tx.size };
    _tx.owner = OURS;
    _tx.since = lpn_now();
    int res = _driver->send(lpn_netif->dev, &_tx.iolist);
    if (res >= 0) {
        lpn_counts.sent++;
        _lit(true);
        ztimer_set(ZTIMER_USEC, &_retry_timer, LOST_US);
        if (_is_new() && (res > 0)) {
            _tx.owner = NOBODYS;
            _result(LPN_TX_OK);
        }
        return;
    }
    _tx.owner = NOBODYS;
    if (++_tx.tries >= RETRIES) {
        _result(LPN_TX_BUSY);
        return;
    }
    ztimer_set(ZTIMER_USEC, &_retry_timer, RETRY_US);
}

/* In the thread: a frame may be sent, or its result never came. */
static void _kick(event_t *event)
{
    (void)event;
    if ((_tx.owner != NOBODYS) && (lpn_now() - _tx.since >= LOST_US)) {
        bool ours = _tx.owner == OURS;
        _tx.owner = NOBODYS;
        if (ours) {
            _result(LPN_TX_BUSY);
        }
    }
    _try();
}

uint32_t lpn_radio_send(const lpn_frame *frame)
{
    uint32_t size = frame->head_size + frame->tail_size;
    if (_tx.size != 0) {
        return 1;
    }
    if ((size > FRAME_MAX) || (size == 0)) {
        lpn_counts.too_long++;
        return 1;
    }
    memcpy(_tx.bytes, frame->head, frame->head_size);
    memcpy(_tx.bytes + frame->head_size, frame->tail, frame->tail_size);
    _tx.size = (uint8_t)size;
    _tx.tries = 0;
    _try();
    return 0;
}

/* The radio is done with a frame. */
static void _sent(enum lpn_tx_result result)
{
    bool ours = _tx.owner == OURS;
    _tx.owner = NOBODYS;
    if (ours) {
        ztimer_remove(ZTIMER_USEC, &_retry_timer);
        _result(result);
    }
    lpn_post(&_kick_event);
    lpn_post(&_power_event);
}

/* GNRC's frames. */
static int _send(netdev_t *dev, const iolist_t *iolist)
{
    if (_tx.owner == OURS) {
        return -EBUSY;              /* gnrc_netif_pktq keeps it */
    }
    int res = _driver->send(dev, iolist);
    if (_is_new() ? (res == 0) : (res > 0)) {
        _tx.owner = THEIRS;
        _tx.since = lpn_now();
        _lit(true);
    }
    return res;
}

#if IS_USED(MODULE_NETDEV_NEW_API)
static enum lpn_tx_result _outcome_of(int res)
{
    return (res == -EHOSTUNREACH) ? LPN_TX_NOACK : (res < 0) ? LPN_TX_BUSY : LPN_TX_OK;
}

/* GNRC asks what became of its frame. */
static int _confirm_send(netdev_t *dev, void *info)
{
    int res = _driver->confirm_send(dev, info);
    if (res != -EAGAIN) {
        _sent(_outcome_of(res));
    }
    return res;
}
#endif

/* ------------------------------------------------------------------------------------- reception */

/* A run over the frame has ended; the last verdict that is not ACCEPT decides. */
void lpn_radio_outcome(const lpn_outcome *outcome)
{
    const lpn_result *result = outcome->result;
    if (result->verdict != LPN_ACCEPT) {
        _rx.ours = true;
        return;
    }
    if (!result->rebuilt && (result->size == _rx.size)) {
        return;
    }
    const lpn_frame *packet = &outcome->packet;
    if (packet->head_size + packet->tail_size > FRAME_MAX) {
        lpn_counts.too_long++;
        _rx.ours = true;
        return;
    }
    memmove(_rx.bytes + packet->head_size, packet->tail, packet->tail_size);
    memcpy(_rx.bytes, packet->head, packet->head_size);
    _rx.size = (uint16_t)(packet->head_size + packet->tail_size);
}

/* Read the frame from the radio, and run hooks over it. */
static int _fetch(netdev_t *dev)
{
    int size = _driver->recv(dev, NULL, 0, NULL);
    if (size <= 0) {
        return size;
    }
    if ((size_t)size > IEEE802154_FRAME_LEN_MAX) {
        _driver->recv(dev, NULL, size, NULL);
        return -EIO;
    }
    memset(&_rx.info, 0, sizeof(_rx.info));
    size = _driver->recv(dev, _rx.bytes, size, &_rx.info);
    if (size <= 0) {
        return size;
    }
    lpn_counts.received++;
    _rx.size = (uint16_t)size;
    _rx.ours = false;
    const lpn_event event = {
        .event = LPN_RX_DONE, .packet = _rx.bytes, .size = (uint32_t)size, .time = _stamp.last,
        .lqi = _rx.info.lqi, .rssi = _rx.info.rssi, .iface = lpn_netif->pid,
    };
    if (lpn_raise(&event) & LPN_KEPT) {
        lpn_run_until_released(_rx.bytes);
    }
    if (_rx.ours) {
        _rx.size = 0;
    }
    lpn_counts.accepted += (_rx.size != 0);
    return _rx.size;
}

static int _recv(netdev_t *dev, void *buf, size_t len, void *info)
{
    if ((buf == NULL) && (len == 0)) {
        return (_rx.size != 0) ? _rx.size : _fetch(dev);
    }
    size_t size = _rx.size;
    _rx.size = 0;
    if (buf == NULL) {
        return (int)size;
    }
    if (len < size) {
        return -ENOBUFS;
    }
    memcpy(buf, _rx.bytes, size);
    if (info != NULL) {
        memcpy(info, &_rx.info, sizeof(_rx.info));
    }
    return (int)size;
}

/* ------------------------------------------------------------------------------------- events */

static void _note_addresses(void)
{
    const netdev_ieee802154_t *dev = container_of(lpn_netif->dev, netdev_ieee802154_t, netdev);
    lpn_the_node.ext = byteorder_bebuftohll(dev->long_addr);
    lpn_the_node.short_address = byteorder_bebuftohs(dev->short_addr);
    lpn_the_node.pan = dev->pan;
}

static int _set(netdev_t *dev, netopt_t opt, const void *value, size_t size)
{
    int res = _driver->set(dev, opt, value, size);
    if ((opt == NETOPT_ADDRESS) || (opt == NETOPT_ADDRESS_LONG) || (opt == NETOPT_NID)) {
        _note_addresses();
    }
    if ((opt == NETOPT_STATE) && (res >= 0)) {
        netopt_state_t state;
        memcpy(&state, value, sizeof(state));
        _power.on = (state != NETOPT_STATE_SLEEP) && (state != NETOPT_STATE_OFF)
                    && (state != NETOPT_STATE_STANDBY);
        _lit(_power.on);
    }
    return res;
}

/* The driver's thread looks at what its interrupts were about. */
static void _isr(netdev_t *dev)
{
    _driver->isr(dev);
    unsigned state = irq_disable();
    _stamp.any = false;
    irq_restore(state);
}

/* In an interrupt: the time, nothing more. */
static void _note_time(void)
{
    uint32_t now = lpn_now();
    _stamp.last = now;
    if (!_stamp.any) {
        _stamp.first = now;
        _stamp.any = true;
    }
}

static void _on_event(netdev_t *dev, netdev_event_t event)
{
    switch (event) {
    case NETDEV_EVENT_ISR:
        if (!_is_new()) {
            _note_time();
        }
        break;
    case NETDEV_EVENT_RX_STARTED:
        if (!_is_new()) {
            _radio_event(LPN_RX_START, 0, _stamp.first);
        }
        break;
    case NETDEV_EVENT_RX_COMPLETE:
        _event_callback(dev, event);
        if (!_power.on) {
            lpn_post(&_power_event);
        }
        return;
    case NETDEV_EVENT_TX_COMPLETE:
#if IS_USED(MODULE_NETDEV_NEW_API)
        if (_is_new()) {
            if (_tx.owner == OURS) {
                int res = _driver->confirm_send(dev, NULL);
                if (res != -EAGAIN) {
                    _sent(_outcome_of(res));
                }
                return;             /* GNRC knows nothing of it */
            }
            break;                  /* it confirms */
        }
#endif
        _sent(LPN_TX_OK);
        break;
#if IS_USED(MODULE_NETDEV_LEGACY_API)
    case NETDEV_EVENT_TX_COMPLETE_DATA_PENDING:
        _sent(LPN_TX_OK);
        break;
    case NETDEV_EVENT_TX_NOACK:
        _sent(LPN_TX_NOACK);
        break;
    case NETDEV_EVENT_TX_MEDIUM_BUSY:
        _sent(LPN_TX_BUSY);
        break;
#endif
    default:
        break;
    }
    _event_callback(dev, event);
}

#if IS_USED(MODULE_NETDEV_IEEE802154_SUBMAC)
static ieee802154_cb_t _hal_callback;

/* Mostly in an interrupt: the time, and hooks of context isr. */
static void _on_hal_event(ieee802154_dev_t *hal, ieee802154_trx_ev_t event)
{
    switch (event) {
    case IEEE802154_RADIO_INDICATION_RX_START:
        _radio_event(LPN_RX_START, 0, lpn_now());
        break;
    case IEEE802154_RADIO_INDICATION_TX_START:
        if (_tx.owner == OURS) {
            _radio_event(LPN_TX_START, 0, lpn_now());
        }
        break;
    case IEEE802154_RADIO_INDICATION_RX_DONE:
        _note_time();
        break;
    default:
        break;
    }
    _hal_callback(hal, event);
}
#endif

bool lpn_radio_gives(const lpn_hook *hook)
{
    switch (hook->event) {
    case LPN_NET_RX:
    case LPN_NET_TX:
        return IS_USED(MODULE_LPN_NET) && lpn_net_gives(hook);
    case LPN_RX_START:
    case LPN_TX_START:
        break;
    default:
        return true;
    }
    if (_driver == NULL) {
        return false;
    }
#if IS_USED(MODULE_NETDEV_IEEE802154_SUBMAC)
    if (_is_new()) {
        netdev_ieee802154_submac_t *submac = container_of(container_of(lpn_netif->dev, netdev_ieee802154_t, netdev),
                                                          netdev_ieee802154_submac_t, dev);
        return ieee802154_radio_has_capability(&submac->submac.dev, (hook->event == LPN_RX_START)
                                               ? IEEE802154_CAP_IRQ_RX_START : IEEE802154_CAP_IRQ_TX_START);
    }
#endif
    /* Such a radio waits for a clear channel and repeats frames by itself: nobody learns when one starts. */
    return hook->event == LPN_RX_START;
}

int lpn_radio_init(gnrc_netif_t *netif)
{
    netdev_t *dev = netif->dev;
    unsigned state = irq_disable();
    _driver = dev->driver;
    _wrapped = *_driver;
    _wrapped.send = _send;
    _wrapped.recv = _recv;
    _wrapped.set = _set;
    _wrapped.isr = _isr;
#if IS_USED(MODULE_NETDEV_NEW_API)
    if (_driver->confirm_send != NULL) {
        _wrapped.confirm_send = _confirm_send;
    }
#endif
    dev->driver = &_wrapped;
    _event_callback = dev->event_callback;
    dev->event_callback = _on_event;
#if IS_USED(MODULE_NETDEV_IEEE802154_SUBMAC)
    if (_is_new()) {
        netdev_ieee802154_submac_t *submac = container_of(container_of(dev, netdev_ieee802154_t, netdev),
                                                          netdev_ieee802154_submac_t, dev);
        _hal_callback = submac->submac.dev.cb;
        submac->submac.dev.cb = _on_hal_event;
    }
#endif
    _power.on = true;
    _power.since = _power.all_since = lpn_now();
    _power.lit = true;
    irq_restore(state);
    _note_addresses();
    return 0;
}
