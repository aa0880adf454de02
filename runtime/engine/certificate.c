/* SPDX-License-Identifier: LGPL-2.1-only */
/* The certificate, checked in one pass over the text: docs/certificate.md has the format, the rules, and why they are enough.
 *
 * A value is `symbol + offset`. A symbol is an unknown with bounds, and with the bytes of packet proven to lie behind the
 * packet's start + the unknown (`room`). Each label of the certificate says what holds there: every edge into it is compared
 * with that, and behind it only that is known. So nothing is remembered but the state at one instruction.
 *
 * Numbers have 32 bits and never wrap. Offsets of pointers are of either sign, in 32 bits that wrap: what is below a region's
 * start looks large, and is refused as what lies behind its end. */
#include "bytes.h"
#include "certificate.h"
#include "lpn_context.h"
#include "lpn_helpers.h"

enum { VERSION = 2, NO_ROOM = INT16_MIN, MAX_OFFSET = 1 << 17, MAX_COST = 1 << 28, BOTTOM = LPN_STACK_SIZE };

/* Symbols: the number 0, the packet's length, the counters of the loops around, outermost first, the others. */
enum { ZERO, LENGTH, FIRST };

/* What a register or stack slot holds; LOW: the lower half of a packet pointer. DEAD: nothing that may be used. */
enum { DEAD, NUMBER, PKT, LOW, CTX, STACK, REC, STATE, OUT, RODATA, DATA, KINDS };

typedef struct { uint8_t kind, sym; int16_t off; } value;
typedef struct {
    uint32_t lo, hi;
    int16_t room;               /* the packet has at least so many bytes behind this one; NO_ROOM: nothing is known */
    uint8_t step;               /* the unknown is lo plus a multiple of it */
    uint8_t rest;               /* not 0: the unknown is LENGTH - this symbol */
} symbol;

typedef struct {
    const lpn_image *image;
    const uint8_t *cert;
    symbol *sym;
    value *map, *slot;                      /* what a label's symbols stand for in this state; spilled values */
    uint8_t *place, *written;               /* where these lie: word, 128 for two; a bit for each byte of stack in use */
    uint32_t at, index, loops;              /* of the certificate: the next byte to read; its tables */
    uint32_t count, pc, cost;               /* slots of text; this one; what is left to be executed from here on */
    uint16_t labels, stack;
    uint8_t loop_count, symbols, shared, slots, loop;
    uint8_t refs, first;        /* of the label that is read: shared symbols end here; new ones begin here */
    bool torn;                  /* something was read that is not there, or is no number */
    value reg[11];
} checker;

/* Every refusal goes through here: tests disable them one by one (docs/certificate.md). Functions return the refusal, or 0. */
#ifdef LPN_CHECK_FAULTS
extern int lpn_check_fault, lpn_check_faults;
#define HOLDS(condition) (lpn_check_fault != __COUNTER__ && (condition))
#else
#define HOLDS(condition) (condition)
#endif
#define REFUSE_IF(condition, why) \
    do { \
        if (HOLDS(condition)) { \
            return why; \
        } \
    } while (0)
#define TRY(call) \
    do { \
        const int why_ = (call); \
        if (why_ != LPN_REFUSE_NOTHING) { \
            return why_; \
        } \
    } while (0)

#ifndef STRIDE                  /* who writes certificates looks at blocks alone: certificate_host.c */
#define STRIDE 16               /* labels for each entry of the index */
#define COSTS true
#define FOLLOWED(target) (void)0
#endif

#include "certificate_label.h"
#include "certificate_step.h"

/* ------------------------------------------------------------------------------------------- the pass */

/* The labels one after the other: `*pc` is the slot of the last, then of the next; c->at is left at what that one says. */
static int next_label(checker *c, uint32_t number, uint32_t *pc)
{
    if (number >= c->labels) {
        *pc = UINT32_MAX;
        return 0;
    }
    if (number > 0 && number % STRIDE == 0) {
        const uint8_t *row = index_row(c, number / STRIDE);
        *pc = lpn_get16(row);
        REFUSE_IF(c->at != lpn_get16(row + 2), LPN_REFUSE_FORM);
    } else {
        *pc += varint(c);
    }
    return 0;
}

