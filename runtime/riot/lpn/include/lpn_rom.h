/*
 * SPDX-FileCopyrightText: 2026 The LPN authors
 * SPDX-License-Identifier: LGPL-2.1-only
 */

#pragma once

/**
 * @ingroup     pkg_lpn
 * @{
 *
 * @file
 * @brief       A pack that is built in: containers run from where it lies
 *
 * To be included by one file of the firmware, with LPN_ROM_FILE the path of the pack, in quotation marks.
 *
 * @}
 */

__asm__(".section .rodata.lpn_rom, \"a\"\n"
        ".balign 8\n"
        ".global lpn_rom\n"
        "lpn_rom:\n"
        ".incbin \"" LPN_ROM_FILE "\"\n"
        "lpn_rom_end:\n"
        ".balign 8\n"
        ".global lpn_rom_size\n"
        "lpn_rom_size:\n"
        ".long lpn_rom_end - lpn_rom\n"
        ".previous\n");
