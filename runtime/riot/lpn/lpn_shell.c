/*
 * SPDX-FileCopyrightText: 2026 The LPN authors
 * SPDX-License-Identifier: LGPL-2.1-only
 */

/**
 * @ingroup     pkg_lpn
 * @{
 *
 * @file
 * @brief       Shell command `lpn`
 *
 * @}
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "container.h"
#include "fmt.h"
#include "shell.h"

#include "lpn_riot.h"

#define HEX_BYTES   (64U)           /* in one line of the shell */
#define LISTENERS   (4U)

static const char *const _states[] = { "empty", "loading", "ready", "runs" };
static const char *const _contexts[] = { "isr", "radio", "net" };
static const char *const _verdicts[] = { "ACCEPT", "DROP", "DELIVER", "TRANSMIT", "CONSUMED" };
static const char *const _kinds[] = { "?", "parser", "processor", "deparser", "timing", "fused", "migration" };

static int _usage(void)
{
    puts("usage: lpn list                  slots, modules, hooks\n"
         "       lpn load SLOT begin SIZE  then hex digits, then end\n"
         "       lpn load SLOT HEX\n"
         "       lpn load SLOT end\n"
         "       lpn unload SLOT           its room is the others'\n"
#if IS_USED(MODULE_LPN_FLASH)
         "       lpn save SLOT             write it to flash: it runs after a reboot, too\n"
#endif
         "       lpn attach SLOT|MODULE    run a slot; put a processor back\n"
         "       lpn detach [MODULE]       stop; take a processor out\n"
         "       lpn swap SLOT             run a slot in place of the one that runs\n"
         "       lpn stats [reset]         counters of hooks, drops, radio\n"
         "       lpn trace                 the last runs\n"
         "       lpn send PORT TEXT        an application sends\n"
         "       lpn listen PORT           print what is delivered to a port");
    return 1;
}

static int _say(const lpn_status_t *status)
{
    char text[96];
    lpn_status_text(status, text, sizeof(text));
    printf("lpn: %s%s\n", (status->error == 0) ? "" : "refused: ", text);
    return (status->error == 0) ? 0 : 1;
}

static int _say_error(int error)
{
    const lpn_status_t status = { .error = error };
    return (error == 0) ? 0 : _say(&status);
}

static bool _number(const char *text, uint32_t *number)
{
    char *end;
    *number = strtoul(text, &end, 0);
    return (*text >= '0') && (*text <= '9') && (*end == '\0');
}

static void _print_event(const lpn_hook *hook)
{
    printf("%s", lpn_event_name(hook->event));
    for (unsigned i = 0; i < hook->selectors; i++) {
        printf("%c%" PRIu32, i ? ',' : ' ', hook->selector[i]);
    }
}

static int _list(void)
{
    printf("radio: %s\n", lpn_radio_model());
    for (unsigned i = 0; i < lpn_slots(); i++) {
        lpn_slot_t slot;
        lpn_pack pack;
        lpn_pack_fault fault;
        lpn_slot_get(i, &slot);
        printf("slot %u %s%s", i, _states[slot.state], slot.rom ? " rom" : "");
        if (slot.state == LPN_SLOT_LOADING) {
            printf(" %" PRIu32 "/%" PRIu32, slot.received, slot.size);
        }
        if ((slot.state < LPN_SLOT_READY)
            || (lpn_pack_parse(&pack, slot.bytes, slot.size, &fault) != LPN_OK)) {
            puts("");
            continue;
        }
        printf(" %.*s version %" PRIu32 " bytes %" PRIu32 "\n", (int)pack.name_size, (const char *)pack.name,
               pack.version, slot.size);
        for (unsigned m = 0; m < pack.modules; m++) {
            lpn_image image;
            if (lpn_pack_module(&pack, m, &image) == LPN_OK) {
                printf("  module %.*s %s insns %" PRIu32 "%s%s%s\n", (int)image.name_size, (const char *)image.name,
                       _kinds[image.kind], image.text_size / 8, (image.flags & LPN_FLAG_CLEAN32) ? " clean32" : "",
                       (image.flags & LPN_FLAG_CERTIFIED) ? " certified" : "",
                       ((slot.state == LPN_SLOT_RUNS) && lpn_module_is_out(m)) ? " out" : "");
            }
        }
    }
    const lpn_set *set = lpn_node_get()->set;
    for (uint32_t i = 0; (set != NULL) && (i < set->hooks); i++) {
        const lpn_hook *hook = &set->hook[i];
        printf("hook %" PRIu32 " ", i);
        _print_event(hook);
        printf(" %s", _contexts[hook->context]);
        for (unsigned c = 0; c < hook->containers; c++) {
            lpn_image image;
            lpn_image_view(&image, hook->chain[c]->image);
            printf("%s%.*s", c ? " -> " : " : ", (int)image.name_size, (const char *)image.name);
        }
        puts("");
    }
    return 0;
}

