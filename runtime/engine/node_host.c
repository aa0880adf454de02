/* SPDX-License-Identifier: LGPL-2.1-only */
#include "node_host.h"

#include <stdlib.h>
#include <string.h>

#include "lpn_helpers.h"
#include "lpn_node.h"
#include "lpn_pack.h"

#define MAX_CONTAINERS 64u

/* A set and all its memory; state, tables and the thread's record are `memory`'s. */
typedef struct {
    lpn_set set;
    lpn_hook hook[LPN_MAX_HOOKS];
    const lpn_container *chain[LPN_MAX_HOOKS][LPN_MAX_CHAIN];
    lpn_container container[MAX_CONTAINERS];
    uint8_t *bytes[MAX_CONTAINERS], *data[MAX_CONTAINERS];
    uint32_t containers;
    lpn_migration migration[MAX_CONTAINERS];
    uint8_t *rows[MAX_CONTAINERS + 1];  /* of each migration, and the set's own */
    uint8_t *record;                /* of the interrupts' chains */
    lpn_host *memory;
    uint8_t *pack, *area;           /* of a set that was made of a pack, which has all the rest in `packed` */
    lpn_packed packed;
} hosted_set;

/* Packets of events, until they are released; in a list. */
typedef struct held {
    struct held *next;
    uint8_t bytes[];
} held;

struct lpn_node_host {
    lpn_node node;
    lpn_work thread, isr;
    lpn_platform platform;
    lpn_node_host_platform calls;
    hosted_set *now, *next;
    held *packets;
    uint32_t holding;
};

static void free_set(hosted_set *set)
{
    if (set != NULL) {
        for (uint32_t i = 0; i < set->containers; i++) {
            free(set->bytes[i]);
            free(set->data[i]);
        }
        for (uint32_t i = 0; i < set->set.migrations; i++) {
            free(set->rows[i]);
            free(set->migration[i].needs.memory);
        }
        free(set->rows[MAX_CONTAINERS]);
        free(set->record);
        free(set->set.drop);
        free(set->pack);
        free(set->area);
        free(set);
    }
}

/* ------------------------------------------------------------------------------------------- the platform */

static uint32_t host_now(void *user)
{
    lpn_node_host *host = user;
    return host->calls.now(host->calls.user);
}

static void host_set_timer(void *user, uint32_t at)
{
    lpn_node_host *host = user;
    host->calls.set_timer(host->calls.user, 1, at);
}

static void host_stop_timer(void *user)
{
    lpn_node_host *host = user;
    host->calls.set_timer(host->calls.user, 0, 0);
}

static void host_radio(void *user, bool on)
{
    lpn_node_host *host = user;
    host->calls.radio(host->calls.user, on ? LPN_HELPER_RADIO_ON : LPN_HELPER_RADIO_OFF, 0);
}

static uint32_t host_cca(void *user)
{
    lpn_node_host *host = user;
    return host->calls.radio(host->calls.user, LPN_HELPER_RADIO_CCA, 0);
}

static void host_channel(void *user, uint32_t number)
{
    lpn_node_host *host = user;
    host->calls.radio(host->calls.user, LPN_HELPER_RADIO_CHANNEL, number);
}

static void host_power(void *user, int32_t dbm)
{
    lpn_node_host *host = user;
    host->calls.radio(host->calls.user, LPN_HELPER_RADIO_POWER, (uint32_t)dbm);
}

/* The two pieces in one; `out` has room for LPN_MAX_PACKET, which no chain's packet exceeds. */
static uint32_t join(uint8_t *out, const lpn_frame *frame)
{
    memcpy(out, frame->head, frame->head_size);
    memcpy(out + frame->head_size, frame->tail, frame->tail_size);
    return frame->head_size + frame->tail_size;
}

static uint32_t host_send(void *user, enum lpn_target to, const lpn_frame *frame)
{
    lpn_node_host *host = user;
    uint8_t whole[LPN_MAX_PACKET];
    uint32_t size = join(whole, frame);
    return host->calls.send(host->calls.user, to, whole, size);
}

static uint32_t index_of(const lpn_node_host *host, const lpn_hook *hook)
{
    return (uint32_t)(hook - host->node.set->hook);
}

