/* SPDX-License-Identifier: LGPL-2.1-only */
/* The node form of a bundle: its frame is parsed, then its parts become a set, in memory that the caller gives. */
#include "bytes.h"
#include "certificate.h"
#include "lpn_pack.h"

enum { HEADER = 40, FORMAT = 1, FORMAT_CODE = 2 };
/* The header's fields. */
enum {
    F_FORMAT = 4, F_HEADER = 6, F_LENGTH = 8, F_CRC = 12, F_VERSION = 16, F_RECORD = 20, F_STATE = 22, F_REASONS = 24,
    F_GIVEN = 26, F_MODULES = 28, F_HOOKS = 29, F_TABLES = 30, F_BUFFERS = 31, F_EXTERNS = 32, F_MIGRATIONS = 33,
    F_KEPT = 34, F_NAME = 36, F_RESERVED = 38
};
enum { ROW = 12, HOOK = 36, MIGRATION = 12, TABLE = 8, FIELD = 4, ENTRY = 4, EXTERN = 4, BUFFER = 12 };
enum { IMAGE_LENGTH = 8, MAX_NAME = 64 };
static const uint8_t magic[4] = { 'L', 'P', 'N', 'N' };

/* ------------------------------------------------------------------------------------------- reading */

/* Bytes that are read from the front. `bad` once there were too few: then zeros. */
typedef struct { const uint8_t *at, *end; bool bad; } cursor;

static const uint8_t *take(cursor *c, size_t size)
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

/* Bytes of any length: NULL when they are not there. */
static const uint8_t *take_all(cursor *c, size_t size)
{
    const uint8_t *found = c->at;
    if (c->bad || size > (size_t)(c->end - c->at)) {
        c->bad = true;
        return NULL;
    }
    c->at += size;
    return found;
}

/* To the next multiple of 4 from `base`; what lies between is zero. */
static bool pad(cursor *c, const uint8_t *base)
{
    const size_t odd = (size_t)(c->at - base) & 3u, gap = (4u - odd) & 3u;
    const uint8_t *zeros = take_all(c, gap);
    return zeros != NULL && lpn_is_zero(zeros, gap);
}

