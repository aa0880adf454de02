/* SPDX-License-Identifier: LGPL-2.1-only */
/* The emulator calls this for each access. One that crosses a page of its own it reports once more, in pieces that are aligned. */
#include "accesses.h"

#define READ 16                 /* UC_MEM_READ */
#define IT_STATE 0x0600FC00u    /* of the program status register */

typedef int (*read_fn)(void *uc, int which, void *value);
typedef int (*write_fn)(void *uc, int which, const void *value);

/* See leave_it_block of core.py. */
static void leave_it_block(const m3_accesses *a, void *uc)
{
    uint32_t status = 0;
    read_fn read;
    write_fn write;

    *(void **)&read = a->reg_read;
    read(uc, a->status, &status);
    if (status & IT_STATE) {
        status &= ~IT_STATE;
        *(void **)&write = a->reg_write;
        write(uc, a->status, &status);
    }
}

/* Arm Cortex-M3 TRM (DDI 0337), 3.3.2: a halfword at an odd address goes as two bytes, a word at one as byte, halfword and byte, a
 * word at another halfword as two. timing.py has the same. */
static void access(void *uc, int kind, uint64_t address, int size, int64_t value, void *user)
{
    m3_accesses *a = user;
    const uint32_t at = (uint32_t)address;

    (void)value;
    leave_it_block(a, uc);
    if (!a->open) {
        return;
    }
    if (at & (uint32_t)(size - 1) & 3) {
        a->cycles += size == 4 && (at & 1) != 0 ? 2 : 1;
    }
    if (kind == READ && at - a->flash < a->flash_size) {
        a->loads++;
    }
}

void *m3_access_hook(void)
{
    void (*hook)(void *, int, uint64_t, int, int64_t, void *) = access;

    return *(void **)&hook;
}
