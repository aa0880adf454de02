/*
 * SPDX-FileCopyrightText: 2026 The LPN authors
 * SPDX-License-Identifier: LGPL-2.1-only
 */

/**
 * @ingroup     pkg_lpn
 * @{
 *
 * @file
 * @brief       The store: slots for packs, and two areas for what runs and what is to run next
 *
 * @}
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "architecture.h"
#include "kernel_defines.h"
#include "mutex.h"

#include "lpn_internal.h"

#if (CONFIG_LPN_SLOT_SIZE % 8) || (CONFIG_LPN_MEMORY_SIZE % 8)
#  error "CONFIG_LPN_SLOT_SIZE and CONFIG_LPN_MEMORY_SIZE are multiples of 8"
#endif

/* A pack that is part of the firmware, 8-aligned; its size is 0 when there is none. */
extern const uint8_t lpn_rom[] __attribute__((weak));
extern const uint32_t lpn_rom_size __attribute__((weak));

typedef struct {
    uint8_t bytes[CONFIG_LPN_SLOT_SIZE] __attribute__((aligned(8)));
    uint32_t size, received;
    lpn_slot_state_t state;
} _slot_t;

/* A set and all its memory. */
typedef struct {
    uint8_t memory[CONFIG_LPN_MEMORY_SIZE] __attribute__((aligned(8)));
    lpn_packed packed;
} _area_t;

static _slot_t _slots[CONFIG_LPN_SLOTS];
static _area_t _areas[2];
static unsigned _area;              /* the one that runs */
static int _runs = -1;              /* the slot that runs */
static uint64_t _without;           /* processors that are out of its chains */
static mutex_t _lock = MUTEX_INIT;
static const lpn_extern *_externs;
static uint32_t _extern_count;

static bool _has_rom(void)
{
    return (&lpn_rom_size != NULL) && (lpn_rom_size != 0);
}

unsigned lpn_slots(void)
{
    return CONFIG_LPN_SLOTS + _has_rom();
}

void lpn_slot_get(unsigned slot, lpn_slot_t *out)
{
    if (slot >= CONFIG_LPN_SLOTS) {
        *out = (lpn_slot_t){ .state = LPN_SLOT_READY, .bytes = lpn_rom, .size = lpn_rom_size,
                             .received = lpn_rom_size, .rom = true };
    }
    else {
        const _slot_t *s = &_slots[slot];
        *out = (lpn_slot_t){ .state = s->state, .bytes = s->bytes, .size = s->size, .received = s->received };
    }
    if ((int)slot == _runs) {
        out->state = LPN_SLOT_RUNS;
    }
}

int lpn_running(void)
{
    return _runs;
}

bool lpn_module_is_out(unsigned index)
{
    return (index < 64) && ((_without >> index) & 1);
}

void lpn_externs_set(const lpn_extern *externs, uint32_t count)
{
    _externs = externs;
    _extern_count = count;
}

/* ------------------------------------------------------------------------------------- loading */

static int _load_begin(unsigned slot, uint32_t size)
{
    if (slot >= CONFIG_LPN_SLOTS) {
        return (slot < lpn_slots()) ? -EROFS : -ENOENT;
    }
    if ((int)slot == _runs) {
        return -EBUSY;
    }
    if (size > CONFIG_LPN_SLOT_SIZE) {
        return -ENOSPC;
    }
    _slots[slot].state = LPN_SLOT_LOADING;
    _slots[slot].size = size;
    _slots[slot].received = 0;
    return 0;
}

int lpn_load_begin(unsigned slot, uint32_t size)
{
    mutex_lock(&_lock);
    int res = _load_begin(slot, size);
    mutex_unlock(&_lock);
    return res;
}

static int _load_add(unsigned slot, uint32_t offset, const void *data, size_t size)
{
    if ((slot >= CONFIG_LPN_SLOTS) || (_slots[slot].state != LPN_SLOT_LOADING)) {
        return -ENOENT;
    }
    _slot_t *s = &_slots[slot];
    uint32_t limit = (s->size != 0) ? s->size : CONFIG_LPN_SLOT_SIZE;
    if (offset != s->received) {
        return -EINVAL;
    }
    if (size > limit - offset) {
        return -ENOSPC;
    }
    memcpy(s->bytes + offset, data, size);
    s->received += size;
    return 0;
}

int lpn_load_add(unsigned slot, uint32_t offset, const void *data, size_t size)
{
    mutex_lock(&_lock);
    int res = _load_add(slot, offset, data, size);
    mutex_unlock(&_lock);
    return res;
}

static int _refuse(lpn_status_t *status, int error)
{
    lpn_counts.refused++;
    status->error = error;
    return error;
}

/* Make what is in a slot a set in the area that does not run. */
static int _build(unsigned slot, uint64_t without, lpn_status_t *status)
{
    lpn_slot_t s;
    lpn_pack pack;
    _area_t *area = &_areas[1 - _area];
    const lpn_pack_wish wish = { .offered = _externs, .offers = _extern_count, .without = without,
                                 .certified = CONFIG_LPN_CERTIFIED_ONLY };
    lpn_slot_get(slot, &s);
    int error = lpn_pack_parse(&pack, s.bytes, s.size, &status->fault);
    if (error == LPN_OK) {
        error = lpn_pack_build(&pack, &wish, area->memory, sizeof(area->memory), &area->packed, &status->fault);
    }
    return error;
}

