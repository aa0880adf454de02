/*
 * SPDX-FileCopyrightText: 2026 The LPN authors
 * SPDX-License-Identifier: LGPL-2.1-only
 */

/**
 * @{
 *
 * @file
 * @brief       UDP as RIOT has it
 *
 * @}
 */

#include "kernel_defines.h"

#if !IS_USED(MODULE_LPN)

#include "net/gnrc.h"
#include "net/gnrc/ipv6/hdr.h"
#include "net/gnrc/netif/hdr.h"
#include "net/gnrc/netreg.h"
#include "net/gnrc/udp.h"
#include "net/udp.h"
#include "thread.h"

#include "marks.h"

#define PORT_RECEIVE    (8808U)
#define QUEUE_SIZE      (8U)

static msg_t _queue[QUEUE_SIZE];

/* Put a header before what there is; NULL, and nothing left, without memory. */
static gnrc_pktsnip_t *_before(gnrc_pktsnip_t *pkt, gnrc_pktsnip_t *header)
{
    if (header == NULL) {
        gnrc_pktbuf_release(pkt);
    }
    return header;
}

static void _echo(gnrc_pktsnip_t *pkt)
{
    gnrc_pktsnip_t *ip = gnrc_pktsnip_search_type(pkt, GNRC_NETTYPE_IPV6);
    gnrc_pktsnip_t *netif = gnrc_pktsnip_search_type(pkt, GNRC_NETTYPE_NETIF);
    gnrc_pktsnip_t *udp = gnrc_pktsnip_search_type(pkt, GNRC_NETTYPE_UDP);

    if ((ip == NULL) || (netif == NULL) || (udp == NULL)) {
        return;
    }
    ipv6_addr_t to = ((ipv6_hdr_t *)ip->data)->src;
    uint16_t port = byteorder_ntohs(((udp_hdr_t *)udp->data)->src_port);
    gnrc_pktsnip_t *out = gnrc_pktbuf_add(NULL, pkt->data, pkt->size, GNRC_NETTYPE_UNDEF);
    if ((out == NULL) || ((out = _before(out, gnrc_udp_hdr_build(out, PORT_ECHO, port))) == NULL)
        || ((out = _before(out, gnrc_ipv6_hdr_build(out, NULL, &to))) == NULL)) {
        return;
    }
    gnrc_pktsnip_t *header = gnrc_netif_hdr_build(NULL, 0, NULL, 0);
    if (header == NULL) {
        gnrc_pktbuf_release(out);
        return;
    }
    ((gnrc_netif_hdr_t *)header->data)->if_pid = ((gnrc_netif_hdr_t *)netif->data)->if_pid;
    out = gnrc_pkt_prepend(out, header);
    if (!gnrc_netapi_dispatch_send(GNRC_NETTYPE_UDP, GNRC_NETREG_DEMUX_CTX_ALL, out)) {
        gnrc_pktbuf_release(out);
    }
}

void measure_run(void)
{
    gnrc_netreg_entry_t receive = GNRC_NETREG_ENTRY_INIT_PID(PORT_RECEIVE, thread_getpid());
    gnrc_netreg_entry_t echo = GNRC_NETREG_ENTRY_INIT_PID(PORT_ECHO, thread_getpid());
    msg_t msg;

    msg_init_queue(_queue, QUEUE_SIZE);
    gnrc_netreg_register(GNRC_NETTYPE_UDP, &receive);
    gnrc_netreg_register(GNRC_NETTYPE_UDP, &echo);
    while (1) {
        msg_receive(&msg);
        if (msg.type != GNRC_NETAPI_MSG_TYPE_RCV) {
            continue;
        }
        gnrc_pktsnip_t *pkt = msg.content.ptr;
        gnrc_pktsnip_t *udp = gnrc_pktsnip_search_type(pkt, GNRC_NETTYPE_UDP);
        if ((udp != NULL) && (byteorder_ntohs(((udp_hdr_t *)udp->data)->dst_port) == PORT_ECHO)) {
            _echo(pkt);
        }
        else {
            measure_delivered(pkt->data, pkt->size);
        }
        gnrc_pktbuf_release(pkt);
    }
}

#else
typedef int dont_be_pedantic;
#endif
