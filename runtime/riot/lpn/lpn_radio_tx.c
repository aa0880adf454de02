/*
 * SPDX-FileCopyrightText: 2026 The LPN authors
 * SPDX-License-Identifier: LGPL-2.1-only
 */

/**
 * @ingroup     pkg_lpn
 * @{
 *
 * @file
 * @brief       Frames that go out: of hooks and of GNRC, one at a time
 *
 * @}
 */

#include <errno.h>
#include <string.h>

#include "ztimer.h"

#include "lpn_radio.h"

#define RETRY_US        (1000U)     /* a radio that is receiving takes no frame */
#define RETRIES         (100U)
#define LOST_US         (200000U)   /* later than any result of a transmission */

/* Whose frame the radio has. */
enum { NOBODYS, OURS, THEIRS };

static struct {
    uint8_t bytes[FRAME_MAX];
    uint8_t size;                   /* 0: no frame waits or is sent */
    uint8_t owner;                  /* of the frame that the radio has */
    uint8_t tries;
    iolist_t iolist;
    uint32_t since;
} _tx;

static void _kick(event_t *event);
static void _retry(void *arg);
static event_t _kick_event = { .handler = _kick };
static ztimer_t _retry_timer = { .callback = _retry };

bool lpn_radio_sends(void)
{
    return _tx.owner != NOBODYS;
}

bool lpn_radio_sends_ours(void)
{
    return _tx.owner == OURS;
}

static void _result(enum lpn_tx_result result)
{
    lpn_counts.acked += (result == LPN_TX_OK);
    lpn_counts.noack += (result == LPN_TX_NOACK);
    lpn_counts.channel_busy += (result == LPN_TX_BUSY);
    _tx.size = 0;
    if (result == LPN_TX_NOACK) {
        lpn_radio_event(LPN_ACK_TIMEOUT, 0, lpn_now());
    }
    lpn_radio_event(LPN_TX_DONE, result, lpn_now());
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
    int res = -EBUSY;
    if (!lpn_radio_receives()) {
        _tx.owner = OURS;
        _tx.since = lpn_now();
        res = lpn_radio_give(&_tx.iolist, true);
    }
    if (res >= 0) {
        lpn_counts.sent++;
        ztimer_set(ZTIMER_USEC, &_retry_timer, LOST_US);
        if (lpn_radio_is_new() && (res > 0)) {
            _tx.owner = NOBODYS;
            _result(LPN_TX_OK);
        }
        return;
    }
    _tx.owner = NOBODYS;
    if (++_tx.tries >= RETRIES) {
        lpn_radio_on_again();
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

void lpn_radio_sent(enum lpn_tx_result result)
{
    bool ours = _tx.owner == OURS;
    _tx.owner = NOBODYS;
    lpn_radio_on_again();           /* before hooks run */
    if (ours) {
        ztimer_remove(ZTIMER_USEC, &_retry_timer);
        _result(result);
    }
    lpn_post(&_kick_event);
}

int lpn_radio_send_theirs(netdev_t *dev, const iolist_t *iolist)
{
    if (_tx.owner == OURS) {
        return -EBUSY;              /* gnrc_netif_pktq keeps it */
    }
    (void)dev;
    int res = lpn_radio_give(iolist, false);
    if (lpn_radio_is_new() ? (res == 0) : (res > 0)) {
        _tx.owner = THEIRS;
        _tx.since = lpn_now();
    }
    else {
        lpn_radio_on_again();
    }
    return res;
}

#if IS_USED(MODULE_NETDEV_NEW_API)
int lpn_radio_confirm(netdev_t *dev, void *info)
{
    int res = lpn_radio_driver->confirm_send(dev, info);
    if (res != -EAGAIN) {
        lpn_radio_sent((res == -EHOSTUNREACH) ? LPN_TX_NOACK : (res < 0) ? LPN_TX_BUSY : LPN_TX_OK);
    }
    return res;
}
#endif
