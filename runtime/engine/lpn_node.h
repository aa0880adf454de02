/* SPDX-License-Identifier: LGPL-2.1-only */
/**
 * LPN node: runs a protocol's hooks when their events come.
 *
 * Two places call it. Interrupts, or whoever learns of an event, call `lpn_node_event`: it runs the hooks of
 * context `isr` at once and marks the others as pending, nothing more. One thread calls `lpn_node_poll`, which
 * runs one pending hook, or one whose time has come, and says whether there is more to do. Hooks of the contexts
 * `radio` and `net` share that thread, so the state they share needs no lock; `radio` goes first.
 *
 *     isr:     if (lpn_node_event(node, &event) & LPN_POLL) { wake the thread }
 *     thread:  for (;;) { wait; while (lpn_node_poll(node)) {} }
 *     timer:   wake the thread
 *
 * A hook has at most one pending instance. An event that finds it pending is lost, and counted as an overrun.
 * `lpn_node_poll` must not interrupt `lpn_node_event`, nor may the sources of one event interrupt each other: call
 * it from interrupts, from the thread itself, or from threads of higher priority. Times are microseconds modulo 2**32; no delay is
 * 2**31 or more, so times can be compared.
 *
 * No allocation, no recursion: the caller owns all memory, and lpn.h's rules hold.
 */
#ifndef LPN_NODE_H
#define LPN_NODE_H

#include "lpn.h"

/** Where a hook runs; `radio` and `net` in the thread that polls. */
enum lpn_context { LPN_ISR, LPN_RADIO, LPN_NET };

/** X(code, name, context): the events, named as in bundles and in the same order as lang/hooks.py has them, and where their hooks run. */
#define LPN_EVENTS(X) \
    X(LPN_RX_START, "radio.rx_start", LPN_ISR) \
    X(LPN_RX_DONE, "radio.rx_done", LPN_RADIO) \
    X(LPN_TX_START, "radio.tx_start", LPN_ISR) \
    X(LPN_TX_DONE, "radio.tx_done", LPN_RADIO) \
    X(LPN_ACK_TIMEOUT, "radio.ack_timeout", LPN_RADIO) \
    X(LPN_NET_RX, "net.rx", LPN_NET) \
    X(LPN_NET_TX, "net.tx", LPN_NET) \
    X(LPN_APP_TX, "app.tx", LPN_NET) \
    X(LPN_EVERY, "every", LPN_RADIO) \
    X(LPN_AFTER, "after", LPN_RADIO) \
    X(LPN_SLOT, "slot", LPN_RADIO) \
    X(LPN_BUFFER_COMPLETE, "buffer.complete", LPN_NET)

#define LPN_EVENT_CODE(code, name, context) code,
enum lpn_event_code { LPN_EVENTS(LPN_EVENT_CODE) LPN_EVENT_COUNT };
#undef LPN_EVENT_CODE

/** What comes of `radio.send`: the first number of event `radio.tx_done`. */
enum lpn_tx_result { LPN_TX_OK, LPN_TX_BUSY, LPN_TX_NOACK };

#define LPN_MAX_FRAME 127                   /**< octets that a radio can hear (IEEE 802.15.4, aMaxPhyPacketSize): what hooks' bounds rest on */
#define LPN_MAX_HOOKS 64
#define LPN_LOAD_US 4096                    /**< a node's load is what of so many microseconds is taken */
#define LPN_COST_INSNS 4                    /**< a unit of LPN_HELPER_COSTS, in instructions */
#define LPN_RUN_INSNS 40                    /**< what a node does around a run, in instructions */
#define LPN_MAX_SELECTORS 2

/**
 * One occurrence of an event. `packet` may be NULL; else it has room for LPN_WINDOW bytes behind `size`, and
 * stays the node's until `release` names it.
 */
typedef struct {
    uint8_t *packet;
    uint32_t size;
    uint32_t selector[LPN_MAX_SELECTORS];   /**< layer and selector, port, result, buffer; 0 where it has none */
    uint32_t time;                          /**< when it happened */
    uint32_t lqi, iface;
    int32_t rssi;
    uint8_t event;                          /**< enum lpn_event_code */
} lpn_event;

