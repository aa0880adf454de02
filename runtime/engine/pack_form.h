/* SPDX-License-Identifier: LGPL-2.1-only */
/* The sections of the node form, and how they are read. What pack.c and pack_build.c share. */
#ifndef LPN_PACK_FORM_H
#define LPN_PACK_FORM_H

#include "bytes.h"
#include "lpn_pack.h"

/* Octets of a row of each section; where an image has its length. */
enum { ROW = 12, HOOK = 36, MIGRATION = 12, TABLE = 8, FIELD = 4, ENTRY = 4, EXTERN = 4, BUFFER = 12 };
enum { IMAGE_LENGTH = 8 };

/* Bytes that are read from the front. `bad` once there were too few: then zeros. */
typedef struct { const uint8_t *at, *end; bool bad; } cursor;

/* So many bytes: at most those of a hook. */
const uint8_t *lpn_pack_take(cursor *c, size_t size);

/* Bytes of any length: NULL when they are not there. */
const uint8_t *lpn_pack_take_all(cursor *c, size_t size);

/* To the next multiple of 4 from `base`; what lies between is zero. */
bool lpn_pack_pad(cursor *c, const uint8_t *base);

/* One table's bytes in the pack. */
typedef struct {
    lpn_table_shape shape;
    const uint8_t *entries;
    uint32_t count, key_size, stride;
} table_view;

/* The table that is next. */
bool lpn_pack_table(cursor *c, const uint8_t *base, table_view *view);

static inline int fail(lpn_pack_fault *fault, const char *part, uint32_t index, int error)
{
    fault->part = part;
    fault->index = index;
    return error;
}

#endif
