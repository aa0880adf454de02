/*
 * SPDX-FileCopyrightText: 2026 The LPN authors
 * SPDX-License-Identifier: LGPL-2.1-only
 */

/**
 * @ingroup     pkg_lpn
 * @{
 *
 * @file
 * @brief       The network and transport layers: listens beside GNRC's, and gives IPv6 packets to it
 *
 * Layers are known by their protocol numbers. A hook gets a copy; GNRC goes on with the packet.
 *
 * @}
 */

#include <errno.h>
#include <string.h>

#include "container.h"
#include "iolist.h"
#include "net/gnrc.h"
#include "net/gnrc/ipv6.h"
#include "net/gnrc/netif/hdr.h"
#include "net/gnrc/netreg.h"
#include "net/ipv6/hdr.h"
#include "net/protnum.h"

#include "lpn_internal.h"

static void _rx(uint16_t cmd, gnrc_pktsnip_t *pkt, void *ctx);
static void _tx(uint16_t cmd, gnrc_pktsnip_t *pkt, void *ctx);

/* What a hook may listen to, and whether one does. */
typedef struct {
    uint8_t event;                  /* enum lpn_event_code */
    uint8_t layer;
    gnrc_nettype_t type;            /* at which GNRC passes it on */
    gnrc_netreg_entry_cbd_t callback;
    gnrc_netreg_entry_t entry;
    bool listens;
} _layer_t;

static _layer_t _layers[] = {
    { .event = LPN_NET_RX, .layer = PROTNUM_IPV6, .type = GNRC_NETTYPE_IPV6, .callback.cb = _rx },
    { .event = LPN_NET_RX, .layer = PROTNUM_ICMPV6, .type = GNRC_NETTYPE_ICMPV6, .callback.cb = _rx },
#if IS_USED(MODULE_GNRC_NETTYPE_UDP)
    { .event = LPN_NET_RX, .layer = PROTNUM_UDP, .type = GNRC_NETTYPE_UDP, .callback.cb = _rx },
#endif
#if IS_USED(MODULE_GNRC_NETTYPE_SIXLOWPAN)
    { .event = LPN_NET_TX, .layer = PROTNUM_IPV6, .type = GNRC_NETTYPE_SIXLOWPAN, .callback.cb = _tx },
#endif
};

/* The second number of the event: next header, type, destination port. */
static uint32_t _selector(uint8_t layer, const uint8_t *data, size_t size)
{
    switch (layer) {
    case PROTNUM_IPV6:
        return (size >= sizeof(ipv6_hdr_t)) ? data[6] : 0;
    case PROTNUM_ICMPV6:
        return (size >= 1) ? data[0] : 0;
    default:
        return (size >= 4) ? ((uint32_t)data[2] << 8) | data[3] : 0;
    }
}

/* In the thread that passes the packet up; headers of layers below follow its first piece. */
static void _rx(uint16_t cmd, gnrc_pktsnip_t *pkt, void *ctx)
{
    const _layer_t *layer = ctx;
    if (cmd == GNRC_NETAPI_MSG_TYPE_RCV) {
        const iolist_t packet = { .iol_base = pkt->data, .iol_len = pkt->size };
        lpn_enqueue(LPN_NET_RX, layer->layer, _selector(layer->layer, pkt->data, pkt->size), &packet);
    }
    gnrc_pktbuf_release(pkt);
}

/* In the thread that passes the packet down; the interface's header is its first piece. */
static void _tx(uint16_t cmd, gnrc_pktsnip_t *pkt, void *ctx)
{
    const _layer_t *layer = ctx;
    gnrc_pktsnip_t *ip = ((pkt->type == GNRC_NETTYPE_NETIF) && (pkt->next != NULL)) ? pkt->next : pkt;
    if (cmd == GNRC_NETAPI_MSG_TYPE_SND) {
        lpn_enqueue(LPN_NET_TX, layer->layer, _selector(layer->layer, ip->data, ip->size), (iolist_t *)ip);
    }
    gnrc_pktbuf_release(pkt);
}

bool lpn_net_gives(const lpn_hook *hook)
{
    for (unsigned i = 0; i < ARRAY_SIZE(_layers); i++) {
        if ((_layers[i].event == hook->event) && ((hook->selectors == 0) || (hook->selector[0] == _layers[i].layer))) {
            return true;
        }
    }
    return false;
}

void lpn_net_follow(const lpn_set *set)
{
    for (unsigned i = 0; i < ARRAY_SIZE(_layers); i++) {
        _layer_t *layer = &_layers[i];
        bool wanted = false;
        for (uint32_t k = 0; k < set->hooks; k++) {
            const lpn_hook *hook = &set->hook[k];
            wanted |= (hook->event == layer->event)
                      && ((hook->selectors == 0) || (hook->selector[0] == layer->layer));
        }
        if (wanted && !layer->listens) {
            layer->callback.ctx = layer;
            gnrc_netreg_entry_init_cb(&layer->entry, GNRC_NETREG_DEMUX_CTX_ALL, &layer->callback);
            gnrc_netreg_register(layer->type, &layer->entry);
        }
        else if (!wanted && layer->listens) {
            gnrc_netreg_unregister(layer->type, &layer->entry);
        }
        layer->listens = wanted;
    }
}

/* A whole IPv6 packet: its header, then the rest. 0, or 1 when GNRC does not take it. */
uint32_t lpn_net_send(const lpn_frame *frame)
{
    const size_t size = frame->head_size + frame->tail_size;
    if (size < sizeof(ipv6_hdr_t)) {
        return 1;
    }
    gnrc_pktsnip_t *rest = NULL, *pkt = gnrc_pktbuf_add(NULL, NULL, size, GNRC_NETTYPE_UNDEF);
    if (pkt == NULL) {
        return 1;
    }
    memcpy(pkt->data, frame->head, frame->head_size);
    memcpy((uint8_t *)pkt->data + frame->head_size, frame->tail, frame->tail_size);
    gnrc_pktsnip_t *ip = gnrc_pktbuf_mark(pkt, sizeof(ipv6_hdr_t), GNRC_NETTYPE_IPV6);
    if (ip == NULL) {
        gnrc_pktbuf_release(pkt);
        return 1;
    }
    pkt->next = NULL;                   /* marked pieces lie behind; what is sent begins with them */
    if (pkt->size > 0) {
        rest = pkt;
    }
    else {
        gnrc_pktbuf_release(pkt);
    }
    ip->next = rest;
    gnrc_pktsnip_t *netif = gnrc_netif_hdr_build(NULL, 0, NULL, 0);
    if (netif == NULL) {
        gnrc_pktbuf_release(ip);
        return 1;
    }
    gnrc_netif_hdr_set_netif(netif->data, lpn_netif);   /* link-local addresses are this interface's */
    netif->next = ip;
    if (!gnrc_netapi_dispatch_send(GNRC_NETTYPE_IPV6, GNRC_NETREG_DEMUX_CTX_ALL, netif)) {
        gnrc_pktbuf_release(netif);
        return 1;
    }
    return 0;
}
