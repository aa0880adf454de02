/* SPDX-License-Identifier: LGPL-2.1-only */
/* The certificate, checked in one pass over the text: docs/certificate.md has the format, the rules, and why they are enough.
 *
 * A value is `symbol + offset`. A symbol is an unknown with bounds, and with the bytes of packet proven to lie behind the
 * packet's start + the unknown (`room`). Each label of the certificate says what holds there: every edge into it is compared
 * with that, and behind it only that is known. So nothing is remembered but the state at one instruction.
 *
 * Numbers have 32 bits and never wrap, offsets of pointers are in 0..MAX_OFFSET: what would be below a region's start looks large, and is
 * refused as what lies behind its end. */
#if defined(__GNUC__) && defined(__arm__)
#pragma GCC optimize("no-tree-dominator-opts", "no-inline-small-functions", "no-tree-loop-im", "no-schedule-insns2", "no-caller-saves", \
                     "no-forward-propagate", "no-ipa-sra", "no-move-loop-invariants", "no-expensive-optimizations", "no-ipa-cp", \
                     "tree-slp-vectorize", "no-section-anchors", "no-early-inlining", "web")     /* they copy code, or hold on to values: a tenth */
#endif
#include "bytes.h"
#include "certificate.h"
#include "certificate_offsets.h"
#include "lpn_context.h"
#include "lpn_helpers.h"
#include "lpn_options.h"

/* Cores with Thumb-2 have all of this in certificate_thumb2.S. */
#if !defined(__thumb2__) || !defined(__GNUC__) || LPN_CERTIFICATE_IN_C

enum { VERSION = 16, ROW = 3, LOOP_ROW = 9, NO_ROOM = INT16_MIN, MAX_OFFSET = 1 << 17, MOST_SYMBOLS = 127 };

/* UNREAD: one that a label gave, `off` is its number there, and nobody has looked at it since, or it is a region's start. Symbols: the number 0, the packet's length, the counters of the loops around, outermost first, the others. */
enum { ZERO, LENGTH, FIRST, UNREAD = UINT8_MAX };

/* What a register or a word of the stack holds; LOW: the lower half of a packet pointer. DEAD: nothing that may be used. Words alone have the
 * last two. */
enum { DEAD, NUMBER, PKT, LOW, CTX, STACK, REC, STATE, OUT, RODATA, DATA, BYTES, UPPER };

typedef struct { uint8_t kind, sym; int16_t off; } value;
typedef struct {
    int16_t room;               /* the packet has at least so many bytes behind this one; NO_ROOM: nothing is known */
    uint32_t lo, hi;
} symbol;
typedef struct { value v; symbol is, *sym; } operand;            /* a value, its own bounds, the symbol they are from */

/* How a certificate begins: the most that a run costs, how many labels, words, symbols beside the first two, loops. */
enum { COST, LABELS, WORDS, SHARE, LOOPS, FIELDS };

/* What is used most comes first, and bytes before words: the offsets are in short instructions then. */
typedef struct {
    uint32_t why;               /* enum lpn_refusal: what is wrong, the first of it; looked at by whoever goes on */
    uint32_t op, src;           /* the instruction */
    bool on;                    /* control may come to the next one from this one */
    operand a, b;               /* what the instruction works on; what is compared with a label, what this says */
    int32_t off, imm;
    value *to, *from;           /* the instruction's registers */
    uint32_t low, span;         /* bytes that are accessed */
    value *reg;                 /* 0 to 10, and the words of the stack in use behind them */
    const value *suspect;       /* values from here to the map may have the next symbol */
    value *map;                 /* what a label's symbols stand for in this state */
    symbol *sym;
    uint32_t refs;              /* of the label that is read: shared symbols end here */
    uint32_t frame;             /* where a label says of the words of the stack what they still are; 0: they may be others */
    uint32_t symbols, first, next;          /* new ones begin at `first`; the next one may be this */
    uint32_t at, pc, cost;      /* of the certificate: the next byte to read; this slot; what is left to be executed from here on */
    uint32_t size;              /* of the certificate */
    const uint8_t *cert, *rows;             /* of the loops */
    const lpn_image *image;
    uint32_t limit[16];
    uint32_t has[FIELDS];       /* the certificate's beginning */
    uint32_t loop, behind, index, table, start, count;       /* of the certificate: the next label; tables; slots of text */
} checker;

/* Every refusal goes through here: tests disable them one by one (docs/certificate.md). The first is remembered, and the
 * instruction done as if it were right where that harms nobody. */
static APART void refuse(checker *c, uint32_t reason)
{
    if (c->why == 0) {
        c->why = reason;
    }
}
#define REFUSED(c, reason) refuse(c, reason)
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

#ifndef STRIDE                  /* who writes certificates looks at blocks alone: certificate_host.c */
#define STRIDE 8                /* labels for each entry of the index */
#define COSTS true
#define FOLLOWED(target) (void)0
#endif

#include "certificate_label.h"
#include "certificate_step.h"

/* ------------------------------------------------------------------------------------------- the pass */

/* The slot of label `number`, the next one; c->at is left at what it says. */
static uint32_t next_label(checker *c, uint32_t number, uint32_t before)
{
    if (number >= c->has[LABELS]) {
        return UINT32_MAX;
    }
    if (number % STRIDE == 0) {
        before = group(c, number / STRIDE);
    }
    return label_at(c, before);
}

