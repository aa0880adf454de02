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
#if IS_USED(MODULE_AT86RF2XX)
#  include "at86rf2xx_internal.h"
#  include "at86rf2xx_netdev.h"
#  include "at86rf2xx_registers.h"
#endif

static struct {
    bool ours;                      /* hooks want something, not only GNRC */
    bool on, lit;                   /* as hooks want it; as it is */
    bool channel_waits, dbm_waits;  /* for the end of a frame that is sent */
    uint16_t channel;
    int16_t dbm;
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

bool lpn_radio_receives(void)
{
    netopt_state_t state;
    return _power.lit && !lpn_radio_is_new()
           && (lpn_radio_driver->get(lpn_netif->dev, NETOPT_STATE, &state, sizeof(state)) >= 0)
           && (state == NETOPT_STATE_RX);
}

/* Before it changes the radio's state this driver waits for the end of a frame that is received, up to 5 ms with its
 * acknowledgement. No hook's deadline has room for it: the radio is told to break the frame off. */
#if IS_USED(MODULE_AT86RF2XX)
static at86rf2xx_t *_at86rf2xx(void)
{
    netdev_t *dev = lpn_netif->dev;
    return (lpn_radio_driver->send == at86rf2xx_driver.send)
           ? container_of(container_of(dev, netdev_ieee802154_t, netdev), at86rf2xx_t, netdev) : NULL;
}

static void _force(uint8_t command)
{
    at86rf2xx_t *radio = _at86rf2xx();
    if ((radio != NULL) && _power.lit) {
        at86rf2xx_reg_write(radio, AT86RF2XX_REG__TRX_STATE, command);
    }
}
#endif

static void _break_off(void)
{
#if IS_USED(MODULE_AT86RF2XX)
    _force(AT86RF2XX_TRX_STATE__FORCE_TRX_OFF);
#endif
}

static void _set_state(netopt_state_t state)
{
    if (lpn_radio_driver->set(lpn_netif->dev, NETOPT_STATE, &state, sizeof(state)) >= 0) {
        lpn_radio_lit(state == NETOPT_STATE_IDLE);
    }
}

/* Set an option for which the radio must not listen. */
static void _set_phy(netopt_t opt, const void *value, size_t size)
{
    _break_off();
    lpn_radio_driver->set(lpn_netif->dev, opt, value, size);
    if (_power.lit) {
        _set_state(NETOPT_STATE_IDLE);
    }
}

static void _wake(void)
{
    if (!_power.lit) {
        _set_state(NETOPT_STATE_IDLE);
    }
}

static void _tell_channel(void)
{
    _power.channel_waits = lpn_radio_sends();
    if (!_power.channel_waits) {
        _set_phy(NETOPT_CHANNEL, &_power.channel, sizeof(_power.channel));
    }
}

static void _tell_dbm(void)
{
    _power.dbm_waits = lpn_radio_sends();
    if (!_power.dbm_waits) {
        _set_phy(NETOPT_TX_POWER, &_power.dbm, sizeof(_power.dbm));
    }
}

static void _tell_state(void)
{
    if (lpn_radio_sends()) {
        return;
    }
    if (_power.on) {
        _wake();
        return;
    }
    _break_off();
    _set_state(NETOPT_STATE_SLEEP);
}

/* What waited for the end of a frame that was sent; the state last, for a radio that sleeps is woken to be told something. */
static void _again(event_t *event)
{
    (void)event;
    if (_power.channel_waits) {
        _tell_channel();
    }
    if (_power.dbm_waits) {
        _tell_dbm();
    }
    _tell_state();
}

int lpn_radio_give(const iolist_t *frame, bool at_once)
{
    int res;
    (void)at_once;
#if IS_USED(MODULE_AT86RF2XX)
    at86rf2xx_t *radio = _at86rf2xx();
    if (radio != NULL) {
        if (at_once) {
            _force(AT86RF2XX_TRX_STATE__FORCE_PLL_ON);
        }
        res = lpn_radio_driver->send(lpn_netif->dev, frame);
        radio->idle_state = AT86RF2XX_PHY_STATE_RX;     /* it would go back to where it was, behind frames that come in, too */
    }
    else
#endif
    {
        _wake();
        res = lpn_radio_driver->send(lpn_netif->dev, frame);
    }
    if (res >= 0) {
        lpn_radio_lit(true);
    }
    return res;
}

void lpn_radio_switch(void *user, bool on)
{
    (void)user;
    _power.ours = true;
    _power.on = on;
    _tell_state();
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
    if (lpn_radio_sends() || lpn_radio_receives()) {
        return 1;
    }
    netopt_enable_t clear = NETOPT_ENABLE;
    bool lit = _power.lit;
    _break_off();
    lpn_radio_lit(true);
    int res = lpn_radio_driver->get(dev, NETOPT_IS_CHANNEL_CLR, &clear, sizeof(clear));
    lpn_radio_lit(lit);             /* one that slept sleeps again */
    if (lit) {
        _set_state(NETOPT_STATE_IDLE);
    }
    return ((res >= 0) && (clear == NETOPT_DISABLE)) ? 1 : 0;
}

void lpn_radio_channel(void *user, uint32_t number)
{
    (void)user;
    _power.ours = true;
    _power.channel = (uint16_t)number;
    _tell_channel();
}

void lpn_radio_power(void *user, int32_t dbm)
{
    (void)user;
    _power.ours = true;
    _power.dbm = (int16_t)dbm;
    _tell_dbm();
}

void lpn_radio_on_again(void)
{
    if (_power.ours) {
        lpn_post(&_power_event);
    }
}

void lpn_radio_note_state(bool on)
{
    _power.on = on;
    lpn_radio_lit(on);
}
