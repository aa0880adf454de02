/* SPDX-License-Identifier: LGPL-2.1-only */
/* Buffers: bytes that are kept across packets, until they are whole or asked for.
 *
 * An entry of a buffer: its head (below), the key, two bit maps with a bit for each 8 octets (what was received, and
 * where a piece began), the content, and room for the window behind it. Everything starts at a multiple of 8. */
#include "bytes.h"
#include "lpn.h"
#include "lpn_helpers.h"

enum { FREE, PARTIAL, HELD, BUSY };             /* what an entry is; BUSY: its hook runs, or is about to */

enum { STATE = 0, TOTAL = 2, SINCE = 4, ORDER = 8, FURTHEST = 12, HEAD = 16 };

enum { UNIT = 8 };                              /* octets; RFC 4944 5.3 and RFC 8200 4.5 count offsets in them */

static size_t up(size_t n)
{
    return (n + 7) & ~(size_t)7;
}

static size_t map_size(const lpn_buffer *b)
{
    return up(((size_t)b->size + UNIT - 1) / UNIT / 8 + 1);
}

static size_t stride(const lpn_buffer *b)
{
    return HEAD + up(b->key_size) + 2 * map_size(b) + up(b->size) + LPN_WINDOW;
}

size_t lpn_buffer_memory(const lpn_buffer *b)
{
    bool valid = b->size != 0 && b->size <= LPN_MAX_PACKET && b->entries != 0 && b->key_size != 0
                 && b->key_size <= LPN_MAX_KEY_BYTES;
    return valid ? stride(b) * b->entries : 0;
}

static uint8_t *entry_at(const lpn_buffer *b, uint32_t i)
{
    return b->memory + stride(b) * i;
}

static uint8_t *key_of(uint8_t *entry)
{
    return entry + HEAD;
}

static uint8_t *received(const lpn_buffer *b, uint8_t *entry)
{
    return entry + HEAD + up(b->key_size);
}

static uint8_t *begins(const lpn_buffer *b, uint8_t *entry)
{
    return received(b, entry) + map_size(b);
}

static uint8_t *content_of(const lpn_buffer *b, uint8_t *entry)
{
    return begins(b, entry) + map_size(b);
}

static bool bit(const uint8_t *map, uint32_t i)
{
    return (map[i / 8] >> (i % 8) & 1) != 0;
}

static void set_bit(uint8_t *map, uint32_t i)
{
    map[i / 8] = (uint8_t)(map[i / 8] | 1u << i % 8);
}

void lpn_buffer_sweep(lpn_buffer *b, uint32_t now)
{
    for (uint32_t i = 0; b->timeout != 0 && i < b->entries; i++) {
        uint8_t *entry = entry_at(b, i);
        if ((entry[STATE] == PARTIAL || entry[STATE] == HELD) && now - lpn_get32(entry + SINCE) >= b->timeout) {
            entry[STATE] = FREE;
        }
    }
}

static bool same_key(const lpn_buffer *b, uint8_t *entry, const uint8_t *key)
{
    for (uint32_t i = 0; i < b->key_size; i++) {
        if (key_of(entry)[i] != key[i]) {
            return false;
        }
    }
    return true;
}

/* The entry of this kind and key (NULL: any), of several the oldest; NULL when there is none. */
static uint8_t *find(const lpn_buffer *b, uint8_t state, const uint8_t *key)
{
    uint8_t *found = NULL;
    for (uint32_t i = 0; i < b->entries; i++) {
        uint8_t *entry = entry_at(b, i);
        if (entry[STATE] == state && (key == NULL || same_key(b, entry, key))
            && (found == NULL || lpn_get32(entry + ORDER) - lpn_get32(found + ORDER) >= 1u << 31)) {
            found = entry;
        }
    }
    return found;
}

