/* SPDX-License-Identifier: LGPL-2.1-only */
/* What env_smallest.S knows of what helpers reach, and of errors; env.c compares it with lpn.h. */
#ifndef LPN_ENV_OFFSETS_H
#define LPN_ENV_OFFSETS_H

#define ENV_TABLES 0
#define ENV_TABLE_COUNT 4
#define ENV_NOW 8
#define ENV_CLOCK 12
#define ENV_TRACE 16
#define ENV_CALL 20
#define ENV_EXTERNS 24
#define ENV_EXTERN_COUNT 28
#define ENV_USER 32
#define EXTERN_NAME 0
#define EXTERN_ARGS 4
#define EXTERN_CALL 8
#define EXTERN_USER 12
#define TABLE_BITS 6            /* each table has 1 << TABLE_BITS bytes, each function of the node 1 << EXTERN_BITS */
#define EXTERN_BITS 4
#define TABLE_DATA 34
#define TABLE_KEY 38
#define MOST_DATA 256           /* LPN_MAX_ACTION_DATA */
#define E_HELPER 23
#define E_HELPER_ARG 32
#define E_EXTERN 43
#define E_LEFT_OUT 47

#endif