/** events = runs + overruns + moved + what is pending now. */
typedef struct {
    uint32_t events;            /**< that were meant for it */
    uint32_t runs, overruns;
    uint32_t moved;             /**< pending when a swap came: the new set's, or lost */
    uint32_t drops, errors;     /**< runs that ended with DROP; of these the engine's own */
    uint32_t misses;            /**< runs that took longer than `within` */
    uint32_t insns_worst, time_worst;   /**< of a run: instructions, microseconds */
    uint32_t wait_worst;        /**< microseconds from the event to the start of its run */
    uint64_t insns, time;       /**< of all runs */
} lpn_hook_stats;

/** A hook: the caller fills in the first part, the rest is the node's. */
typedef struct {
    const lpn_container *const *chain;
    uint8_t containers;
    uint8_t event, context;     /**< enum lpn_event_code, enum lpn_context */
    uint8_t selectors;          /**< how many of `selector` an event must equal */
    uint32_t selector[LPN_MAX_SELECTORS];
    uint32_t within, period, offset, jitter;    /**< microseconds; 0: none */
    lpn_hook_stats stats;

    uint8_t pending;            /**< `got` waits for its run; set by events, cleared by the thread */
    uint8_t armed;              /**< `due` is the time of the next run */
    uint8_t requested;          /**< timer_start was called: `requested_at` + `delay` */
    uint32_t due, requested_at, delay;
    lpn_event got;
} lpn_hook;

/** A container that runs when a set replaces one of `version`; `needs`: its record, with memory of its own. */
typedef struct {
    uint32_t version;
    const lpn_container *container;
    lpn_kept needs;
} lpn_migration;

/** What a bundle is on a node: hooks, and the memory and tables that they share. */
typedef struct {
    lpn_hook *hook;
    uint32_t hooks;
    uint8_t *state;             /**< 8-aligned, with its initial content */
    uint32_t state_size;
    uint32_t version;
    const uint8_t *kept;        /**< rows of the persistent registers, as in the bundle */
    uint32_t kept_count;
    const lpn_migration *migration;
    uint32_t migrations;
    const lpn_table *tables;
    uint32_t table_count;
    lpn_buffers *buffers;       /**< NULL: there are none */
    const lpn_extern *externs;  /**< functions of the node's own, bound */
    uint32_t extern_count;
    uint32_t *drop;             /**< counters by drop reason; the last one also counts all reasons behind it */
    uint32_t drops;             /**< how many counters; 0: none are kept */
} lpn_set;

/** A frame in two pieces, neither of them copied: head, then tail. */
typedef struct {
    const uint8_t *head, *tail;
    uint32_t head_size, tail_size;
} lpn_frame;

/** What became of one run, told to the platform; valid during the call. */
typedef struct {
    const lpn_hook *hook;
    const lpn_event *event;
    const lpn_result *result;
    lpn_frame packet;           /**< as the chain left it, rebuilt if it was */
    uint32_t payload;           /**< offset of what the parser left, in the packet as it came */
    uint32_t start, end;        /**< by the platform's clock */
    bool unsent;                /**< TRANSMIT, but no deparser made a packet, or `send` was busy, which `busy` counts */
} lpn_outcome;

/** Who takes a frame that is sent. */
enum lpn_target { LPN_TO_RADIO, LPN_TO_NET };

/**
 * What a node needs of the machine it is on. `now` may be called anywhere; the radio and `send` in the thread
 * only. `outcome`, `overrun`, `timer`, `release` and `trace` may be NULL.
 */
typedef struct {
    void *user;
    uint32_t (*now)(void *user);
    /** Wake the thread at this time, or at once if it has passed; a time set before is forgotten. */
    void (*set_timer)(void *user, uint32_t at);
    void (*stop_timer)(void *user);
    void (*radio)(void *user, bool on);
    uint32_t (*cca)(void *user);                    /**< 0 clear, 1 busy; waits for the radio */
    void (*channel)(void *user, uint32_t number);
    void (*power)(void *user, int32_t dbm);
    /** Take a copy and send it; the result follows as an event. 0, or 1 when the one before is still there. */
    uint32_t (*send)(void *user, enum lpn_target to, const lpn_frame *frame);
    /** A run has ended: the place to deliver, to pass a packet on, to log. */
    void (*outcome)(void *user, const lpn_outcome *outcome);
    /** An event was lost because `hook` was pending; in the context of the event. */
    void (*overrun)(void *user, const lpn_hook *hook);
    /** A chain has started the timer of `hook`; for logs, the node does the rest. */
    void (*timer)(void *user, const lpn_hook *hook, uint32_t delay);
    /** No hook needs this packet any more: its memory is the caller's again. */
    void (*release)(void *user, uint8_t *packet);
    void (*trace)(void *user, uint64_t a, uint64_t b);
} lpn_platform;