/* A free entry, made one of this kind and key; NULL when all are taken. */
static uint8_t *allocate(lpn_buffer *b, uint8_t state, const uint8_t *key, uint32_t now)
{
    for (uint32_t i = 0; i < b->entries; i++) {
        uint8_t *entry = entry_at(b, i);
        if (entry[STATE] == FREE) {
            lpn_zero(entry, HEAD + up(b->key_size) + 2 * map_size(b));
            entry[STATE] = state;
            lpn_put32(entry + SINCE, now);
            lpn_put32(entry + ORDER, b->order++);
            lpn_copy(key_of(entry), key, b->key_size);
            return entry;
        }
    }
    return NULL;
}

/* What is put: the headers in the output buffer, then a part of the packet. False when that is not there. */
typedef struct { uint32_t offset, total, head, from, length; } request;

static bool read_request(const lpn_view *view, const uint8_t *bytes, request *q)
{
    *q = (request){ lpn_get32(bytes), lpn_get32(bytes + 4), lpn_get32(bytes + 8), lpn_get32(bytes + 12),
                    lpn_get32(bytes + 16) };
    return q->offset <= UINT16_MAX && q->total <= UINT16_MAX && q->head <= view->out_size
           && q->from <= view->size && q->length <= view->size - q->from;
}

static void store(const lpn_view *view, uint8_t *to, const request *q)
{
    lpn_copy(to, view->out, q->head);
    lpn_copy(to + q->head, view->packet + q->from, q->length);
}

/* The entry's chain runs next. False when another one waits for its run already. */
static bool complete(lpn_buffers *buffers, lpn_buffer *b, uint8_t *entry, uint32_t size)
{
    if (buffers->completed) {
        return false;
    }
    entry[STATE] = BUSY;
    buffers->completed = true;
    buffers->index = (uint32_t)(b - buffers->buffer);
    buffers->content = content_of(b, entry);
    buffers->size = size;
    return true;
}

/* Has this very piece been stored before? It covers units first to last. */
static bool stored_before(const lpn_buffer *b, uint8_t *entry, uint32_t first, uint32_t last)
{
    const uint8_t *have = received(b, entry), *starts = begins(b, entry);
    for (uint32_t i = first; i <= last; i++) {
        if (!bit(have, i) || bit(starts, i) != (i == first)) {
            return false;
        }
    }
    return !bit(have, last + 1) || bit(starts, last + 1);
}

static bool whole(const lpn_buffer *b, uint8_t *entry, uint32_t total)
{
    for (uint32_t i = 0; i * UNIT < total; i++) {
        if (!bit(received(b, entry), i)) {
            return false;
        }
    }
    return true;
}

static uint32_t put(const lpn_view *view, lpn_buffer *b, const uint8_t *key, const request *q, uint32_t now)
{
    const uint32_t piece = q->head + q->length, end = q->offset + piece;
    uint8_t *entry = find(b, PARTIAL, key);
    uint32_t total = entry == NULL ? 0 : lpn_get16(entry + TOTAL);
    if (entry != NULL && q->total != 0 && ((total != 0 && total != q->total) || lpn_get16(entry + FURTHEST) > q->total)) {
        entry[STATE] = FREE;                    /* they are not of one packet */
        return LPN_PUT_MISMATCH;
    }
    total = q->total != 0 ? q->total : total;
    if (end > b->size || total > b->size || (total != 0 && end > total)) {
        return LPN_PUT_TOO_LONG;
    }
    if (q->offset % UNIT != 0 || (piece % UNIT != 0 && end != total)) {
        return LPN_PUT_MISALIGNED;
    }
    if (piece == 0) {
        return LPN_PUT_DUPLICATE;               /* nothing new */
    }
    const uint32_t first = q->offset / UNIT, last = (end - 1) / UNIT;
    for (uint32_t i = first; entry != NULL && i <= last; i++) {
        if (bit(received(b, entry), i)) {
            if (stored_before(b, entry, first, last)) {
                return LPN_PUT_DUPLICATE;
            }
            entry[STATE] = FREE;                /* RFC 4944 5.3, RFC 8200 4.5: all of it is discarded */
            return LPN_PUT_OVERLAP;
        }
    }
    if (entry == NULL) {
        entry = allocate(b, PARTIAL, key, now);
        uint8_t *oldest = entry == NULL ? find(b, PARTIAL, NULL) : NULL;
        if (oldest != NULL) {                   /* what has waited longest gives way */
            oldest[STATE] = FREE;
            entry = allocate(b, PARTIAL, key, now);
        }
        if (entry == NULL) {
            return LPN_PUT_FULL;
        }
    }
    lpn_put16(entry + TOTAL, (uint16_t)total);
    if (end > lpn_get16(entry + FURTHEST)) {
        lpn_put16(entry + FURTHEST, (uint16_t)end);
    }
    store(view, content_of(b, entry) + q->offset, q);
    set_bit(begins(b, entry), first);
    for (uint32_t i = first; i <= last; i++) {
        set_bit(received(b, entry), i);
    }
    if (total == 0 || !whole(b, entry, total)) {
        return LPN_PUT_STORED;
    }
    if (!complete(view->buffers, b, entry, total)) {
        entry[STATE] = FREE;
        return LPN_PUT_FULL;
    }
    return LPN_PUT_COMPLETE;
}

