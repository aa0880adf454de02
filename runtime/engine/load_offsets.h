/* SPDX-License-Identifier: LGPL-2.1-only */
/* What load_thumb2.S knows of programs and of forms; load.c compares it with lpn.h and its own. */
#ifndef LPN_LOAD_OFFSETS_H
#define LPN_LOAD_OFFSETS_H

#define PROGRAM_TEXT 0                  /* and how many slots behind it */
#define PROGRAM_MARKS 38
#define MARK_BACK 0x1000
#define FUNC_ENTRY 0
#define FUNC_FRAME 2
#define LIMITS_AT 256                   /* behind the forms */
#define SWAP 7                          /* F_SWAP; jumps come behind it, up to F_BAD */
#define BAD_FORM 11
#define BOTTOM 512                      /* LPN_STACK_SIZE */

#endif
