/* SPDX-License-Identifier: LGPL-2.1-only */
/**
 * Translator from eBPF to Thumb-2 (ARMv7-M, Cortex-M3). One pass over a loaded program into the caller's memory; no
 * allocation. Portable C: it also runs on a workstation, to translate for an emulated core.
 *
 * The code it makes checks no access. Translate only what a verifier or a certificate vouches for.
 *
 * A program that is 32-bit clean (its image says so, and whoever vouched for it proved it) keeps each eBPF register in one
 * ARM register. Any other keeps the upper words in memory.
 */
#ifndef LPN_THUMB2_H
#define LPN_THUMB2_H

#include "lpn.h"
#include "lpn_helpers.h"

/** Operations of 64 bits that code calls which is not 32-bit clean. */
enum lpn_wide_op { LPN_WIDE_MUL, LPN_WIDE_LSH, LPN_WIDE_RSH, LPN_WIDE_ARSH, LPN_WIDE_DIV, LPN_WIDE_MOD, LPN_WIDE_SDIV,
                   LPN_WIDE_SMOD, LPN_WIDE_OPS };

/** What translated code reaches outside itself. Its layout is part of the code: all members are words of a 32-bit core. */
struct lpn_native {
    uint32_t *upper;            /**< upper words of r0 to r9; code that is clean leaves it as it was: NULL */
    /** A helper, by number; `r`: lower words of r1 to r5. The result is r0, zero-extended. */
    uint32_t (*helper)(lpn_native *native, uint32_t number, const uint32_t *r);
    /** An atomic instruction: `op` its immediate, + 0x10000 for 8 bytes, + 0x20000 * the register of `value`; `r0` is for
     * compare and exchange. Returns what was there, its upper word in `upper` of that register (or of r0). */
    uint32_t (*atomic)(lpn_native *native, uint32_t address, uint32_t op, uint32_t value, uint32_t r0);
    uint64_t (*const *wide)(uint64_t a, uint64_t b);    /**< LPN_WIDE_OPS functions */
};

/** What the functions of an lpn_native need; for all containers of a chain. */
typedef struct {
    lpn_native native;          /**< the first member: translated code hands its address on */
    const lpn_env *env;
    const lpn_view *view;
    int error;                  /**< of the first helper that failed */
} lpn_native_frame;

/** Before the first container that may call one of these. `env` may be NULL. */
void lpn_native_begin(lpn_native_frame *frame, const lpn_env *env, const lpn_view *view);

/** What to translate, and where to. Addresses are those at run time, on the core. */
typedef struct {
    const lpn_program *program; /**< loaded; `func[].frame` is what each function gets of stack */
    bool clean32;               /**< the program is 32-bit clean */
    uint32_t rodata, data;      /**< addresses of the sections lddw refers to */
    uint16_t *code;             /**< room for the code, at an even address of its own */
    uint32_t size;              /**< bytes there */
    uint16_t *map;              /**< room for program->count + 1 entries; afterwards: halfword offset of each slot's code */
} lpn_thumb2;

/**
 * Translate. Returns LPN_OK with the bytes of code in `*used`, LPN_E_MEMORY when `size` is too small, LPN_E_OPCODE or
 * LPN_E_JUMP with the slot in `*used` for what no verified program has: a jump from one function into another; LPN_E_LEFT_OUT for a
 * program that is not clean where LPN_CLEAN32_ONLY is set.
 * The code starts at `code[0]` (call it with the lowest bit of the address set).
 */
int lpn_thumb2_translate(const lpn_thumb2 *job, uint32_t *used);

/**
 * Translate a container on the core that will run it; a chain then runs the code. `code`: `size` bytes that the core may
 * execute; they, and the container, stay where they are. `map`: as above, no longer needed afterwards.
 *
 * Only for an image whose certificate was checked (else LPN_E_UNCERTIFIED): translated code checks nothing, and ends by itself or
 * not at all.
 */
int lpn_container_translate(lpn_container *container, uint16_t *code, uint32_t size, uint16_t *map, uint32_t *used);

#endif
