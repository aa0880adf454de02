/* SPDX-License-Identifier: LGPL-2.1-only */
/**
 * LPN node form: a bundle as a node keeps it, and how a set is made of it.
 *
 * `lpnc pack` writes the form (compiler/pack.py, docs/image.md). It stays where it was received, in RAM or in flash:
 * the set's containers run from it. What changes lies in memory that the caller gives. Nothing in it is trusted.
 */
#ifndef LPN_PACK_H
#define LPN_PACK_H

#include "lpn_node.h"

#define LPN_PACK_MAX_MODULES 64u
#define LPN_PACK_MAX_EXTERNS 128u

/** A parsed node form; the pointers lead into its bytes, each section's contents are checked when a set is made. */
typedef struct {
    const uint8_t *bytes, *name, *state, *kept, *hook, *migration, *table, *extern_, *buffer, *image, *end;
    const uint8_t *code;        /**< of the modules, for each its size and its Thumb-2 code; NULL: there is none */
    uint32_t version;
    uint16_t record_size, state_size, state_given, reasons, kept_count, name_size;
    uint8_t modules, hooks, tables, buffers, externs, migrations;
} lpn_pack;

/** Where a pack is wrong: a part, which one of its kind (LPN_PACK_WHOLE: no one in particular), and of a module the instruction. */
typedef struct { const char *part; uint32_t index, pc; } lpn_pack_fault;
#define LPN_PACK_WHOLE UINT32_MAX

/** What a pack becomes: a set, and what chains need in the thread and in interrupts. */
typedef struct {
    lpn_set set;
    uint8_t *record, *isr_record;
    lpn_work *isr;              /**< NULL when no hook has that context */
    uint32_t record_size;
    lpn_buffers buffers;
    uint32_t used;              /**< bytes of the memory given */
    uint32_t code_used;         /**< bytes of the code memory given */
    uint32_t translated;        /**< containers that run as code */
} lpn_packed;

/** What is wanted of a pack beside itself. What is a function here is linked only where somebody names it. */
typedef struct {
    const lpn_extern *offered;  /**< functions of the node's own */
    uint32_t offers;
    uint64_t without;           /**< bit i: processor i is left out of all chains */
    /** How containers come to be trusted: lpn_container_certify. NULL: who gives the pack vouches for it, as for code of its own. */
    int (*certify)(lpn_container *container, enum lpn_policy policy, void *work, size_t size, uint32_t *pc);
    enum lpn_policy policy;
    /** Code has no budget: what may take more instructions than this, as its certificate says, is interpreted. Of no meaning without `certify`. */
    uint32_t fuel;
    /** How trusted containers become code: lpn_container_translate. NULL: they are interpreted. */
    int (*translate)(lpn_container *container, uint16_t *code, uint32_t size, uint16_t *map, uint32_t *used);
    bool thumb2;                /**< the core runs Thumb-2 code that a pack brings, if certify is NULL */
    uint16_t *code;             /**< `code_size` bytes that the core may execute, in use for as long as the set is; 4-aligned */
    uint32_t code_size;         /**< a container for whose code the rest has no room is interpreted */
} lpn_pack_wish;

/** Is this the compact form of a pack? */
bool lpn_pack_is_compact(const uint8_t *bytes, size_t size);

/**
 * Expand a compact pack in place: `size` bytes at the start of `buffer`, which has `room`. The pack that takes their place has
 * `*length` bytes. LPN_E_MEMORY: there is no room for so many; LPN_E_COMPACT. What the pack says is checked as any other's.
 */
int lpn_pack_expand(uint8_t *buffer, uint32_t room, uint32_t size, uint32_t *length);

/** Check the frame of the pack at `bytes`, 4-aligned: header, checksum, where sections lie. */
int lpn_pack_parse(lpn_pack *pack, const uint8_t *bytes, size_t size, lpn_pack_fault *fault);

/** The image of module `index`, parsed. */
int lpn_pack_module(const lpn_pack *pack, uint32_t index, lpn_image *image);

/** The module of that name, or LPN_PACK_WHOLE. */
uint32_t lpn_pack_find(const lpn_pack *pack, const char *name, size_t size);

/**
 * Make a set in `memory`, 8-aligned. The pack's bytes and the memory stay in use for as long as the set is.
 * LPN_E_MEMORY with part "memory" says that it is too small, `fault->index` how much was asked for in all so far.
 * Translating needs 2 bytes for each instruction of a container beside its code, free again afterwards: the end of `wish->code`.
 */
int lpn_pack_build(const lpn_pack *pack, const lpn_pack_wish *wish, uint8_t *memory, size_t size, lpn_packed *packed,
                   lpn_pack_fault *fault);

/**
 * A set that is part of the firmware, made when it was built: C source that `lpnc pack --linked` writes defines both (runtime/linked.py).
 * `lpn_linked_begin` gives state, tables, buffers and counters their first content: before each time that the set is put in place.
 */
extern lpn_packed lpn_linked;
int lpn_linked_begin(void);

#endif