static int fail(lpn_pack_fault *fault, const char *part, uint32_t index, int error)
{
    fault->part = part;
    fault->index = index;
    return error;
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

/* One table's bytes in the pack. */
typedef struct {
    lpn_table_shape shape;
    const uint8_t *entries;
    uint32_t count, key_size, stride;
} table_view;

static bool read_table(cursor *c, const uint8_t *base, table_view *view)
{
    const uint8_t *head = take(c, TABLE);
    *view = (table_view){ .shape = { .fields = head[0], .action_data = lpn_get16(head + 2),
                                     .capacity = lpn_get16(head + 4) }, .count = lpn_get16(head + 6) };
    if (c->bad || head[1] != 0 || view->shape.fields == 0 || view->shape.fields > LPN_MAX_KEY_FIELDS
        || view->count > view->shape.capacity) {
        return false;
    }
    for (uint32_t i = 0; i < view->shape.fields; i++) {
        const uint8_t *field = take(c, FIELD);
        view->shape.field[i].bits = lpn_get16(field);
        view->shape.field[i].match = field[2];
        view->key_size += (lpn_get16(field) + 7u) / 8u;
        if (field[3] != 0) {
            return false;
        }
    }
    view->stride = ENTRY + 2 * view->key_size + view->shape.action_data;
    view->entries = take_all(c, (size_t)view->count * view->stride);
    return view->entries != NULL && pad(c, base);
}

static bool skip_migration(cursor *c)
{
    const uint8_t *head = take(c, MIGRATION);
    return take_all(c, (size_t)ROW * lpn_get16(head + 6)) != NULL && lpn_is_zero(head + 9, 3);
}

static bool skip_extern(cursor *c, const uint8_t *base)
{
    const uint8_t *head = take(c, EXTERN);
    const uint8_t *name = take_all(c, head[1]);
    return name != NULL && named(name, head[1]) && lpn_is_zero(head + 2, 2) && pad(c, base);
}

static bool skip_image(cursor *c)
{
    if (c->bad || c->end - c->at < IMAGE_LENGTH + 4) {
        return false;
    }
    const uint32_t length = lpn_get32(c->at + IMAGE_LENGTH);
    return length >= IMAGE_LENGTH + 4 && (length & 3) == 0 && take_all(c, length) != NULL;
}

static bool skip_code(cursor *c)
{
    const uint32_t size = lpn_get32(take(c, 4));
    return size > 0 && (size & 3) == 0 && take_all(c, size) != NULL;
}

static int read_header(lpn_pack *pack, const uint8_t *b, size_t size)
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
    pack->name = take_all(&c, pack->name_size);
    if (pack->name == NULL || !named(pack->name, pack->name_size) || !pad(&c, bytes)) {
        return fail(fault, "name", LPN_PACK_WHOLE, LPN_E_NAME);
    }
    pack->state = take_all(&c, pack->state_given);
    if (pack->state == NULL || !pad(&c, bytes)) {
        return fail(fault, "state", LPN_PACK_WHOLE, LPN_E_FIELD);
    }
    pack->kept = take_all(&c, (size_t)ROW * pack->kept_count);
    pack->hook = take_all(&c, (size_t)HOOK * pack->hooks);
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
        if (!read_table(&c, bytes, &view)) {
            return fail(fault, "table", i, LPN_E_TABLE);
        }
    }
    pack->extern_ = c.at;
    for (uint32_t i = 0; i < pack->externs; i++) {
        if (!skip_extern(&c, bytes)) {
            return fail(fault, "function", i, LPN_E_FIELD);
        }
    }
    pack->buffer = take_all(&c, (size_t)BUFFER * pack->buffers);
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

/* ------------------------------------------------------------------------------------------- building */

typedef struct {
    const lpn_pack *pack;
    const lpn_pack_wish *wish;
    lpn_packed *packed;
    lpn_pack_fault *fault;
    uint8_t *memory;
    size_t size, used;
    lpn_container *container;
} builder;

/* Zeroed memory at a multiple of 8; NULL when there is not enough, `used` says how much would have been. */
static void *get(builder *b, size_t size)
{
    size = (size + 7) & ~(size_t)7;
    uint8_t *found = b->memory + b->used;
    if (b->used > b->size || size > b->size - b->used) {
        b->used += size;
        return NULL;
    }
    b->used += size;
    lpn_zero(found, size);
    return found;
}

static int no_memory(const builder *b)
{
    return fail(b->fault, "memory", (uint32_t)b->used, LPN_E_MEMORY);
}

/* Code of a container that is trusted, behind that of those before. Without room for it the container is interpreted. */
static void translate(builder *b, lpn_container *container)
{
    const lpn_pack_wish *wish = b->wish;
    const uint32_t map = 2 * (container->program.count + 1), left = wish->code_size - b->packed->code_used;
    uint32_t used;
    if (wish->translate == NULL || !container->program.certified || left < map) {
        return;
    }
    uint16_t *const code = wish->code + b->packed->code_used / 2;
    if (wish->translate(container, code, (left - map) & ~1u, code + (left - map) / 2, &used) == LPN_OK) {
        b->packed->code_used += (used + 3) & ~3u;
        b->packed->translated++;
    }
}

/* The code that the pack brings for a module. */
static int given_code(const builder *b, lpn_container *container, const uint8_t *code)
{
    if (b->wish->certify != NULL) {
        return LPN_E_UNCERTIFIED;
    }
    if (!b->wish->thumb2) {
        return LPN_E_LEFT_OUT;
    }
    container->native = (lpn_native_code *)((uintptr_t)(code + 4) | 1);     /* the lowest bit says: Thumb */
    return LPN_OK;
}

