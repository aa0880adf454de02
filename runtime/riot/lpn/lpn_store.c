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
#include <string.h>

#include "architecture.h"
#include "kernel_defines.h"
#include "mutex.h"

#if CONFIG_LPN_TRANSLATE
#  include "thumb2.h"
#endif
#include "lpn_internal.h"

#if (CONFIG_LPN_STORE_SIZE % 8) || (CONFIG_LPN_MEMORY_SIZE % 8) || (CONFIG_LPN_CODE_SIZE % 8)
#  error "CONFIG_LPN_STORE_SIZE, CONFIG_LPN_MEMORY_SIZE and CONFIG_LPN_CODE_SIZE are multiples of 8"
#endif
#if CONFIG_LPN_SLOTS > 10
#  error "CONFIG_LPN_SLOTS is 10 at most: a slot has one digit"
#endif
#if CONFIG_LPN_TRANSLATE && !defined(__ARM_ARCH_7M__) && !defined(__ARM_ARCH_7EM__)
#  error "CONFIG_LPN_TRANSLATE makes code for ARMv7-M"
#endif

/* A pack that is part of the firmware, 8-aligned; its size is 0 when there is none. */
extern const uint8_t lpn_rom[] __attribute__((weak));
extern const uint32_t lpn_rom_size __attribute__((weak));

/* Slots that are loaded: those in RAM, then the one in flash. */
#define HAS_FLASH       IS_USED(MODULE_LPN_FLASH)
#define LOADED          (CONFIG_LPN_SLOTS + HAS_FLASH)

/* A slot in RAM: a piece of the store, 8-aligned. Without a room it is empty. That in flash has all of it. */
typedef struct {
    uint32_t at, room;
    uint32_t size, received;
    lpn_slot_state_t state;
} _slot_t;

/* A set and all its memory. */
typedef struct {
    uint8_t memory[CONFIG_LPN_MEMORY_SIZE] __attribute__((aligned(8)));
#if CONFIG_LPN_TRANSLATE
    uint16_t code[CONFIG_LPN_CODE_SIZE / 2] __attribute__((aligned(8)));
#endif
    lpn_packed packed;
} _area_t;

#if CONFIG_LPN_SLOTS > 0
static uint8_t _store[CONFIG_LPN_STORE_SIZE] __attribute__((aligned(8)));
#endif
#if LOADED > 0
static _slot_t _slots[LOADED];
#endif
static _area_t _areas[CONFIG_LPN_NO_SWAP ? 1 : 2];
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
    return LOADED + _has_rom();
}

/* NULL: that slot is part of the firmware, or there is none. */
static _slot_t *_loaded(unsigned slot)
{
#if LOADED > 0
    return (slot < LOADED) ? &_slots[slot] : NULL;
#else
    (void)slot;
    return NULL;
#endif
}

static bool _is_flash(const _slot_t *s)
{
    return HAS_FLASH && (s == _loaded(CONFIG_LPN_SLOTS));
}

/* Of a slot in RAM; there is none without a store. */
static uint8_t *_ram(const _slot_t *s)
{
#if CONFIG_LPN_SLOTS > 0
    return _store + s->at;
#else
    (void)s;
    return NULL;
#endif
}

static const uint8_t *_bytes(const _slot_t *s)
{
    return (HAS_FLASH && _is_flash(s)) ? lpn_flash_bytes() : _ram(s);
}

