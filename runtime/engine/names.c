/* SPDX-License-Identifier: LGPL-2.1-only */
/* Errors in words: for nodes that say so. */
#include "lpn.h"

const char *lpn_error_name(int error)
{
#define NAME(code, name) name,
    static const char *const names[] = { LPN_ERRORS(NAME) };
#undef NAME
    return error >= 0 && error < LPN_ERROR_COUNT ? names[error] : "?";
}