static int build_modules(builder *b)
{
    b->container = get(b, b->pack->modules * sizeof *b->container);
    if (b->container == NULL) {
        return no_memory(b);
    }
    const uint8_t *at = b->pack->image, *code = b->pack->code;
    for (uint32_t i = 0; i < b->pack->modules; i++) {
        const uint32_t size = lpn_get32(at + IMAGE_LENGTH);
        size_t room = b->size - b->used;
        int error = lpn_container_init(&b->container[i], at, size, true, b->memory + b->used, &room, &b->fault->pc);
        if (error == LPN_OK || error == LPN_E_MEMORY) {
            b->used += (room + 7) & ~(size_t)7;
        }
        if (error == LPN_E_MEMORY || b->used > b->size) {
            return no_memory(b);
        }
        if (error == LPN_OK && b->wish->certify == NULL) {
            b->container[i].program.certified = true;
        } else if (error == LPN_OK) {       /* the checker works in what is not taken yet */
            error = b->wish->certify(&b->container[i], b->wish->policy, b->memory + b->used, b->size - b->used, &b->fault->pc);
            if (b->container[i].refusal == LPN_REFUSE_MEMORY) {
                b->used += LPN_CERTIFICATE_WORK;
                return no_memory(b);
            }
        }
        if (error == LPN_OK && code != NULL) {
            error = given_code(b, &b->container[i], code);
            code += 4 + lpn_get32(code);
        } else if (error == LPN_OK) {
            translate(b, &b->container[i]);
        }
        if (error == LPN_OK) {
            if ((LPN_CODE_ONLY && b->container[i].native == NULL) || (LPN_CLEAN32_ONLY && !b->container[i].program.clean32)
                || (LPN_CLEAN32_ONLY && LPN_CERTIFIED_ONLY && !b->container[i].program.certified)) {
                error = LPN_E_LEFT_OUT;
            }
        }
        if (error != LPN_OK) {
            return fail(b->fault, "module", i, error);
        }
        at += size;
    }
    return LPN_OK;
}

/* The chain of a hook, without the processors that are not wanted. */
static int build_chain(builder *b, lpn_hook *hook, const uint8_t *numbers, uint32_t count)
{
    const lpn_container **chain = get(b, count * sizeof *chain);
    if (chain == NULL) {
        return no_memory(b);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (numbers[i] >= b->pack->modules) {
            return LPN_E_CHAIN;
        }
        const lpn_container *one = &b->container[numbers[i]];
        if ((b->wish->without >> numbers[i] & 1) == 0) {
            chain[hook->containers++] = one;
        } else if (one->image[LPN_IMAGE_KIND] != LPN_PROCESSOR) {
            return LPN_E_CHAIN;
        }
    }
    hook->chain = chain;
    return hook->containers > 0 && lpn_is_zero(numbers + count, LPN_MAX_CHAIN - count) ? LPN_OK : LPN_E_CHAIN;
}

static int build_hooks(builder *b)
{
    lpn_set *set = &b->packed->set;
    set->hook = get(b, b->pack->hooks * sizeof *set->hook);
    if (set->hook == NULL) {
        return no_memory(b);
    }
    for (uint32_t i = 0; i < b->pack->hooks; i++) {
        const uint8_t *at = b->pack->hook + (size_t)HOOK * i;
        lpn_hook *hook = &set->hook[i];
        *hook = (lpn_hook){ .event = at[0], .context = at[1], .selectors = at[2],
                            .selector = { lpn_get32(at + 4), lpn_get32(at + 8) }, .within = lpn_get32(at + 12),
                            .period = lpn_get32(at + 16), .offset = lpn_get32(at + 20), .jitter = lpn_get32(at + 24) };
        int error = at[3] == 0 || at[3] > LPN_MAX_CHAIN || at[0] >= LPN_EVENT_COUNT ? LPN_E_HOOK
                    : build_chain(b, hook, at + 28, at[3]);
        if (error != LPN_OK) {
            return b->used > b->size ? error : fail(b->fault, "hook", i, error);
        }
    }
    set->hooks = b->pack->hooks;
    return LPN_OK;
}

