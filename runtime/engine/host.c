/* SPDX-License-Identifier: LGPL-2.1-only */
#include "host.h"

#include <stdlib.h>
#include <string.h>

#include "certificate.h"
#include "lpn.h"

#define MAX_TABLES 64u
#define MAX_PLAN 8192u          /* slots of bare bytecode that get a plan */
#define MAX_TRACES 256u
#define MAX_EXTERNS 128u
#define MAX_CHAINS 64u
#define MAX_BUFFERS 16u
#define MAX_CONTAINERS 128u
#define MAX_MEMORY (3 + 3 * MAX_CONTAINERS + MAX_TABLES + MAX_BUFFERS)

struct lpn_host {
    lpn_chain chain;
    lpn_container container[MAX_CONTAINERS];
    uint32_t containers;
    struct { uint32_t first, count; } chains[MAX_CHAINS];
    uint32_t chain_count;
    lpn_buffer buffer[MAX_BUFFERS];
    lpn_buffers buffers;
    lpn_view view;                  /* of a run that another engine makes */
    lpn_env env;
    lpn_table table[MAX_TABLES];
    lpn_extern offered[MAX_EXTERNS], bound[MAX_EXTERNS];
    uint32_t offers;
    uint8_t *memory[MAX_MEMORY];     /* all that is to be freed */
    unsigned memories;
    uint8_t *packet;
    enum lpn_policy policy;
    uint64_t work[512];             /* for the certificate's checker */
    uint64_t trace[2 * MAX_TRACES];
    uint32_t traces;
    uint8_t *placed[4];             /* packets by how far behind a word's boundary they begin; `packet` is one of them */
};

/* Zeroed bytes, freed with the host; never NULL for size 0. */
static uint8_t *get(lpn_host *host, size_t size)
{
    uint8_t *p = host->memories < MAX_MEMORY ? calloc(1, size ? size : 1) : NULL;
    if (p != NULL) {
        host->memory[host->memories++] = p;
    }
    return p;
}

static void keep_trace(void *user, uint64_t a, uint64_t b)
{
    lpn_host *host = user;
    if (host->traces < MAX_TRACES) {
        host->trace[2 * host->traces] = a;
        host->trace[2 * host->traces + 1] = b;
        host->traces++;
    }
}

int lpn_host_parse(const uint8_t *image, size_t size)
{
    lpn_image parsed;
    return lpn_image_parse(&parsed, image, size);
}

lpn_host *lpn_host_new(uint32_t record_size, uint32_t state_size, uint32_t fuel)
{
    lpn_host *host = calloc(1, sizeof *host);
    if (host == NULL) {
        return NULL;
    }
    host->packet = host->placed[0] = get(host, LPN_MAX_PACKET + LPN_WINDOW);
    host->chain.record = get(host, record_size);
    host->chain.state = get(host, state_size);
    if (host->memories < 3) {
        lpn_host_free(host);
        return NULL;
    }
    host->chain.record_size = record_size;
    host->chain.state_size = state_size;
    host->chain.fuel = fuel;
    host->env.tables = host->table;
    host->env.externs = host->bound;
    host->buffers.buffer = host->buffer;
    host->chain.buffers = &host->buffers;
    host->chain_count = 1;
    host->env.trace = keep_trace;
    host->env.user = host;
    host->chain.env = &host->env;
    return host;
}

void lpn_host_free(lpn_host *host)
{
    if (host != NULL) {
        while (host->memories > 0) {
            free(host->memory[--host->memories]);
        }
        free(host);
    }
}

int lpn_host_add(lpn_host *host, const uint8_t *image, size_t size, uint32_t *pc)
{
    lpn_image parsed;
    *pc = 0;
    uint32_t n = host->containers;
    if (host->chain.containers == LPN_MAX_CHAIN || n == MAX_CONTAINERS) {
        return LPN_E_CHAIN;
    }
    int error = lpn_image_parse(&parsed, image, size);
    if (error != LPN_OK) {
        return error;
    }
    uint8_t *bytes = get(host, size), *memory = bytes == NULL ? NULL : get(host, lpn_container_room(&parsed));
    if (memory == NULL) {
        return LPN_E_MEMORY;
    }
    memcpy(bytes, image, size);
    size_t room = lpn_container_room(&parsed);
    error = lpn_container_init(&host->container[n], bytes, size, false, memory, &room, pc);
    if (error == LPN_OK) {
        error = lpn_container_certify(&host->container[n], host->policy, host->work, sizeof host->work, pc);
    }
    if (error == LPN_OK) {
        const size_t plan_size = lpn_container_plan_size(&host->container[n]);
        uint8_t *plan = get(host, plan_size);
        if (plan == NULL) {
            return LPN_E_MEMORY;
        }
        lpn_container_plan(&host->container[n], plan);
    }
    if (error == LPN_OK) {
        host->chain.container[host->chain.containers++] = &host->container[n];
        host->chains[host->chain_count - 1].count++;
        host->containers++;
    }
    return error;
}

