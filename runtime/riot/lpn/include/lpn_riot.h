/*
 * SPDX-FileCopyrightText: 2026 The LPN authors
 * SPDX-License-Identifier: LGPL-2.1-only
 */

#pragma once

/**
 * @defgroup    pkg_lpn LPN
 * @ingroup     net
 * @brief       Runs LPN containers in the network stack
 *
 * The node (`lpn_node.h`) runs in the thread of one IEEE 802.15.4 interface. Its driver's functions and events are
 * wrapped, so that containers see frames before GNRC does; what they accept goes on to GNRC.
 *
 * @{
 *
 * @file
 * @brief       Interface of the LPN module
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lpn_node.h"
#include "lpn_pack.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @brief   Slots for packs in RAM; 0: what runs is part of the firmware
 */
#ifndef CONFIG_LPN_SLOTS
#  define CONFIG_LPN_SLOTS          2
#endif

/**
 * @brief   Pages of flash for the slot in flash (module `lpn_flash`)
 */
#ifndef CONFIG_LPN_FLASH_PAGES
#  ifdef CPU_NATIVE
#    define CONFIG_LPN_FLASH_PAGES  32
#  else
#    define CONFIG_LPN_FLASH_PAGES  20
#  endif
#endif

/**
 * @brief   Bytes of RAM that the slots share, a multiple of 8
 */
#ifndef CONFIG_LPN_STORE_SIZE
#  ifdef CPU_NATIVE
#    define CONFIG_LPN_STORE_SIZE   131072
#  else
#    define CONFIG_LPN_STORE_SIZE   12288
#  endif
#endif

/**
 * @brief   1: one area of working memory, so what runs is detached before a pack is loaded, run or changed; 0: two, a set
 *          is made while another runs
 */
#ifndef CONFIG_LPN_NO_SWAP
#  define CONFIG_LPN_NO_SWAP        0
#endif

/**
 * @brief   1: containers that are trusted become Thumb-2 code when a pack is to run; ARMv7-M only
 */
#ifndef CONFIG_LPN_TRANSLATE
#  define CONFIG_LPN_TRANSLATE      0
#endif

/**
 * @brief   Bytes of RAM for the code of a set, a multiple of 8; what has no room is interpreted
 */
#ifndef CONFIG_LPN_CODE_SIZE
#  define CONFIG_LPN_CODE_SIZE      8192
#endif

/**
 * @brief   1: the pack in the firmware is trusted as the rest of the firmware is, without certificates
 */
#ifndef CONFIG_LPN_TRUST_ROM
#  define CONFIG_LPN_TRUST_ROM      0
#endif

/**
 * @brief   Bytes of working memory of a set (hooks, containers, state, tables, buffers); there
 *          are two such areas but with CONFIG_LPN_NO_SWAP. A multiple of 8
 */
#ifndef CONFIG_LPN_MEMORY_SIZE
#  ifdef CPU_NATIVE
#    define CONFIG_LPN_MEMORY_SIZE  65536
#  else
#    define CONFIG_LPN_MEMORY_SIZE  4096
#  endif
#endif

/**
 * @brief   Instructions that one run may execute
 */
#ifndef CONFIG_LPN_FUEL
#  define CONFIG_LPN_FUEL           100000
#endif

/**
 * @brief   Percent of the time that the hooks of `every` and `slot` together may take, as their certificates say; a pack that
 *          asks for more is refused. 0: none is
 */
#ifndef CONFIG_LPN_CLOCK_SHARE
#  define CONFIG_LPN_CLOCK_SHARE    50
#endif

/**
 * @brief   Nanoseconds that an instruction of a container counts for in that
 *
 * The interpreter takes 0.2 to 0.5 us for most at 72 MHz, and for none that a certificate covers more than 2.4, helpers aside.
 */
#ifndef CONFIG_LPN_INSN_NS
#  define CONFIG_LPN_INSN_NS        1250
#endif