static void host_outcome(void *user, const lpn_outcome *o)
{
    lpn_node_host *host = user;
    uint8_t whole[LPN_MAX_PACKET];
    uint32_t size = o->packet.head_size + o->packet.tail_size <= LPN_MAX_PACKET ? join(whole, &o->packet) : 0;
    const lpn_node_host_run run = {
        .hook = index_of(host, o->hook), .event = o->event->event,
        .selector = { o->event->selector[0], o->event->selector[1] }, .time = o->event->time, .start = o->start,
        .end = o->end, .verdict = o->result->verdict, .arg = o->result->arg, .insns = o->result->insns,
        .module = o->result->module, .pc = o->result->pc, .payload = o->payload, .rebuilt = o->result->rebuilt,
        .unsent = o->unsent, .error = o->result->error };
    host->calls.ran(host->calls.user, &run, whole, size);
}

static void host_overrun(void *user, const lpn_hook *hook)
{
    lpn_node_host *host = user;
    host->calls.overrun(host->calls.user, index_of(host, hook));
}

static void host_timer(void *user, const lpn_hook *hook, uint32_t delay)
{
    lpn_node_host *host = user;
    host->calls.timer(host->calls.user, index_of(host, hook), delay);
}

static void host_trace(void *user, uint64_t a, uint64_t b)
{
    lpn_node_host *host = user;
    host->calls.trace(host->calls.user, a, b);
}

/* Free the packet; one that is not held is a bug in the node, which a test sees as a crash. */
static void host_release(void *user, uint8_t *packet)
{
    lpn_node_host *host = user;
    held **link = &host->packets;
    while (*link == NULL || (*link)->bytes != packet) {
        if (*link == NULL) {
            abort();
        }
        link = &(*link)->next;
    }
    held *found = *link;
    *link = found->next;
    free(found);
    host->holding--;
}

/* ------------------------------------------------------------------------------------------- the node */

lpn_node_host *lpn_node_host_new(const lpn_node_host_platform *calls, uint32_t fuel)
{
    lpn_node_host *host = calloc(1, sizeof *host);
    if (host == NULL) {
        return NULL;
    }
    host->calls = *calls;
    host->platform = (lpn_platform){
        .user = host, .now = host_now, .set_timer = host_set_timer, .stop_timer = host_stop_timer,
        .radio = host_radio, .cca = host_cca, .channel = host_channel, .power = host_power, .send = host_send,
        .outcome = host_outcome, .overrun = host_overrun, .timer = host_timer, .release = host_release, .trace = host_trace };
    host->thread.chain.fuel = host->isr.chain.fuel = fuel;
    host->node.platform = &host->platform;
    host->node.thread = &host->thread;
    host->node.isr = &host->isr;
    return host;
}

void lpn_node_host_free(lpn_node_host *host)
{
    if (host != NULL) {
        while (host->packets != NULL) {
            host_release(host, host->packets->bytes);
        }
        free_set(host->now);
        free_set(host->next);
        free(host);
    }
}

void lpn_node_host_address(lpn_node_host *host, uint64_t ext, uint32_t short_address, uint32_t pan)
{
    host->node.ext = ext;
    host->node.short_address = (uint16_t)short_address;
    host->node.pan = (uint16_t)pan;
}

void lpn_node_host_load(lpn_node_host *host, uint32_t load)
{
    host->node.load = load;
}

int lpn_node_host_begin(lpn_node_host *host, lpn_host *memory)
{
    free_set(host->next);
    host->next = calloc(1, sizeof *host->next);
    if (host->next == NULL) {
        return LPN_E_MEMORY;
    }
    const lpn_chain *chain = lpn_host_chain(memory);
    hosted_set *set = host->next;
    set->memory = memory;
    set->set.hook = set->hook;
    set->set.state = chain->state;
    set->set.state_size = chain->state_size;
    set->set.tables = chain->env->tables;
    set->set.table_count = chain->env->table_count;
    set->set.buffers = chain->buffers;
    set->set.externs = chain->env->externs;
    set->set.extern_count = chain->env->extern_count;
    set->record = calloc(1, chain->record_size ? chain->record_size : 1);
    return set->record == NULL ? LPN_E_MEMORY : LPN_OK;
}

int lpn_node_host_container(lpn_node_host *host, const uint8_t *image, size_t size, uint32_t *pc)
{
    hosted_set *set = host->next;
    uint32_t n = set->containers;
    lpn_image parsed;
    *pc = 0;
    int error = n == MAX_CONTAINERS ? LPN_E_MEMORY : lpn_image_parse(&parsed, image, size);
    if (error != LPN_OK) {
        return error;
    }
    set->bytes[n] = malloc(size);
    size_t room = lpn_container_room(&parsed);
    set->data[n] = calloc(1, room);
    set->containers++;
    if (set->bytes[n] == NULL || set->data[n] == NULL) {
        return LPN_E_MEMORY;
    }
    memcpy(set->bytes[n], image, size);
    error = lpn_container_init(&set->container[n], set->bytes[n], size, false, set->data[n], &room, pc);
    if (error != LPN_OK) {
        return error;
    }
    uint64_t work[512];
    return lpn_container_certify(&set->container[n], LPN_POLICY_TRUST_CHECKER, work, sizeof work, pc);
}

