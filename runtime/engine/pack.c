/* SPDX-License-Identifier: LGPL-2.1-only */
/* The node form of a bundle: its frame is checked, and where its parts lie. */
#include "pack_form.h"

enum { HEADER = 40, FORMAT = 1, FORMAT_CODE = 2 };
/* The header's fields. */
enum {
    F_FORMAT = 4, F_HEADER = 6, F_LENGTH = 8, F_CRC = 12, F_VERSION = 16, F_RECORD = 20, F_STATE = 22, F_REASONS = 24,
    F_GIVEN = 26, F_MODULES = 28, F_HOOKS = 29, F_TABLES = 30, F_BUFFERS = 31, F_EXTERNS = 32, F_MIGRATIONS = 33,
    F_KEPT = 34, F_NAME = 36, F_RESERVED = 38
};
enum { MAX_NAME = 64 };
static const uint8_t magic[4] = { 'L', 'P', 'N', 'N' };

const uint8_t *lpn_pack_take(cursor *c, size_t size)
{
    static const uint8_t nothing[HOOK];         /* the longest part that is read at once */
    if (c->bad || size > (size_t)(c->end - c->at)) {
        c->bad = true;
        return nothing;
    }
    const uint8_t *found = c->at;
    c->at += size;
    return found;
}

const uint8_t *lpn_pack_take_all(cursor *c, size_t size)
{
    const uint8_t *found = c->at;
    if (c->bad || size > (size_t)(c->end - c->at)) {
        c->bad = true;
        return NULL;
    }
    c->at += size;
    return found;
}

bool lpn_pack_pad(cursor *c, const uint8_t *base)
{
    const size_t odd = (size_t)(c->at - base) & 3u, gap = (4u - odd) & 3u;
    const uint8_t *zeros = lpn_pack_take_all(c, gap);
    return zeros != NULL && lpn_is_zero(zeros, gap);
}

static bool named(const uint8_t *name, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++) {
        if (name[i] < 0x20 || name[i] == 0x7f) {
            return false;
        }
    }
    return size >= 1 && size <= MAX_NAME;
}

bool lpn_pack_table(cursor *c, const uint8_t *base, table_view *view)
{
    const uint8_t *head = lpn_pack_take(c, TABLE);
    *view = (table_view){ .shape = { .fields = head[0], .action_data = lpn_get16(head + 2),
                                     .capacity = lpn_get16(head + 4) }, .count = lpn_get16(head + 6) };
    if (c->bad || head[1] != 0 || view->shape.fields == 0 || view->shape.fields > LPN_MAX_KEY_FIELDS
        || view->count > view->shape.capacity) {
        return false;
    }
    for (uint32_t i = 0; i < view->shape.fields; i++) {
        const uint8_t *field = lpn_pack_take(c, FIELD);
        view->shape.field[i].bits = lpn_get16(field);
        view->shape.field[i].match = field[2];
        view->key_size += (lpn_get16(field) + 7u) / 8u;
        if (field[3] != 0) {
            return false;
        }
    }
    view->stride = ENTRY + 2 * view->key_size + view->shape.action_data;
    view->entries = lpn_pack_take_all(c, (size_t)view->count * view->stride);
    return view->entries != NULL && lpn_pack_pad(c, base);
}

static bool skip_migration(cursor *c)
{
    const uint8_t *head = lpn_pack_take(c, MIGRATION);
    return lpn_pack_take_all(c, (size_t)ROW * lpn_get16(head + 6)) != NULL && lpn_is_zero(head + 9, 3);
}

static bool skip_extern(cursor *c, const uint8_t *base)
{
    const uint8_t *head = lpn_pack_take(c, EXTERN);
    const uint8_t *name = lpn_pack_take_all(c, head[1]);
    return name != NULL && named(name, head[1]) && lpn_is_zero(head + 2, 2) && lpn_pack_pad(c, base);
}

static bool skip_image(cursor *c)
{
    if (c->bad || c->end - c->at < IMAGE_LENGTH + 4) {
        return false;
    }
    const uint32_t length = lpn_get32(c->at + IMAGE_LENGTH);
    return length >= IMAGE_LENGTH + 4 && (length & 3) == 0 && lpn_pack_take_all(c, length) != NULL;
}

static bool skip_code(cursor *c)
{
    const uint32_t size = lpn_get32(lpn_pack_take(c, 4));
    return size > 0 && (size & 3) == 0 && lpn_pack_take_all(c, size) != NULL;
}

