/*
 * SPDX-FileCopyrightText: 2026 The LPN authors
 * SPDX-License-Identifier: LGPL-2.1-only
 */

/**
 * @ingroup     pkg_lpn
 * @{
 *
 * @file
 * @brief       The radio on and off, and for how long it was on; its channel and power, and whether the channel is clear
 *
 * @}
 */

#include <errno.h>

#include "lpn_radio.h"

static struct {
    bool on, lit;                   /* as hooks want it; as it is */
    uint32_t since;
    uint64_t lit_us, all_us;
    uint32_t all_since;
} _power;

static void _again(event_t *event);
static event_t _power_event = { .handler = _again };

void lpn_radio_lit(bool lit)
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
    lpn_radio_lit(_power.lit);
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
    if (lpn_radio_sends()) {
        return;
    }
    if (lpn_radio_driver->set(dev, NETOPT_STATE, &state, sizeof(state)) >= 0) {
        lpn_radio_lit(_power.on);
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
    if (lpn_radio_is_new()) {
        ieee802154_dev_t *hal = lpn_radio_hal(dev);
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
    if (lpn_radio_driver->get(dev, NETOPT_IS_CHANNEL_CLR, &clear, sizeof(clear)) < 0) {
        return 0;
    }
    return (clear == NETOPT_DISABLE) ? 1 : 0;
}

void lpn_radio_channel(void *user, uint32_t number)
{
    (void)user;
    uint16_t channel = (uint16_t)number;
    lpn_radio_driver->set(lpn_netif->dev, NETOPT_CHANNEL, &channel, sizeof(channel));
}

void lpn_radio_power(void *user, int32_t dbm)
{
    (void)user;
    int16_t power = (int16_t)dbm;
    lpn_radio_driver->set(lpn_netif->dev, NETOPT_TX_POWER, &power, sizeof(power));
}

void lpn_radio_on_again(void)
{
    if (!_power.on) {
        lpn_post(&_power_event);
    }
}

void lpn_radio_note_state(bool on)
{
    _power.on = on;
    lpn_radio_lit(on);
}
