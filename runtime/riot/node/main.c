/*
 * SPDX-FileCopyrightText: 2026 The LPN authors
 * SPDX-License-Identifier: LGPL-2.1-only
 */

/**
 * @{
 *
 * @file
 * @brief       The LPN node: a shell, and payloads that containers deliver
 *
 * @}
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kernel_defines.h"
#include "msg.h"
#include "shell.h"

#include "lpn_riot.h"

#define QUEUE_SIZE  (8U)

static msg_t _queue[QUEUE_SIZE];

#ifdef LPN_ROM_FILE
#  include "lpn_rom.h"
#endif

static void _say(const char *which, const lpn_status_t *status)
{
    char text[96];
    lpn_status_text(status, text, sizeof(text));
    printf("lpn: the %s pack %s%s\n", which, (status->error == 0) ? "runs: " : "is refused: ", text);
}

/* What was saved, else what is built in. */
static void _run_first(void)
{
    lpn_status_t status;
#if IS_USED(MODULE_LPN_FLASH)
    if (lpn_boot(&status) != -ENOENT) {
        _say("saved", &status);
    }
    if (status.error == 0) {
        return;
    }
#endif
    if (LPN_AUTOSTART) {
        lpn_attach(lpn_slots() - 1, false, &status);
        _say("built-in", &status);
    }
}

int main(void)
{
    char line[SHELL_DEFAULT_BUFSIZE];

    msg_init_queue(_queue, QUEUE_SIZE);
    printf("LPN node on %s, radio: %s\n", RIOT_BOARD, lpn_radio_model());
    _run_first();
    shell_run(NULL, line, sizeof(line));
    return 0;
}
