/* SPDX-License-Identifier: LGPL-2.1-only */
/* Counts what an emulated core executes, block by block, and stops it when something is due.
 *
 * The emulator calls twin_enter before each block of straight code. A call of uc_emu_stop from there ends the run before the
 * block, so that its time is exact where events and interrupts come in; the border is the block. What a block costs is
 * computed once, by blocks.py. */
#include "clock.h"

#include <stddef.h>

#define FLASH_START 0x08000000u
#define FLASH_SIZE 0x80000u
#define RAM_START 0x20000000u
#define RAM_SIZE 0x10000u

typedef int (*stop_fn)(void *uc);
typedef int (*read_fn)(void *uc, int which, void *value);

static uint32_t read_register(const twin_clock *c, void *uc, int32_t which)
{
    uint32_t value = 0;
    read_fn read;

    *(void **)&read = c->reg_read;
    read(uc, which, &value);
    return value;
}

static void stop_now(const twin_clock *c, void *uc)
{
    stop_fn stop;

    *(void **)&stop = c->emu_stop;
    stop(uc);
}

/* FNV-1a: code in RAM may have been replaced. */
static uint32_t hash_of(const uint8_t *bytes, uint32_t size)
{
    uint32_t h = 2166136261u;

    for (uint32_t i = 0; i < size; i++) {
        h = (h ^ bytes[i]) * 16777619u;
    }
    return h;
}

/* What is known about the block at `address`; NULL where no code can be. */
static twin_block *find(const twin_clock *c, uint32_t address, uint32_t size, twin_count **count)
{
    if (address - FLASH_START < FLASH_SIZE) {
        uint32_t i = (address - FLASH_START) >> 1;
        *count = &c->in_flash[i];
        if (c->flash[i].size != size) {
            c->learn(address, size);
        }
        return &c->flash[i];
    }
    if (address - RAM_START < RAM_SIZE && size <= RAM_START + RAM_SIZE - address) {
        uint32_t i = (address - RAM_START) >> 1;
        uint32_t hash = hash_of(c->ram_bytes + (address - RAM_START), size);
        *count = &c->in_ram[i];
        if (c->ram[i].size != size || c->ram[i].hash != hash) {
            c->learn(address, size);
            c->ram[i].hash = hash;
        }
        return &c->ram[i];
    }
    return NULL;
}

/* The block that runs spends this. */
static void add(twin_clock *c, uint64_t insns, uint64_t cycles)
{
    c->insns += insns;
    c->cycles += cycles;
    c->now += cycles * c->scale;
    if (c->block) {
        c->count->insns += insns;
        c->count->cycles += cycles;
        c->layers[c->block->layer & 63].insns += insns;
        c->layers[c->block->layer & 63].cycles += cycles;
    }
}

static void enter(void *uc, uint64_t address, uint32_t size, void *user)
{
    twin_clock *c = user;
    uint32_t at = (uint32_t)address;
    twin_count *count;
    twin_block *block;

    if (c->now >= c->deadline || (c->ready && !(read_register(c, uc, c->primask) & 1))) {
        stop_now(c, uc);
        return;
    }
    block = find(c, at, size, &count);
    if (!block) {
        return;
    }
    if (at == c->behind) {
        uint32_t less = c->block ? c->block->untaken : 0;

        if (less && c->count->cycles >= less) {
            c->cycles -= less;
            c->now -= (uint64_t)less * c->scale;
            c->count->cycles -= less;
            c->layers[c->block->layer & 63].cycles -= less;
        }
    }
    c->block = block;
    c->count = count;
    count->runs++;
    if (!c->first[block->layer & 63]) {
        c->first[block->layer & 63] = c->now;
    }
    add(c, block->insns, (uint64_t)block->cycles + (at == c->behind ? 0u : block->jumped));
    c->before = c->here;
    c->here = at;
    c->behind = at + size;
}

static uint32_t bits(uint32_t x)
{
    uint32_t n = 0;

    for (; x; x >>= 1) {
        n++;
    }
    return n;
}

/* Arm Cortex-M3 TRM (DDI 0337), 3.3.1, notes on multiplication and division; runtime/m3/timing.py has the same. */
static void operands(void *uc, uint64_t address, uint32_t size, void *user)
{
    const twin_site *site = user;
    twin_clock *c = site->clock;
    uint32_t a = read_register(c, uc, site->a), b = read_register(c, uc, site->b), more;

    (void)address;
    (void)size;
    if (site->kind == 1) {
        more = (uint32_t)(a > 0xFFFF) + (uint32_t)(b > 0xFFFF);
    }
    else {
        if (site->kind == 3) {
            a = a >> 31 ? 0u - a : a;
            b = b >> 31 ? 0u - b : b;
        }
        more = b && a >= b ? ((bits(a) - bits(b) + 1) * 10 + 31) / 32 : 0;
        more = more > 10 ? 10 : more;
    }
    twin_spend(c, more);
}

void twin_spend(twin_clock *c, uint64_t cycles)
{
    add(c, 0, cycles);
}

uint32_t twin_turn(const twin_clock *c)
{
    return c->block && c->here && c->here == c->before ? (uint32_t)c->block->cycles + c->block->jumped : 0;
}

void twin_turns(twin_clock *c, uint64_t times)
{
    if (c->block) {
        c->count->runs += times;
        add(c, times * c->block->insns, times * ((uint64_t)c->block->cycles + c->block->jumped));
    }
}

void *twin_enter_hook(void)
{
    void (*hook)(void *, uint64_t, uint32_t, void *) = enter;

    return *(void **)&hook;
}

void *twin_operands_hook(void)
{
    void (*hook)(void *, uint64_t, uint32_t, void *) = operands;

    return *(void **)&hook;
}