static uint32_t hold(const lpn_view *view, lpn_buffer *b, const uint8_t *key, const request *q, uint32_t now)
{
    if (q->head + q->length > b->size) {
        return LPN_PUT_TOO_LONG;
    }
    uint8_t *entry = allocate(b, HELD, key, now);
    if (entry == NULL) {
        return LPN_PUT_FULL;
    }
    store(view, content_of(b, entry), q);
    lpn_put16(entry + TOTAL, (uint16_t)(q->head + q->length));
    return LPN_PUT_STORED;
}

static uint32_t take(lpn_buffers *buffers, lpn_buffer *b, const uint8_t *key)
{
    uint8_t *entry = find(b, HELD, key);
    return entry != NULL && complete(buffers, b, entry, lpn_get16(entry + TOTAL));
}

static uint32_t drop(lpn_buffer *b, const uint8_t *key)
{
    uint32_t dropped = 0;
    for (uint32_t i = 0; i < b->entries; i++) {
        uint8_t *entry = entry_at(b, i);
        if ((entry[STATE] == PARTIAL || entry[STATE] == HELD) && same_key(b, entry, key)) {
            entry[STATE] = FREE;
            dropped++;
        }
    }
    return dropped;
}

int lpn_buffers_call(const lpn_view *view, enum lpn_buffer_call what, const uint64_t *r, uint32_t now, uint32_t *value)
{
    lpn_buffers *buffers = view->buffers;
    const uint32_t which = (uint32_t)r[0];
    if (buffers == NULL || r[0] >> 32 != 0 || LPN_WHICH(which) >= buffers->count || LPN_SIZE2(which) != buffers->buffer[LPN_WHICH(which)].key_size) {
        return LPN_E_HELPER_ARG;
    }
    lpn_buffer *b = &buffers->buffer[LPN_WHICH(which)];
    const uint8_t *key = lpn_pointer(r[1]);
    lpn_buffer_sweep(b, now);
    if (what == LPN_BUFFER_TAKE || what == LPN_BUFFER_DROP) {
        *value = what == LPN_BUFFER_TAKE ? take(buffers, b, key) : drop(b, key);
        return LPN_OK;
    }
    request q;
    if (LPN_SIZE3(which) != LPN_REQUEST_SIZE || !read_request(view, lpn_pointer(r[2]), &q)) {
        return LPN_E_HELPER_ARG;
    }
    *value = what == LPN_BUFFER_PUT ? put(view, b, key, &q, now) : hold(view, b, key, &q, now);
    return LPN_OK;
}

bool lpn_buffers_release(lpn_buffers *buffers, const uint8_t *content)
{
    for (uint32_t n = 0; n < buffers->count; n++) {
        lpn_buffer *b = &buffers->buffer[n];
        for (uint32_t i = 0; i < b->entries; i++) {
            uint8_t *entry = entry_at(b, i);
            if (entry[STATE] == BUSY && content_of(b, entry) == content) {
                entry[STATE] = FREE;
                return true;
            }
        }
    }
    return false;
}
