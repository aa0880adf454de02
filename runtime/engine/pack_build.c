/* SPDX-License-Identifier: LGPL-2.1-only */
/* The parts of a bundle in the node form become a set, in memory that the caller gives. */
#include "certificate.h"
#include "pack_form.h"

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

static APART int no_memory(const builder *b)
{
    return fail(b->fault, "memory", (uint32_t)b->used, LPN_E_MEMORY);
}

/* A migration runs once, and is interpreted. */
static bool migrates(const lpn_container *container)
{
    return container->image[LPN_IMAGE_KIND] == LPN_MIGRATION;
}

/* Code of a container that is trusted, behind that of those before. Without room for it the container is interpreted, as is one that may take
 * more instructions than a run has: the checker left in the fault how many. */
static void translate(builder *b, lpn_container *container)
{
    const lpn_pack_wish *wish = b->wish;
    const uint32_t map = 2 * (container->program.count + 1), left = wish->code_size - b->packed->code_used;
    uint32_t used;
    if (wish->translate == NULL || !container->program.certified || migrates(container) || left < map
        || (wish->certify != NULL && b->fault->pc > wish->fuel)) {
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
    container->program.marks = LPN_MARK_HELPER;         /* it may */
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
            lpn_container_trust(&b->container[i]);
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
            if ((LPN_CODE_ONLY && b->container[i].native == NULL && !migrates(&b->container[i])) || (LPN_CLEAN32_ONLY && !b->container[i].program.clean32)
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
        const uint8_t *head = lpn_pack_take(&c, MIGRATION);
        const uint16_t size = lpn_get16(head + 4), rows = lpn_get16(head + 6);
        if (head[8] >= b->pack->modules || !migrates(&b->container[head[8]])) {
            return fail(b->fault, "migration", i, LPN_E_CHAIN);
        }
        uint8_t *memory = get(b, size);
        if (memory == NULL) {
            return no_memory(b);
        }
        all[i] = (lpn_migration){ lpn_get32(head), &b->container[head[8]],
                                  { lpn_pack_take_all(&c, (size_t)ROW * rows), rows, memory, size } };
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
        (void)lpn_pack_table(&c, b->pack->bytes, &view);        /* it was read before */
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
        const uint8_t *head = lpn_pack_take(&c, EXTERN);
        const uint8_t *name = lpn_pack_take_all(&c, head[1]);
        int error = lpn_extern_bind(&all[i], b->wish->offered, b->wish->offers, (const char *)name, head[1], head[0]);
        if (error != LPN_OK || !lpn_pack_pad(&c, b->pack->bytes)) {
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
