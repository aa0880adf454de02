/* SPDX-License-Identifier: LGPL-2.1-only */
/* A node on a host with a heap, driven by Python; build.py reads the lines between the two marks, after host.h's. */
#ifndef LPN_NODE_HOST_H
#define LPN_NODE_HOST_H

#include "host.h"

/* cdef begin */
typedef struct lpn_node_host lpn_node_host;

/* One run that has ended. */
typedef struct {
    uint32_t hook, event, selector[2], time, start, end, verdict, arg, insns, module, pc, payload, rebuilt, unsent;
    int32_t error;
} lpn_node_host_run;

typedef struct {
    uint64_t insns;
    uint32_t events, runs, overruns, moved, drops, errors, misses, insns_worst, time_worst, wait_worst, pending, armed,
        due;
} lpn_node_host_stats;

/* As lpn_platform; `radio`: number of the helper and its argument. */
typedef struct {
    void *user;
    uint32_t (*now)(void *user);
    void (*set_timer)(void *user, uint32_t set, uint32_t at);
    uint32_t (*radio)(void *user, uint32_t helper, uint32_t argument);
    uint32_t (*send)(void *user, uint32_t to, const uint8_t *frame, uint32_t size);
    void (*ran)(void *user, const lpn_node_host_run *run, const uint8_t *packet, uint32_t size);
    void (*overrun)(void *user, uint32_t hook);
    void (*timer)(void *user, uint32_t hook, uint32_t delay);
    void (*trace)(void *user, uint64_t a, uint64_t b);
} lpn_node_host_platform;

/* NULL when there is no memory. */
lpn_node_host *lpn_node_host_new(const lpn_node_host_platform *platform, uint32_t fuel);
void lpn_node_host_free(lpn_node_host *host);
void lpn_node_host_address(lpn_node_host *host, uint64_t ext, uint32_t short_address, uint32_t pan);

/* What hooks of a clock may take: lpn_node.load. */
void lpn_node_host_load(lpn_node_host *host, uint32_t load);

/* A new set of hooks: begin, containers, hooks (naming containers by number), commit. Until then the old one runs.
 * State, tables and record memory are those of `memory`, which lives as long as the set is used. */
int lpn_node_host_begin(lpn_node_host *host, lpn_host *memory);
int lpn_node_host_container(lpn_node_host *host, const uint8_t *image, size_t size, uint32_t *pc);
int lpn_node_host_hook(lpn_node_host *host, uint32_t event, uint32_t context, const uint32_t *selector,
                       uint32_t selectors, const uint32_t *chain, uint32_t containers, uint32_t within,
                       uint32_t period, uint32_t offset, uint32_t jitter);
/* The set's version and persistent registers; a migration from `version`, `size` octets its record. Rows are copied. */
int lpn_node_host_kept(lpn_node_host *host, uint32_t version, const uint8_t *rows, uint32_t count);
int lpn_node_host_migration(lpn_node_host *host, uint32_t version, uint32_t container, const uint8_t *rows, uint32_t count,
                            uint32_t size);
/* `drops`: how many reasons are counted. On an error the old set stays, and `*hook` says which hook is wrong. */
int lpn_node_host_commit(lpn_node_host *host, uint32_t drops, uint32_t *hook);

/* `packet` (may be NULL) is copied. Returns the bits of lpn_node_event. */
uint32_t lpn_node_host_event(lpn_node_host *host, uint32_t event, uint32_t first, uint32_t second, uint32_t time,
                             int32_t rssi, uint32_t lqi, uint32_t iface, const uint8_t *packet, uint32_t size);
uint32_t lpn_node_host_poll(lpn_node_host *host);
void lpn_node_host_settle(lpn_node_host *host);
uint32_t lpn_node_host_insns(const lpn_node_host *host);
void lpn_node_host_stats_of(const lpn_node_host *host, uint32_t hook, lpn_node_host_stats *stats);

/* Events without a hook, events lost by swaps, packets that the radio had no room for, packets held now. */
void lpn_node_host_counts(const lpn_node_host *host, uint32_t counts[4]);
uint32_t lpn_node_host_drop(const lpn_node_host *host, uint32_t reason);

const char *lpn_event_name(unsigned event);

/* Where a pack is wrong, lpn_pack.h; `used`: bytes of working memory. */
typedef struct { const char *part; uint32_t index, pc, used; } lpn_node_host_fault;

/* What a node does with a compact pack. */
int lpn_pack_expand(uint8_t *buffer, uint32_t room, uint32_t size, uint32_t *length);

/* In place of begin to commit: a set made of the node form of a bundle, in so many bytes of working memory. `certified`: certificates
 * are asked for; 2: there are none, and the pack is trusted. */
int lpn_node_host_pack(lpn_node_host *host, const uint8_t *bytes, size_t size, size_t memory, uint64_t without,
                       uint32_t certified, lpn_node_host_fault *fault);
/* cdef end */

#endif
