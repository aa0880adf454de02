/*
 * SPDX-FileCopyrightText: 2026 The LPN authors
 * SPDX-License-Identifier: LGPL-2.1-only
 */

/**
 * @{
 *
 * @file
 * @brief       UDP with GNRC, or with containers, and a mark where a payload arrives
 *
 * Port 7 is answered (RFC 862), what comes to any other port that somebody has is delivered and dropped.
 *
 * @}
 */

#include "marks.h"

__attribute__((noinline)) void measure_delivered(const void *payload, size_t size)
{
    __asm__ volatile ("" : : "r" (payload), "r" (size) : "memory");
}

int main(void)
{
    measure_run();
    return 0;
}
