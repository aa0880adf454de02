/* SPDX-License-Identifier: LGPL-2.1-only */
/* Where vm32_thumb2.S finds the fields of lpn_vm32 and lpn_region; vm32.c compares them with the structs. */
#ifndef LPN_VM32_OFFSETS_H
#define LPN_VM32_OFFSETS_H

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

#endif
