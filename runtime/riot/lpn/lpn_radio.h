/*
 * SPDX-FileCopyrightText: 2026 The LPN authors
 * SPDX-License-Identifier: LGPL-2.1-only
 */

#pragma once

/**
 * @file
 * @brief       What the radio's files share
 */

#include "net/ieee802154.h"
#include "net/netdev/ieee802154.h"
#if IS_USED(MODULE_NETDEV_IEEE802154_SUBMAC)
#  include "net/netdev/ieee802154_submac.h"
#endif

#include "lpn_internal.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FRAME_MAX       (IEEE802154_FRAME_LEN_MAX - IEEE802154_FCS_LEN)

/** The driver's own functions; NULL: it is not wrapped yet. */
extern const netdev_driver_t *lpn_radio_driver;

/** Does the driver confirm what it has sent? */
static inline bool lpn_radio_is_new(void)
{
    return IS_USED(MODULE_NETDEV_NEW_API) && (lpn_radio_driver->confirm_send != NULL);
}

#if IS_USED(MODULE_NETDEV_IEEE802154_SUBMAC)
/** The radio below the MAC of a new driver. */
static inline ieee802154_dev_t *lpn_radio_hal(netdev_t *dev)
{
    netdev_ieee802154_submac_t *submac = container_of(container_of(dev, netdev_ieee802154_t, netdev),
                                                      netdev_ieee802154_submac_t, dev);
    return &submac->submac.dev;
}
#endif

/** Raise an event of the radio. */
void lpn_radio_event(uint8_t code, uint32_t selector, uint32_t time);

/* lpn_radio_power.c */

/** The radio is on, or off, from now on. */
void lpn_radio_lit(bool lit);

/** GNRC has switched the radio. */
void lpn_radio_note_state(bool on);

/** The driver listens again after a frame: what hooks want is said again, soon. */
void lpn_radio_on_again(void);

/** Give the driver a frame. `at_once`: one that the radio begins to receive is broken off. What the driver says. */
int lpn_radio_give(const iolist_t *frame, bool at_once);

/** Is a frame being received? */
bool lpn_radio_receives(void);

/* lpn_radio_tx.c */

/** Has the radio a frame to send; one of ours? */
bool lpn_radio_sends(void);
bool lpn_radio_sends_ours(void);

/** The radio is done with a frame. */
void lpn_radio_sent(enum lpn_tx_result result);

/** A frame of GNRC's. */
int lpn_radio_send_theirs(netdev_t *dev, const iolist_t *iolist);

/** Ask a new driver what became of the frame that it has. */
int lpn_radio_confirm(netdev_t *dev, void *info);

#ifdef __cplusplus
}
#endif
