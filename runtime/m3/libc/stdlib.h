/* SPDX-License-Identifier: LGPL-2.1-only */
/* What the engine's host border (host.c) needs of a libc: support.c has it. */
#ifndef LPN_M3_STDLIB_H
#define LPN_M3_STDLIB_H

#include <stddef.h>

void *calloc(size_t count, size_t size);
void free(void *p);

#endif
