/* SPDX-License-Identifier: LGPL-2.1-only */
/* The interpreter's plan as a workstation sees it: which handler does what, by name. */
#ifndef LPN_PLAN_HOST_H
#define LPN_PLAN_HOST_H

#include <stdbool.h>
#include <stdint.h>

/* cdef begin */
/* As lpn_plan32: for each of `slots` slots the number of the handler that begins there. */
void lpn_host_plan(const uint8_t *text, uint32_t slots, bool certified, bool fuse, uint8_t *plan);
/* Its name, NULL behind the last one; how many instructions it does. */
const char *lpn_host_handler(uint32_t number, uint32_t *instructions);
/* cdef end */

#endif