INLINE void walk(checker *c)
{
    uint32_t labels = 0, next = next_label(c, 0, 0), here = c->at, behind = c->behind;
    while (c->pc < c->count) {
        if (next == c->pc) {
            c->at = here;
            if (c->on) {
                label(c, COMPARE, c->pc);
                c->at = here;
            }
            label(c, TAKE, c->pc);
            c->on = true;
            c->at = behind;
            next = next_label(c, ++labels, next);
            here = c->at;
            behind = c->behind;
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
    REFUSE_IF(labels < c->has[LABELS], LPN_REFUSE_LABEL);        /* one behind another that it is not, or behind the text */
}

/* The certificate's beginning: what it needs, how much there is of each, the tables; then the work area, and what holds at the start. */
static void begin(checker *c, const lpn_image *image, size_t size)
{
    c->image = image;
    c->cert = image->certificate;
    c->size = image->certificate_size;
    c->count = image->text_size / 8;
    c->limit[STACK] = (image->stack_used + 7u) & ~7u;
    c->limit[PKT] = MAX_OFFSET;
    c->limit[REC] = image->record_size;
    c->limit[STATE] = image->state_size;
    c->limit[OUT] = image->out_size;
    c->limit[RODATA] = image->rodata_size;
    c->limit[DATA] = image->data_size;
    const uint32_t first = varint(c);
    uint32_t all = 0;
    STOP_IF(first - VERSION > FIELDS, LPN_REFUSE_FORM);
    for (unsigned k = 0; k < first - VERSION; k++) {
        all |= c->has[k] = varint(c);
    }
    c->index = c->at - 4;
    const uint32_t loops = c->at + c->has[LABELS] / STRIDE * 4;
    c->rows = c->cert + loops;
    c->table = loops + LOOP_ROW * c->has[LOOPS];
    c->start = c->table + ROW * c->has[WORDS];
    STOP_IF(all >> 28 != 0 || c->start > c->size, LPN_REFUSE_FORM);
    for (uint32_t row = c->table; row < c->start; row += ROW) {
        STOP_IF(c->cert[row] + 1u >= c->limit[STACK] / 2, LPN_REFUSE_FORM);
    }
    c->map = &c->reg[11 + c->limit[STACK] / 4];
    c->sym = (symbol *)(void *)(c->map + FIRST + c->has[SHARE]);
    const size_t used = (size_t)((uint8_t *)c->sym - (uint8_t *)c->reg), most = (size - used) / sizeof(symbol);
    c->symbols = most < MOST_SYMBOLS ? (uint32_t)most : MOST_SYMBOLS;
    STOP_IF(size < used || c->symbols <= FIRST + c->has[SHARE], LPN_REFUSE_MEMORY);
    c->sym[ZERO] = (symbol){ .room = NO_ROOM };
    c->refs = FIRST;
    begin_block(c, 0, c->has[COST], false);
    c->reg[1].kind = CTX;
    lpn_put32((uint8_t *)&c->map[ZERO], NUMBER);                /* in each state what they are */
    lpn_put32((uint8_t *)&c->map[LENGTH], NUMBER | LENGTH << 8);
    c->on = true;
}

int lpn_certificate_check(const lpn_image *image, void *work, size_t size, uint32_t *at)
{
    checker c;
    clear(&c, &c + 1);
    c.reg = work;
    begin(&c, image, size);
    const uint32_t most = c.cost;
    if (c.why == 0) {
        walk(&c);
    }
    *at = c.why == 0 ? most : c.pc;
    return (int)c.why;
}

#else

#define AT(field, offset) (offsetof(lpn_image, field) == (offset))
_Static_assert(AT(text, IMAGE_TEXT) && AT(certificate, IMAGE_CERTIFICATE) && AT(text_size, IMAGE_TEXT_SIZE) && AT(rodata_size, IMAGE_RODATA_SIZE)
               && AT(data_size, IMAGE_DATA_SIZE) && AT(certificate_size, IMAGE_CERTIFICATE_SIZE) && AT(record_size, IMAGE_RECORD_SIZE)
               && AT(state_size, IMAGE_STATE_SIZE) && AT(stack_used, IMAGE_STACK_USED) && AT(out_size, IMAGE_OUT_SIZE), "certificate_offsets.h");
_Static_assert(LPN_REFUSE_FORM == REFUSE_FORM && LPN_REFUSE_MEMORY == REFUSE_MEMORY && LPN_REFUSE_LABEL == REFUSE_LABEL
               && LPN_REFUSE_TARGET == REFUSE_TARGET && LPN_REFUSE_VALUE == REFUSE_VALUE && LPN_REFUSE_STACK == REFUSE_STACK
               && LPN_REFUSE_LENGTH == REFUSE_LENGTH && LPN_REFUSE_LOOP == REFUSE_LOOP && LPN_REFUSE_COST == REFUSE_COST
               && LPN_REFUSE_REGISTER == REFUSE_REGISTER && LPN_REFUSE_WIDE == REFUSE_WIDE && LPN_REFUSE_POINTER == REFUSE_POINTER
               && LPN_REFUSE_ACCESS == REFUSE_ACCESS && LPN_REFUSE_UNWRITTEN == REFUSE_UNWRITTEN && LPN_REFUSE_DIVISOR == REFUSE_DIVISOR
               && LPN_REFUSE_SHIFT == REFUSE_SHIFT && LPN_REFUSE_HELPER == REFUSE_HELPER && LPN_REFUSE_UNSUPPORTED == REFUSE_UNSUPPORTED,
               "certificate_offsets.h");
_Static_assert(LPN_MAX_PACKET == MAX_PACKET && LPN_WINDOW == WINDOW && LPN_STACK_SIZE == BOTTOM, "certificate_offsets.h");

#endif

#ifdef LPN_CHECK_FAULTS
int lpn_check_fault = -1, lpn_check_faults = __COUNTER__;
#endif
