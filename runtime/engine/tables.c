/* SPDX-License-Identifier: LGPL-2.1-only */
/* Match-action tables over byte-string keys. Entries lie in the order they are tried, so the first match is the
 * answer; a table of exact fields alone is sorted by key and bisected.
 *
 * An entry: action (2 bytes), rank (2), a (key_size), b (key_size, not in exact tables), action data. */
#include "bytes.h"
#include "lpn.h"

enum { ACTION = 0, RANK = 2, HEAD = 4 };

/* Word by word: of two numbers in network order the less has the less octets. */
static int compare(const uint8_t *x, const uint8_t *y, size_t n)
{
    for (; n >= 4; n -= 4, x += 4, y += 4) {
        const uint32_t a = lpn_swap32(lpn_get32(x)), b = lpn_swap32(lpn_get32(y));
        if (a != b) {
            return a < b ? -1 : 1;
        }
    }
    for (; n > 0; n--, x++, y++) {
        if (*x != *y) {
            return *x - *y;
        }
    }
    return 0;
}

/* Does the key agree with `a` in all bits of the mask `b`? */
static bool agrees(const uint8_t *key, const uint8_t *a, const uint8_t *b, size_t n)
{
    for (; n >= 4 && (lpn_get32(key) & lpn_get32(b)) == lpn_get32(a); n -= 4) {
        key += 4, a += 4, b += 4;
    }
    for (; n > 0 && (*key & *b) == *a; n--) {
        key++, a++, b++;
    }
    return n == 0;
}

static unsigned field_bytes(const lpn_table_shape *shape, unsigned f)
{
    return (shape->field[f].bits + 7u) / 8;
}

/* Fill in what follows from the shape; false when it is not valid. */
static bool measure(lpn_table *table, const lpn_table_shape *shape)
{
    unsigned key = 0;
    bool exact = true, prefix = false, priority = false;
    if (shape->fields == 0 || shape->fields > LPN_MAX_KEY_FIELDS || shape->capacity == 0
        || shape->action_data > LPN_MAX_ACTION_DATA) {
        return false;
    }
    for (unsigned f = 0; f < shape->fields; f++) {
        uint8_t match = shape->field[f].match;
        if (shape->field[f].bits == 0 || match > LPN_RANGE) {
            return false;
        }
        key += field_bytes(shape, f);
        exact = exact && match == LPN_EXACT;
        prefix = prefix || match == LPN_LPM;
        priority = priority || match == LPN_TERNARY || match == LPN_RANGE;
    }
    if (key > LPN_MAX_KEY_BYTES) {
        return false;
    }
    table->shape = *shape;
    table->key_size = (uint16_t)key;
    table->exact = exact;
    table->by_prefix = prefix && !priority;
    table->stride = (uint16_t)(HEAD + (exact ? 1u : 2u) * key + shape->action_data);
    return true;
}

size_t lpn_table_memory(const lpn_table_shape *shape)
{
    lpn_table table;
    return measure(&table, shape) ? 2 * (size_t)table.stride * shape->capacity : 0;
}

int lpn_table_init(lpn_table *table, const lpn_table_shape *shape, uint8_t *memory, size_t size)
{
    if (!measure(table, shape)) {
        return LPN_E_TABLE;
    }
    size_t half = (size_t)table->stride * shape->capacity;
    if (size < 2 * half) {
        return LPN_E_MEMORY;
    }
    table->set[0] = (lpn_table_set){ memory, 0, 0 };
    table->set[1] = (lpn_table_set){ memory + half, 0, 0 };
    table->active = &table->set[0];
    return LPN_OK;
}

static APART lpn_table_set *inactive(lpn_table *table)
{
    return &table->set[table->active == &table->set[0]];
}

/* Entries of an exact table whose key another one has lie behind the others, in the order in which they came: a lookup sees none of them. */
static unsigned all(const lpn_table_set *set)
{
    return set->count + (unsigned)set->again;
}