static APART int read_header(lpn_pack *pack, const uint8_t *b, size_t size)
{
    if (size < HEADER) {
        return LPN_E_TRUNCATED;
    }
    for (unsigned i = 0; i < sizeof magic; i++) {
        if (b[i] != magic[i]) {
            return LPN_E_MAGIC;
        }
    }
    const uint16_t format = lpn_get16(b + F_FORMAT);
    if ((format != FORMAT && format != FORMAT_CODE) || lpn_get16(b + F_HEADER) != HEADER) {
        return LPN_E_VERSION;
    }
    if (lpn_get32(b + F_LENGTH) != size) {
        return lpn_get32(b + F_LENGTH) > size ? LPN_E_TRUNCATED : LPN_E_LENGTH;
    }
    static const uint8_t zero[4];
    uint32_t crc = lpn_crc32(0, b, F_CRC);
    crc = lpn_crc32(crc, zero, sizeof zero);
    if (lpn_crc32(crc, b + F_VERSION, size - F_VERSION) != lpn_get32(b + F_CRC)) {
        return LPN_E_CHECKSUM;
    }
    *pack = (lpn_pack){
        .bytes = b, .end = b + size, .version = lpn_get32(b + F_VERSION), .record_size = lpn_get16(b + F_RECORD),
        .state_size = lpn_get16(b + F_STATE), .reasons = lpn_get16(b + F_REASONS), .state_given = lpn_get16(b + F_GIVEN),
        .modules = b[F_MODULES], .hooks = b[F_HOOKS], .tables = b[F_TABLES], .buffers = b[F_BUFFERS],
        .externs = b[F_EXTERNS], .migrations = b[F_MIGRATIONS], .kept_count = lpn_get16(b + F_KEPT),
        .name_size = lpn_get16(b + F_NAME) };
    if (pack->state_given > pack->state_size || pack->modules > LPN_PACK_MAX_MODULES || pack->hooks > LPN_MAX_HOOKS
        || pack->externs > LPN_PACK_MAX_EXTERNS || (format == FORMAT_CODE && pack->migrations > 0)) {
        return LPN_E_FIELD;
    }
    return lpn_get16(b + F_RESERVED) == 0 ? LPN_OK : LPN_E_HEADER_RESERVED;
}

int lpn_pack_parse(lpn_pack *pack, const uint8_t *bytes, size_t size, lpn_pack_fault *fault)
{
    *fault = (lpn_pack_fault){ "header", LPN_PACK_WHOLE, 0 };
    if ((lpn_address(bytes) & 3) != 0) {
        return LPN_E_MEMORY;
    }
    int error = size > LPN_MAX_IMAGE ? LPN_E_TOO_LARGE : read_header(pack, bytes, size);
    if (error != LPN_OK) {
        return error;
    }
    cursor c = { bytes + HEADER, bytes + size, false };
    pack->name = lpn_pack_take_all(&c, pack->name_size);
    if (pack->name == NULL || !named(pack->name, pack->name_size) || !lpn_pack_pad(&c, bytes)) {
        return fail(fault, "name", LPN_PACK_WHOLE, LPN_E_NAME);
    }
    pack->state = lpn_pack_take_all(&c, pack->state_given);
    if (pack->state == NULL || !lpn_pack_pad(&c, bytes)) {
        return fail(fault, "state", LPN_PACK_WHOLE, LPN_E_FIELD);
    }
    pack->kept = lpn_pack_take_all(&c, (size_t)ROW * pack->kept_count);
    pack->hook = lpn_pack_take_all(&c, (size_t)HOOK * pack->hooks);
    if (pack->kept == NULL || pack->hook == NULL) {
        return fail(fault, pack->kept == NULL ? "kept registers" : "hooks", LPN_PACK_WHOLE, LPN_E_TRUNCATED);
    }
    pack->migration = c.at;
    for (uint32_t i = 0; i < pack->migrations; i++) {
        if (!skip_migration(&c)) {
            return fail(fault, "migration", i, LPN_E_FIELD);
        }
    }
    pack->table = c.at;
    for (uint32_t i = 0; i < pack->tables; i++) {
        table_view view;
        if (!lpn_pack_table(&c, bytes, &view)) {
            return fail(fault, "table", i, LPN_E_TABLE);
        }
    }
    pack->extern_ = c.at;
    for (uint32_t i = 0; i < pack->externs; i++) {
        if (!skip_extern(&c, bytes)) {
            return fail(fault, "function", i, LPN_E_FIELD);
        }
    }
    pack->buffer = lpn_pack_take_all(&c, (size_t)BUFFER * pack->buffers);
    if (pack->buffer == NULL) {
        return fail(fault, "buffers", LPN_PACK_WHOLE, LPN_E_TRUNCATED);
    }
    pack->image = c.at;
    for (uint32_t i = 0; i < pack->modules; i++) {
        if (!skip_image(&c)) {
            return fail(fault, "module", i, LPN_E_TRUNCATED);
        }
    }
    pack->code = lpn_get16(bytes + F_FORMAT) == FORMAT_CODE ? c.at : NULL;
    for (uint32_t i = 0; pack->code != NULL && i < pack->modules; i++) {
        if (!skip_code(&c)) {
            return fail(fault, "code", i, LPN_E_TRUNCATED);
        }
    }
    return c.at == c.end ? LPN_OK : fail(fault, "end", LPN_PACK_WHOLE, LPN_E_LENGTH);
}

/* The bytes of module `index`, which is there. */
static const uint8_t *module_bytes(const lpn_pack *pack, uint32_t index, uint32_t *size)
{
    const uint8_t *at = pack->image;
    for (; index > 0; index--) {
        at += lpn_get32(at + IMAGE_LENGTH);
    }
    *size = lpn_get32(at + IMAGE_LENGTH);
    return at;
}

int lpn_pack_module(const lpn_pack *pack, uint32_t index, lpn_image *image)
{
    if (index >= pack->modules) {
        return LPN_E_NO_ENTRY;
    }
    uint32_t size;
    const uint8_t *bytes = module_bytes(pack, index, &size);
    return lpn_image_parse(image, bytes, size);
}

uint32_t lpn_pack_find(const lpn_pack *pack, const char *name, size_t size)
{
    for (uint32_t i = 0; i < pack->modules; i++) {
        lpn_image image;
        if (lpn_pack_module(pack, i, &image) != LPN_OK || image.name_size != size) {
            continue;
        }
        size_t same = 0;
        while (same < size && image.name[same] == (uint8_t)name[same]) {
            same++;
        }
        if (same == size) {
            return i;
        }
    }
    return LPN_PACK_WHOLE;
}