int lpn_node_host_hook(lpn_node_host *host, uint32_t event, uint32_t context, const uint32_t *selector,
                       uint32_t selectors, const uint32_t *chain, uint32_t containers, uint32_t within,
                       uint32_t period, uint32_t offset, uint32_t jitter)
{
    hosted_set *set = host->next;
    uint32_t n = set->set.hooks;
    if (n == LPN_MAX_HOOKS || event >= LPN_EVENT_COUNT || context > LPN_NET || selectors > LPN_MAX_SELECTORS
        || containers > LPN_MAX_CHAIN) {
        return LPN_E_HOOK;
    }
    lpn_hook *hook = &set->hook[n];
    *hook = (lpn_hook){ .chain = set->chain[n], .containers = (uint8_t)containers, .event = (uint8_t)event,
                        .context = (uint8_t)context, .selectors = (uint8_t)selectors, .within = within,
                        .period = period, .offset = offset, .jitter = jitter };
    for (uint32_t i = 0; i < selectors; i++) {
        hook->selector[i] = selector[i];
    }
    for (uint32_t i = 0; i < containers; i++) {
        if (chain[i] >= set->containers) {
            return LPN_E_HOOK;
        }
        set->chain[n][i] = &set->container[chain[i]];
    }
    set->set.hooks++;
    return LPN_OK;
}

/* A copy, never NULL for 0 bytes. */
static uint8_t *copied(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (copy != NULL) {
        memcpy(copy, bytes, size);
    }
    return copy;
}

enum { ROW = 12 };                      /* bytes of a row, state.c */

int lpn_node_host_kept(lpn_node_host *host, uint32_t version, const uint8_t *rows, uint32_t count)
{
    hosted_set *set = host->next;
    free(set->rows[MAX_CONTAINERS]);
    set->set.kept = set->rows[MAX_CONTAINERS] = copied(rows, (size_t)ROW * count);
    set->set.kept_count = count;
    set->set.version = version;
    return set->set.kept == NULL ? LPN_E_MEMORY : LPN_OK;
}

int lpn_node_host_migration(lpn_node_host *host, uint32_t version, uint32_t container, const uint8_t *rows, uint32_t count,
                            uint32_t size)
{
    hosted_set *set = host->next;
    uint32_t n = set->set.migrations;
    if (n == MAX_CONTAINERS || container >= set->containers) {
        return LPN_E_MEMORY;
    }
    set->rows[n] = copied(rows, (size_t)ROW * count);
    set->migration[n] = (lpn_migration){ version, &set->container[container],
                                         { set->rows[n], count, calloc(1, size ? size : 1), size } };
    set->set.migration = set->migration;
    set->set.migrations++;
    return set->rows[n] == NULL || set->migration[n].needs.memory == NULL ? LPN_E_MEMORY : LPN_OK;
}

/* Put the next set in place, with these records. */
static int swap_in(lpn_node_host *host, lpn_set *next, uint8_t *record, uint8_t *isr_record, uint32_t size, uint32_t *hook)
{
    hosted_set *set = host->next;
    uint8_t *records[2] = { host->thread.chain.record, host->isr.chain.record };
    const uint32_t record_size = host->thread.chain.record_size;
    host->thread.chain.record = record;
    host->isr.chain.record = isr_record;
    host->thread.chain.record_size = host->isr.chain.record_size = size;
    int error = lpn_node_check(&host->node, next, hook);
    if (error == LPN_OK) {
        *hook = LPN_MAX_HOOKS;          /* no hook's fault from here on */
        error = lpn_node_swap(&host->node, next);
    }
    if (error != LPN_OK) {
        host->thread.chain.record = records[0];
        host->isr.chain.record = records[1];
        host->thread.chain.record_size = host->isr.chain.record_size = record_size;
        return error;
    }
    free_set(host->now);
    host->now = set;
    host->next = NULL;
    return LPN_OK;
}

