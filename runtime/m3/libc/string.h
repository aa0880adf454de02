/* SPDX-License-Identifier: LGPL-2.1-only */
#ifndef LPN_M3_STRING_H
#define LPN_M3_STRING_H

#include <stddef.h>

void *memcpy(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);

#endif
