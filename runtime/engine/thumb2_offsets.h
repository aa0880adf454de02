/* SPDX-License-Identifier: LGPL-2.1-only */
/* Where thumb2_clean.S finds the fields of the translator's state, and what both say in the map; thumb2_encode.h compares them with the struct. */
#ifndef LPN_THUMB2_OFFSETS_H
#define LPN_THUMB2_OFFSETS_H

#include "lpn_options.h"

#define THUMB2_TELLS 0
#define THUMB2_WIDE 1
#define THUMB2_ERROR 2
#define THUMB2_TOLD 4
#define THUMB2_SLOT 8
#define THUMB2_ZERO 12
#define THUMB2_TOP 16
#define THUMB2_REACH 20
#define THUMB2_FIRST 24
#define THUMB2_SLOTS 28
#define THUMB2_FAR 32
#define THUMB2_CLASSES 36
#define THUMB2_CODE 40
#define THUMB2_FULL 44
#define THUMB2_SAVED 48
#define THUMB2_LAST 52

/* In the map, before a slot's code is there: something jumps here, and the rest says what waits (thumb2_branch.h); a slot before it does its work;
 * it is the end. What else is not 0: where a slot before it did its work. */
#define THUMB2_TARGET 0x8000
#define THUMB2_DONE 1
#define THUMB2_END 0x7fff

#define THUMB2_JUMP_ERROR 21            /* LPN_E_JUMP */

#endif
