/* SPDX-License-Identifier: LGPL-2.1-only */
/* What accesses to memory take more on an emulated core. hooks.py reads the lines between the two marks. */
#ifndef LPN_M3_ACCESSES_H
#define LPN_M3_ACCESSES_H

#include <stdint.h>

/* cdef begin */
typedef struct {
    uint32_t open;                      /* count from now on */
    int32_t status;                     /* the emulator's number of the program status register */
    uint32_t flash, flash_size;
    uint64_t cycles;                    /* more for addresses that are no multiple of the size */
    uint64_t loads;                     /* from the flash */
    void *reg_read, *reg_write;         /* functions of the emulator */
} m3_accesses;

/* Hook for the emulator: memory is read or written. */
void *m3_access_hook(void);
/* cdef end */

#endif