static int build_migrations(builder *b)
{
    lpn_set *set = &b->packed->set;
    lpn_migration *all = get(b, b->pack->migrations * sizeof *all);
    if (all == NULL) {
        return no_memory(b);
    }
    cursor c = { b->pack->migration, b->pack->end, false };
    for (uint32_t i = 0; i < b->pack->migrations; i++) {
        const uint8_t *head = take(&c, MIGRATION);
        const uint16_t size = lpn_get16(head + 4), rows = lpn_get16(head + 6);
        if (head[8] >= b->pack->modules || b->container[head[8]].image[LPN_IMAGE_KIND] != LPN_MIGRATION) {
            return fail(b->fault, "migration", i, LPN_E_CHAIN);
        }
        uint8_t *memory = get(b, size);
        if (memory == NULL) {
            return no_memory(b);
        }
        all[i] = (lpn_migration){ lpn_get32(head), &b->container[head[8]],
                                  { take_all(&c, (size_t)ROW * rows), rows, memory, size } };
    }
    set->migration = all;
    set->migrations = b->pack->migrations;
    return LPN_OK;
}

static int build_tables(builder *b)
{
    if (LPN_NO_TABLES) {
        return b->pack->tables == 0 ? LPN_OK : fail(b->fault, "table", 0, LPN_E_LEFT_OUT);
    }
    lpn_table *all = get(b, b->pack->tables * sizeof *all);
    if (all == NULL) {
        return no_memory(b);
    }
    cursor c = { b->pack->table, b->pack->end, false };
    for (uint32_t i = 0; i < b->pack->tables; i++) {
        table_view view;
        (void)read_table(&c, b->pack->bytes, &view);        /* it was read before */
        const size_t size = lpn_table_memory(&view.shape);
        if (size == 0) {
            return fail(b->fault, "table", i, LPN_E_TABLE);
        }
        uint8_t *memory = get(b, size);
        if (memory == NULL) {
            return no_memory(b);
        }
        int error = lpn_table_init(&all[i], &view.shape, memory, size);
        lpn_table_set *set = error == LPN_OK ? lpn_table_begin(&all[i], false) : NULL;
        const uint8_t *at = view.entries;
        for (uint32_t k = 0; k < view.count && error == LPN_OK; k++, at += view.stride) {
            const uint8_t *a = at + ENTRY, *data = a + 2 * view.key_size;
            error = lpn_table_add(&all[i], set, a, a + view.key_size, lpn_get16(at), data, lpn_get16(at + 2));
        }
        if (error != LPN_OK) {
            return fail(b->fault, "table", i, error);
        }
        lpn_table_commit(&all[i], set);
    }
    b->packed->set.tables = all;
    b->packed->set.table_count = b->pack->tables;
    return LPN_OK;
}

static int build_externs(builder *b)
{
    lpn_extern *all = get(b, b->pack->externs * sizeof *all);
    if (all == NULL) {
        return no_memory(b);
    }
    cursor c = { b->pack->extern_, b->pack->end, false };
    for (uint32_t i = 0; i < b->pack->externs; i++) {
        const uint8_t *head = take(&c, EXTERN);
        const uint8_t *name = take_all(&c, head[1]);
        int error = lpn_extern_bind(&all[i], b->wish->offered, b->wish->offers, (const char *)name, head[1], head[0]);
        if (error != LPN_OK || !pad(&c, b->pack->bytes)) {
            return fail(b->fault, "function", i, LPN_E_EXTERN);
        }
    }
    b->packed->set.externs = all;
    b->packed->set.extern_count = b->pack->externs;
    return LPN_OK;
}