/**
 * @brief   Runs of hooks that are remembered for `lpn trace`
 */
#ifndef CONFIG_LPN_TRACE
#  define CONFIG_LPN_TRACE          16
#endif

/**
 * @brief   Packets that may wait for the network interface's thread: those of net.rx, net.tx and app.tx
 */
#ifndef CONFIG_LPN_QUEUE
#  define CONFIG_LPN_QUEUE          4
#endif

/**
 * @brief   Bytes of a packet of net.rx, net.tx or app.tx
 */
#ifndef CONFIG_LPN_QUEUE_SIZE
#  ifdef CPU_NATIVE
#    define CONFIG_LPN_QUEUE_SIZE   1280
#  else
#    define CONFIG_LPN_QUEUE_SIZE   160
#  endif
#endif

/**
 * @brief   1: only containers with a certificate are taken
 */
#ifndef CONFIG_LPN_CERTIFIED_ONLY
#  define CONFIG_LPN_CERTIFIED_ONLY 0
#endif

/**
 * @brief   What came of a request to the store
 */
typedef struct {
    int error;                  /**< 0, `enum lpn_error`, or a negative errno */
    lpn_pack_fault fault;       /**< where, when @p error is the engine's */
    const char *event;          /**< the event this node does not have, when @p error is -ENOTSUP */
    uint32_t hook;              /**< and whose hook it is */
} lpn_status_t;

/**
 * @brief   Where a slot is in its life
 */
typedef enum {
    LPN_SLOT_EMPTY,             /**< nothing in it */
    LPN_SLOT_LOADING,           /**< bytes are still missing */
    LPN_SLOT_READY,             /**< a pack that was checked */
    LPN_SLOT_RUNS,              /**< the pack whose hooks run */
} lpn_slot_state_t;

/**
 * @brief   A slot, as `lpn list` shows it
 */
typedef struct {
    lpn_slot_state_t state;     /**< where it is in its life */
    const uint8_t *bytes;       /**< the pack */
    uint32_t size;              /**< bytes of the pack, or what was announced of it */
    uint32_t received;          /**< bytes that are there */
    bool rom;                   /**< part of the firmware */
} lpn_slot_t;

/**
 * @brief   Somebody to whom payloads are delivered
 */
typedef struct lpn_port {
    struct lpn_port *next;      /**< the next in the list */
    uint32_t port;              /**< verdict DELIVER names it */
    /** Called in the thread of the interface; the data is valid during the call. */
    void (*deliver)(struct lpn_port *port, const uint8_t *data, size_t size, const lpn_event *event);
} lpn_port_t;

/**
 * @brief   Counters of the glue; those of hooks are in `lpn_hook_stats`
 */
typedef struct {
    uint32_t received;          /**< frames read from the radio */
    uint32_t accepted;          /**< of these, handed to GNRC */
    uint32_t delivered;         /**< payloads handed to a port */
    uint32_t undelivered;       /**< payloads for a port that nobody has */
    uint32_t sent;              /**< frames the radio took from containers */
    uint32_t acked;             /**< of these, ended with OK */
    uint32_t noack;             /**< ended with NOACK */
    uint32_t channel_busy;      /**< ended with BUSY */
    uint32_t too_long;          /**< frames that no radio could send */
    uint32_t queue_full;        /**< packets of other threads that were lost */
    uint32_t swaps;             /**< sets that were put in place */
    uint32_t refused;           /**< packs and sets that were refused */
    uint64_t on_us;             /**< microseconds the radio was on, since boot or the last reset */
    uint64_t all_us;            /**< microseconds since then */
} lpn_counts_t;

/**
 * @brief   A run of a hook that is remembered
 */
typedef struct {
    uint32_t time;              /**< when it began */
    uint32_t took;              /**< microseconds */
    uint32_t insns;             /**< instructions */
    uint16_t verdict;           /**< `enum lpn_verdict` */
    uint16_t arg;               /**< reason or port */
    uint8_t hook;               /**< its index */
    uint8_t event;              /**< `enum lpn_event_code` */
} lpn_ran_t;

