/*
 * SPDX-FileCopyrightText: 2026 The LPN authors
 * SPDX-License-Identifier: LGPL-2.1-only
 */

/**
 * @ingroup     pkg_lpn
 * @{
 *
 * @file
 * @brief       What came of a request, in words
 *
 * @}
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lpn_internal.h"

static const char *_word(int error)
{
    switch (error) {
    case -EPERM:    return "a compact pack is expanded in RAM: load it there, then save it";
    case -EROFS:    return "that slot is part of the firmware";
    case -EBUSY:    return CONFIG_LPN_NO_SWAP ? "a pack runs: detach it first" : "a pack runs there: detach or swap it first";
    case -ENOSPC:   return "no room: longer than the rest of the store, or than announced";
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
