/* SPDX-License-Identifier: LGPL-2.1-only */
/* For who writes certificates: the checker's own code over one block, so that a fact is known to be needed or not without
 * checking everything again. verifier/certify.py calls it; nodes do without. */
#define lpn_certificate_check lpn_writer_check_all
#define lpn_check_fault lpn_writer_fault
#define lpn_check_faults lpn_writer_faults
#include <stdbool.h>

#include "certificate_host.h"

static lpn_writer_state *told_to;
static bool costs_count;
#define STRIDE 1
#define COSTS costs_count
#define FOLLOWED(to) follow(c->pc, to)

static void follow(uint32_t from, uint32_t to)
{
    if (told_to != NULL) {
        told_to->target = to;
        if (told_to->edges < LPN_WRITER_FOLLOWED) {
            told_to->followed[told_to->edges][0] = from;
            told_to->followed[told_to->edges++][1] = to;
        }
    }
}

#include "certificate.c"
#undef lpn_certificate_check
int lpn_certificate_check(const lpn_image *image, void *work, size_t size, uint32_t *at);

static lpn_image image_of(const uint8_t *text, uint32_t text_size, const uint8_t *certificate, uint32_t certificate_size, const uint32_t *sizes)
{
    return (lpn_image){ .text = text, .text_size = text_size, .certificate = certificate, .certificate_size = certificate_size,
                        .rodata_size = sizes[0], .data_size = sizes[1], .record_size = (uint16_t)sizes[2],
                        .state_size = (uint16_t)sizes[3], .stack_used = (uint16_t)sizes[4], .out_size = (uint16_t)sizes[5] };
}

int lpn_writer_check(const uint8_t *text, uint32_t text_size, const uint8_t *certificate, uint32_t certificate_size,
                     const uint32_t *sizes, void *work, uint32_t work_size, uint32_t *at)
{
    const lpn_image image = image_of(text, text_size, certificate, certificate_size, sizes);
    return lpn_certificate_check(&image, work, work_size, at);
}

static lpn_writer_value row(checker *c, value *at, unsigned place)
{
    operand o;
    look(c, &o, at);
    const value v = o.v;
    const bool number = v.kind == NUMBER;
    return (lpn_writer_value){ .lo = number ? (int64_t)o.is.lo : (int32_t)o.is.lo, .hi = number ? (int64_t)o.is.hi : (int32_t)o.is.hi,
                               .room = room_of(c, &o), .place = (uint8_t)place, .kind = v.kind, .sym = v.sym, .off = v.off };
}

/* Of a word of which its bytes alone are known: any number. */
static lpn_writer_value spilled(checker *c, value *word, unsigned place)
{
    if (word->kind != BYTES) {
        return row(c, word, place);
    }
    return (lpn_writer_value){ .hi = UINT32_MAX, .room = NO_ROOM, .place = (uint8_t)place, .kind = known(word) == 15 ? NUMBER : DEAD, .any = 1 };
}

static void tell(checker *c, lpn_writer_state *told)
{
    const uint32_t why = c->why;
    for (unsigned i = 0; i < 10; i++) {
        told->reg[i] = row(c, &c->reg[i], 0);
    }
    told->slots = 0;
    clear(told->written, told->written + sizeof told->written);
    for (unsigned i = 0; i < c->limit[STACK] / 4u; i++) {
        value *const word = &c->reg[11 + i];
        told->written[i / 2] = (uint8_t)(told->written[i / 2] | known(word) << 4 * (i & 1));
        if (word->kind != DEAD && word->kind != UPPER) {           /* what can be loaded there as one word, as two */
            if (narrow(word)) {
                told->slot[told->slots++] = spilled(c, word, 2 * i);
            }
            if (i + 1 < c->limit[STACK] / 4u && pair(word)) {
                told->slot[told->slots++] = spilled(c, word, 2 * i + 1);
            }
        }
    }
    told->pc = c->pc;
    told->length = c->sym[LENGTH].lo;
    told->loop = c->loop;
    c->why = why;
}

int lpn_writer_block(const uint8_t *text, uint32_t text_size, const uint8_t *certificate, uint32_t certificate_size,
                     const uint32_t *sizes, void *work, uint32_t work_size, int32_t number, int costs, lpn_writer_state *told)
{
    const lpn_image image = image_of(text, text_size, certificate, certificate_size, sizes);
    checker made, *const c = &made;
    clear(c, c + 1);
    c->reg = work;
    told_to = told;
    costs_count = costs != 0;
    if (told != NULL) {
        told->edges = 0;
        told->target = UINT32_MAX;
    }
    begin(c, &image, work_size);
    const bool begun = c->why == 0;
    uint32_t next = c->count;
    for (int32_t k = number < 0 ? 0 : number; begun && k <= number + 1 && (uint32_t)k < c->has[LABELS]; k++) {
        const uint32_t pc = label_at(c, group(c, (uint32_t)k));
        if (k == number) {
            c->pc = pc;
            label(c, TAKE, pc);
        } else {
            next = pc;
        }
    }
    while (c->why == 0 && c->on && c->pc < next) {
        fetch(c);
        step(c);
        if (c->why == 0) {
            c->pc += c->op == 0x18 ? 2 : 1;
        }
    }
    if (c->why == 0 && c->on && next < c->count) {
        edge(c, next);
    }
    if (told != NULL && begun) {
        tell(c, told);
    }
    return (int)c->why;
}
