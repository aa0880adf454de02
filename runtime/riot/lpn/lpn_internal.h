/*
 * SPDX-FileCopyrightText: 2026 The LPN authors
 * SPDX-License-Identifier: LGPL-2.1-only
 */

#pragma once

/**
 * @file
 * @brief       What the files of the module share
 */

#include "event.h"
#include "net/gnrc/netif.h"

#include "lpn_riot.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Microseconds. */
uint32_t lpn_now(void);

/** The interface whose thread runs the node; NULL: there is none. */
extern gnrc_netif_t *lpn_netif;

/** The node and the glue's counters. */
extern lpn_node lpn_the_node;
extern lpn_counts_t lpn_counts;

/** Let the interface's thread do something; from anywhere. */
void lpn_post(event_t *event);

/** Run what is pending; in the thread. */
void lpn_poll_soon(void);

/** Run hooks until this packet is free again, or nothing is pending; in the thread. */
void lpn_run_until_released(const uint8_t *packet);

/** Raise an event; in the thread, with interrupts held off where those raise events, too. */
unsigned lpn_raise(const lpn_event *event);

/** Do `function` in the interface's thread, and wait for it; from another thread. */
int lpn_call(int (*function)(void *arg), void *arg);

/** Forget what ran. */
void lpn_trace_clear(void);

/* lpn_set.c */

/** Put a set in place; from another thread. `same_state`: it is the same pack's, and goes on with all its state. */
int lpn_set_run(lpn_packed *packed, bool same_state, lpn_status_t *status);

/** Put a set of no hooks in place; from another thread. */
int lpn_set_stop(lpn_status_t *status);

/** What became of a request: kept, and counted if it was refused. Returns the error, or LPN_OK. */
int lpn_ended(lpn_status_t *status, int error);

/* lpn_radio.c, lpn_radio_power.c, lpn_radio_tx.c */

/** Wrap the driver; once, before frames come. */
int lpn_radio_init(gnrc_netif_t *netif);

/** Of `lpn_platform`. */
void lpn_radio_switch(void *user, bool on);
uint32_t lpn_radio_cca(void *user);
void lpn_radio_channel(void *user, uint32_t number);
void lpn_radio_power(void *user, int32_t dbm);
uint32_t lpn_radio_send(const lpn_frame *frame);

/** A run for `radio.rx_done` has ended: what becomes of the frame. */
void lpn_radio_outcome(const lpn_outcome *outcome);

/** Bring the radio's on-time up to date. */
void lpn_radio_account(void);

/** Count the radio's on-time anew. */
void lpn_radio_reset(void);

/* lpn_queue.c: packets of other threads */

/** Raise an event with a copy of a packet given in pieces; from any thread. 0, or -errno. */
int lpn_enqueue(uint8_t event, uint32_t first, uint32_t second, const iolist_t *packet);

/** A packet is no longer needed; it may be none of the queue's. */
void lpn_queue_free(const uint8_t *packet);

/* lpn_flash.c: one pack. Begin, add, end, look at it, then seal. */

typedef enum { LPN_FLASH_EMPTY, LPN_FLASH_BROKEN, LPN_FLASH_WHOLE } lpn_flash_state_t;

/** What flash holds; of a whole pack also its size. */
lpn_flash_state_t lpn_flash_state(uint32_t *size);
const uint8_t *lpn_flash_bytes(void);
uint32_t lpn_flash_room(void);

/** What it holds is no more; writing begins. */
void lpn_flash_begin(void);
void lpn_flash_add(uint32_t offset, const uint8_t *data, size_t size);

/** All bytes were added: they can be read. */
void lpn_flash_end(uint32_t size);

/** It is to be found after a reboot. */
void lpn_flash_seal(uint32_t size);
void lpn_flash_forget(void);

/* lpn_net.c */

/** Listen to the layers that hooks of the set name. */
void lpn_net_follow(const lpn_set *set);
bool lpn_net_gives(const lpn_hook *hook);
uint32_t lpn_net_send(const lpn_frame *frame);

#ifdef __cplusplus
}
#endif
