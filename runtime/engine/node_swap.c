/* SPDX-License-Identifier: LGPL-2.1-only */
/* A set takes another's place: what goes on, and what state it begins with. */
#include "lpn_options.h"
#include "node.h"

static bool same_bytes(const uint8_t *a, uint32_t a_size, const uint8_t *b, uint32_t b_size)
{
    for (uint32_t i = 0; a_size == b_size && i < a_size; i++) {
        if (a[i] != b[i]) {
            return false;
        }
    }
    return a_size == b_size;
}

/* Do both wait for the same? Handlers of a timing block are told apart by their names. */
static bool equal(const lpn_hook *a, const lpn_hook *b)
{
    lpn_image x, y;
    lpn_image_view(&x, a->chain[0]->image);
    lpn_image_view(&y, b->chain[0]->image);
    if (a->event != b->event || a->context != b->context || a->selectors != b->selectors
        || a->period != b->period || a->offset != b->offset || lpn_hook_is_timing(a) != lpn_hook_is_timing(b)
        || (lpn_hook_is_timing(a) && !same_bytes(x.name, x.name_size, y.name, y.name_size))) {
        return false;
    }
    for (unsigned i = 0; i < a->selectors; i++) {
        if (a->selector[i] != b->selector[i]) {
            return false;
        }
    }
    return true;
}

/* The flags of all its containers. */
static unsigned flags_of(const lpn_hook *hook)
{
    unsigned flags = 0;
    for (uint32_t i = 0; i < hook->containers; i++) {
        flags |= lpn_get16(hook->chain[i]->image + LPN_IMAGE_FLAGS);
    }
    return flags;
}

/* Slots of one slotframe keep one beat, those too that only the new set has. */
static void keep_beat(const lpn_hook *old, lpn_hook *new, uint32_t now)
{
    const uint32_t period = new->period;
    uint32_t until = old->due - now;
    while ((int32_t)until <= 0) {
        until += period;
    }
    until += new->offset - old->offset + (new->offset < old->offset ? period : 0);
    new->due = now + (until > period ? until - period : until);
}

/* A set that promises how long the radio is on finds it off, unless what goes on will switch it off. `was`: the flags of all
 * hooks of the set before, `is`: of this one. An `after` that was to switch the radio and does not any more (`lost`) must not leave it on, nor off
 * for ever where nobody switches it. */
static void ask_radio(lpn_node *node, unsigned was, unsigned is, bool lost, bool quieted)
{
    if ((is & LPN_FLAG_BUDGET) != 0 ? !quieted
                                    : (was & LPN_FLAG_RADIO) != 0 && (lost || (is & LPN_FLAG_RADIO) == 0)) {
        node->radio = (is & (LPN_FLAG_BUDGET | LPN_FLAG_RADIO)) != 0 ? LPN_RADIO_OFF : LPN_RADIO_ON;
    }
}

/* What goes on from the old set to the new one, whose hooks have the flags `is`: the beat of timers, and what is pending. */
static void hand_over(lpn_node *node, lpn_set *from, lpn_set *to, unsigned is, uint32_t now)
{
    unsigned was = 0;
    bool lost = false, quieted = false;
    for (uint32_t k = 0; k < to->hooks; k++) {
        lpn_hook *new = &to->hook[k];
        for (uint32_t i = 0; !LPN_ONE_SET && i < from->hooks && new->event == LPN_SLOT; i++) {
            if (from->hook[i].event == LPN_SLOT && from->hook[i].period == new->period) {
                keep_beat(&from->hook[i], new, now);
            }
        }
    }
    for (uint32_t i = 0; i < from->hooks; i++) {
        lpn_hook *old = &from->hook[i], *new = NULL;
        for (uint32_t k = 0; !LPN_ONE_SET && k < to->hooks && new == NULL; k++) {
            new = equal(old, &to->hook[k]) ? &to->hook[k] : NULL;
        }
        const unsigned flags = flags_of(old), goes_on = new != NULL ? flags_of(new) : 0;
        was |= flags;
        if (old->event == LPN_AFTER && (old->armed || old->requested || old->pending)) {
            lost |= (flags & ~goes_on & LPN_FLAG_RADIO) != 0;
            quieted |= (goes_on & LPN_FLAG_QUIETS) != 0;
        }
        if (new == NULL) {
            continue;
        }
        new->armed = old->armed;
        new->due = old->due;
        new->requested = old->requested;
        new->requested_at = old->requested_at;
        new->delay = old->delay;
        if (old->pending && lpn_node_mark(node, new, &old->got)) {
            old->pending = 0;
            old->stats.moved++;
        }
    }
    ask_radio(node, was, is, lost, quieted);
    for (uint32_t i = 0; i < from->hooks; i++) {
        lpn_hook *old = &from->hook[i];
        if (old->pending) {
            old->pending = 0;
            old->stats.moved++;
            node->lost++;
            if (!lpn_node_waits(from, old->got.packet) && !lpn_node_waits(to, old->got.packet)) {
                lpn_node_free(node, old->got.packet);
            }
        }
    }
}

/* The new set's state: what is persistent in the old one's, then what migrations make of it. */
static int carry(lpn_node *node, const lpn_set *from, const lpn_set *to)
{
    const lpn_kept mine = { to->kept, to->kept_count, to->state, to->state_size };
    const lpn_kept theirs = { from->kept, from->kept_count, from->state, from->state_size };
    enum lpn_carry mode = LPN_CARRY_NEW;
    uint32_t at;
    for (uint32_t i = 0; i < to->migrations; i++) {
        mode = to->migration[i].version == from->version ? LPN_CARRY_SAME : mode;
    }
    int error = lpn_state_carry(&mine, &theirs, mode, &at);
    for (uint32_t i = 0; i < to->migrations && error == LPN_OK; i++) {
        const lpn_migration *migration = &to->migration[i];
        if (migration->version == from->version) {
            lpn_chain *chain = &node->thread->chain;
            chain->state = to->state;
            chain->state_size = to->state_size;
            error = lpn_state_migrate(chain, migration->container, &migration->needs, &theirs, &at);
            chain->run.insns = 0;   /* they are no hook's: `lpn_node_insns` */
        }
    }
    return error;
}

int lpn_node_swap(lpn_node *node, lpn_set *set)
{
    lpn_set *old = node->set;
    const uint32_t now = now_of(node);
    int error = old == NULL || LPN_ONE_SET ? LPN_OK : carry(node, old, set);
    if (error != LPN_OK) {
        return error;
    }
    unsigned flags = 0;
    for (uint32_t i = 0; i < set->hooks; i++) {
        lpn_hook *hook = &set->hook[i];
        flags |= flags_of(hook);
        hook->stats = (lpn_hook_stats){ 0 };
        hook->pending = hook->requested = 0;
        hook->armed = (uint8_t)is_periodic(hook);
        hook->due = now + hook->offset;
    }
    node->env = (lpn_env){ .tables = set->tables, .table_count = set->table_count,
                           .externs = set->externs, .extern_count = set->extern_count, .clock = lpn_node_clock,
                           .trace = lpn_node_trace, .call = lpn_node_call, .user = node };
    __atomic_store_n(&node->set, set, __ATOMIC_RELEASE);
    if (old != NULL) {
        hand_over(node, old, set, flags, now);
    } else {
        ask_radio(node, 0, flags, false, false);
    }
    lpn_node_set_timer(node, now);
    return LPN_OK;
}
