/*
 * SPDX-FileCopyrightText: 2026 The LPN authors
 * SPDX-License-Identifier: LGPL-2.1-only
 */

#pragma once

/**
 * @{
 *
 * @file
 * @brief       Marks: functions that do nothing; who measures watches their addresses
 */

#include <stddef.h>

#define PORT_ECHO       (7U)        /**< answered with the same payload */

/** @brief  A payload has come to the application. */
void measure_delivered(const void *payload, size_t size);

/** @brief  Receive for ever. */
void measure_run(void);

/** @} */
