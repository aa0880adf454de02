/*
 * SPDX-FileCopyrightText: 2026 The LPN authors
 * SPDX-License-Identifier: LGPL-2.1-only
 */

/**
 * @ingroup     pkg_lpn
 * @{
 *
 * @file
 * @brief       Packets of other threads: they wait in a queue for the interface's thread
 *
 * @}
 */

#include <errno.h>
#include <string.h>

#include "iolist.h"
#include "irq.h"

#include "lpn_internal.h"

typedef struct {
    event_t super;
    volatile bool taken;
    lpn_event event;
    uint8_t bytes[CONFIG_LPN_QUEUE_SIZE + LPN_WINDOW];
} _item_t;

static _item_t _queue[CONFIG_LPN_QUEUE];

/* In the thread: what another one said. */
static void _arrived(event_t *event)
{
    _item_t *item = container_of(event, _item_t, super);
    if (lpn_raise(&item->event) & LPN_POLL) {
        lpn_poll_soon();
    }
}

void lpn_queue_free(const uint8_t *packet)
{
    for (unsigned i = 0; i < CONFIG_LPN_QUEUE; i++) {
        if (packet == _queue[i].bytes) {
            _queue[i].taken = false;
        }
    }
}

static _item_t *_take_item(void)
{
    _item_t *found = NULL;
    unsigned state = irq_disable();
    for (unsigned i = 0; (i < CONFIG_LPN_QUEUE) && (found == NULL); i++) {
        if (!_queue[i].taken) {
            _queue[i].taken = true;
            found = &_queue[i];
        }
    }
    irq_restore(state);
    return found;
}

int lpn_enqueue(uint8_t event, uint32_t first, uint32_t second, const iolist_t *packet)
{
    if (iolist_size(packet) > CONFIG_LPN_QUEUE_SIZE) {
        return -EMSGSIZE;
    }
    _item_t *item = (lpn_netif != NULL) ? _take_item() : NULL;
    if (item == NULL) {
        lpn_counts.queue_full++;
        return -ENOBUFS;
    }
    size_t size = 0;
    for (; packet != NULL; packet = packet->iol_next) {
        memcpy(item->bytes + size, packet->iol_base, packet->iol_len);
        size += packet->iol_len;
    }
    item->super = (event_t){ .handler = _arrived };
    item->event = (lpn_event){ .event = event, .selector = { first, second }, .packet = item->bytes,
                               .size = (uint32_t)size, .time = lpn_now(), .iface = lpn_netif->pid };
    lpn_post(&item->super);
    return 0;
}

static bool _wanted(uint8_t event, uint32_t first)
{
    unsigned state = irq_disable();
    const lpn_set *set = lpn_the_node.set;
    bool found = false;
    for (uint32_t i = 0; (set != NULL) && (i < set->hooks); i++) {
        const lpn_hook *hook = &set->hook[i];
        found |= (hook->event == event) && ((hook->selectors == 0) || (hook->selector[0] == first));
    }
    irq_restore(state);
    return found;
}

int lpn_app_send(uint32_t port, const void *data, size_t size)
{
    const iolist_t packet = { .iol_base = (void *)data, .iol_len = size };
    return _wanted(LPN_APP_TX, port) ? lpn_enqueue(LPN_APP_TX, port, 0, &packet) : -ENOENT;
}
