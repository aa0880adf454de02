/* SPDX-License-Identifier: LGPL-2.1-only */
#ifndef LPN_CERTIFICATE_HOST_H
#define LPN_CERTIFICATE_HOST_H

#include <stddef.h>
#include <stdint.h>

/* cdef begin */
/* Check one block of a certificate whose index has every label: from label `number` on, -1 from the start, to the next one; -2:
 *  * everything. `sizes`: bytes of rodata, data, record, state, stack. Returns a refusal, with the slot in `*at`. `told` (8 of them, or
 * NULL): what a refused edge compared last: 1 a value, 2 a shared symbol, 3 a slot, 4 a byte of stack; the reader's place; kind or
 * place; lo, hi, step, room (-32768: not known) of what was there; the packet's proven length. */
int lpn_writer_block(const uint8_t *text, uint32_t text_size, const uint8_t *certificate, uint32_t certificate_size,
                     const uint32_t *sizes, void *work, uint32_t work_size, int32_t number, uint32_t *at, int64_t *told);
const char *lpn_writer_refusal_name(int refusal);
/* cdef end */

#endif
