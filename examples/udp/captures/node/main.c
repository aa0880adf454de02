/*
 * SPDX-License-Identifier: LGPL-2.1-only
 */

/**
 * @file
 * @brief   A node for recordings: sends UDP between any two ports, echoes on chosen ports.
 *
 * RIOT's own `udp send` uses one number for both ports, so it never compresses just one of them
 * (RFC 6282, 4.3.3).
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "msg.h"
#include "net/ipv6/addr.h"
#include "net/netif.h"
#include "net/sock/udp.h"
#include "shell.h"
#include "thread.h"
#include "time_units.h"

#define ECHO_SERVERS    (6U)
#define PAYLOAD_MAX     (600U)
#define QUEUE_SIZE      (8U)
#define ANSWER_US       (100U * US_PER_MS)

static char _stacks[ECHO_SERVERS][THREAD_STACKSIZE_MAIN];
static uint16_t _ports[ECHO_SERVERS];
static unsigned _servers;

/* Answer each datagram with its own content, from the port it was sent to. */
static void *_echo(void *arg)
{
    static uint8_t buf[ECHO_SERVERS][PAYLOAD_MAX];
    uint16_t *port = arg;
    uint8_t *mine = buf[port - _ports];
    sock_udp_ep_t local = SOCK_IPV6_EP_ANY;
    sock_udp_ep_t remote;
    sock_udp_t sock;

    local.port = *port;
    if (sock_udp_create(&sock, &local, NULL, 0) < 0) {
        puts("echo: port in use");
        return NULL;
    }
    while (1) {
        ssize_t len = sock_udp_recv(&sock, mine, PAYLOAD_MAX, SOCK_NO_TIMEOUT, &remote);

        if (len >= 0) {
            sock_udp_send(&sock, mine, len, &remote);
        }
    }
}

static int _cmd_echo(int argc, char **argv)
{
    if ((argc != 2) || (_servers == ECHO_SERVERS)) {
        puts("usage: echo PORT (six at most)");
        return 1;
    }
    uint16_t *port = &_ports[_servers];

    *port = atoi(argv[1]);
    thread_create(_stacks[_servers], sizeof(_stacks[0]), THREAD_PRIORITY_MAIN - 1, 0,
                  _echo, port, "echo");
    _servers++;
    return 0;
}
SHELL_COMMAND(echo, "echo datagrams that come to PORT", _cmd_echo);

static int _cmd_send(int argc, char **argv)
{
    static uint8_t payload[PAYLOAD_MAX];
    sock_udp_ep_t local = SOCK_IPV6_EP_ANY;
    sock_udp_ep_t remote = SOCK_IPV6_EP_ANY;
    sock_udp_t sock;

    if ((argc != 5) || !ipv6_addr_from_str((ipv6_addr_t *)&remote.addr.ipv6, argv[1])) {
        puts("usage: send ADDR FROM_PORT TO_PORT OCTETS");
        return 1;
    }
    size_t len = atoi(argv[4]);

    if (len > PAYLOAD_MAX) {
        len = PAYLOAD_MAX;
    }
    for (size_t i = 0; i < len; i++) {
        payload[i] = 'a' + i % 26;
    }
    local.port = atoi(argv[2]);
    remote.port = atoi(argv[3]);
    remote.netif = netif_get_id(netif_iter(NULL));
    if (sock_udp_create(&sock, &local, NULL, 0) < 0) {
        puts("send: port in use");
        return 1;
    }
    ssize_t res = sock_udp_send(&sock, payload, len, &remote);

    /* an answer that finds the port closed would make an ICMPv6 error */
    while (sock_udp_recv(&sock, payload, sizeof(payload), ANSWER_US, NULL) >= 0) {
        puts("send: answer");
    }
    sock_udp_close(&sock);
    printf("send: %d\n", (int)res);
    return res < 0;
}
SHELL_COMMAND(send, "send a datagram", _cmd_send);

int main(void)
{
    static msg_t queue[QUEUE_SIZE];
    char line[SHELL_DEFAULT_BUFSIZE];

    msg_init_queue(queue, QUEUE_SIZE);
    puts("ready");
    shell_run(NULL, line, sizeof(line));
    return 0;
}
