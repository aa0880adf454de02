/* SPDX-License-Identifier: LGPL-2.1-only */
/* The translator as a workstation calls it: code for an emulated or a distant core. */
#ifndef LPN_THUMB2_HOST_H
#define LPN_THUMB2_HOST_H

#include "host.h"
#include "thumb2.h"

/* cdef begin */
int lpn_host_thumb2(const uint8_t *text, size_t size, bool clean32, uint32_t stack, uint32_t rodata, uint32_t data,
                    uint16_t *code, uint32_t code_size, uint16_t *map, uint32_t *used);
int lpn_host_translate(lpn_host *host, uint32_t index, uint16_t *code, uint32_t size, uint16_t *map, uint32_t *used);

/* Translate bare code on the core and run it. The error; r0's lower word in `*r0`. `host` may be NULL: no tables. */
int lpn_host_thumb2_run(const uint8_t *text, size_t size, bool clean32, void *ctx, const uint8_t *rodata, uint8_t *data,
                        uint16_t *code, uint32_t code_size, uint16_t *map, lpn_host *host, uint32_t *r0);
/* cdef end */

#endif
