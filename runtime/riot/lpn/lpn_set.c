/*
 * SPDX-FileCopyrightText: 2026 The LPN authors
 * SPDX-License-Identifier: LGPL-2.1-only
 */

/**
 * @ingroup     pkg_lpn
 * @{
 *
 * @file
 * @brief       A set is put in place of the one that runs
 *
 * @}
 */

#include <errno.h>
#include <string.h>

#include "irq.h"

#include "lpn_internal.h"

static bool _gives(const lpn_set *set, lpn_status_t *status)
{
    for (uint32_t i = 0; i < set->hooks; i++) {
        if (!lpn_radio_gives(&set->hook[i])) {
            status->error = -ENOTSUP;
            status->event = lpn_event_name(set->hook[i].event);
            status->hook = i;
            return false;
        }
    }
    return true;
}

/* In the thread. */
static int _swap(lpn_packed *packed, bool same_state, lpn_status_t *status)
{
    lpn_chain *thread = &lpn_the_node.thread->chain;
    lpn_work *const isr_work = lpn_the_node.isr;
    uint8_t *const record = thread->record;
    const uint32_t record_size = thread->record_size;
    const lpn_set *old = lpn_the_node.set;
    uint32_t hook = 0;
    if (!_gives(&packed->set, status)) {
        return status->error;
    }
    /* Interrupts with hooks stay out: they must find one set or the other. */
    unsigned state = irq_disable();
    thread->record = packed->record;
    thread->record_size = packed->record_size;
    if (packed->isr != NULL) {
        packed->isr->chain.record = packed->isr_record;
        packed->isr->chain.record_size = packed->record_size;
        packed->isr->chain.fuel = CONFIG_LPN_FUEL;
    }
    lpn_the_node.isr = packed->isr;
    int error = lpn_node_check(&lpn_the_node, &packed->set, &hook);
    if (error == LPN_OK) {
        if (same_state && (old != NULL) && (old->state_size == packed->set.state_size)) {
            memcpy(packed->set.state, old->state, old->state_size);
        }
        hook = LPN_PACK_WHOLE;
        error = lpn_node_swap(&lpn_the_node, &packed->set);
    }
    if (error != LPN_OK) {
        thread->record = record;
        thread->record_size = record_size;
        lpn_the_node.isr = isr_work;
        status->error = error;
        status->fault = (lpn_pack_fault){ (hook == LPN_PACK_WHOLE) ? "state" : "hook", hook, 0 };
    }
    irq_restore(state);
    if (error == LPN_OK) {
        lpn_counts.swaps++;
        lpn_trace_clear();
#if IS_USED(MODULE_LPN_NET)
        lpn_net_follow(&packed->set);
#endif
        lpn_poll_soon();
    }
    return error;
}

typedef struct {
    lpn_packed *packed;
    bool same_state;
    lpn_status_t *status;
} _swap_t;

static int _do_swap(void *arg)
{
    const _swap_t *swap = arg;
    return _swap(swap->packed, swap->same_state, swap->status);
}

int lpn_set_run(lpn_packed *packed, bool same_state, lpn_status_t *status)
{
    _swap_t swap = { packed, same_state, status };
    return lpn_call(_do_swap, &swap);
}

int lpn_set_stop(lpn_status_t *status)
{
    static lpn_packed nothing;
    static uint64_t no_memory[1];
    nothing = (lpn_packed){ .record = (uint8_t *)no_memory, .set.state = (uint8_t *)no_memory,
                            .set.version = UINT32_MAX };    /* no program's: nothing migrates from it */
    return lpn_set_run(&nothing, false, status);
}

int lpn_ended(lpn_status_t *status, int error)
{
    lpn_counts.refused += (error != LPN_OK);
    status->error = error;
    return error;
}
