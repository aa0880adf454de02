/* SPDX-License-Identifier: LGPL-2.1-only */
/* Where vm32_thumb2.S and vm32_smallest.S find the fields of structs, and what they say; vm32.c compares them with lpn.h and vm.h. */
#ifndef LPN_VM32_OFFSETS_H
#define LPN_VM32_OFFSETS_H

#include "lpn_options.h"

#define VM32_READS 80
#define VM32_WRITES 124
#define VM32_IP 44
#define VM32_LIMIT 48
#define VM32_TRUSTED 52
#define VM32_RUN 56
#define VM32_TEXT 60
#define VM32_PLAN 64
#define VM32_DEPTH 68
#define REGION_START 0
#define REGION_SIZE 4

/* What lpn_step32 and lpn_loop32 return: it is over; the budget is used up. */
#define VM32_END 1
#define VM32_BUDGET 2

#define PROGRAM_TEXT 0
#define PROGRAM_COUNT 4
#define PROGRAM_RODATA 8
#define PROGRAM_DATA 12
#define PROGRAM_PLAN 24
#define PROGRAM_FUNC 28
#define PROGRAM_STACK 32
#define PROGRAM_CERTIFIED 35
#define PROGRAM_FUNCS 36
#define RUN_ENV 0
#define RUN_VIEW 4
#define RUN_FUEL 20
#define RUN_INSNS 24
#define RUN_PC 28
#define RUN_R0 40
#define RUN_CALL 200
#define RUN_STACK_END 992
#define MAX_DEPTH 8
#define E_FUEL 33
#define E_DEPTH 34
#define E_STACK 35
#define E_LEFT_OUT 47

#endif