lpn_table_set *lpn_table_begin(lpn_table *table, bool copy)
{
    lpn_table_set *set = inactive(table);
    set->count = set->again = 0;
    if (copy) {
        set->count = table->active->count;
        set->again = table->active->again;
        lpn_copy(set->entries, table->active->entries, (size_t)table->stride * all(set));
    }
    return set;
}

void lpn_table_commit(lpn_table *table, lpn_table_set *set)
{
    /* Release: whoever sees the pointer sees the entries. */
    __atomic_store_n(&table->active, set, __ATOMIC_RELEASE);
}

/* The ones a prefix mask of `bits` bits starts with; -1 when it is none. */
static int prefix_length(const uint8_t *mask, unsigned bits)
{
    int length = 0;
    bool ended = false;
    for (unsigned i = (8 - bits % 8) % 8; i < (bits + 7) / 8 * 8; i++) {
        bool one = mask[i / 8] >> (7 - i % 8) & 1;
        if (one && ended) {
            return -1;
        }
        ended = !one;
        length += one;
    }
    return length;
}

/* Bring a match into the one form that is stored and compared: a inside b's mask, b zero where it says nothing.
 * Returns false when it is not a match; `*rank`: its place in the order of entries. */
static bool canonical(const lpn_table *table, const uint8_t *a, const uint8_t *b, uint16_t priority,
                      uint8_t *key_a, uint8_t *key_b, uint16_t *rank)
{
    unsigned at = 0, total = 0;
    for (unsigned f = 0; f < table->shape.fields; f++) {
        unsigned bytes = field_bytes(&table->shape, f), match = table->shape.field[f].match;
        for (unsigned i = at; i < at + bytes; i++) {
            key_b[i] = match == LPN_EXACT ? 0 : b[i];
            key_a[i] = match == LPN_LPM || match == LPN_TERNARY ? a[i] & b[i] : a[i];
        }
        if (match == LPN_RANGE && compare(a + at, b + at, bytes) > 0) {
            return false;
        }
        if (match == LPN_LPM) {
            int length = prefix_length(b + at, table->shape.field[f].bits);
            if (length < 0) {
                return false;
            }
            total += (unsigned)length;
        }
        at += bytes;
    }
    *rank = table->exact ? 0 : table->by_prefix ? (uint16_t)(0xffff - total) : priority;
    return true;
}