void lpn_host_policy(lpn_host *host, uint32_t policy)
{
    host->policy = (enum lpn_policy)policy;
}

bool lpn_host_certified(const lpn_host *host, uint32_t index)
{
    return index < host->containers && host->container[index].program.certified;
}

void lpn_host_vouch(lpn_host *host, uint32_t index)
{
    if (index < host->containers) {
        lpn_container_trust(&host->container[index]);
        host->container[index].program.plan = NULL;       /* it was made before */
    }
}

const void *lpn_host_env(const lpn_host *host)
{
    return host == NULL ? NULL : &host->env;
}

void *lpn_host_container(lpn_host *host, uint32_t index)
{
    return index < host->containers ? &host->container[index] : NULL;
}

int lpn_host_chain_begin(lpn_host *host)
{
    if (host->chain_count == MAX_CHAINS) {
        return LPN_E_CHAIN;
    }
    host->chains[host->chain_count].first = host->containers;
    host->chains[host->chain_count].count = 0;
    host->chain.containers = 0;
    host->chain_count++;
    return LPN_OK;
}

int lpn_host_select(lpn_host *host, uint32_t chain)
{
    if (chain >= host->chain_count) {
        return LPN_E_CHAIN;
    }
    host->chain.containers = host->chains[chain].count;
    for (uint32_t i = 0; i < host->chain.containers; i++) {
        host->chain.container[i] = &host->container[host->chains[chain].first + i];
    }
    return LPN_OK;
}

int lpn_host_buffer(lpn_host *host, uint32_t size, uint32_t entries, uint32_t key_size, uint32_t timeout)
{
    if (host->buffers.count == MAX_BUFFERS || size > UINT16_MAX || entries > UINT16_MAX || key_size > UINT16_MAX) {
        return LPN_E_MEMORY;
    }
    lpn_buffer *b = &host->buffer[host->buffers.count];
    *b = (lpn_buffer){ .size = (uint16_t)size, .entries = (uint16_t)entries, .key_size = (uint16_t)key_size,
                       .timeout = timeout };
    size_t room = lpn_buffer_memory(b);
    b->memory = room == 0 ? NULL : get(host, room);
    if (b->memory == NULL) {
        return LPN_E_MEMORY;
    }
    host->buffers.count++;
    return LPN_OK;
}

int lpn_host_completed(const lpn_host *host, uint32_t *buffer, uint8_t *content, uint32_t *size,
                       const uint8_t **entry)
{
    if (!host->buffers.completed) {
        return 0;
    }
    *buffer = host->buffers.index;
    *size = host->buffers.size;
    *entry = host->buffers.content;
    memcpy(content, host->buffers.content, host->buffers.size);
    return 1;
}

void lpn_host_taken(lpn_host *host)
{
    host->buffers.completed = false;
}

void lpn_host_release(lpn_host *host, const uint8_t *entry)
{
    lpn_buffers_release(&host->buffers, entry);
}

void lpn_host_view(lpn_host *host, const uint8_t *packet, uint32_t size, const uint8_t *out, uint32_t now)
{
    host->view = (lpn_view){ packet, out, (uint16_t)size, LPN_OUT_SIZE, &host->buffers };
    host->buffers.completed = false;
    host->env.now = now;
}

int lpn_host_check(const lpn_host *host)
{
    return lpn_chain_check(&host->chain);
}

const lpn_chain *lpn_host_chain(const lpn_host *host)
{
    return &host->chain;
}

uint8_t *lpn_host_state(lpn_host *host)
{
    return host->chain.state;
}

int lpn_host_table(lpn_host *host, uint32_t fields, const uint16_t *bits, const uint8_t *match,
                   uint32_t action_data, uint32_t capacity)
{
    lpn_table_shape shape = { .fields = (uint8_t)fields, .action_data = (uint16_t)action_data,
                              .capacity = (uint16_t)capacity };
    if (host->env.table_count == MAX_TABLES || fields > LPN_MAX_KEY_FIELDS || action_data > UINT16_MAX
        || capacity > UINT16_MAX) {
        return LPN_E_TABLE;
    }
    for (uint32_t f = 0; f < fields; f++) {
        shape.field[f].bits = bits[f];
        shape.field[f].match = match[f];
    }
    size_t size = lpn_table_memory(&shape);
    uint8_t *memory = size == 0 ? NULL : get(host, size);
    if (memory == NULL) {
        return size == 0 ? LPN_E_TABLE : LPN_E_MEMORY;
    }
    return lpn_table_init(&host->table[host->env.table_count++], &shape, memory, size);
}

