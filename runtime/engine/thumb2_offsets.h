/* SPDX-License-Identifier: LGPL-2.1-only */
/* Where thumb2_clean.S finds the fields of the translator's state and of what it is given, and what both
 * say in the map; thumb2_encode.h compares them with the structs. */
#ifndef LPN_THUMB2_OFFSETS_H
#define LPN_THUMB2_OFFSETS_H

#include "lpn_options.h"

#define THUMB2_TELLS 0
#define THUMB2_WIDE 1
#define THUMB2_TOLD 4
#define THUMB2_SLOT 8
#define THUMB2_ZERO 12
#define THUMB2_TOP 16
#define THUMB2_REACH 20
#define THUMB2_FIRST 24
#define THUMB2_LAST 28
#define THUMB2_SAVED 32
#define THUMB2_PROGRAM 36
#define THUMB2_FAR 40                   /* 0 in the beginning, as are all of these: */
#define THUMB2_FUNCS 44
#define THUMB2_FUNC_AT 48
#define THUMB2_JOB 80
#define THUMB2_MAP 84
#if LPN_CLEAN32_ONLY
#define THUMB2_STATE 92
#else
#define THUMB2_CLASSES 88
#define THUMB2_CODE 92
#define THUMB2_STATE 100
#endif                                  /* the whole of it: sp is a multiple of 8 where C is called */

/* And those of what it is given. */
#define THUMB2_JOB_PROGRAM 0
#define THUMB2_JOB_CLEAN 4
#define THUMB2_JOB_RODATA 8
#define THUMB2_JOB_DATA 12
#define THUMB2_JOB_CODE 16
#define THUMB2_JOB_SIZE 20
#define THUMB2_JOB_MAP 24
#define THUMB2_PROGRAM_TEXT 0
#define THUMB2_PROGRAM_COUNT 4
#define THUMB2_PROGRAM_FUNC 28
#define THUMB2_PROGRAM_FUNCS 36
#define THUMB2_PROGRAM_MARKS 38
#define THUMB2_MARK_ATOMIC 10           /* bits: LPN_MARK_ATOMIC */
#define THUMB2_MARK_HELPER 11
#define THUMB2_MARK_BACK 12

/* In the map, before a slot's code is there: something jumps here, and the rest says what waits (thumb2_branch.h); a slot before it does its work;
 * it is the end. What else is not 0: where a slot before it did its work. */
#define THUMB2_TARGET 0x8000
#define THUMB2_DONE 1
#define THUMB2_END 0x7fff

#define THUMB2_SPARE 96                  /* halfwords: more than one slot ever takes */

#define THUMB2_JUMP_ERROR 21            /* LPN_E_JUMP */
#define THUMB2_NO_MEMORY 26             /* LPN_E_MEMORY */
#define THUMB2_LEFT_OUT 47              /* LPN_E_LEFT_OUT */

#endif
