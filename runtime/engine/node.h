/* SPDX-License-Identifier: LGPL-2.1-only */
/* What node.c, node_call.c, node_check.c and node_swap.c share. */
#ifndef LPN_NODE_INSIDE_H
#define LPN_NODE_INSIDE_H

#include "bytes.h"
#include "lpn_node.h"

static inline uint32_t now_of(const lpn_node *node)
{
    return node->platform->now(node->platform->user);
}

static inline bool is_periodic(const lpn_hook *hook)
{
    return hook->event == LPN_EVERY || hook->event == LPN_SLOT;
}

static inline bool is_pending(const lpn_hook *hook)
{
    return __atomic_load_n(&hook->pending, __ATOMIC_ACQUIRE) != 0;
}

/* Is it a handler of a timing block? */
bool lpn_hook_is_timing(const lpn_hook *hook);

/* Let the hook wait for its run, unless it does already. */
bool lpn_node_mark(const lpn_node *node, lpn_hook *hook, const lpn_event *event);

/* Does a hook wait with this packet? */
bool lpn_node_waits(const lpn_set *set, const uint8_t *packet);

/* Nobody needs the packet any more. It may be NULL. */
void lpn_node_free(const lpn_node *node, uint8_t *packet);

/* The one hardware timer follows the first of the hooks' timers. */
void lpn_node_set_timer(lpn_node *node, uint32_t now);

/* What containers reach outside themselves, of lpn_env; `user`: the node. */
uint32_t lpn_node_clock(void *user);
void lpn_node_trace(void *user, uint64_t a, uint64_t b);
int lpn_node_call(void *user, uint32_t number, const uint64_t *r, uint32_t *value);

#endif
