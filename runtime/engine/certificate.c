/* SPDX-License-Identifier: LGPL-2.1-only */
/* The certificate, checked in one pass over the text: docs/certificate.md has the format, the rules, and why they are enough.
 *
 * A value is `symbol + offset`. A symbol is an unknown with bounds, and with the bytes of packet proven to lie behind the
 * packet's start + the unknown (`room`). Each label of the certificate says what holds there: every edge into it is compared
 * with that, and behind it only that is known. So nothing is remembered but the state at one instruction.
 *
 * Numbers have 32 bits and never wrap. Offsets of pointers are of either sign, in 32 bits that wrap: what is below a region's
 * start looks large, and is refused as what lies behind its end. */
#if defined(__GNUC__) && defined(__arm__)
#pragma GCC optimize("no-thread-jumps", "no-tree-dominator-opts", "no-inline-small-functions", "no-tree-loop-im", "no-schedule-insns2")     /* they copy code: a tenth */
#endif

#include "bytes.h"
#include "certificate.h"
#include "lpn_context.h"
#include "lpn_helpers.h"

enum { VERSION = 3, NO_ROOM = INT16_MIN, MAX_OFFSET = 1 << 17, BIAS = 1 << 20, MAX_COST = 1 << 28, BOTTOM = LPN_STACK_SIZE };

/* Symbols: the number 0, the packet's length, the counters of the loops around, outermost first, the others. */
enum { ZERO, LENGTH, FIRST };

/* What a register or stack slot holds; LOW: the lower half of a packet pointer. DEAD: nothing that may be used. */
enum { DEAD, NUMBER, PKT, LOW, CTX, STACK, REC, STATE, OUT, RODATA, DATA, KINDS };

typedef struct { uint8_t kind, sym; int16_t off; } value;
typedef struct {
    uint32_t lo, hi;
    int16_t room;               /* the packet has at least so many bytes behind this one; NO_ROOM: nothing is known */
    uint8_t step;               /* the unknown is lo plus a multiple of it */
} symbol;
typedef struct { symbol is; value v; symbol *sym; } operand;     /* a value, its own bounds, the symbol they are from */

typedef struct {
    uint8_t why;                /* enum lpn_refusal: what is wrong, looked at by whoever goes on */
    uint8_t op, src;            /* the instruction */
    bool on;                    /* control may come to the next one from this one */
    uint8_t symbols, shared, slots, loop_count, loop;
    uint8_t refs, first;        /* of the label that is read: shared symbols end here; new ones begin here */
    int16_t off;
    uint16_t labels, stack;
    int32_t imm;
    value *to, *from;           /* the instruction's registers */
    operand a, b;               /* what the instruction works on; what is compared with a label, what this says */
    uint32_t low, span;         /* bytes that are accessed */
    uint32_t at, index, loops;              /* of the certificate: the next byte to read; its tables */
    uint32_t count, pc, cost;               /* slots of text; this one; what is left to be executed from here on */
    const lpn_image *image;
    const uint8_t *cert;
    symbol *sym;
    value *map;                             /* what a label's symbols stand for in this state */
    uint8_t *place, *written;               /* where spilled values lie: word, 128 for two; a bit for each byte of stack in use */
    value *reg;                             /* 0 to 10, and the spilled values behind them */
} checker;

/* Every refusal goes through here: tests disable them one by one (docs/certificate.md). What is refused is remembered, and the
 * instruction done as if it were right where that harms nobody. */
#ifdef LPN_CHECK_FAULTS
extern int lpn_check_fault, lpn_check_faults;
#define HOLDS(condition) (lpn_check_fault != __COUNTER__ && (condition))
#else
#define HOLDS(condition) (condition)
#endif
#define REFUSE_IF(condition, reason) \
    do { \
        if (HOLDS(condition)) { \
            REFUSED(c, reason); \
        } \
    } while (0)
#define STOP_IF(condition, reason) \
    do { \
        if (HOLDS(condition)) { \
            REFUSED(c, reason); \
            return; \
        } \
    } while (0)

