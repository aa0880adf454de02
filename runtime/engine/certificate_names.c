/* SPDX-License-Identifier: LGPL-2.1-only */
/* Why a certificate is refused, in words: for nodes that say so. */
#include "certificate.h"

const char *lpn_refusal_name(int refusal)
{
#define NAME(code, name) name,
    static const char *const names[] = { LPN_REFUSALS(NAME) };
#undef NAME
    return refusal >= 0 && refusal < LPN_REFUSAL_COUNT ? names[refusal] : "?";
}
