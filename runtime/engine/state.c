/* SPDX-License-Identifier: LGPL-2.1-only */
/* State that outlives its program: registers found again by name and type, and containers that migrate the rest.
 *
 * A row of a table: CRC-32 of the register's name, CRC-32 of its type, offset and size, little-endian
 * (compiler/kept.py). */
#include "vm.h"

enum { NAME = 0, TYPE = 4, OFFSET = 8, SIZE = 10, ROW = 12 };

/* Does the row lie within its memory? */
static bool inside(const uint8_t *row, const lpn_kept *table)
{
    return (uint32_t)lpn_get16(row + OFFSET) + lpn_get16(row + SIZE) <= table->size;
}

static APART const uint8_t *find(const lpn_kept *table, uint32_t name)
{
    for (uint32_t i = 0; i < table->count; i++) {
        if (lpn_get32(table->rows + ROW * i + NAME) == name) {
            return table->rows + ROW * i;
        }
    }
    return NULL;
}

int lpn_state_carry(const lpn_kept *to, const lpn_kept *from, enum lpn_carry mode, uint32_t *at)
{
    for (uint32_t i = 0; i < to->count; i++) {
        const uint8_t *mine = to->rows + ROW * i;
        const uint8_t *theirs = find(from, lpn_get32(mine + NAME));
        *at = i;
        if (theirs == NULL) {
            if (mode == LPN_CARRY_ALL) {
                return LPN_E_STATE;
            }
            continue;
        }
        if (lpn_get32(mine + TYPE) != lpn_get32(theirs + TYPE)
            || lpn_get16(mine + SIZE) != lpn_get16(theirs + SIZE)) {
            if (mode != LPN_CARRY_SAME) {
                return LPN_E_STATE;
            }
            continue;
        }
        if (!inside(mine, to) || !inside(theirs, from)) {
            return LPN_E_MEMORY;
        }
        lpn_copy(to->memory + lpn_get16(mine + OFFSET), from->memory + lpn_get16(theirs + OFFSET),
                 lpn_get16(mine + SIZE));
    }
    return LPN_OK;
}

int lpn_state_migrate(lpn_chain *chain, const lpn_container *container, const lpn_kept *needs, const lpn_kept *from,
                      uint32_t *at)
{
    *at = 0;
    lpn_image image;
    lpn_image_view(&image, container->image);
    if (image.kind != LPN_MIGRATION) {
        return LPN_E_CHAIN;
    }
    if (image.record_hash != lpn_crc32(0, needs->rows, (size_t)ROW * needs->count)) {
        return LPN_E_HASH;
    }
    if (image.record_size > needs->size || image.state_size > chain->state_size
        || ((lpn_address(needs->memory) | lpn_address(chain->state)) & 7) != 0) {
        return LPN_E_MEMORY;
    }
    lpn_zero(needs->memory, needs->size);
    int error = lpn_state_carry(needs, from, LPN_CARRY_ALL, at);
    if (error != LPN_OK) {
        return error;
    }
#if LPN_CODE_ONLY               /* migrations run once: they are interpreted */
    (void)container;
    return LPN_E_LEFT_OUT;
#else
    lpn_run *run = &chain->run;
    uint8_t *ctx = (uint8_t *)chain->ctx;
    lpn_zero(ctx, LPN_CTX_SIZE);
    lpn_put64(ctx + LPN_CTX_PKT, lpn_address(chain->out));      /* a packet of no bytes, and zeros behind it */
    lpn_put64(ctx + LPN_CTX_PKT_END, lpn_address(chain->out));
    lpn_put64(ctx + LPN_CTX_REC, lpn_address(needs->memory));
    lpn_put64(ctx + LPN_CTX_STATE, lpn_address(chain->state));
    lpn_put64(ctx + LPN_CTX_OUT, lpn_address(chain->out));
    lpn_zero((uint8_t *)chain->out, LPN_OUT_SIZE);
    run->view = (lpn_view){ .packet = (const uint8_t *)chain->out };
    lpn_map_memory(chain, run, needs->memory, needs->size);
    run->env = NULL;
    run->fuel = chain->fuel;
    run->insns = 0;
    error = lpn_execute(run, &container->program, lpn_address(ctx), 0);
    *at = run->pc;
    return error;
#endif
}