/* The set a change goes to. */
static lpn_table_set *changing(lpn_table *table)
{
    return &table->set[table->active == &table->set[0]];
}

void lpn_host_begin(lpn_host *host, uint32_t table, int copy)
{
    lpn_table_begin(&host->table[table], copy != 0);
}

int lpn_host_entry(lpn_host *host, uint32_t table, const uint8_t *a, const uint8_t *b, uint32_t action,
                   const uint8_t *data, uint32_t priority)
{
    if (action > UINT16_MAX || priority > UINT16_MAX) {
        return LPN_E_TABLE;
    }
    lpn_table *t = &host->table[table];
    return lpn_table_add(t, changing(t), a, b, (uint16_t)action, data, (uint16_t)priority);
}

int lpn_host_remove(lpn_host *host, uint32_t table, const uint8_t *a, const uint8_t *b, uint32_t priority)
{
    lpn_table *t = &host->table[table];
    return priority > UINT16_MAX ? LPN_E_TABLE : lpn_table_remove(t, changing(t), a, b, (uint16_t)priority);
}

void lpn_host_commit(lpn_host *host, uint32_t table)
{
    lpn_table_commit(&host->table[table], changing(&host->table[table]));
}

int lpn_host_offer(lpn_host *host, const char *name, uint32_t args, bool isr,
                   uint32_t (*call)(void *user, const uint32_t *args), void *user)
{
    if (host->offers == MAX_EXTERNS) {
        return LPN_E_MEMORY;
    }
    host->offered[host->offers++] = (lpn_extern){ name, (uint16_t)args, isr, call, user };
    return LPN_OK;
}

int lpn_host_bind(lpn_host *host, const char *name, size_t size, uint32_t args)
{
    if (host->env.extern_count == MAX_EXTERNS) {
        return LPN_E_MEMORY;
    }
    int error = lpn_extern_bind(&host->bound[host->env.extern_count], host->offered, host->offers, name, size, args);
    if (error == LPN_OK) {
        host->env.extern_count++;
    }
    return error;
}

void lpn_host_outside(lpn_host *host, int (*call)(void *user, uint32_t helper, const uint64_t *r, uint32_t *value))
{
    host->env.call = call;
}

const uint8_t *lpn_host_out(const lpn_host *host)
{
    return (const uint8_t *)host->chain.out;
}

const uint8_t *lpn_host_packet(const lpn_host *host)
{
    return host->packet;
}

const uint8_t *lpn_host_place(lpn_host *host, uint32_t bytes)
{
    uint8_t **const place = &host->placed[bytes & 3];
    if (*place == NULL) {           /* room for what it needs, and no more behind it */
        uint8_t *const room = get(host, LPN_MAX_PACKET + LPN_WINDOW + (bytes & 3));
        if (room == NULL) {
            return NULL;
        }
        *place = room + (bytes & 3);
    }
    host->packet = *place;
    return *place;
}

uint64_t lpn_host_call(void *host, uint32_t number, const uint64_t *r)
{
    uint32_t value;
    const lpn_host *h = host;
    int error = lpn_env_call(&h->env, &h->view, number, r, &value);
    return (uint64_t)(uint32_t)error << 32 | value;
}

void lpn_host_run(lpn_host *host, const uint8_t *frame, uint32_t size, const lpn_host_meta *meta,
                  uint8_t *packet, uint32_t *packet_size, lpn_host_result *result)
{
    lpn_meta m = { .port = meta->port, .iface = meta->iface, .lqi = meta->lqi, .time = meta->time,
                   .clock = meta->clock, .event = meta->event, .rssi = meta->rssi, .node_ext = meta->node_ext,
                   .node_short = (uint16_t)meta->node_short, .node_pan = (uint16_t)meta->node_pan };
    lpn_result r;
    host->env.now = meta->clock;
    host->traces = 0;
    if (size <= LPN_MAX_PACKET) {
        memcpy(host->packet, frame, size);
    }
    lpn_chain_run(&host->chain, host->packet, size, &m, &r);
    size = r.size;
    *packet_size = 0;
    if (r.rebuilt) {
        memcpy(packet, host->chain.out, r.out_len);
        memcpy(packet + r.out_len, host->packet + r.payload, size - r.payload);
        *packet_size = r.out_len + size - r.payload;
    } else if (size <= LPN_MAX_PACKET) {
        memcpy(packet, host->packet, size);
        *packet_size = size;
    }
    uint32_t port;
    memcpy(&port, (const uint8_t *)host->chain.ctx + LPN_CTX_PORT, sizeof port);
    *result = (lpn_host_result){ .verdict = r.verdict, .arg = r.arg, .insns = r.insns, .module = r.module,
                                 .pc = r.pc, .rebuilt = r.rebuilt, .out_len = r.out_len,
                                 .payload = r.payload, .port = port, .error = r.error };
}

