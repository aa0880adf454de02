/* SPDX-License-Identifier: LGPL-2.1-only */
/* A set is checked before it runs: that its hooks are some, and that those of a pack leave others their time. */
#include "lpn_helpers.h"
#include "node.h"

_Static_assert(LPN_HELPER_MAX < 32 && (LPN_HELPERS_NOT_IN_ISR & 1) == 0, "LPN_HELPERS_NOT_IN_ISR");

#define MOST_INSNS (UINT32_MAX / LPN_LOAD_US)           /* what can be counted; a cost is an octet, so no sum of them is too large */

/* ------------------------------------------------------------------------------------------- what it asks of the node */

/* The helper that the instruction in slot `i` calls, 0: none. The number stands in the instruction. */
static uint32_t called(const lpn_program *program, uint32_t i)
{
    const uint8_t *p = program->text + 8 * (size_t)i;
    return p[0] == 0x85 && p[1] == 0 ? lpn_get32(p + 4) : 0;
}

/* A number of a certificate, in any of the forms that the checker takes. */
static uint32_t varint(const uint8_t **at, const uint8_t *end)
{
    uint32_t value = 0;
    for (unsigned bit = 0; *at != end && bit < 35; bit += 7) {
        const uint32_t b = *(*at)++;
        value |= (b & 127) << bit;
        if (b < 128) {
            break;
        }
    }
    return value;
}

/* The most instructions of a run, as the certificate claims that was checked: its first number (docs/certificate.md). */
static uint32_t claimed(const uint8_t *image)
{
    lpn_image view;
    lpn_image_view(&view, image);
    const uint8_t *at = view.certificate, *const end = at + view.certificate_size;
    return varint(&at, end) > 16 ? varint(&at, end) : 0;
}

/* What a program's calls of helpers take, in instructions, if each is made once. */
static uint32_t helpers_of(const lpn_program *program)
{
    static const uint8_t costs[] = { LPN_HELPER_COSTS };
    uint32_t sum = 0;
    for (uint32_t i = 0; i < program->count; i++) {
        const uint32_t number = called(program, i);
        sum += number <= LPN_HELPER_MAX ? costs[number] : 0u;
    }
    return LPN_COST_INSNS * sum;
}

/* What a hook of a clock takes of LPN_LOAD_US at most, in instructions, rounded up; UINT32_MAX: more than any node has. */
static uint32_t load_of(const lpn_hook *hook, uint32_t fuel)
{
    const lpn_container *container = hook->chain[0];
    const uint32_t most = container->program.certified ? claimed(container->image) : fuel, run = most < fuel ? most : fuel;
    if (run > MOST_INSNS || hook->period == 0) {
        return UINT32_MAX;
    }
    const uint32_t all = run + helpers_of(&container->program) + LPN_RUN_INSNS;
    return all > MOST_INSNS ? UINT32_MAX : (all * LPN_LOAD_US - 1) / hook->period + 1;
}

/* Does it call what is for threads only? */
static bool calls_waiting(const lpn_program *program, const lpn_set *set)
{
    for (uint32_t i = 0; i < program->count; i++) {
        const uint32_t number = called(program, i), own = number - LPN_HELPER_OWN;
        if (number < LPN_HELPER_OWN ? (LPN_HELPERS_NOT_IN_ISR >> number & 1) != 0 : own >= set->extern_count || !set->externs[own].isr) {
            return true;
        }
    }
    return false;
}

/* Does a container of its chain? */
static bool waits(const lpn_hook *hook, const lpn_set *set)
{
    bool found = false;
    for (uint32_t i = 0; i < hook->containers; i++) {
        found |= calls_waiting(&hook->chain[i]->program, set);
    }
    return found;
}

int lpn_node_admit(const lpn_node *node, const lpn_set *set, uint32_t *hook)
{
    uint32_t load = 0;
    for (uint32_t i = 0; i < set->hooks; i++) {
        const lpn_hook *h = &set->hook[i];
        *hook = i;
        if (h->context == LPN_ISR && waits(h, set)) {
            return LPN_E_CONTEXT;
        }
        if (node->load != 0 && is_periodic(h)) {
            const uint32_t more = load_of(h, node->thread->chain.fuel);
            if (more > node->load - load) {
                return LPN_E_TIME;
            }
            load += more;
        }
    }
    return LPN_OK;
}

/* ------------------------------------------------------------------------------------------- whether hooks are some */

static uint32_t state_hash(const lpn_hook *hook)
{
    return lpn_get32(hook->chain[0]->image + LPN_IMAGE_STATE_HASH);
}

/* The event says where a hook runs; a completed buffer's is the thread's, whichever chain completed it. */
static bool is_in_context(const lpn_hook *hook)
{
#define CONTEXT(code, name, context) | (context) << 2 * (code)
    const uint32_t contexts = 0 LPN_EVENTS(CONTEXT);
#undef CONTEXT
    return hook->context == (contexts >> 2 * hook->event & 3) || (hook->event == LPN_BUFFER_COMPLETE && hook->context == LPN_RADIO);
}

int lpn_node_check(const lpn_node *node, const lpn_set *set, uint32_t *hook)
{
    *hook = 0;
    if (set->hooks > LPN_MAX_HOOKS || (lpn_address(set->state) & 7) != 0 || node->thread == NULL) {
        return set->hooks > LPN_MAX_HOOKS ? LPN_E_HOOK : LPN_E_MEMORY;
    }
    for (uint32_t i = 0; i < set->hooks; i++) {
        const lpn_hook *h = &set->hook[i];
        *hook = i;
        if (h->event >= LPN_EVENT_COUNT || !is_in_context(h) || h->selectors > LPN_MAX_SELECTORS
            || h->containers == 0 || h->containers > LPN_MAX_CHAIN || h->period > INT32_MAX
            || (is_periodic(h) && h->offset >= h->period)) {
            return LPN_E_HOOK;
        }
        bool timer = is_periodic(h) || h->event == LPN_AFTER;
        const lpn_work *work = h->context == LPN_ISR ? node->isr : node->thread;
        if (timer && !lpn_hook_is_timing(h)) {
            return LPN_E_HOOK;
        }
        if (work == NULL || (lpn_address(work->chain.record) & 7) != 0) {
            return LPN_E_MEMORY;
        }
        int error = lpn_chain_fits(h->chain, h->containers, work->chain.record_size, set->state_size);
        if (error != LPN_OK) {
            return error;
        }
        if (h->context == LPN_ISR && h->chain[h->containers - 1]->deparses) {     /* it would send, which interrupts must not */
            return LPN_E_CONTEXT;
        }
        if (state_hash(h) != state_hash(&set->hook[0])) {
            return LPN_E_HASH;
        }
    }
    return LPN_OK;
}