/**
 * What runs need, about 1.6 KiB on a 32-bit host; one for the thread, one for interrupts. The caller sets chain.record,
 * chain.record_size and chain.fuel.
 */
typedef struct {
    lpn_chain chain;
    lpn_result result;
    uint8_t nothing[LPN_WINDOW];    /**< the packet of events that have none */
} lpn_work;

/** What a swap asks of the radio. */
enum { LPN_RADIO_AS_IT_IS, LPN_RADIO_OFF, LPN_RADIO_ON };

/** A node: the caller fills in the first part, sets the rest to zero, then calls `lpn_node_swap`. */
typedef struct {
    const lpn_platform *platform;
    lpn_work *thread, *isr;         /**< `isr` may be NULL when no hook has that context */
    uint64_t ext;                   /**< EUI-64 */
    uint16_t short_address, pan;
    uint32_t load;                  /**< instructions that all hooks of `every` and `slot` may take in LPN_LOAD_US, LPN_RUN_INSNS for each run among them; 0: any */

    uint32_t ignored;               /**< events that no hook wanted */
    uint32_t lost;                  /**< events that were pending when a swap took their hook away */
    uint32_t busy;                  /**< packets that could not be sent: the radio had one already */
    lpn_set *set;
    lpn_work *active;               /**< whose chain runs now, NULL between runs */
    const lpn_hook *running;
    uint8_t radio;                  /**< what a swap asks of the radio: lpn_node_settle */
    lpn_env env;
    bool timer_set;
    uint32_t timer;
} lpn_node;

/** A bit set. POLL: the thread has something to do. KEPT: the packet is the node's until `release`. */
enum { LPN_POLL = 1, LPN_KEPT = 2 };

/** Tell an event, from an interrupt or a thread. Timers and buffer.complete are the node's own events. */
unsigned lpn_node_event(lpn_node *node, const lpn_event *event);

/** Run at most one hook; true when there is more to do now. In the thread only. */
bool lpn_node_poll(lpn_node *node);

/** Check hooks against each other and the node's memory; `*hook` says which one is wrong. */
int lpn_node_check(const lpn_node *node, const lpn_set *set, uint32_t *hook);

/**
 * What a node asks of a pack that nobody vouches for, when lpn_pack_build has made a set of it. LPN_E_CONTEXT: `*hook` is of context isr
 * and calls a helper, or a function of the node's own, that is not for interrupts. LPN_E_TIME: with `*hook` those of `every` and `slot` may take more
 * than the node's load. A run counts with what its certificate says, at most its fuel, without a certificate with its fuel; and with what each call of a
 * helper in it takes, as declared and once. What functions of the node's own take is not counted, nor what else a run starts.
 */
int lpn_node_admit(const lpn_node *node, const lpn_set *set, uint32_t *hook);

/**
 * Put a checked set in place of the one before, between two events: call it in the thread, with interrupts that
 * call `lpn_node_event` held off. Timers of equal hooks keep their beat and what is pending stays so; what has
 * no hook any more is counted as lost, its packet released. Slots of one slotframe keep one beat. If an `after` was to switch the radio and
 * does not any more, it is switched off, and if the new set never switches it, on; a set with an energy budget, the first one too, finds it off, unless an `after`
 * that goes on will switch it off (lpn_node_settle). Persistent registers of the same name and type are
 * copied from the old state, then the migrations for the old set's version run; the rest of the state is as the
 * caller made it. The old set's memory is free afterwards.
 *
 * Returns LPN_OK, or why the state cannot become the new one's; then the old set goes on as if nothing had been.
 */
int lpn_node_swap(lpn_node *node, lpn_set *set);

/** Does with the radio what a swap asked for, in the thread, where the radio may be used; the next poll does it otherwise. */
void lpn_node_settle(lpn_node *node);

/** Instructions that the run going on now has executed so far, all of them during `outcome`, 0 afterwards; for a
 * platform that models time. */
uint32_t lpn_node_insns(const lpn_node *node);

/** The name of an event, "?" when it is none. */
const char *lpn_event_name(unsigned event);

#endif
