/*
 * SPDX-FileCopyrightText: 2026 The LPN authors
 * SPDX-License-Identifier: LGPL-2.1-only
 */

/**
 * @ingroup     pkg_lpn
 * @{
 *
 * @file
 * @brief       Packs over CoAP: PUT /lpn/slot/N block by block, DELETE /lpn/slot/N, PUT /lpn/run with a slot's number, GET /lpn
 *
 * @}
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "auto_init_utils.h"
#include "auto_init_priorities.h"
#include "container.h"
#include "net/gcoap.h"

#include "lpn_riot.h"

#define SLOT_PATH   "/lpn/slot/"

static ssize_t _text(coap_pkt_t *pdu, uint8_t *buf, size_t len, unsigned code, const coap_block1_t *block,
                     const char *text)
{
    gcoap_resp_init(pdu, buf, len, code);
    coap_opt_add_format(pdu, COAP_FORMAT_TEXT);
    if (block != NULL) {
        coap_opt_add_block1_control(pdu, (coap_block1_t *)block);
    }
    if (*text == '\0') {
        return coap_opt_finish(pdu, COAP_OPT_FINISH_NONE);
    }
    ssize_t head = coap_opt_finish(pdu, COAP_OPT_FINISH_PAYLOAD);
    size_t size = strlen(text);
    size = (size < pdu->payload_len) ? size : pdu->payload_len;
    memcpy(pdu->payload, text, size);
    return head + (ssize_t)size;
}

static ssize_t _answer(coap_pkt_t *pdu, uint8_t *buf, size_t len, const coap_block1_t *block, const lpn_status_t *status)
{
    char text[64];
    unsigned code = COAP_CODE_CHANGED;
    lpn_status_text(status, text, sizeof(text));
    switch (status->error) {
    case 0:         break;
    case -ENOENT:   code = COAP_CODE_404; break;
    case -ENOSPC:   code = COAP_CODE_REQUEST_ENTITY_TOO_LARGE; break;
    case -EINVAL:   code = COAP_CODE_REQUEST_ENTITY_INCOMPLETE; break;
    default:        code = COAP_CODE_BAD_REQUEST; break;
    }
    return _text(pdu, buf, len, code, block, text);
}

/* The last load that came to its end well. */
static struct {
    unsigned slot;
    size_t size;
} _loaded;

/* A block came once more: the answer to it was lost. */
static bool _again(unsigned slot, size_t offset, size_t size, bool last)
{
    lpn_slot_t now;
    if ((slot >= lpn_slots()) || (offset == 0)) {
        return false;
    }
    lpn_slot_get(slot, &now);
    if (last && (now.state == LPN_SLOT_READY)) {
        return (_loaded.slot == slot) && (_loaded.size == offset + size);
    }
    return (now.state == LPN_SLOT_LOADING) && (now.received == offset + size);
}

static ssize_t _slot(coap_pkt_t *pdu, uint8_t *buf, size_t len, coap_request_ctx_t *ctx)
{
    (void)ctx;
    char path[CONFIG_NANOCOAP_URI_MAX];
    coap_block1_t block;
    lpn_status_t status = { 0 };
    const bool put = coap_get_code_raw(pdu) == COAP_METHOD_PUT;
    bool blockwise = coap_get_block1(pdu, &block);
    const size_t offset = blockwise ? block.offset : 0;
    unsigned slot = UINT8_MAX;
    if (coap_get_uri_path(pdu, path) > (ssize_t)strlen(SLOT_PATH)) {
        const char *digit = path + strlen(SLOT_PATH);
        slot = ((digit[0] >= '0') && (digit[0] <= '9') && (digit[1] == '\0')) ? (unsigned)(digit[0] - '0') : slot;
    }
    if (!put) {
        lpn_unload(slot, &status);
        return ((status.error == 0) || (status.error == -EALREADY)) ? _text(pdu, buf, len, COAP_CODE_DELETED, NULL, "")
                                                                    : _answer(pdu, buf, len, NULL, &status);
    }
    const bool more = blockwise && block.more, again = _again(slot, offset, pdu->payload_len, !more);
    if (offset == 0) {
        status.error = lpn_load_begin(slot, 0);
    }
    if ((status.error == 0) && !again) {
        status.error = lpn_load_add(slot, offset, pdu->payload, pdu->payload_len);
    }
    if ((status.error == 0) && more) {
        return _text(pdu, buf, len, COAP_CODE_CONTINUE, &block, "");
    }
    lpn_slot_t now = { .state = LPN_SLOT_EMPTY };
    if (again) {
        lpn_slot_get(slot, &now);
    }
    if ((status.error == 0) && (now.state != LPN_SLOT_READY)) {
        _loaded.slot = slot;
        _loaded.size = (lpn_load_end(slot, &status) == 0) ? offset + pdu->payload_len : 0;
    }
    return _answer(pdu, buf, len, blockwise ? &block : NULL, &status);
}

