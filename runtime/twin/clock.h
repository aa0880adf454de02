/* SPDX-License-Identifier: LGPL-2.1-only */
/* The time of an emulated core: what blocks of code cost, how often they ran, when to stop. native.py reads the lines
 * between the two marks. */
#ifndef LPN_TWIN_CLOCK_H
#define LPN_TWIN_CLOCK_H

#include <stdint.h>

/* cdef begin */
typedef struct {
    uint32_t size;      /* bytes; 0: not known yet */
    uint32_t hash;      /* of its bytes, in RAM */
    uint16_t insns;
    uint16_t cycles;    /* when it is fallen into and everything in it is executed */
    uint16_t jumped;    /* more when it is jumped to: pipeline and flash */
    uint16_t untaken;   /* less when a conditional jump at its end is not executed */
    uint32_t layer;
} twin_block;

typedef struct {
    uint64_t runs, insns, cycles;
} twin_count;

typedef struct {
    void *clock;
    uint32_t kind;      /* 1: multiplication with a 64-bit result; 2: UDIV; 3: SDIV */
    int32_t a, b;       /* its inputs: the emulator's register numbers */
} twin_site;

typedef struct {
    uint64_t now;       /* ticks of virtual time */
    uint64_t deadline;  /* stop before the first block that begins then or later */
    uint64_t insns;     /* executed */
    uint64_t cycles;    /* of the core, while it ran */
    uint32_t scale;     /* ticks a cycle */
    uint32_t ready;     /* an exception waits for PRIMASK alone */
    uint32_t here;      /* the address of the block that runs, of the one before it, and behind it: 0 after an exception */
    uint32_t before;
    uint32_t behind;
    int32_t primask;    /* the emulator's number of this register */
    twin_block *flash, *ram;            /* one a halfword */
    twin_count *in_flash, *in_ram;      /* one a halfword */
    twin_count layers[64];
    uint64_t first[64]; /* when a layer was entered first since this was set to 0 */
    twin_block *block;  /* the one that runs, or ran last */
    twin_count *count;
    const uint8_t *ram_bytes;
    void *emu_stop, *reg_read;          /* functions of the emulator */
    void (*learn)(uint32_t address, uint32_t size);
} twin_clock;

/* Hooks for the emulator: a block begins; an instruction whose time depends on its operands. */
void *twin_enter_hook(void);
void *twin_operands_hook(void);

/* The core waits for so many cycles. */
void twin_spend(twin_clock *clock, uint64_t cycles);

/* Does the running block follow itself? Then its cycles a turn. */
uint32_t twin_turn(const twin_clock *clock);

/* It runs so many times more. */
void twin_turns(twin_clock *clock, uint64_t times);
/* cdef end */

#endif
