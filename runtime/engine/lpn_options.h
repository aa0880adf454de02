/* SPDX-License-Identifier: LGPL-2.1-only */
/* The engine's options; for C and assembler. */
#ifndef LPN_OPTIONS_H
#define LPN_OPTIONS_H

/* What a firmware may leave out, to be small. A pack that needs it is refused. All files are compiled with the same. */
#ifndef LPN_CLEAN32_ONLY
#define LPN_CLEAN32_ONLY 0      /**< 1: no 64-bit registers; on cores with 32-bit addresses */
#endif
#ifndef LPN_CODE_ONLY
#define LPN_CODE_ONLY 0         /**< 1: no interpreter, only translated code */
#endif
#ifndef LPN_NO_TABLES
#define LPN_NO_TABLES 0         /**< 1: no match-action tables */
#endif
#ifndef LPN_NO_BUFFERS
#define LPN_NO_BUFFERS 0        /**< 1: no buffers */
#endif
#ifndef LPN_ONE_SET
#define LPN_ONE_SET 0           /**< 1: no set replaces another: one begins and ends, and nothing of it goes on */
#endif
#ifndef LPN_CERTIFIED_ONLY
#define LPN_CERTIFIED_ONLY 0    /**< 1: in 32-bit registers run only certified programs; on cores with Thumb-2 */
#endif

/* And what it may have slower. */
#ifndef LPN_FUSE
#define LPN_FUSE 1              /**< 0: the interpreter does no several instructions at once, and both forms of one share their code */
#endif

/* For tests: what is in Thumb-2 itself, in C. */
#ifndef LPN_CERTIFICATE_IN_C
#define LPN_CERTIFICATE_IN_C 0  /**< 1: the certificate's checker is certificate.c on every core */
#endif

/* All of these that concern the interpreter: it is vm32_smallest.S then, on cores with Thumb-2, and helpers are env_smallest.S. */
#define LPN_SMALLEST (LPN_CERTIFIED_ONLY && LPN_CLEAN32_ONLY && !LPN_FUSE && !LPN_CODE_ONLY)

#endif