static int _load(const char *number, const char *word, const char *size)
{
    uint32_t slot, bytes = 0;
    if (!_number(number, &slot)) {
        return _usage();
    }
    if (strcmp(word, "begin") == 0) {
        if ((size == NULL) || !_number(size, &bytes)) {
            return _usage();
        }
        return _say_error(lpn_load_begin(slot, bytes));
    }
    if (strcmp(word, "end") == 0) {
        lpn_status_t status;
        lpn_load_end(slot, &status);
        return _say(&status);
    }
    uint8_t chunk[HEX_BYTES];
    size_t digits = strlen(word);
    if ((digits % 2) || (digits > 2 * HEX_BYTES) || (strspn(word, "0123456789abcdefABCDEF") != digits)) {
        return _usage();
    }
    fmt_hex_bytes(chunk, word);
    lpn_slot_t now = { .received = 0 };
    if (slot < lpn_slots()) {
        lpn_slot_get(slot, &now);
    }
    return _say_error(lpn_load_add(slot, now.received, chunk, digits / 2));
}

static int _unload(const char *number)
{
    uint32_t slot;
    lpn_status_t status;
    if (!_number(number, &slot)) {
        return _usage();
    }
    lpn_unload(slot, &status);
    return _say(&status);
}

#if IS_USED(MODULE_LPN_FLASH)
static int _save(const char *number)
{
    uint32_t slot;
    lpn_status_t status;
    if (!_number(number, &slot)) {
        return _usage();
    }
    lpn_save(slot, &status);
    return _say(&status);
}
#endif

static int _attach(const char *what, bool replace)
{
    uint32_t slot;
    lpn_status_t status;
    if (_number(what, &slot)) {
        lpn_attach(slot, replace, &status);
    }
    else {
        lpn_module_set(what, true, &status);
    }
    return _say(&status);
}

static int _detach(const char *module)
{
    lpn_status_t status;
    if (module != NULL) {
        lpn_module_set(module, false, &status);
    }
    else {
        lpn_detach(&status);
    }
    return _say(&status);
}

static int _stats(void)
{
    lpn_counts_t c;
    lpn_counts_get(&c);
    const lpn_node *node = lpn_node_get();
    const lpn_set *set = node->set;
    for (uint32_t i = 0; (set != NULL) && (i < set->hooks); i++) {
        const lpn_hook_stats *s = &set->hook[i].stats;
        const uint32_t runs = s->runs ? s->runs : 1;
        printf("hook %" PRIu32 " ", i);
        _print_event(&set->hook[i]);
        printf(" runs %" PRIu32 " overruns %" PRIu32 " drops %" PRIu32 " errors %" PRIu32 " misses %" PRIu32
               " insns-worst %" PRIu32 " insns-mean %" PRIu32 " us-worst %" PRIu32 " us-mean %" PRIu32
               " wait-worst %" PRIu32 "\n", s->runs, s->overruns, s->drops, s->errors, s->misses, s->insns_worst,
               (uint32_t)(s->insns / runs), s->time_worst, (uint32_t)(s->time / runs), s->wait_worst);
    }
    for (uint32_t i = 0; (set != NULL) && (i < set->drops); i++) {
        if (set->drop[i] != 0) {
            printf("drop reason %" PRIu32 "%s count %" PRIu32 "\n", i, (i + 1 == set->drops) ? " (engine)" : "",
                   set->drop[i]);
        }
    }
    printf("node ignored %" PRIu32 " lost %" PRIu32 " busy %" PRIu32 " queue-full %" PRIu32 " swaps %" PRIu32
           " refused %" PRIu32 "\n", node->ignored, node->lost, node->busy, c.queue_full, c.swaps, c.refused);
    printf("frames received %" PRIu32 " accepted %" PRIu32 " delivered %" PRIu32 " undelivered %" PRIu32 " sent %" PRIu32
           " ok %" PRIu32 " noack %" PRIu32 " channel-busy %" PRIu32 " too-long %" PRIu32 "\n", c.received, c.accepted,
           c.delivered, c.undelivered, c.sent, c.acked, c.noack, c.channel_busy, c.too_long);
    printf("radio on-us %" PRIu32 "%06" PRIu32 " of-us %" PRIu32 "%06" PRIu32 "\n", (uint32_t)(c.on_us / 1000000U),
           (uint32_t)(c.on_us % 1000000U), (uint32_t)(c.all_us / 1000000U), (uint32_t)(c.all_us % 1000000U));
    return 0;
}

