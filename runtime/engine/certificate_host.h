/* SPDX-License-Identifier: LGPL-2.1-only */
#ifndef LPN_CERTIFICATE_HOST_H
#define LPN_CERTIFICATE_HOST_H

#include <stddef.h>
#include <stdint.h>

/* cdef begin */
enum { LPN_WRITER_REGISTERS = 16, LPN_WRITER_SLOTS = 256, LPN_WRITER_FOLLOWED = 1024 };
/* What a register, or one word or two of the stack hold: a row of what the checker knows of it. `place`: twice the word, + 1 for two; `kind` 0: nothing.
 * `any`: its bytes alone are known, not which number they are. `lo`, `hi`: of pointers of either sign. `room`: -32768 when it is not known. */
typedef struct { int64_t lo, hi; int32_t room; uint8_t place, kind, sym; int16_t off, any; } lpn_writer_value;
/* The checker's state where a block was refused. `target`: of the edge it was looking at. `followed`: where the edges lead that were accepted. */
typedef struct {
    lpn_writer_value reg[16], slot[256];
    uint8_t written[64];
    uint32_t pc, target, length, loop, slots, edges, followed[1024][2];
} lpn_writer_state;
/* The whole certificate: a refusal, with the slot in `*at`; 0 with the cost. `sizes`: bytes of rodata, data, record, state, stack, output. */
int lpn_writer_check(const uint8_t *text, uint32_t text_size, const uint8_t *certificate, uint32_t certificate_size,
                     const uint32_t *sizes, void *work, uint32_t work_size, uint32_t *at);
/* One block of a certificate whose index has every label: from label `number` on, -1 from the start, to the next one. `costs`: do these count?
 * `told`: the state at its end, or where it is refused. */
int lpn_writer_block(const uint8_t *text, uint32_t text_size, const uint8_t *certificate, uint32_t certificate_size,
                     const uint32_t *sizes, void *work, uint32_t work_size, int32_t number, int costs, lpn_writer_state *told);
/* cdef end */

#endif