static ssize_t _run(coap_pkt_t *pdu, uint8_t *buf, size_t len, coap_request_ctx_t *ctx)
{
    (void)ctx;
    lpn_status_t status = { .error = -ENOENT };
    if ((pdu->payload_len == 1) && (pdu->payload[0] == '-')) {
        if (lpn_running() >= 0) {
            lpn_detach(&status);
        }
        else {
            status.error = 0;
        }
    }
    else if ((pdu->payload_len == 1) && (pdu->payload[0] >= '0') && (pdu->payload[0] <= '9')) {
        lpn_attach((unsigned)(pdu->payload[0] - '0'), true, &status);
        if (status.error == -EALREADY) {
            status.error = 0;           /* the answer was lost, and the request comes again */
        }
    }
    return _answer(pdu, buf, len, NULL, &status);
}

/* A line for each slot: its number, state, protocol and version. */
static ssize_t _list(coap_pkt_t *pdu, uint8_t *buf, size_t len, coap_request_ctx_t *ctx)
{
    (void)ctx;
    static const char *const states[] = { "empty", "loading", "ready", "runs" };
    char text[96];
    size_t at = 0;
    for (unsigned i = 0; (i < lpn_slots()) && (at < sizeof(text)); i++) {
        lpn_slot_t slot;
        lpn_pack pack;
        lpn_pack_fault fault;
        lpn_slot_get(i, &slot);
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%u %s", i, states[slot.state]);
        if ((at < sizeof(text)) && (slot.state >= LPN_SLOT_READY)
            && (lpn_pack_parse(&pack, slot.bytes, slot.size, &fault) == LPN_OK)) {
            at += (size_t)snprintf(text + at, sizeof(text) - at, " %.*s %" PRIu32, (int)pack.name_size,
                                   (const char *)pack.name, pack.version);
        }
        if (at < sizeof(text)) {
            at += (size_t)snprintf(text + at, sizeof(text) - at, "\n");
        }
    }
    return _text(pdu, buf, len, COAP_CODE_CONTENT, NULL, text);
}

/* Sorted by path. */
static const coap_resource_t _resources[] = {
    { "/lpn", COAP_GET, _list, NULL },
    { "/lpn/run", COAP_PUT, _run, NULL },
    { SLOT_PATH, COAP_PUT | COAP_DELETE | COAP_MATCH_SUBTREE, _slot, NULL },
};

static gcoap_listener_t _listener = {
    .resources = _resources, .resources_len = ARRAY_SIZE(_resources), .tl_type = GCOAP_SOCKET_TYPE_UNDEF,
};

void auto_init_lpn_coap(void)
{
    gcoap_register_listener(&_listener);
}

AUTO_INIT(auto_init_lpn_coap, AUTO_INIT_PRIORITY_AFTER(AUTO_INIT_PRIO_MOD_GCOAP));