static lpn_kept kept(const uint8_t *rows, uint32_t count, const uint8_t *memory, uint32_t size)
{
    return (lpn_kept){ rows, count, (uint8_t *)(uintptr_t)memory, size };
}

int lpn_host_carry(const uint8_t *to_rows, uint32_t to_count, uint8_t *to, uint32_t to_size,
                   const uint8_t *from_rows, uint32_t from_count, const uint8_t *from, uint32_t from_size, int mode,
                   uint32_t *at)
{
    lpn_kept mine = kept(to_rows, to_count, to, to_size), theirs = kept(from_rows, from_count, from, from_size);
    return lpn_state_carry(&mine, &theirs, (enum lpn_carry)mode, at);
}

int lpn_host_migrate(lpn_host *host, const uint8_t *image, size_t size, const uint8_t *rows, uint32_t count,
                     const uint8_t *from_rows, uint32_t from_count, const uint8_t *from, uint32_t from_size,
                     uint32_t *at)
{
    lpn_image parsed;
    *at = 0;
    int error = lpn_image_parse(&parsed, image, size);
    if (error != LPN_OK) {
        return error;
    }
    size_t room = lpn_container_room(&parsed);
    uint8_t *record = calloc(1, parsed.record_size + 1u), *memory = calloc(1, room);
    if (record == NULL || memory == NULL) {
        error = LPN_E_MEMORY;
    } else {
        lpn_container container;
        lpn_kept needs = kept(rows, count, record, parsed.record_size);
        lpn_kept old = kept(from_rows, from_count, from, from_size);
        error = lpn_container_init(&container, image, size, false, memory, &room, at);
        if (error == LPN_OK) {
            error = lpn_state_migrate(&host->chain, &container, &needs, &old, at);
        }
    }
    free(record);
    free(memory);
    return error;
}

uint32_t lpn_host_traces(lpn_host *host, uint64_t *pairs, uint32_t room)
{
    uint32_t n = host->traces < room ? host->traces : room;
    memcpy(pairs, host->trace, n * 2 * sizeof *pairs);
    host->traces = 0;
    return n;
}

int lpn_host_load(const uint8_t *text, size_t size, uint32_t *told)
{
    lpn_program program = { 0 };
    lpn_func func[LPN_MAX_FUNCS];
    const int error = lpn_load(&program, func, text, size, told);
    told[1] = program.marks;
    told[2] = program.funcs;
    for (uint32_t i = 0; i < program.funcs; i++) {
        told[3 + i] = (uint32_t)func[i].frame << 16 | func[i].entry;
    }
    return error;
}

void lpn_host_raw(const uint8_t *text, size_t size, const lpn_host_region *regions, uint32_t count,
                  const uint8_t *rodata, uint32_t rodata_size, uint8_t *data, uint32_t data_size, uint64_t r1,
                  uint64_t r2, uint32_t fuel, uint32_t modes, lpn_host *host,
                  lpn_host_raw_result *result)
{
    lpn_program program;
    lpn_func func[LPN_MAX_FUNCS];
    lpn_run run;
    *result = (lpn_host_raw_result){ 0 };
    result->error = lpn_load(&program, func, text, size, &result->pc);
    if (result->error != LPN_OK) {
        return;
    }
    if (count > LPN_MAX_REGIONS - LPN_FIRST_REGION) {
        result->error = LPN_E_MEMORY;
        return;
    }
    program.rodata = rodata;
    program.rodata_size = rodata_size;
    program.data = data;
    program.data_size = data_size;
    program.clean32 = (modes & 1) != 0;
    program.certified = (modes & 2) != 0;
    if (modes >> 16 != 0) {
        program.stack = (uint16_t)(modes >> 16);
    }
    static uint8_t plan[MAX_PLAN];
    if (program.clean32 && program.count <= MAX_PLAN) {
        lpn_plan32(&program, plan, (modes & 4) == 0);
        program.plan = plan;
    }
    for (uint32_t i = 0; i < count; i++) {
        run.region[LPN_FIRST_REGION + i] =
            (lpn_region){ (uintptr_t)regions[i].start, regions[i].size, regions[i].access };
    }
    run.regions = LPN_FIRST_REGION + count;
    run.env = host == NULL ? NULL : &host->env;
    run.view = (lpn_view){ 0 };
    run.fuel = fuel;
    result->error = lpn_execute(&run, &program, r1, r2);
    result->r0 = run.r0;
    result->address = run.address;
    result->insns = run.insns;
    result->pc = run.pc;
}
