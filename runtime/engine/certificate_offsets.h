/* SPDX-License-Identifier: LGPL-2.1-only */
/* What certificate_thumb2.S knows of an image, of values and of reasons; certificate.c compares it with lpn.h and its own. */
#ifndef LPN_CERTIFICATE_OFFSETS_H
#define LPN_CERTIFICATE_OFFSETS_H

/* The fields of an lpn_image. */
#define IMAGE_TEXT 0
#define IMAGE_CERTIFICATE 12
#define IMAGE_TEXT_SIZE 20
#define IMAGE_RODATA_SIZE 24
#define IMAGE_DATA_SIZE 28
#define IMAGE_CERTIFICATE_SIZE 32
#define IMAGE_RECORD_SIZE 48
#define IMAGE_STATE_SIZE 50
#define IMAGE_STACK_USED 54
#define IMAGE_OUT_SIZE 56

/* enum lpn_refusal. */
#define REFUSE_FORM 1
#define REFUSE_MEMORY 2
#define REFUSE_LABEL 3
#define REFUSE_TARGET 4
#define REFUSE_VALUE 5
#define REFUSE_STACK 6
#define REFUSE_LENGTH 7
#define REFUSE_LOOP 8
#define REFUSE_COST 9
#define REFUSE_REGISTER 10
#define REFUSE_WIDE 11
#define REFUSE_POINTER 12
#define REFUSE_ACCESS 13
#define REFUSE_UNWRITTEN 14
#define REFUSE_DIVISOR 15
#define REFUSE_SHIFT 16
#define REFUSE_HELPER 17
#define REFUSE_UNSUPPORTED 18

#define MAX_PACKET 2048         /* LPN_MAX_PACKET */
#define WINDOW 64               /* LPN_WINDOW */
#define BOTTOM 512              /* LPN_STACK_SIZE */

#endif