int lpn_load_end(unsigned slot, lpn_status_t *status)
{
    *status = (lpn_status_t){ 0 };
    mutex_lock(&_lock);
    int error = -ENOENT;
    if ((slot < CONFIG_LPN_SLOTS) && (_slots[slot].state == LPN_SLOT_LOADING)) {
        _slot_t *s = &_slots[slot];
        s->size = (s->size != 0) ? s->size : s->received;
        error = (s->received == s->size) ? _build(slot, 0, status) : -ENODATA;
        s->state = (error == LPN_OK) ? LPN_SLOT_READY : LPN_SLOT_EMPTY;
    }
    if (error != LPN_OK) {
        _refuse(status, error);
    }
    mutex_unlock(&_lock);
    return error;
}

/* ------------------------------------------------------------------------------------- what runs */

typedef struct {
    lpn_packed *packed;
    bool same_state;
    lpn_status_t *status;
} _swap_t;

/* In the interface's thread. */
static int _swap(void *arg)
{
    const _swap_t *swap = arg;
    return lpn_set_swap(swap->packed, swap->same_state, swap->status);
}

/* Put the area that does not run in place of the one that does. */
static int _commit(bool same_state, lpn_status_t *status)
{
    _swap_t swap = { &_areas[1 - _area].packed, same_state, status };
    int error = lpn_call(_swap, &swap);
    if (error == LPN_OK) {
        _area = 1 - _area;
    }
    return error;
}

int lpn_attach(unsigned slot, bool replace, lpn_status_t *status)
{
    *status = (lpn_status_t){ 0 };
    mutex_lock(&_lock);
    lpn_slot_t s = { .state = LPN_SLOT_EMPTY };
    if (slot < lpn_slots()) {
        lpn_slot_get(slot, &s);
    }
    int error = (s.state == LPN_SLOT_RUNS) ? -EALREADY : (s.state != LPN_SLOT_READY) ? -ENOENT
                : ((_runs >= 0) && !replace) ? -EBUSY : _build(slot, 0, status);
    if (error == LPN_OK) {
        error = _commit(false, status);
    }
    if (error == LPN_OK) {
        _runs = (int)slot;
        _without = 0;
    }
    else {
        _refuse(status, error);
    }
    mutex_unlock(&_lock);
    return error;
}

int lpn_detach(lpn_status_t *status)
{
    *status = (lpn_status_t){ 0 };
    mutex_lock(&_lock);
    int error = (_runs < 0) ? -ENOENT : 0;
    if (error == 0) {
        _area_t *area = &_areas[1 - _area];     /* a set of no hooks */
        memset(&area->packed, 0, sizeof(area->packed));
        area->packed.record = area->packed.isr_record = area->packed.set.state = area->memory;
        error = _commit(false, status);
    }
    if (error == LPN_OK) {
        _runs = -1;
        _without = 0;
    }
    else {
        _refuse(status, error);
    }
    mutex_unlock(&_lock);
    return error;
}

int lpn_module_set(const char *name, bool attached, lpn_status_t *status)
{
    *status = (lpn_status_t){ 0 };
    mutex_lock(&_lock);
    uint32_t index = LPN_PACK_WHOLE;
    int error = (_runs < 0) ? -ENOENT : 0;
    if (error == 0) {
        lpn_slot_t s;
        lpn_pack pack;
        lpn_slot_get((unsigned)_runs, &s);
        error = lpn_pack_parse(&pack, s.bytes, s.size, &status->fault);
        index = (error == LPN_OK) ? lpn_pack_find(&pack, name, strlen(name)) : LPN_PACK_WHOLE;
        error = (index == LPN_PACK_WHOLE) ? -ENOENT : error;
    }
    if ((error == 0) && (lpn_module_is_out(index) != attached)) {
        error = -EALREADY;
    }
    uint64_t without = (index < 64) ? _without ^ (UINT64_C(1) << index) : 0;
    if (error == 0) {
        error = _build((unsigned)_runs, without, status);
    }
    if (error == LPN_OK) {
        error = _commit(true, status);
    }
    if (error == LPN_OK) {
        _without = without;
    }
    else {
        _refuse(status, error);
    }
    mutex_unlock(&_lock);
    return error;
}

/* ------------------------------------------------------------------------------------- words */

static const char *_word(int error)
{
    switch (error) {
    case -EROFS:    return "that slot is part of the firmware";
    case -EBUSY:    return "a pack runs there: detach or swap it first";
    case -ENOSPC:   return "longer than a slot, or than announced";
    case -EINVAL:   return "bytes are missing before these";
    case -ENODATA:  return "incomplete";
    case -ENOENT:   return "there is no such slot, pack or module";
    case -EALREADY: return "it is so already";
    case -ENODEV:   return "no IEEE 802.15.4 interface";
    default:        return "failed";
    }
}

void lpn_status_text(const lpn_status_t *status, char *text, size_t size)
{
    const lpn_pack_fault *f = &status->fault;
    if (status->error == -ENOTSUP) {
        snprintf(text, size, "hook %u: this node has no %s", (unsigned)status->hook, status->event);
    }
    else if (status->error < 0) {
        snprintf(text, size, "%s", _word(status->error));
    }
    else if (status->error == LPN_OK) {
        snprintf(text, size, "ok");
    }
    else if ((status->error == LPN_E_MEMORY) && (f->part != NULL) && (strcmp(f->part, "memory") == 0)) {
        snprintf(text, size, "working memory: %u bytes or more are needed, there are %u", (unsigned)f->index,
                 (unsigned)CONFIG_LPN_MEMORY_SIZE);
    }
    else if ((f->part != NULL) && (f->index != LPN_PACK_WHOLE)) {
        snprintf(text, size, "%s %u: %s (at %u)", f->part, (unsigned)f->index, lpn_error_name(status->error),
                 (unsigned)f->pc);
    }
    else {
        snprintf(text, size, "%s: %s", (f->part != NULL) ? f->part : "pack", lpn_error_name(status->error));
    }
}