static int _trace(void)
{
    static lpn_ran_t runs[CONFIG_LPN_TRACE];
    unsigned count = lpn_trace_get(runs, CONFIG_LPN_TRACE);
    for (unsigned i = 0; i < count; i++) {
        const lpn_ran_t *r = &runs[i];
        printf("%" PRIu32 " hook %u %s %s", r->time, r->hook, lpn_event_name(r->event),
               (r->verdict < ARRAY_SIZE(_verdicts)) ? _verdicts[r->verdict] : "?");
        if ((r->verdict == LPN_DROP) && (r->arg >= LPN_REASON_ENGINE)) {
            printf(" (%s)", lpn_error_name(r->arg - LPN_REASON_ENGINE));
        }
        else if ((r->verdict == LPN_DROP) || (r->verdict == LPN_DELIVER)) {
            printf(" %u", r->arg);
        }
        printf(" insns %" PRIu32 " us %" PRIu32 "\n", r->insns, r->took);
    }
    return 0;
}

static int _send(const char *number, const char *text)
{
    uint32_t port;
    if (!_number(number, &port)) {
        return _usage();
    }
    int res = lpn_app_send(port, text, strlen(text));
    printf("lpn: %s\n", (res == 0) ? "sent" : (res == -ENOENT) ? "no hook app.tx of that port"
                       : (res == -ENOBUFS) ? "the queue is full" : "too long");
    return (res == 0) ? 0 : 1;
}

/* In the interface's thread. */
static void _delivered(lpn_port_t *port, const uint8_t *data, size_t size, const lpn_event *event)
{
    (void)event;
    printf("lpn: port %" PRIu32 " got %u bytes: ", port->port, (unsigned)size);
    for (size_t i = 0; i < size; i++) {
        putchar(((data[i] >= 0x20) && (data[i] < 0x7f)) ? data[i] : '.');
    }
    puts("");
}

static int _listen(const char *number)
{
    static lpn_port_t ports[LISTENERS];
    static unsigned used;
    uint32_t port;
    if (!_number(number, &port)) {
        return _usage();
    }
    if (used == LISTENERS) {
        puts("lpn: no more ports can be listened to");
        return 1;
    }
    ports[used] = (lpn_port_t){ .port = port, .deliver = _delivered };
    lpn_port_register(&ports[used++]);
    return 0;
}

static int _lpn(int argc, char **argv)
{
    const char *word = (argc > 1) ? argv[1] : "";
    if ((argc == 2) && (strcmp(word, "list") == 0)) {
        return _list();
    }
    if (((argc == 4) || (argc == 5)) && (strcmp(word, "load") == 0)) {
        return _load(argv[2], argv[3], (argc == 5) ? argv[4] : NULL);
    }
    if ((argc == 3) && (strcmp(word, "unload") == 0)) {
        return _unload(argv[2]);
    }
#if IS_USED(MODULE_LPN_FLASH)
    if ((argc == 3) && (strcmp(word, "save") == 0)) {
        return _save(argv[2]);
    }
#endif
    if ((argc == 3) && (strcmp(word, "attach") == 0)) {
        return _attach(argv[2], false);
    }
    if ((argc == 3) && (strcmp(word, "swap") == 0)) {
        return _attach(argv[2], true);
    }
    if (((argc == 2) || (argc == 3)) && (strcmp(word, "detach") == 0)) {
        return _detach((argc == 3) ? argv[2] : NULL);
    }
    if ((argc == 2) && (strcmp(word, "stats") == 0)) {
        return _stats();
    }
    if ((argc == 3) && (strcmp(word, "stats") == 0) && (strcmp(argv[2], "reset") == 0)) {
        lpn_counts_reset();
        return 0;
    }
    if ((argc == 2) && (strcmp(word, "trace") == 0)) {
        return _trace();
    }
    if ((argc == 4) && (strcmp(word, "send") == 0)) {
        return _send(argv[2], argv[3]);
    }
    if ((argc == 3) && (strcmp(word, "listen") == 0)) {
        return _listen(argv[2]);
    }
    return _usage();
}

SHELL_COMMAND(lpn, "containers of the network stack", _lpn);
