/*
 * SPDX-FileCopyrightText: 2026 The LPN authors
 * SPDX-License-Identifier: LGPL-2.1-only
 */

/**
 * @ingroup     pkg_lpn
 * @{
 *
 * @file
 * @brief       In place of the store: the one set that the firmware was linked with
 *
 * @}
 */

#include <errno.h>

#include "mutex.h"

#include "lpn_internal.h"

static bool _runs;
static mutex_t _lock = MUTEX_INIT;

unsigned lpn_slots(void)
{
    return 1;
}

void lpn_slot_get(unsigned slot, lpn_slot_t *out)
{
    (void)slot;
    *out = (lpn_slot_t){ .state = _runs ? LPN_SLOT_RUNS : LPN_SLOT_READY, .rom = true };
}

int lpn_running(void)
{
    return _runs ? 0 : -1;
}

bool lpn_module_is_out(unsigned index)
{
    (void)index;
    return false;
}

static int _read_only(unsigned slot)
{
    return (slot == 0) ? -EROFS : -ENOENT;
}

int lpn_load_begin(unsigned slot, uint32_t size)
{
    (void)size;
    return _read_only(slot);
}

int lpn_load_add(unsigned slot, uint32_t offset, const void *data, size_t size)
{
    (void)offset;
    (void)data;
    (void)size;
    return _read_only(slot);
}

int lpn_load_end(unsigned slot, lpn_status_t *status)
{
    *status = (lpn_status_t){ 0 };
    return lpn_ended(status, _read_only(slot));
}

int lpn_unload(unsigned slot, lpn_status_t *status)
{
    return lpn_load_end(slot, status);
}

int lpn_attach(unsigned slot, bool replace, lpn_status_t *status)
{
    (void)replace;
    *status = (lpn_status_t){ 0 };
    mutex_lock(&_lock);
    int error = (slot != 0) ? -ENOENT : _runs ? -EALREADY : lpn_linked_begin();
    if (error == LPN_OK) {
        error = lpn_set_run(&lpn_linked, false, status);
    }
    if (error == LPN_OK) {
        _runs = true;
    }
    lpn_ended(status, error);
    mutex_unlock(&_lock);
    return error;
}

int lpn_detach(lpn_status_t *status)
{
    *status = (lpn_status_t){ 0 };
    mutex_lock(&_lock);
    int error = _runs ? lpn_set_stop(status) : -ENOENT;
    if (error == LPN_OK) {
        _runs = false;
    }
    lpn_ended(status, error);
    mutex_unlock(&_lock);
    return error;
}

/* Its chains are as they were linked. */
int lpn_module_set(const char *name, bool attached, lpn_status_t *status)
{
    (void)name;
    (void)attached;
    *status = (lpn_status_t){ 0 };
    return lpn_ended(status, -EROFS);
}