static int build_buffers(builder *b)
{
    if (LPN_NO_BUFFERS) {
        return b->pack->buffers == 0 ? LPN_OK : fail(b->fault, "buffer", 0, LPN_E_LEFT_OUT);
    }
    lpn_buffer *all = get(b, b->pack->buffers * sizeof *all);
    if (all == NULL) {
        return no_memory(b);
    }
    for (uint32_t i = 0; i < b->pack->buffers; i++) {
        const uint8_t *at = b->pack->buffer + (size_t)BUFFER * i;
        all[i] = (lpn_buffer){ .size = lpn_get16(at), .entries = lpn_get16(at + 2), .key_size = lpn_get16(at + 4),
                               .timeout = lpn_get32(at + 8) };
        const size_t size = lpn_buffer_memory(&all[i]);
        if (size == 0 || lpn_get16(at + 6) != 0 || all[i].timeout > INT32_MAX) {
            return fail(b->fault, "buffer", i, LPN_E_FIELD);
        }
        all[i].memory = get(b, size);
        if (all[i].memory == NULL) {
            return no_memory(b);
        }
    }
    if (b->pack->buffers > 0) {
        b->packed->buffers = (lpn_buffers){ .buffer = all, .count = b->pack->buffers };
        b->packed->set.buffers = &b->packed->buffers;
    }
    return LPN_OK;
}

/* State with its first content, records, drop counters: one for each reason and one for all behind. */
static int build_memory(builder *b)
{
    lpn_set *set = &b->packed->set;
    const lpn_pack *pack = b->pack;
    set->version = pack->version;
    set->kept = pack->kept;
    set->kept_count = pack->kept_count;
    set->drops = pack->reasons + 1u;
    set->drop = get(b, set->drops * sizeof *set->drop);
    set->state = get(b, pack->state_size);
    set->state_size = pack->state_size;
    b->packed->record = get(b, pack->record_size);
    b->packed->record_size = pack->record_size;
    if (set->drop == NULL || set->state == NULL || b->packed->record == NULL) {
        return no_memory(b);
    }
    for (uint32_t i = 0; i < pack->hooks && b->packed->isr == NULL; i++) {
        if (pack->hook[(size_t)HOOK * i + 1] == LPN_ISR) {
            b->packed->isr = get(b, sizeof *b->packed->isr);
            b->packed->isr_record = get(b, pack->record_size);
            if (b->packed->isr == NULL || b->packed->isr_record == NULL) {
                return no_memory(b);
            }
        }
    }
    lpn_copy(set->state, pack->state, pack->state_given);
    return LPN_OK;
}

/* What the interpreter goes by on this core, last of all: where there is no room a container runs without, slowly, if the firmware can. */
static int build_plans(builder *b)
{
    if (LPN_CODE_ONLY) {
        return LPN_OK;
    }
    for (uint32_t i = 0; i < b->pack->modules; i++) {
        lpn_container *container = &b->container[i];
        const size_t size = container->native == NULL ? lpn_container_plan_size(container) : 0;
        const bool fits = b->used <= b->size && size <= b->size - b->used;
        if (size != 0 && fits) {
            lpn_container_plan(container, b->memory + b->used);
        }
        if (fits || LPN_CLEAN32_ONLY) {
            b->used += size;
        }
        if (!fits && LPN_CLEAN32_ONLY) {
            return no_memory(b);
        }
    }
    return LPN_OK;
}

int lpn_pack_build(const lpn_pack *pack, const lpn_pack_wish *wish, uint8_t *memory, size_t size, lpn_packed *packed,
                   lpn_pack_fault *fault)
{
    static int (*const steps[])(builder *) = { build_memory, build_modules, build_hooks, build_migrations, build_tables,
                                               build_externs, build_buffers, build_plans };
    *fault = (lpn_pack_fault){ "memory", LPN_PACK_WHOLE, 0 };
    *packed = (lpn_packed){ 0 };
    if ((lpn_address(memory) & 7) != 0) {
        return LPN_E_MEMORY;
    }
    builder b = { .pack = pack, .wish = wish, .packed = packed, .fault = fault, .memory = memory, .size = size };
    for (unsigned i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        int error = steps[i](&b);
        if (error != LPN_OK) {
            return error;
        }
    }
    packed->used = (uint32_t)b.used;
    return LPN_OK;
}