#ifndef STRIDE                  /* who writes certificates looks at blocks alone, and for the first reason: certificate_host.c */
#define STRIDE 16               /* labels for each entry of the index */
#define COSTS true
#define FOLLOWED(target) (void)0
#define REFUSED(c, reason) ((c)->why = (reason))
#endif

/* Of pointers bounds are compared as if all regions began far from 0: what is before their start is less than what is in them. */
static uint32_t bias(const operand *o)
{
    return o->v.kind == NUMBER ? 0 : BIAS;
}

#include "certificate_label.h"
#include "certificate_step.h"

/* ------------------------------------------------------------------------------------------- the pass */

/* The slot of label `number`, the next one; c->at is left at what it says. */
static uint32_t next_label(checker *c, uint32_t number, uint32_t pc)
{
    if (number >= c->labels) {
        return UINT32_MAX;
    }
    return number % STRIDE == 0 ? group(c, number / STRIDE) : pc + varint(c);
}

static void walk(checker *c)
{
    uint32_t labels = 0, next = next_label(c, 0, 0), here = c->at;
    while (c->pc < c->count) {
        if (next == c->pc) {
            c->at = here;
            if (c->on) {
                label(c, COMPARE, c->pc);
                c->at = here;
            }
            label(c, TAKE, c->pc);
            c->on = true;
            next = next_label(c, ++labels, next);
            here = c->at;
        }
        fetch(c);
        const unsigned size = c->on && c->op == 0x18 ? 2 : 1;
        if (c->on) {
            step(c);
        }
        if (c->why != 0) {
            return;
        }
        c->pc += size;
    }
    REFUSE_IF(labels < c->labels, LPN_REFUSE_LABEL);        /* one behind another that it is not, or behind the text */
}

/* The certificate's beginning: what it needs, how much there is of each, the tables; then the work area, and what holds at the start. */
static void begin(checker *c, const lpn_image *image, size_t size)
{
    c->image = image;
    c->cert = image->certificate;
    c->count = image->text_size / 8;
    c->stack = (uint16_t)((image->stack_used + 7u) & ~7u);
    STOP_IF(byte(c) != VERSION, LPN_REFUSE_FORM);
    c->symbols = (uint8_t)byte(c);
    c->slots = (uint8_t)byte(c);
    const uint32_t cost = varint(c), labels = varint(c);
    c->shared = FIRST;
    if (labels != 0) {
        c->shared = (uint8_t)byte(c);
        c->loop_count = (uint8_t)byte(c);
    }
    c->index = c->at;
    c->loops = c->at + (labels != 0 ? (labels - 1) / STRIDE * 2 : 0);
    c->at = c->loops + 8u * c->loop_count;
    STOP_IF(c->shared < FIRST || c->shared > c->symbols || labels > c->count || cost > MAX_COST || c->at > c->image->certificate_size, LPN_REFUSE_FORM);
    c->labels = (uint16_t)labels;
    for (unsigned k = 1; k <= c->loop_count; k++) {
        STOP_IF(parent(c, k) >= k, LPN_REFUSE_FORM);
    }
    c->map = &c->reg[11 + c->slots];
    c->sym = (symbol *)(void *)(c->map + c->shared);
    c->place = (uint8_t *)(c->sym + c->symbols);
    c->written = c->place + c->slots;
    STOP_IF((size_t)(c->written - (uint8_t *)c->reg) + c->stack / 8u > size, LPN_REFUSE_MEMORY);
    clear(c->sym, c->symbols * sizeof(symbol));
    c->sym[ZERO] = (symbol){ 0, 0, NO_ROOM, 1 };
    begin_block(c, 0, cost);
    c->reg[1].kind = CTX;
    c->first = FIRST;
    c->on = true;
}

int lpn_certificate_check(const lpn_image *image, void *work, size_t size, uint32_t *at)
{
    checker c;
    clear(&c, sizeof c);
    c.reg = work;
    begin(&c, image, size);
    const uint32_t most = c.cost;
    if (c.why == 0) {
        walk(&c);
    }
    *at = c.why == 0 ? most : c.pc;
    return c.why;
}

#ifdef LPN_CHECK_FAULTS
int lpn_check_fault = -1, lpn_check_faults = __COUNTER__;
#endif