/* The first entry that comes after (rank, a), or with `equal` the first that does not come before. */
static unsigned position(const lpn_table *table, const lpn_table_set *set, uint16_t rank, const uint8_t *a,
                         bool equal)
{
    unsigned low = 0, high = set->count;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        const uint8_t *entry = set->entries + (size_t)table->stride * middle;
        int order = table->exact ? compare(entry + HEAD, a, table->key_size)
                                 : (int)lpn_get16(entry + RANK) - (int)rank;
        if (order < 0 || (order == 0 && !equal)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

int lpn_table_add(lpn_table *table, lpn_table_set *set, const uint8_t *a, const uint8_t *b, uint16_t action,
                  const uint8_t *data, uint16_t priority)
{
    uint8_t key_a[LPN_MAX_KEY_BYTES], key_b[LPN_MAX_KEY_BYTES];
    uint16_t rank;
    if (set != inactive(table) || action == 0 || !canonical(table, a, b, priority, key_a, key_b, &rank)) {
        return LPN_E_TABLE;
    }
    if (all(set) == table->shape.capacity) {
        return LPN_E_TABLE_FULL;
    }
    size_t stride = table->stride, at = stride * position(table, set, rank, key_a, false);
    const bool again = table->exact && at != 0 && compare(set->entries + at - stride + HEAD, key_a, table->key_size) == 0;
    if (again) {
        at = stride * all(set);
    }
    for (size_t i = stride * all(set); i > at; i--) {
        set->entries[i + stride - 1] = set->entries[i - 1];
    }
    uint8_t *entry = set->entries + at;
    lpn_put16(entry + ACTION, action);
    lpn_put16(entry + RANK, rank);
    lpn_copy(entry + HEAD, key_a, table->key_size);
    entry += HEAD + table->key_size;
    if (!table->exact) {
        lpn_copy(entry, key_b, table->key_size);
        entry += table->key_size;
    }
    lpn_copy(entry, data, table->shape.action_data);
    set->count += !again;
    set->again += again;
    return LPN_OK;
}

int lpn_table_remove(lpn_table *table, lpn_table_set *set, const uint8_t *a, const uint8_t *b,
                     uint16_t priority)
{
    uint8_t key_a[LPN_MAX_KEY_BYTES], key_b[LPN_MAX_KEY_BYTES];
    uint16_t rank;
    if (set != inactive(table) || !canonical(table, a, b, priority, key_a, key_b, &rank)) {
        return LPN_E_TABLE;
    }
    size_t stride = table->stride;
    for (unsigned i = position(table, set, rank, key_a, true); i < set->count; i++) {
        uint8_t *entry = set->entries + stride * i;
        if (lpn_get16(entry + RANK) != rank) {
            break;
        }
        if (compare(entry + HEAD, key_a, table->key_size) == 0
            && (table->exact || compare(entry + HEAD + table->key_size, key_b, table->key_size) == 0)) {
            unsigned next = set->count;         /* the first behind of the same key, if there is one, takes its place */
            while (next < all(set) && compare(set->entries + stride * next + HEAD, key_a, table->key_size) != 0) {
                next++;
            }
            if (next < all(set)) {
                lpn_copy(entry, set->entries + stride * next, stride);
                i = next;
                entry = set->entries + stride * next;
            }
            lpn_copy(entry, entry + stride, stride * (all(set) - i - 1u));
            *(i < set->count ? &set->count : &set->again) -= 1;
            return LPN_OK;
        }
    }
    return LPN_E_NO_ENTRY;
}

static bool matches(const lpn_table_shape *shape, const uint8_t *a, const uint8_t *b, const uint8_t *key)
{
    for (unsigned f = 0; f < shape->fields; f++) {
        unsigned bytes = field_bytes(shape, f);
        switch (shape->field[f].match) {
        case LPN_EXACT:
            if (compare(a, key, bytes) != 0) {
                return false;
            }
            break;
        case LPN_RANGE:
            if (compare(key, a, bytes) < 0 || compare(key, b, bytes) > 0) {
                return false;
            }
            break;
        default:
            if (!agrees(key, a, b, bytes)) {
                return false;
            }
            break;
        }
        a += bytes, b += bytes, key += bytes;
    }
    return true;
}

uint32_t lpn_table_lookup(const lpn_table *table, const uint8_t *key, const uint8_t **data)
{
    const lpn_table_set *set = __atomic_load_n(&table->active, __ATOMIC_ACQUIRE);
    const uint8_t *entry = set->entries;
    size_t size = table->key_size;
    if (table->exact) {
        for (unsigned count = set->count; count != 0; ) {
            const unsigned half = count / 2;
            const uint8_t *middle = entry + (size_t)table->stride * half;
            const int order = compare(middle + HEAD, key, size);
            if (order == 0) {
                *data = middle + HEAD + size;
                return lpn_get16(middle + ACTION);
            }
            if (order < 0) {
                entry = middle + table->stride;
                count -= half + 1;
            } else {
                count = half;
            }
        }
    } else {
        for (unsigned i = 0; i < set->count; i++, entry += table->stride) {
            if (matches(&table->shape, entry + HEAD, entry + HEAD + size, key)) {
                *data = entry + HEAD + 2 * size;
                return lpn_get16(entry + ACTION);
            }
        }
    }
    *data = NULL;
    return 0;
}
