/*
 * SPDX-FileCopyrightText: 2026 The LPN authors
 * SPDX-License-Identifier: LGPL-2.1-only
 */

/**
 * @ingroup     pkg_lpn
 * @{
 *
 * @file
 * @brief       The radio's side: its driver's functions and events, wrapped; frames that come in
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

#include "lpn_radio.h"

const netdev_driver_t *lpn_radio_driver;
static netdev_driver_t _wrapped;
static netdev_event_cb_t _event_callback;       /* GNRC's */

static struct {
    uint8_t bytes[IEEE802154_FRAME_LEN_MAX + LPN_WINDOW];
    uint16_t size;                  /* what is left for GNRC; 0: nothing */
    bool ours;                      /* GNRC does not get it */
    netdev_ieee802154_rx_info_t info;
} _rx;

/* Of the driver's interrupts since its thread last looked. */
static struct {
    uint32_t first, last;
    bool any;
} _stamp;

const char *lpn_radio_model(void)
{
    return (lpn_radio_driver == NULL) ? "none" : lpn_radio_is_new() ? "radio HAL" : "legacy netdev";
}

void lpn_radio_event(uint8_t code, uint32_t selector, uint32_t time)
{
    const lpn_event event = { .event = code, .selector = { selector }, .time = time };
    if (lpn_raise(&event) & LPN_POLL) {
        lpn_poll_soon();
    }
}

/* ------------------------------------------------------------------------------------- reception */

/* A run over the frame has ended; the last verdict that is not ACCEPT decides. */
void lpn_radio_outcome(const lpn_outcome *outcome)
{
    const lpn_result *result = outcome->result;
    if (result->verdict != LPN_ACCEPT) {
        _rx.ours = true;
        return;
    }
    if (!result->rebuilt && (result->size == outcome->event->size)) {
        return;                     /* as it came to this run: another one may have left less of it */
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
    int size = lpn_radio_driver->recv(dev, NULL, 0, NULL);
    if (size <= 0) {
        return size;
    }
    if ((size_t)size > IEEE802154_FRAME_LEN_MAX) {
        lpn_radio_driver->recv(dev, NULL, size, NULL);
        return -EIO;
    }
    memset(&_rx.info, 0, sizeof(_rx.info));
    size = lpn_radio_driver->recv(dev, _rx.bytes, size, &_rx.info);
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
    int res = lpn_radio_driver->set(dev, opt, value, size);
    if ((opt == NETOPT_ADDRESS) || (opt == NETOPT_ADDRESS_LONG) || (opt == NETOPT_NID)) {
        _note_addresses();
    }
    if ((opt == NETOPT_STATE) && (res >= 0)) {
        netopt_state_t state;
        memcpy(&state, value, sizeof(state));
        lpn_radio_note_state((state != NETOPT_STATE_SLEEP) && (state != NETOPT_STATE_OFF)
                             && (state != NETOPT_STATE_STANDBY));
    }
    return res;
}

/* The driver's thread looks at what its interrupts were about. */
static void _isr(netdev_t *dev)
{
    lpn_radio_driver->isr(dev);
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
        if (!lpn_radio_is_new()) {
            _note_time();
        }
        break;
    case NETDEV_EVENT_RX_STARTED:
        if (!lpn_radio_is_new()) {
            lpn_radio_event(LPN_RX_START, 0, _stamp.first);
        }
        break;
    case NETDEV_EVENT_RX_COMPLETE:
        _event_callback(dev, event);
        lpn_radio_on_again();
        return;
    case NETDEV_EVENT_TX_COMPLETE:
#if IS_USED(MODULE_NETDEV_NEW_API)
        if (lpn_radio_is_new()) {
            if (lpn_radio_sends_ours()) {
                lpn_radio_confirm(dev, NULL);
                return;             /* GNRC knows nothing of it */
            }
            break;                  /* it confirms */
        }
#endif
        lpn_radio_sent(LPN_TX_OK);
        break;
#if IS_USED(MODULE_NETDEV_LEGACY_API)
    case NETDEV_EVENT_TX_COMPLETE_DATA_PENDING:
        lpn_radio_sent(LPN_TX_OK);
        break;
    case NETDEV_EVENT_TX_NOACK:
        lpn_radio_sent(LPN_TX_NOACK);
        break;
    case NETDEV_EVENT_TX_MEDIUM_BUSY:
        lpn_radio_sent(LPN_TX_BUSY);
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
        lpn_radio_event(LPN_RX_START, 0, lpn_now());
        break;
    case IEEE802154_RADIO_INDICATION_TX_START:
        if (lpn_radio_sends_ours()) {
            lpn_radio_event(LPN_TX_START, 0, lpn_now());
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
    if (lpn_radio_driver == NULL) {
        return false;
    }
#if IS_USED(MODULE_NETDEV_IEEE802154_SUBMAC)
    if (lpn_radio_is_new()) {
        return ieee802154_radio_has_capability(lpn_radio_hal(lpn_netif->dev), (hook->event == LPN_RX_START)
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
    lpn_radio_driver = dev->driver;
    _wrapped = *lpn_radio_driver;
    _wrapped.send = lpn_radio_send_theirs;
    _wrapped.recv = _recv;
    _wrapped.set = _set;
    _wrapped.isr = _isr;
#if IS_USED(MODULE_NETDEV_NEW_API)
    if (lpn_radio_driver->confirm_send != NULL) {
        _wrapped.confirm_send = lpn_radio_confirm;
    }
#endif
    dev->driver = &_wrapped;
    _event_callback = dev->event_callback;
    dev->event_callback = _on_event;
#if IS_USED(MODULE_NETDEV_IEEE802154_SUBMAC)
    if (lpn_radio_is_new()) {
        ieee802154_dev_t *hal = lpn_radio_hal(dev);
        _hal_callback = hal->cb;
        hal->cb = _on_hal_event;
    }
#endif
    lpn_radio_note_state(true);
    lpn_radio_reset();
    irq_restore(state);
    _note_addresses();
    return 0;
}