/** @name The store: called by threads of lower priority than the interface's
 *  @{ */

/** @brief Slots there are: those in RAM, then those in the firmware. */
unsigned lpn_slots(void);

/** @brief Look at slot @p slot, which exists. */
void lpn_slot_get(unsigned slot, lpn_slot_t *out);

/** @brief Begin to load @p size bytes into a slot; 0 if unknown. */
int lpn_load_begin(unsigned slot, uint32_t size);

/** @brief Add bytes at @p offset, which is where the ones before ended. */
int lpn_load_add(unsigned slot, uint32_t offset, const void *data, size_t size);

/** @brief All bytes are there: check the pack. A refused one leaves the slot empty; with CONFIG_LPN_NO_SWAP it waits as it is for what runs to be detached. */
int lpn_load_end(unsigned slot, lpn_status_t *status);

/**
 * @brief   Write the pack of a slot in RAM to the slot in flash, which is the one behind those (module `lpn_flash`)
 *
 * Loading that slot does the same. It is written while the bytes arrive; the core stands still while a page is erased.
 */
int lpn_save(unsigned slot, lpn_status_t *status);

/**
 * @brief   Run what the slot in flash holds; after lpn_externs_set, before anything else is loaded (module `lpn_flash`)
 *
 * @return  0; -ENOENT: it holds nothing; -ENODATA: a pack that was not written to its end; else why it is refused
 */
int lpn_boot(lpn_status_t *status);

/** @brief Empty a slot that does not run; its room is the others'. */
int lpn_unload(unsigned slot, lpn_status_t *status);

/** @brief Let a slot's pack run; @p replace: in place of the one that does, else none may. */
int lpn_attach(unsigned slot, bool replace, lpn_status_t *status);

/** @brief Stop what runs. */
int lpn_detach(lpn_status_t *status);

/**
 * @brief   Take a processor out of all chains of the pack that runs, or put it back; its state stays
 *
 * Whether the others need what it made sure of is not judged here: `lpnc build --without` does. They stay safe in any case.
 */
int lpn_module_set(const char *name, bool attached, lpn_status_t *status);

/** @brief Is module @p index out of the chains of what runs? */
bool lpn_module_is_out(unsigned index);

/** @brief One line that says what came of a request. */
void lpn_status_text(const lpn_status_t *status, char *text, size_t size);

/** @brief The slot that runs, or -1. */
int lpn_running(void);
/** @} */

/** @name Applications
 *  @{ */

/** @brief Have payloads that are delivered to @p port's number; it stays in the list. */
void lpn_port_register(lpn_port_t *port);

/**
 * @brief   Raise event `app.tx`
 *
 * @return  0, -ENOENT when no hook wants it, -ENOBUFS, or -EMSGSIZE
 */
int lpn_app_send(uint32_t port, const void *data, size_t size);

/** @brief Functions that containers may call as externs, in interrupts those that say so; before anything is attached. */
void lpn_externs_set(const lpn_extern *externs, uint32_t count);
/** @} */

/** @name What is known
 *  @{ */

/** @brief The node; read it for its counters. */
const lpn_node *lpn_node_get(void);

/** @brief The glue's counters, now. */
void lpn_counts_get(lpn_counts_t *counts);

/** @brief Set the counters of the glue and the hooks to zero. */
void lpn_counts_reset(void);

/** @brief The last runs, oldest first; how many. */
unsigned lpn_trace_get(lpn_ran_t *runs, unsigned count);

/** @brief Does this node raise that event? */
bool lpn_radio_gives(const lpn_hook *hook);

/** @brief The model of the radio's driver: "legacy netdev" or "radio HAL", or "none". */
const char *lpn_radio_model(void);
/** @} */

#ifdef __cplusplus
}
#endif

/** @} */
