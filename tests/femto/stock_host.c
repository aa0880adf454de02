/* SPDX-License-Identifier: LGPL-2.1-only */
/* A host of the stock Femto-Container engine: gives it an image, memory with rights, and LPN's helpers. It is compiled with
 * the engine's own sources (tests/femto_engine.py), for this machine and for the emulated Cortex-M3. */
#include "stock_calls.h"
#include "femtocontainer/config.h"
#include "../../runtime/engine/lpn_helpers.h"

/* cdef begin */
typedef struct {
    uint64_t start;
    uint32_t size, access;      /* 1 read, 2 write, as FC_MEM_REGION_READ and FC_MEM_REGION_WRITE */
} stock_region;

typedef struct {
    uint64_t image, stack, ctx, regions;        /* addresses */
    uint32_t image_size, stack_size, ctx_size, count;
    uint64_t r0;
    int32_t status;                             /* FC_OK, FC_ILLEGAL_... */
    uint32_t taken;                             /* jumps */
    uint32_t error;                             /* of a helper: the engine has no way to end a run for it */
} stock_run;

/* From now on `helper` does what containers call, with `user` and r1 to r5: the error in the upper half, r0 in the lower. NULL: there is none. */
void stock_helpers(uint64_t (*helper)(void *user, uint32_t number, const uint64_t *r), void *user);

/* Sets an image up and runs it once. */
void stock_execute(stock_run *run);

/* May a helper read so many bytes there? What the engine answers for a run's regions. */
int stock_readable(const stock_run *run, uint64_t address, uint32_t size);
/* cdef end */

enum { REGIONS = 16 };

static uint64_t (*helper_of)(void *user, uint32_t number, const uint64_t *r);
static void *user_of;
static uint32_t error_of;

void stock_helpers(uint64_t (*helper)(void *user, uint32_t number, const uint64_t *r), void *user)
{
    helper_of = helper;
    user_of = user;
}

/* The engine does not tell what it calls which number that was: so each has a function of its own. */
static uint32_t called(uint32_t number, const uint64_t *regs)
{
    const uint64_t answer = helper_of(user_of, number, regs + 1);
    if (error_of == 0) {
        error_of = (uint32_t)(answer >> 32);
    }
    return (uint32_t)answer;
}

#define CALL(number, name, ...)                              \
    static uint32_t call_##name(f12r_t *fc, uint64_t *regs)  \
    {                                                        \
        (void)fc;                                            \
        return called(number, regs);                         \
    }
LPN_HELPERS(CALL)

f12r_call_t f12r_get_external_call(uint32_t num)
{
    switch (helper_of ? num : 0) {
#define CASE(number, name, ...) \
    case number: return call_##name;
        LPN_HELPERS(CASE)
    default: return NULL;
    }
}

static void set_up(const stock_run *run, f12r_t *fc, f12r_mem_region_t *regions)
{
    const stock_region *given = (const stock_region *)(uintptr_t)run->regions;

    fc->application = (const uint8_t *)(uintptr_t)run->image;
    fc->application_len = run->image_size;
    fc->stack = (uint8_t *)(uintptr_t)run->stack;
    fc->stack_size = run->stack_size;
    fc->flags = 0;
    f12r_setup(fc);
    for (uint32_t i = 0; i < run->count && i < REGIONS; i++) {
        f12r_add_region(fc, &regions[i], (void *)(uintptr_t)given[i].start, given[i].size, (uint8_t)given[i].access);
    }
}

void stock_execute(stock_run *run)
{
    static f12r_t fc;
    static f12r_mem_region_t regions[REGIONS];
    int64_t result = 0;

    set_up(run, &fc, regions);
    error_of = 0;
    /* Not f12r_execute_ctx: it lets a container write all of its context. */
    run->status = f12r_execute(&fc, (void *)(uintptr_t)run->ctx, run->ctx_size, &result);
    run->r0 = (uint64_t)result;
    run->taken = FEMTO_CONTAINER_BRANCHES_ALLOWED - fc.branches_remaining;
    run->error = error_of;
}

int stock_readable(const stock_run *run, uint64_t address, uint32_t size)
{
    static f12r_t fc;
    static f12r_mem_region_t regions[REGIONS];

    set_up(run, &fc, regions);
    return f12r_load_allowed(&fc, (void *)(uintptr_t)address, size) == 0;
}
