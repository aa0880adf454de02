/* SPDX-License-Identifier: LGPL-2.1-only */
/* For who writes certificates: the checker's own code over one block, so that a fact is known to be needed or not without
 * checking everything again. verifier/certificate.py calls it; nodes do without. */
#define lpn_certificate_check lpn_writer_check_all
#define lpn_refusal_name lpn_writer_refusal_name
#include <stdint.h>

enum { NOTE_NOTHING, NOTE_VALUE, NOTE_SHARED, NOTE_SLOT, NOTE_BYTE };
static struct { uint32_t what; uint8_t kind, sym; int16_t off; } noted;
#define NOTE(w, v) (noted.what = (w), noted.kind = (v).kind, noted.sym = (v).sym, noted.off = (v).off)
#include "certificate.c"
#include "certificate_host.h"

static void tell(checker *c, int64_t *told)
{
    const value v = { noted.kind, noted.sym, noted.off };
    told[0] = noted.what;
    told[1] = c->at - c->cert;
    told[2] = v.off;
    if (noted.what == NOTE_VALUE || noted.what == NOTE_SHARED) {
        told[2] = v.kind;
        told[3] = low(c, v);
        told[4] = high(c, v);
        told[5] = v.sym == ZERO || c->sym[v.sym].lo == c->sym[v.sym].hi ? 0 : c->sym[v.sym].step;
        told[6] = room(c, v);
    }
    told[7] = c->sym[LENGTH].lo;
}

int lpn_writer_block(const uint8_t *text, uint32_t text_size, const uint8_t *certificate, uint32_t certificate_size,
                     const uint32_t *sizes, void *work, uint32_t work_size, int32_t number, uint32_t *at, int64_t *told)
{
    const lpn_image image = { .text = text, .text_size = text_size, .certificate = certificate, .certificate_size = certificate_size,
                              .rodata_size = sizes[0], .data_size = sizes[1], .record_size = (uint16_t)sizes[2],
                              .state_size = (uint16_t)sizes[3], .stack_used = (uint16_t)sizes[4] };
    if (number == -2) {
        return lpn_writer_check_all(&image, work, work_size, at);
    }
    checker *const c = work;
    if (work_size < sizeof *c) {
        return LPN_REFUSE_MEMORY;
    }
    *c = (checker){ .image = &image, .cert = certificate, .at = certificate, .end = certificate + certificate_size,
                    .count = text_size / 8, .stack = (uint16_t)((sizes[4] + 7u) & ~7u) };
    noted.what = NOTE_NOTHING;
    bool on = true, good = begin(c, work_size - sizeof *c);
    if (good && number >= 0) {
        c->pc = lpn_get16(c->index + 4 * number);
        c->at = certificate + lpn_get16(c->index + 4 * number + 2);
        good = label(c, TAKE, c->pc);
    }
    uint32_t next = number + 1 < c->labels ? lpn_get16(c->index + 4 * (number + 1)) : c->count;
    while (good && on && c->pc < next) {
        const insn i = fetch(c, c->pc);
        good = step(c, &i, &on);
        if (good) {
            c->pc += i.op == 0x18 ? 2 : 1;
        }
    }
    if (good && on && next < c->count) {
        good = edge(c, next);
    }
    *at = c->pc;
    if (!good && told != NULL) {
        tell(c, told);
    }
    return good ? LPN_REFUSE_NOTHING : c->refusal;
}
