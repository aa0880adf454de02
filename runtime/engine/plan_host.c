/* SPDX-License-Identifier: LGPL-2.1-only */
#include "plan_host.h"

#include "lpn.h"
#include "vm32_ops.h"

void lpn_host_plan(const uint8_t *text, uint32_t slots, bool certified, bool fuse, uint8_t *plan)
{
    const lpn_program program = { .text = text, .count = slots, .certified = certified };
    lpn_plan32(&program, plan, fuse);
}

const char *lpn_host_handler(uint32_t number, uint32_t *instructions)
{
#define ONE(name) { #name, 1 },
#define TWO(name) { #name, 2 },
#define THREE(name) { #name, 3 },
    static const struct {
        const char *name;
        uint32_t instructions;
    } handlers[] = { LPN_VM32_ONES(ONE) LPN_VM32_TWO(TWO) LPN_VM32_THREE(THREE) };
    if (number >= sizeof handlers / sizeof handlers[0]) {
        return NULL;
    }
    *instructions = handlers[number].instructions;
    return handlers[number].name;
}
