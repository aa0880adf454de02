/* SPDX-License-Identifier: LGPL-2.1-only */
/* The engine for hosts with a heap: what Python loads. No struct of lpn.h crosses this border, so that its
 * layout is the C compiler's business alone; build.py reads the lines between the two marks. */
#ifndef LPN_HOST_H
#define LPN_HOST_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

/* cdef begin */
typedef struct lpn_host lpn_host;

typedef struct {
    uint64_t node_ext;
    uint32_t port, iface, lqi, time, clock, event, node_short, node_pan;
    int32_t rssi;
} lpn_host_meta;

typedef struct {
    uint32_t verdict, arg, insns, module, pc, rebuilt, out_len, payload, port;
    int32_t error;
} lpn_host_result;

typedef struct {
    uint64_t r0, address;
    uint32_t insns, pc;
    int32_t error;
} lpn_host_raw_result;

typedef struct {
    uint64_t start;
    uint32_t size, access;
} lpn_host_region;

const char *lpn_error_name(int error);
const char *lpn_refusal_name(int refusal);
uint32_t lpn_crc32(uint32_t crc, const uint8_t *bytes, size_t size);

/* Parse an image only. Returns an error of lpn.h. */
int lpn_host_parse(const uint8_t *image, size_t size);

/* What lpn_load says of a text. `told`, 3 + LPN_MAX_FUNCS words: the slot, marks, how many functions, and each one's frame above its entry. Returns its error. */
int lpn_host_load(const uint8_t *text, size_t size, uint32_t *told);

/* What a node does with a compact image. */
uint32_t lpn_compact_length(const uint8_t *bytes);
int lpn_image_expand(uint8_t *buffer, uint32_t length, uint32_t size);

/* A chain and its memory; NULL when there is no memory. */
lpn_host *lpn_host_new(uint32_t record_size, uint32_t state_size, uint32_t fuel);
void lpn_host_free(lpn_host *host);

/* Append a container; `*pc` says where the code is wrong, or its certificate. `lpn_host_policy`: an enum lpn_policy, before. */
void lpn_host_policy(lpn_host *host, uint32_t policy);
int lpn_host_add(lpn_host *host, const uint8_t *image, size_t size, uint32_t *pc);
int lpn_host_check(const lpn_host *host);
uint8_t *lpn_host_state(lpn_host *host);

/* Append a table; then change its entries: begin, any number of add and remove, commit. */
int lpn_host_table(lpn_host *host, uint32_t fields, const uint16_t *bits, const uint8_t *match,
                   uint32_t action_data, uint32_t capacity);
void lpn_host_begin(lpn_host *host, uint32_t table, int copy);
int lpn_host_entry(lpn_host *host, uint32_t table, const uint8_t *a, const uint8_t *b, uint32_t action,
                   const uint8_t *data, uint32_t priority);
int lpn_host_remove(lpn_host *host, uint32_t table, const uint8_t *a, const uint8_t *b, uint32_t priority);
void lpn_host_commit(lpn_host *host, uint32_t table);

/* Does container `index` run without checks? Or shall it, because the caller has verified it himself? */
bool lpn_host_certified(const lpn_host *host, uint32_t index);
void lpn_host_vouch(lpn_host *host, uint32_t index);

/* From here on lpn_host_add makes another chain; lpn_host_select says which one runs. */
int lpn_host_chain_begin(lpn_host *host);
int lpn_host_select(lpn_host *host, uint32_t chain);

/* Append a buffer. */
int lpn_host_buffer(lpn_host *host, uint32_t size, uint32_t entries, uint32_t key_size, uint32_t timeout);

/* What the last run completed: 1 with the buffer and the content (2048 bytes) copied, else 0. Taken: it is not
 * told again; released when its run is over. */
int lpn_host_completed(const lpn_host *host, uint32_t *buffer, uint8_t *content, uint32_t *size,
                       const uint8_t **entry);
void lpn_host_taken(lpn_host *host);
void lpn_host_release(lpn_host *host, const uint8_t *entry);

/* What helpers see of a run that another engine makes: the packet, the output buffer, the clock. */
void lpn_host_view(lpn_host *host, const uint8_t *packet, uint32_t size, const uint8_t *out, uint32_t now);

/* Offer a function of the node's own to programs; `name` stays the caller's; `isr`: interrupts may call it. Then bind the bundle's, in order. */
int lpn_host_offer(lpn_host *host, const char *name, uint32_t args, bool isr,
                   uint32_t (*call)(void *user, const uint32_t *args), void *user);
int lpn_host_bind(lpn_host *host, const char *name, size_t size, uint32_t args);

/* Who does the helpers that reach beyond the chain's memory: r1 to r5 at `r`; sets `*value` and returns an error. */
void lpn_host_outside(lpn_host *host, int (*call)(void *user, uint32_t helper, const uint64_t *r, uint32_t *value));
const uint8_t *lpn_host_out(const lpn_host *host);
const uint8_t *lpn_host_packet(const lpn_host *host);

/* From now on packets begin so many bytes, 0 to 3, behind a word's boundary; where they begin, NULL when there is no memory. */
const uint8_t *lpn_host_place(lpn_host *host, uint32_t bytes);

/* Do a helper for another engine: r1 to r5 at `r`; `host` is a lpn_host. The error in the upper half, r0 in the lower. */
uint64_t lpn_host_call(void *host, uint32_t number, const uint64_t *r);

/* Run the chain over a frame. `packet`: 2048 bytes, receives the packet as the chain left it, rebuilt if it was. */
void lpn_host_run(lpn_host *host, const uint8_t *frame, uint32_t size, const lpn_host_meta *meta,
                  uint8_t *packet, uint32_t *packet_size, lpn_host_result *result);

/* Registers of one version into memory of another: `mode` is enum lpn_carry, the sizes are rows and bytes. */
int lpn_host_carry(const uint8_t *to_rows, uint32_t to_count, uint8_t *to, uint32_t to_size,
                   const uint8_t *from_rows, uint32_t from_count, const uint8_t *from, uint32_t from_size, int mode,
                   uint32_t *at);

/* Run a migration on the host's state; the old registers are as for lpn_host_carry. */
int lpn_host_migrate(lpn_host *host, const uint8_t *image, size_t size, const uint8_t *rows, uint32_t count,
                     const uint8_t *from_rows, uint32_t from_count, const uint8_t *from, uint32_t from_size,
                     uint32_t *at);

/* Pairs of numbers given to helper `trace` since the last call, oldest first; returns how many. */
uint32_t lpn_host_traces(lpn_host *host, uint64_t *pairs, uint32_t room);

/* Run bare code on the caller's memory, with the tables of `host` (may be NULL). `modes`: 1 it is 32-bit clean, 2 it has
 * been proven, so nothing is checked, 4 each instruction is done by itself; where addresses have 64 bits only the second has an effect.
 * From bit 16 on: bytes of stack, 0: all. */
void lpn_host_raw(const uint8_t *text, size_t size, const lpn_host_region *regions, uint32_t count,
                  const uint8_t *rodata, uint32_t rodata_size, uint8_t *data, uint32_t data_size, uint64_t r1,
                  uint64_t r2, uint32_t fuel, uint32_t modes, lpn_host *host,
                  lpn_host_raw_result *result);
/* cdef end */

/* The chain, the memory and the containers of a host, for node_host.c and thumb2_host.c. */
struct lpn_chain;
const struct lpn_chain *lpn_host_chain(const lpn_host *host);
void *lpn_host_container(lpn_host *host, uint32_t index);
const void *lpn_host_env(const lpn_host *host);

#endif
