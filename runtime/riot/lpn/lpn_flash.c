/*
 * SPDX-FileCopyrightText: 2026 The LPN authors
 * SPDX-License-Identifier: LGPL-2.1-only
 */

/**
 * @ingroup     pkg_lpn
 * @{
 *
 * @file
 * @brief       The slot in flash: its pack survives a reboot
 *
 * Three marks of a block or more lie before the pack: that writing began, how long the pack is, that all of it is there. Flash
 * is erased page by page, as the pack arrives. Whatever interrupts that, the last mark is missing then.
 *
 * @}
 */

#include <string.h>

#include "cpu.h"
#include "kernel_defines.h"
#include "periph/flashpage.h"

#include "lpn_internal.h"

/* A multiple of what the flash writes at once. */
#define BLOCK           ((FLASHPAGE_WRITE_BLOCK_SIZE > 8U) ? FLASHPAGE_WRITE_BLOCK_SIZE : 8U)
#define BEGUN           (0x42464e4cU)
#define WHOLE           (0x57464e4cU)
#define MARKS           (3U * BLOCK)

#define BYTES           (CONFIG_LPN_FLASH_PAGES * FLASHPAGE_SIZE)

#if IS_USED(MODULE_PERIPH_FLASHPAGE_IN_ADDRESS_SPACE)
FLASH_WRITABLE_INIT(_pages, CONFIG_LPN_FLASH_PAGES);
static uint8_t *_at(uint32_t offset)        /* by the page's number: the compiler takes a constant array for what it was */
{
    return (uint8_t *)flashpage_addr(flashpage_page(_pages)) + offset;
}
#else                               /* the last ones there are */
static uint8_t *_at(uint32_t offset)
{
    return (uint8_t *)flashpage_addr(FLASHPAGE_NUMOF - CONFIG_LPN_FLASH_PAGES) + offset;
}
#endif

typedef union {
    uint8_t bytes[BLOCK];
    uint32_t words[BLOCK / 4];
    uint64_t aligned[BLOCK / 8];
} _block_t;

static _block_t _open;              /* the block that is not full yet */
static uint32_t _erased;            /* bytes from the start that may be written */

static void _erase_to(uint32_t end)
{
    for (; _erased < end; _erased += FLASHPAGE_SIZE) {
        flashpage_erase(flashpage_page(_at(_erased)));
    }
}

static void _write(uint32_t offset, const _block_t *block)
{
    _erase_to(offset + BLOCK);
    flashpage_write(_at(offset), block->bytes, BLOCK);
}

/* A number and its complement: a block that was cut off is none. */
static void _mark(unsigned index, uint32_t value)
{
    const _block_t block = { .words = { value, ~value } };
    _write(index * BLOCK, &block);
}

static bool _marked(unsigned index, uint32_t *value)
{
    _block_t block;
    memcpy(block.bytes, _at(index * BLOCK), BLOCK);
    *value = block.words[0];
    return block.words[1] == ~block.words[0];
}

const uint8_t *lpn_flash_bytes(void)
{
    return _at(MARKS);
}

uint32_t lpn_flash_room(void)
{
    return BYTES - MARKS;
}

lpn_flash_state_t lpn_flash_state(uint32_t *size)
{
    uint32_t mark;
    if (!_marked(0, &mark) || (mark != BEGUN)) {
        return LPN_FLASH_EMPTY;         /* nobody has written here since the firmware was */
    }
    const bool whole = _marked(2, &mark) && (mark == WHOLE) && _marked(1, size) && (*size <= lpn_flash_room());
    return whole ? LPN_FLASH_WHOLE : LPN_FLASH_BROKEN;
}

void lpn_flash_forget(void)
{
    _erased = 0;
    _erase_to(MARKS);
}

void lpn_flash_begin(void)
{
    lpn_flash_forget();
    _mark(0, BEGUN);
}

void lpn_flash_add(uint32_t offset, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++, offset++) {
        _open.bytes[offset % BLOCK] = data[i];
        if (offset % BLOCK == BLOCK - 1) {
            _write(MARKS + offset - (BLOCK - 1), &_open);
        }
    }
}

void lpn_flash_end(uint32_t size)
{
    if (size % BLOCK != 0) {
        memset(_open.bytes + size % BLOCK, FLASHPAGE_ERASE_STATE, BLOCK - size % BLOCK);
        _write(MARKS + size / BLOCK * BLOCK, &_open);
    }
}

void lpn_flash_seal(uint32_t size)
{
    _mark(1, size);
    _mark(2, WHOLE);
}