void lpn_slot_get(unsigned slot, lpn_slot_t *out)
{
    const _slot_t *s = _loaded(slot);
    if (s == NULL) {
        *out = (lpn_slot_t){ .state = LPN_SLOT_READY, .bytes = lpn_rom, .size = lpn_rom_size,
                             .received = lpn_rom_size, .rom = true };
    }
    else {
        *out = (lpn_slot_t){ .state = s->state, .bytes = _bytes(s), .size = s->size, .received = s->received };
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

static void _empty(_slot_t *s)
{
    if (HAS_FLASH && _is_flash(s) && (s->state != LPN_SLOT_EMPTY)) {
        lpn_flash_forget();
    }
    *s = (_slot_t){ .state = LPN_SLOT_EMPTY };
}

/* The largest piece of the store that no slot has; it begins where the store does, or where a slot's piece ends. */
static void _take_gap(_slot_t *slot)
{
#if CONFIG_LPN_SLOTS > 0
    slot->room = 0;
    for (unsigned i = 0; i <= CONFIG_LPN_SLOTS; i++) {
        const uint32_t at = (i < CONFIG_LPN_SLOTS) ? _slots[i].at + _slots[i].room : 0;
        uint32_t end = sizeof(_store);
        for (unsigned k = 0; k < CONFIG_LPN_SLOTS; k++) {
            const _slot_t *other = &_slots[k];
            if ((other->room > 0) && (other->at + other->room > at) && (other->at < end)) {
                end = (other->at > at) ? other->at : at;
            }
        }
        if (end - at > slot->room) {
            slot->at = at;
            slot->room = end - at;
        }
    }
#else
    (void)slot;
#endif
}

/* One load at a time: it has the largest gap, as nobody knows how long its pack is. One that was broken off ends. */
static int _load_begin(unsigned slot, uint32_t size)
{
    _slot_t *s = _loaded(slot);
    if (s == NULL) {
        return (slot < lpn_slots()) ? -EROFS : -ENOENT;
    }
    if ((int)slot == _runs) {
        return -EBUSY;
    }
    for (unsigned i = 0; i < lpn_slots(); i++) {
        _slot_t *other = _loaded(i);
        if ((other != NULL) && (other->state == LPN_SLOT_LOADING)) {
            _empty(other);
        }
    }
    if (HAS_FLASH && _is_flash(s)) {
        if (size > lpn_flash_room()) {
            return -ENOSPC;
        }
        lpn_flash_begin();
        *s = (_slot_t){ .room = lpn_flash_room() };
    }
    else {
        const _slot_t before = *s;
        _empty(s);
        _take_gap(s);
        if ((s->room == 0) || (size > s->room)) {
            *s = before;
            return -ENOSPC;
        }
    }
    s->state = LPN_SLOT_LOADING;
    s->size = size;
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
    _slot_t *s = _loaded(slot);
    if ((s == NULL) || (s->state != LPN_SLOT_LOADING)) {
        return -ENOENT;
    }
    uint32_t limit = (s->size != 0) ? s->size : s->room;
    if (offset != s->received) {
        return -EINVAL;
    }
    if (size > limit - offset) {
        return -ENOSPC;
    }
    if (HAS_FLASH && _is_flash(s)) {
        lpn_flash_add(offset, data, size);
    }
    else {
        memcpy(_ram(s) + offset, data, size);
    }
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

static _area_t *_spare(void)
{
    return &_areas[CONFIG_LPN_NO_SWAP ? 0 : 1 - _area];
}

/* The only area is what runs. */
static bool _no_area(void)
{
    return CONFIG_LPN_NO_SWAP && (_runs >= 0);
}

/* Make what is in a slot a set in the area that does not run. */
static int _build(unsigned slot, uint64_t without, lpn_status_t *status)
{
    lpn_slot_t s;
    lpn_pack pack;
    _area_t *area = _spare();
    if (_no_area()) {
        return -EBUSY;
    }
    lpn_slot_get(slot, &s);
    /* without slots nothing is checked, and the checker is not in the firmware */
    const bool trusted = CONFIG_LPN_TRUST_ROM && (s.rom || (CONFIG_LPN_SLOTS == 0));
    const lpn_pack_wish wish = {
        .offered = _externs, .offers = _extern_count, .without = without,
        .certify = trusted ? NULL : lpn_container_certify,
        .policy = CONFIG_LPN_CERTIFIED_ONLY ? LPN_POLICY_REQUIRE : LPN_POLICY_TRUST_CHECKER,
#if defined(__ARM_ARCH_7M__) || defined(__ARM_ARCH_7EM__)
        .thumb2 = true,
#endif
#if CONFIG_LPN_TRANSLATE
        .fuel = CONFIG_LPN_FUEL, .translate = lpn_container_translate, .code = area->code, .code_size = sizeof(area->code),
#endif
    };
    int error = lpn_pack_parse(&pack, s.bytes, s.size, &status->fault);
    if (error == LPN_OK) {
        error = lpn_pack_build(&pack, &wish, area->memory, sizeof(area->memory), &area->packed, &status->fault);
    }
    if ((error == LPN_OK) && !trusted) {
        status->fault = (lpn_pack_fault){ "hook", 0, 0 };
        error = lpn_node_admit(&lpn_the_node, &area->packed.set, &status->fault.index);
    }
    return error;
}

/* A compact pack becomes what it stands for, where it lies. */
static int _expand(_slot_t *s)
{
    if (!lpn_pack_is_compact(_bytes(s), s->size)) {
        return LPN_OK;
    }
    if (_is_flash(s)) {
        return -EPERM;
    }
    int error = lpn_pack_expand(_ram(s), s->room, s->size, &s->size);
    return (error == LPN_E_MEMORY) ? -ENOSPC : error;
}

static int _load_end(unsigned slot, lpn_status_t *status)
{
    _slot_t *s = _loaded(slot);
    if ((s == NULL) || (s->state != LPN_SLOT_LOADING)) {
        return -ENOENT;
    }
    if (_no_area()) {
        return -EBUSY;              /* it is still loading, and may end later */
    }
    s->size = (s->size != 0) ? s->size : s->received;
    if (HAS_FLASH && _is_flash(s) && (s->received == s->size)) {
        lpn_flash_end(s->size);
    }
    int error = (s->received == s->size) ? _expand(s) : -ENODATA;
    error = (error == LPN_OK) ? _build(slot, 0, status) : error;
    if (error != LPN_OK) {
        _empty(s);
        return error;
    }
    s->state = LPN_SLOT_READY;
    s->room = (s->size + 7) & ~UINT32_C(7);
    if (HAS_FLASH && _is_flash(s)) {
        lpn_flash_seal(s->size);
    }
    return LPN_OK;
}

int lpn_load_end(unsigned slot, lpn_status_t *status)
{
    *status = (lpn_status_t){ 0 };
    mutex_lock(&_lock);
    int error = _load_end(slot, status);
    lpn_ended(status, error);
    mutex_unlock(&_lock);
    return error;
}

#if HAS_FLASH
/* A slot of RAM whose pack is whole. */
static int _save(unsigned slot, lpn_status_t *status)
{
    const _slot_t *s = (slot < CONFIG_LPN_SLOTS) ? &_slots[slot] : NULL;
    if ((s == NULL) || (s->state != LPN_SLOT_READY)) {
        return -ENOENT;
    }
    int error = _no_area() ? -EBUSY : _load_begin(CONFIG_LPN_SLOTS, s->size);
    error = (error == 0) ? _load_add(CONFIG_LPN_SLOTS, 0, _bytes(s), s->size) : error;
    return (error == 0) ? _load_end(CONFIG_LPN_SLOTS, status) : error;
}

int lpn_save(unsigned slot, lpn_status_t *status)
{
    *status = (lpn_status_t){ 0 };
    mutex_lock(&_lock);
    int error = _save(slot, status);
    lpn_ended(status, error);
    mutex_unlock(&_lock);
    return error;
}

int lpn_boot(lpn_status_t *status)
{
    _slot_t *s = &_slots[CONFIG_LPN_SLOTS];
    uint32_t size = 0;
    const lpn_flash_state_t found = lpn_flash_state(&size);
    *status = (lpn_status_t){ 0 };
    if (found == LPN_FLASH_WHOLE) {
        *s = (_slot_t){ .state = LPN_SLOT_READY, .size = size, .received = size, .room = size };
        return lpn_attach(CONFIG_LPN_SLOTS, false, status);
    }
    status->error = (found == LPN_FLASH_BROKEN) ? -ENODATA : -ENOENT;
    return status->error;
}
#endif

int lpn_unload(unsigned slot, lpn_status_t *status)
{
    *status = (lpn_status_t){ 0 };
    mutex_lock(&_lock);
    _slot_t *s = _loaded(slot);
    int error = (s == NULL) ? ((slot < lpn_slots()) ? -EROFS : -ENOENT)
                : ((int)slot == _runs) ? -EBUSY : (s->state == LPN_SLOT_EMPTY) ? -EALREADY : 0;
    if (error == 0) {
        _empty(s);
    }
    lpn_ended(status, error);
    mutex_unlock(&_lock);
    return error;
}

/* ------------------------------------------------------------------------------------- what runs */

/* Put the area that does not run in place of the one that does. */
static int _commit(bool same_state, lpn_status_t *status)
{
    int error = lpn_set_run(&_spare()->packed, same_state, status);
    if (error == LPN_OK) {
        _area = CONFIG_LPN_NO_SWAP ? 0 : 1 - _area;
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
    lpn_ended(status, error);
    mutex_unlock(&_lock);
    return error;
}

int lpn_detach(lpn_status_t *status)
{
    *status = (lpn_status_t){ 0 };
    mutex_lock(&_lock);
    int error = (_runs < 0) ? -ENOENT : 0;
    if (error == 0) {
        error = lpn_set_stop(status);
    }
    if (error == LPN_OK) {
        _runs = -1;
        _without = 0;
    }
    lpn_ended(status, error);
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
    lpn_ended(status, error);
    mutex_unlock(&_lock);
    return error;
}
