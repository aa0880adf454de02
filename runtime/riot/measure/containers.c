/*
 * SPDX-FileCopyrightText: 2026 The LPN authors
 * SPDX-License-Identifier: LGPL-2.1-only
 */

/**
 * @{
 *
 * @file
 * @brief       UDP as a pack that is built in has it
 *
 * @}
 */

#include "kernel_defines.h"

#if IS_USED(MODULE_LPN)

#include "lpn_riot.h"
#include "panic.h"
#include "thread.h"

#include "marks.h"

#define PORT_RECEIVE    (8808U)

#ifdef LPN_LINKED_FILE
#  include LPN_LINKED_FILE
#else
#  include "lpn_rom.h"
#endif

static void _delivered(lpn_port_t *port, const uint8_t *data, size_t size, const lpn_event *event)
{
    (void)port;
    (void)event;
    measure_delivered(data, size);
}

void measure_run(void)
{
    static lpn_port_t port = { .port = PORT_RECEIVE, .deliver = _delivered };
    lpn_status_t status;

    lpn_port_register(&port);
    lpn_attach(lpn_slots() - 1, false, &status);
    if (status.error != 0) {
        core_panic(PANIC_GENERAL_ERROR, "lpn: refused");
    }
    thread_sleep();
}

#else
typedef int dont_be_pedantic;
#endif