int lpn_node_host_commit(lpn_node_host *host, uint32_t drops, uint32_t *hook)
{
    hosted_set *set = host->next;
    const lpn_chain *memory = lpn_host_chain(set->memory);
    set->set.drop = calloc(drops ? drops : 1, sizeof *set->set.drop);
    set->set.drops = drops;
    const int error = set->set.drop == NULL ? LPN_E_MEMORY : lpn_node_admit(&host->node, &set->set, hook);
    return error != LPN_OK ? error : swap_in(host, &set->set, memory->record, set->record, memory->record_size, hook);
}

int lpn_node_host_pack(lpn_node_host *host, const uint8_t *bytes, size_t size, size_t memory, uint64_t without,
                       uint32_t certified, lpn_node_host_fault *fault)
{
    lpn_pack pack;
    lpn_pack_fault found;
    static const lpn_extern none[1];
    const lpn_pack_wish wish = { .offered = none, .without = without, .certify = certified == 2 ? NULL : lpn_container_certify,
                                 .policy = certified ? LPN_POLICY_REQUIRE : LPN_POLICY_TRUST_CHECKER };
    free_set(host->next);
    host->next = calloc(1, sizeof *host->next);
    if (host->next == NULL || (host->next->pack = malloc(size ? size : 1)) == NULL
        || (host->next->area = malloc(memory ? memory : 1)) == NULL) {
        return LPN_E_MEMORY;
    }
    memcpy(host->next->pack, bytes, size);
    memset(host->next->area, 0xa5, memory);
    lpn_packed *packed = &host->next->packed;
    int error = lpn_pack_parse(&pack, host->next->pack, size, &found);
    if (error == LPN_OK) {
        error = lpn_pack_build(&pack, &wish, host->next->area, memory, packed, &found);
    }
    fault->used = packed->used;
    if (error == LPN_OK) {
        found = (lpn_pack_fault){ "hook", 0, 0 };
        error = wish.certify != NULL ? lpn_node_admit(&host->node, &packed->set, &found.index) : LPN_OK;
    }
    if (error == LPN_OK) {
        error = swap_in(host, &packed->set, packed->record, packed->isr_record, packed->record_size, &found.index);
    }
    fault->part = found.part;
    fault->index = found.index;
    fault->pc = found.pc;
    return error;
}

/* A copy of a packet with room for the window, until `release`. */
static uint8_t *hold(lpn_node_host *host, const uint8_t *packet, uint32_t size)
{
    held *copy = malloc(sizeof *copy + size + LPN_WINDOW);
    if (copy == NULL) {
        abort();
    }
    copy->next = host->packets;
    host->packets = copy;
    host->holding++;
    memcpy(copy->bytes, packet, size);
    return copy->bytes;
}

uint32_t lpn_node_host_event(lpn_node_host *host, uint32_t event, uint32_t first, uint32_t second, uint32_t time,
                             int32_t rssi, uint32_t lqi, uint32_t iface, const uint8_t *packet, uint32_t size)
{
    lpn_event e = { .event = (uint8_t)event, .selector = { first, second }, .time = time, .rssi = rssi, .lqi = lqi,
                    .iface = iface };
    if (packet != NULL) {
        e.packet = hold(host, packet, size);
        e.size = size;
    }
    return lpn_node_event(&host->node, &e);
}

void lpn_node_host_settle(lpn_node_host *host)
{
    lpn_node_settle(&host->node);
}

uint32_t lpn_node_host_poll(lpn_node_host *host)
{
    return lpn_node_poll(&host->node);
}

uint32_t lpn_node_host_insns(const lpn_node_host *host)
{
    return lpn_node_insns(&host->node);
}

void lpn_node_host_stats_of(const lpn_node_host *host, uint32_t hook, lpn_node_host_stats *stats)
{
    const lpn_hook *h = &host->node.set->hook[hook];
    const lpn_hook_stats *s = &h->stats;
    *stats = (lpn_node_host_stats){
        .insns = s->insns, .events = s->events, .runs = s->runs, .overruns = s->overruns, .moved = s->moved,
        .drops = s->drops, .errors = s->errors, .misses = s->misses, .insns_worst = s->insns_worst,
        .time_worst = s->time_worst, .wait_worst = s->wait_worst, .pending = h->pending,
        .armed = h->armed || h->requested, .due = h->due };
}

void lpn_node_host_counts(const lpn_node_host *host, uint32_t counts[4])
{
    counts[0] = host->node.ignored;
    counts[1] = host->node.lost;
    counts[2] = host->node.busy;
    counts[3] = host->holding;
}

uint32_t lpn_node_host_drop(const lpn_node_host *host, uint32_t reason)
{
    const lpn_set *set = host->node.set;
    return set != NULL && reason < set->drops ? set->drop[reason] : 0;
}
