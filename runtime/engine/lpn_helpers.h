/* SPDX-License-Identifier: LGPL-2.1-only */
/* Rendered by `python -m lpn.compiler.helpers` from compiler/helpers.py. Do not edit. */
#ifndef LPN_HELPERS_H
#define LPN_HELPERS_H

/** What an argument register must hold. */
enum lpn_arg {
    LPN_ARG_NONE = 0,
    LPN_ARG_SCALAR = 1,
    LPN_ARG_CONST = 2,
    LPN_ARG_MEM_READ = 3,
    LPN_ARG_MEM_WRITE = 4,
    LPN_ARG_SIZE = 5,
};

/** Look the key up in table r1. 0: no entry matches, the action data is zeroed; n > 0: the number
 *  of the entry's action, its data (zero-padded) is copied to r4. r3 must be the table's key length
 *  and r5 at least its action data length. */
#define LPN_HELPER_LOOKUP 1
/** The node's clock in microseconds, modulo 2**32. */
#define LPN_HELPER_CLOCK_US 2
/** Hand two numbers to whoever watches the node; no effect on the program. */
#define LPN_HELPER_TRACE 3
#define LPN_HELPER_MAX 3

/** X(number, name, kind of r1, r2, r3, r4, r5) for each helper. */
#define LPN_HELPERS(X) \
    X(1, lookup, LPN_ARG_CONST, LPN_ARG_MEM_READ, LPN_ARG_SIZE, LPN_ARG_MEM_WRITE, LPN_ARG_SIZE) \
    X(2, clock_us, LPN_ARG_NONE, LPN_ARG_NONE, LPN_ARG_NONE, LPN_ARG_NONE, LPN_ARG_NONE) \
    X(3, trace, LPN_ARG_SCALAR, LPN_ARG_SCALAR, LPN_ARG_NONE, LPN_ARG_NONE, LPN_ARG_NONE)

#endif