static int walk(checker *c)
{
    uint32_t labels = 0, next = 0, here;
    bool on = true;
    TRY(next_label(c, 0, &next));
    here = c->at;
    while (c->pc < c->count) {
        if (next == c->pc) {
            c->at = here;
            if (on) {
                TRY(label(c, COMPARE, c->pc));
                c->at = here;
            }
            TRY(label(c, TAKE, c->pc));
            on = true;
            TRY(next_label(c, ++labels, &next));
            here = c->at;
        }
        const insn i = fetch(c);
        const unsigned wide = on && i.op == 0x18;
        if (on) {
            TRY(step(c, &i, &on));
        }
        c->pc += 1 + wide;
    }
    REFUSE_IF(labels < c->labels, LPN_REFUSE_LABEL);        /* one behind another that it is not, or behind the text */
    return 0;
}

/* The certificate's beginning: what it needs, how much there is of each, the tables; then the work area. */
static int begin(checker *c, size_t room_given)
{
    const unsigned version = byte(c);
    c->symbols = (uint8_t)byte(c);
    c->shared = (uint8_t)byte(c);
    c->slots = (uint8_t)byte(c);
    c->cost = varint(c);
    const uint32_t labels = varint(c);
    c->loop_count = (uint8_t)(labels != 0 ? byte(c) : 0);
    REFUSE_IF(version != VERSION || c->shared < FIRST || c->shared > c->symbols, LPN_REFUSE_FORM);
    REFUSE_IF(labels > c->count || c->cost > MAX_COST, LPN_REFUSE_FORM);
    c->labels = (uint16_t)labels;
    c->index = c->at;
    c->loops = c->at + (labels != 0 ? (labels - 1) / STRIDE * 4 : 0);
    c->at = c->loops + 8u * c->loop_count;
    REFUSE_IF(c->torn || c->at > c->image->certificate_size, LPN_REFUSE_FORM);
    for (unsigned k = 1; k <= c->loop_count; k++) {
        REFUSE_IF(parent(c, k) >= k, LPN_REFUSE_FORM);
    }
    const size_t needed = c->symbols * sizeof(symbol) + (c->shared + (size_t)c->slots) * sizeof(value) + c->slots + c->stack / 8u;
    REFUSE_IF(needed > room_given, LPN_REFUSE_MEMORY);
    c->sym = (symbol *)(c + 1);
    c->map = (value *)(c->sym + c->symbols);
    c->slot = c->map + c->shared;
    c->place = (uint8_t *)(c->slot + c->slots);
    c->written = c->place + c->slots;
    clear((uint8_t *)c->sym, needed);
    c->sym[ZERO] = (symbol){ 0, 0, NO_ROOM, 1, 0 };
    c->sym[LENGTH] = (symbol){ 0, LPN_MAX_PACKET, 0, 1, 0 };
    c->first = FIRST;
    c->reg[1] = (value){ CTX, ZERO, 0 };
    c->reg[10] = (value){ STACK, ZERO, BOTTOM };
    return 0;
}

int lpn_certificate_check(const lpn_image *image, void *work, size_t size, uint32_t *at)
{
    checker *const c = work;
    *at = 0;
    if (size < sizeof *c || (lpn_address(work) & 7) != 0) {
        return LPN_REFUSE_MEMORY;
    }
    clear(work, sizeof *c);
    c->image = image;
    c->cert = image->certificate;
    c->count = image->text_size / 8;
    c->stack = (uint16_t)((image->stack_used + 7u) & ~7u);
    int refusal = begin(c, size - sizeof *c);
    const uint32_t most = c->cost;
    if (refusal == LPN_REFUSE_NOTHING) {
        refusal = walk(c);
    }
    *at = refusal == LPN_REFUSE_NOTHING ? most : c->pc;
    return refusal;
}

#ifdef LPN_CHECK_FAULTS
int lpn_check_fault = -1, lpn_check_faults = __COUNTER__;
#endif
