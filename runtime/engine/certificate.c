/* SPDX-License-Identifier: LGPL-2.1-only */
/* The certificate, checked in one pass over the text: docs/certificate.md has the format, the rules, and why they are enough.
 *
 * A value is `symbol + offset`. A symbol is an unknown with bounds, and with the bytes of packet proven to lie behind the
 * packet's start + the unknown (`room`). Each label of the certificate says what holds there: every edge into it is compared
 * with that, and behind it only that is known. So nothing is remembered but the state at one instruction. */
#include "bytes.h"
#include "certificate.h"
#include "lpn_context.h"
#include "lpn_helpers.h"

enum { VERSION = 1, NO_ROOM = INT16_MIN, MAX_OFFSET = 1 << 17, MAX_COST = 1 << 28, BOTTOM = LPN_STACK_SIZE };

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
    const uint8_t *cert, *end, *at;         /* the certificate; the next byte to read */
    const uint8_t *index, *loops, *frames;  /* its tables */
    symbol *sym;
    value *map, *slot;                      /* what a label's symbols stand for in this state; spilled values */
    uint8_t *place, *written;               /* where these lie: word, 128 for two; a bit for each byte of stack in use */
    uint32_t count, pc, cost;               /* slots of text; this one; what is left to be executed from here on */
    uint16_t labels, frame_count, stack;
    uint8_t stride, loop_count, symbols, shared, slots, loop, refusal;
    uint8_t refs, first;        /* of the label that is read: shared symbols end here; new ones begin here */
    value reg[11];
} checker;

/* Every refusal goes through here: tests disable them one by one (docs/certificate.md). */
#ifdef LPN_CHECK_FAULTS
extern int lpn_check_fault, lpn_check_faults;
#define HOLDS(condition) (lpn_check_fault != __COUNTER__ && (condition))
#else
#define HOLDS(condition) (condition)
#endif
#define REFUSE_IF(condition, why) \
    do { \
        if (HOLDS(condition)) { \
            c->refusal = (why); \
            return false; \
        } \
    } while (0)
#ifndef NOTE                    /* for who writes certificates: what is compared now */
#define NOTE(what, v)
#endif
#define TRY(call) \
    do { \
        if (!(call)) { \
            return false; \
        } \
    } while (0)

/* ------------------------------------------------------------------------------------------- reading */

static unsigned byte(checker *c)
{
    if (c->at == c->end) {
        c->refusal = LPN_REFUSE_FORM;       /* looked at by whoever reads on: `intact` */
        return 0;
    }
    return *c->at++;
}

/* LEB128, at most 32 bits, without leading zeros. */
static uint32_t varint(checker *c)
{
    uint32_t v = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
        unsigned b = byte(c);
        v |= (uint32_t)(b & 127) << shift;
        if (b < 128) {
            if ((b == 0 && shift > 0) || (shift == 28 && b > 15)) {
                break;
            }
            return v;
        }
    }
    c->refusal = LPN_REFUSE_FORM;
    return 0;
}

static int32_t zigzag(checker *c)
{
    uint32_t v = varint(c);
    return (int32_t)(v >> 1) ^ -(int32_t)(v & 1);
}

static bool intact(checker *c)
{
    REFUSE_IF(c->refusal != LPN_REFUSE_NOTHING, LPN_REFUSE_FORM);
    return true;
}

/* A value as a label has it: `ref` + `off` for a symbol that several share, else an unknown of its own. */
typedef struct { symbol own; int32_t off; uint8_t kind, ref; } given;

static bool get_value(checker *c, given *g)
{
    const unsigned b = byte(c), form = b >> 4;
    *g = (given){ .own = { 0, 0, NO_ROOM, 1, 0 }, .kind = b & 15 };
    REFUSE_IF(g->kind == DEAD || g->kind >= KINDS, LPN_REFUSE_FORM);
    switch (form) {
    case 0:                     /* any number, a region's start */
        g->own.hi = g->kind == NUMBER ? UINT32_MAX : 0;
        break;
    case 1:                     /* a constant */
        g->own.lo = g->own.hi = varint(c);
        break;
    case 2: case 3: case 4: case 5:     /* bounds; room; step; both */
        g->own.lo = varint(c);
        g->own.hi = varint(c);
        REFUSE_IF(g->own.hi > UINT32_MAX - g->own.lo, LPN_REFUSE_FORM);
        g->own.hi += g->own.lo;
        break;
    case 6:                     /* a shared symbol */
        g->ref = (uint8_t)byte(c);
        REFUSE_IF(g->ref < LENGTH || g->ref >= c->refs, LPN_REFUSE_FORM);
        g->off = zigzag(c);
        REFUSE_IF(g->off != (int16_t)g->off, LPN_REFUSE_FORM);
        break;
    case 7: case 8: case 9:     /* a byte, two bytes, a bit */
        g->own.hi = form == 7 ? 0xff : form == 8 ? 0xffff : 1;
        break;
    case 10:                    /* a cursor somewhere, with room behind it */
        g->own.hi = 4095;
        break;
    default:                    /* the packet's end */
        REFUSE_IF(form > 11, LPN_REFUSE_FORM);
        g->ref = LENGTH;
    }
    if (form == 3 || form == 5 || form == 10) {
        int32_t room = zigzag(c);
        REFUSE_IF(room != (int16_t)room, LPN_REFUSE_FORM);
        g->own.room = (int16_t)room;
    }
    if (form == 4 || form == 5) {
        g->own.step = (uint8_t)byte(c);
        REFUSE_IF(g->own.step == 0, LPN_REFUSE_FORM);
        g->own.hi -= (g->own.hi - g->own.lo) % g->own.step;
    }
    REFUSE_IF(g->kind != NUMBER && g->own.hi > MAX_OFFSET, LPN_REFUSE_FORM);
    return intact(c);
}

/* ------------------------------------------------------------------------------------------- values */

static int64_t low(const checker *c, value v)
{
    return (int64_t)c->sym[v.sym].lo + v.off;
}

static int64_t high(const checker *c, value v)
{
    return (int64_t)c->sym[v.sym].hi + v.off;
}

/* Bytes of packet behind packet + v, at least; NO_ROOM when it is not known. */
static int32_t room(const checker *c, value v)
{
    int32_t known = v.sym == ZERO ? (int32_t)c->sym[LENGTH].lo : c->sym[v.sym].room;
    return known == NO_ROOM ? NO_ROOM : known - v.off;
}

static int16_t as_room(int64_t n)
{
    return (int16_t)(n <= NO_ROOM ? NO_ROOM : n > INT16_MAX ? INT16_MAX : n);
}

/* Depth of a loop: 0 outside all. A loop's parent comes before it. */
static unsigned parent(const checker *c, unsigned loop)
{
    return c->loops[8 * loop - 6];
}

static unsigned depth(const checker *c, unsigned loop)
{
    unsigned n = 0;
    for (; loop != 0; loop = parent(c, loop)) {
        n++;
    }
    return n;
}

static bool inside(const checker *c, unsigned loop, unsigned outer)
{
    while (loop > outer) {
        loop = parent(c, loop);
    }
    return loop == outer;
}

static void clear(uint8_t *p, size_t n)
{
    for (; n > 0; n--) {
        *p++ = 0;
    }
}

/* A symbol that nothing refers to, made anew. */
static bool new_symbol(checker *c, uint8_t *which)
{
    unsigned s = c->first;
    for (;; s++) {
        REFUSE_IF(s >= c->symbols, LPN_REFUSE_MEMORY);
        bool used = false;
        for (unsigned i = 0; i < 11; i++) {
            used |= c->reg[i].sym == s;
        }
        for (unsigned i = 0; i < c->slots; i++) {
            used |= c->slot[i].sym == s;
        }
        if (!used) {
            break;
        }
    }
    for (unsigned i = FIRST; i < c->symbols; i++) {
        if (c->sym[i].rest == s) {
            c->sym[i].rest = 0;
        }
    }
    *which = (uint8_t)s;
    return true;
}

/* A value somewhere in lo..hi. */
static bool fresh(checker *c, value *v, unsigned kind, int64_t lo, int64_t hi, unsigned step, int64_t space)
{
    value out = { (uint8_t)kind, ZERO, 0 };
    step = step == 0 ? 1 : step;
    hi -= (uint32_t)(hi - lo) % step;
    if (lo == hi && lo == (int16_t)lo) {
        out.off = (int16_t)lo;
    } else {
        TRY(new_symbol(c, &out.sym));
        out.off = (int16_t)(lo < 0 ? lo : 0);
        c->sym[out.sym] = (symbol){ (uint32_t)(lo - out.off), (uint32_t)(hi - out.off),
                                    as_room(space <= NO_ROOM ? NO_ROOM : space + out.off), (uint8_t)step, 0 };
    }
    *v = out;
    return true;
}

static bool any_number(checker *c, value *v, uint32_t hi)
{
    return fresh(c, v, NUMBER, 0, hi, 1, NO_ROOM);
}

/* ------------------------------------------------------------------------------------------- labels */

/* Is symbol + off, wherever it is, one of `want`? */
static bool within(checker *c, value v, const symbol *want)
{
    const symbol *s = &c->sym[v.sym];
    REFUSE_IF(low(c, v) < want->lo || high(c, v) > want->hi, LPN_REFUSE_VALUE);
    REFUSE_IF((uint32_t)(low(c, v) - want->lo) % want->step != 0 || (s->lo != s->hi && s->step % want->step != 0), LPN_REFUSE_VALUE);
    REFUSE_IF(want->room != NO_ROOM && room(c, v) < want->room, LPN_REFUSE_VALUE);
    return true;
}

enum { SKIP, COMPARE, TAKE };

/* One value of a label: passed over, compared with the one that is there, or from now on what is there. */
static bool put_value(checker *c, int mode, value *v)
{
    given g;
    TRY(get_value(c, &g));
    if (mode == TAKE) {
        if (g.ref == 0) {
            return fresh(c, v, g.kind, g.own.lo, g.own.hi, g.own.step, g.own.room);
        }
        *v = (value){ g.kind, g.ref, (int16_t)g.off };
    } else if (mode == COMPARE) {
        NOTE(NOTE_VALUE, *v);
        REFUSE_IF(v->kind != g.kind, LPN_REFUSE_VALUE);
        if (g.ref == 0) {
            return within(c, *v, &g.own);
        }
        value *image = &c->map[g.ref];
        int32_t off = v->off - g.off;
        REFUSE_IF(off != (int16_t)off, LPN_REFUSE_VALUE);
        REFUSE_IF(image->kind != DEAD && (image->sym != v->sym || image->off != off), LPN_REFUSE_VALUE);
        *image = (value){ NUMBER, v->sym, (int16_t)off };
    }
    return true;
}

static bool is_written(const checker *c, unsigned at)
{
    return (c->written[at >> 3] >> (at & 7) & 1) != 0;
}

/* The spilled value at a place; NULL when there is none. */
static value *find_slot(checker *c, unsigned place)
{
    for (unsigned i = 0; i < c->slots; i++) {
        if (c->slot[i].kind != DEAD && c->place[i] == place) {
            return &c->slot[i];
        }
    }
    return NULL;
}

/* A slot for a value at this place. A number that is spilled makes way for a pointer: its bytes stay written. */
static value *make_slot(checker *c, unsigned place, bool pointer)
{
    for (unsigned evict = 0; evict <= pointer; evict++) {
        for (unsigned i = 0; i < c->slots; i++) {
            if (c->slot[i].kind == DEAD || (evict && c->slot[i].kind == NUMBER)) {
                c->place[i] = (uint8_t)place;
                c->slot[i].sym = ZERO;
                return &c->slot[i];
            }
        }
    }
    return NULL;
}

/* What a label says of the stack: spilled values, then runs of written bytes. */
static bool frame(checker *c, int mode)
{
    unsigned at = 0;
    for (uint32_t n = varint(c); n > 0; n--) {
        const unsigned place = byte(c), start = (place & 127) * 4;
        TRY(intact(c));
        REFUSE_IF(start + c->stack < BOTTOM || start + (place >> 7 ? 8 : 4) > BOTTOM, LPN_REFUSE_FORM);
        value unused = { 0 }, *v = &unused;
        if (mode != SKIP) {
            NOTE(NOTE_SLOT, ((value){ 0, 0, (int16_t)place }));
            v = mode == COMPARE ? find_slot(c, place) : make_slot(c, place, false);
            REFUSE_IF(v == NULL, mode == COMPARE ? LPN_REFUSE_STACK : LPN_REFUSE_MEMORY);
        }
        TRY(put_value(c, mode, v));
    }
    for (uint32_t n = varint(c); n > 0; n--) {
        uint32_t gap = varint(c), size = varint(c);
        TRY(intact(c));
        REFUSE_IF(gap > c->stack || size > c->stack || at + gap + size > c->stack, LPN_REFUSE_FORM);
        for (at += gap; size > 0; size--, at++) {
            if (mode == TAKE) {
                c->written[at >> 3] |= (uint8_t)(1u << (at & 7));
            }
            NOTE(NOTE_BYTE, ((value){ 0, 0, (int16_t)at }));
            REFUSE_IF(mode == COMPARE && !is_written(c, at), LPN_REFUSE_STACK);
        }
    }
    return intact(c);
}

/* An edge into a label of `loop` that claims `cost`, its shared symbols described at `described`. */
static bool pass(checker *c, unsigned loop, bool head, uint32_t cost, unsigned shared, const uint8_t *described)
{
    const uint8_t *const back = c->at;
    const unsigned common = head ? parent(c, loop) : loop, kept = depth(c, common);
    const bool again = head && inside(c, c->loop, loop);
    uint64_t need = cost;
    REFUSE_IF(!inside(c, c->loop, common), LPN_REFUSE_LOOP);
    c->at = described;
    for (unsigned k = 0; k < shared; k++) {
        given g;
        value *image = &c->map[FIRST + k];
        TRY(get_value(c, &g));
        if (k < kept) {                             /* the counter of a loop that goes on is what it was */
            REFUSE_IF(image->kind != DEAD && (image->sym != FIRST + k || image->off != 0), LPN_REFUSE_LOOP);
            *image = (value){ NUMBER, (uint8_t)(FIRST + k), 0 };
        }
        if (head && k == kept) {
            const uint8_t *row = c->loops + 8 * loop - 8;
            const int step = (int8_t)row[3];
            REFUSE_IF(image->kind == DEAD || step == 0, LPN_REFUSE_LOOP);
            REFUSE_IF(again && (image->sym != FIRST + k || (step > 0 ? image->off < step : image->off > step)), LPN_REFUSE_LOOP);
            if (!again) {
                need += (uint64_t)lpn_get32(row + 4) * ((g.own.hi - g.own.lo) / (uint32_t)(step > 0 ? step : -step));
            }
        }
        if (image->kind != DEAD) {
            NOTE(NOTE_SHARED, *image);
            TRY(within(c, *image, &g.own));
        }
    }
    c->at = back;
    REFUSE_IF(c->cost + (again ? lpn_get32(c->loops + 8 * loop - 4) : 0) < need, LPN_REFUSE_COST);
    return true;
}

enum { HAS_LENGTH = 1 << 10, HAS_SHARED = 1 << 11, HAS_LOOP = 1 << 12, HAS_FRAME = 1 << 13 };

/* The label at c->at, for slot pc. */
static bool label(checker *c, int mode, uint32_t pc)
{
    const uint32_t cost = varint(c);
    uint32_t bits = byte(c);
    bits |= byte(c) << 8;
    const uint32_t length = bits & HAS_LENGTH ? varint(c) : 0, shared = bits & HAS_SHARED ? varint(c) : 0;
    const uint8_t *const described = c->at;
    TRY(intact(c));
    REFUSE_IF(cost > MAX_COST || bits >> 14 != 0 || length > LPN_MAX_PACKET, LPN_REFUSE_FORM);
    REFUSE_IF(shared > (uint32_t)c->shared - FIRST, LPN_REFUSE_FORM);
    c->refs = (uint8_t)(FIRST + shared);
    if (mode == COMPARE) {
        REFUSE_IF(c->sym[LENGTH].lo < length, LPN_REFUSE_LENGTH);
        for (unsigned k = 0; k < shared; k++) {
            c->map[FIRST + k].kind = DEAD;
        }
        c->map[LENGTH] = (value){ NUMBER, LENGTH, 0 };
    } else if (mode == TAKE) {
        for (unsigned i = 0; i < 10; i++) {
            c->reg[i] = (value){ 0 };
        }
        for (unsigned i = 0; i < c->slots; i++) {
            c->slot[i] = (value){ 0 };
        }
        clear(c->written, c->stack / 8u);
        c->sym[LENGTH] = (symbol){ length, LPN_MAX_PACKET, 0, 1, 0 };
        c->cost = cost;
    }
    for (unsigned k = 0; k < shared; k++) {
        given g;
        TRY(get_value(c, &g));
        REFUSE_IF(g.ref != 0, LPN_REFUSE_FORM);
        if (mode == TAKE) {
            c->sym[FIRST + k] = g.own;
        }
    }
    const unsigned loop = bits & HAS_LOOP ? byte(c) : 0, spilled = bits & HAS_FRAME ? varint(c) : 0;
    TRY(intact(c));
    REFUSE_IF(loop > c->loop_count || spilled > c->frame_count || depth(c, loop) > shared, LPN_REFUSE_FORM);
    if (mode == TAKE) {
        c->loop = (uint8_t)loop;
        c->first = c->refs;
    }
    for (unsigned i = 0; i < 10; i++) {
        if (bits >> i & 1) {
            TRY(put_value(c, mode, &c->reg[i]));
        }
    }
    const uint8_t *const back = c->at;
    if (spilled != 0 && mode != SKIP) {
        c->at = c->cert + lpn_get16(c->frames + 2 * spilled - 2);
        TRY(frame(c, mode));
        c->at = back;
    }
    if (mode == COMPARE) {
        return pass(c, loop, loop != 0 && lpn_get16(c->loops + 8 * loop - 8) == pc, cost, shared, described);
    }
    if (mode == TAKE) {         /* what is shared lives on where it is used, counters in any case */
        c->first = (uint8_t)(FIRST + depth(c, loop));
    }
    return true;
}

/* ------------------------------------------------------------------------------------------- the index */

/* Leave c->at behind the slot number of the label at `target`. */
static bool seek(checker *c, uint32_t target)
{
    uint32_t lo = 0, hi = (c->labels + c->stride - 1u) / c->stride;
    REFUSE_IF(hi == 0, LPN_REFUSE_TARGET);
    while (hi - lo > 1) {
        const uint32_t mid = (lo + hi) / 2;
        if (lpn_get16(c->index + 4 * mid) <= target) {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    uint32_t at = lpn_get16(c->index + 4 * lo), left = c->labels - lo * c->stride;
    c->at = c->cert + lpn_get16(c->index + 4 * lo + 2);
    for (left = left < c->stride ? left : c->stride; left > 0 && at < target; left--) {
        TRY(label(c, SKIP, at));
        at = left == 1 ? UINT32_MAX : at + varint(c);
    }
    TRY(intact(c));
    REFUSE_IF(at != target, LPN_REFUSE_TARGET);
    return true;
}

static bool edge(checker *c, int64_t target)
{
    TRY(seek(c, (uint32_t)target));
    return label(c, COMPARE, (uint32_t)target);
}

/* ------------------------------------------------------------------------------------------- memory */

typedef struct { uint8_t op, dst, src; int16_t off; int32_t imm; } insn;

static unsigned access_size(uint8_t op)
{
    return (op & 0x18) == 0x18 ? 8 : 4u >> (op >> 3 & 3);
}

enum { READ = 0, WRITE = 1 };

static uint32_t size_of(const checker *c, unsigned kind)
{
    switch (kind) {
    case REC: return c->image->record_size;
    case STATE: return c->image->state_size;
    case OUT: return LPN_OUT_SIZE;
    case RODATA: return c->image->rodata_size;
    case DATA: return c->image->data_size;
    default: return 0;
    }
}

/* Bytes `v + off` to `+ size`, wherever v may point: are they there? The context is looked at apart. */
static bool reach(checker *c, value v, int32_t off, uint32_t size, int write)
{
    const int64_t lo = low(c, v) + off, hi = high(c, v) + off + size;
    switch (v.kind) {
    case PKT:
        REFUSE_IF(lo < 0, LPN_REFUSE_ACCESS);
        REFUSE_IF(room(c, v) == NO_ROOM, LPN_REFUSE_ACCESS);
        REFUSE_IF(room(c, v) - off - (int32_t)size < (write ? 0 : -LPN_WINDOW), LPN_REFUSE_ACCESS);
        break;
    case STACK:
        REFUSE_IF(lo < BOTTOM - c->stack || hi > BOTTOM, LPN_REFUSE_ACCESS);
        break;
    case REC: case STATE: case OUT: case RODATA: case DATA:
        REFUSE_IF(lo < 0 || hi > size_of(c, v.kind), LPN_REFUSE_ACCESS);
        REFUSE_IF(write && v.kind == RODATA, LPN_REFUSE_ACCESS);
        break;
    default:
        REFUSE_IF(true, v.kind == DEAD ? LPN_REFUSE_REGISTER : LPN_REFUSE_POINTER);
    }
    return true;
}

/* Stack bytes from v + off on, `size` of them wherever they begin, are written numbers. */
static bool written_at(checker *c, value v, int32_t off, uint32_t size)
{
    const uint32_t bottom = (uint32_t)(BOTTOM - c->stack), to = (uint32_t)(high(c, v) + off) + size;
    for (uint32_t at = (uint32_t)(low(c, v) + off); at < to; at++) {
        REFUSE_IF(!is_written(c, at - bottom), LPN_REFUSE_UNWRITTEN);
    }
    return true;
}

/* The bytes may be written: values spilled there are gone. If it is known which: they hold numbers now, or a pointer's. */
static void overwrite(checker *c, value v, int32_t off, uint32_t size, bool number)
{
    const int64_t lo = low(c, v) + off, hi = high(c, v) + off + size;
    for (unsigned i = 0; i < c->slots; i++) {
        const int64_t start = (c->place[i] & 127) * 4;
        if (start < hi && lo < start + (c->place[i] >> 7 ? 8 : 4)) {
            c->slot[i] = (value){ 0 };
        }
    }
    if (hi - lo == size) {
        for (uint32_t at = (uint32_t)lo - (uint32_t)(BOTTOM - c->stack); size > 0; size--, at++) {
            const unsigned bit = 1u << (at & 7), others = c->written[at >> 3] & ~bit;
            c->written[at >> 3] = (uint8_t)(others | (number ? bit : 0));
        }
    }
}

/* The context's slots: rows of lpn_context.h. */
static bool context(checker *c, const insn *i, unsigned size, bool write, value *out)
{
    static const struct { uint8_t off, width, kind, writable; uint32_t max; } slots[] = {
#define SLOT(off, width, name, kind, writable, max) { off, width, kind, writable, max },
        LPN_CONTEXT(SLOT)
#undef SLOT
    };
    const value v = c->reg[write ? i->dst : i->src];
    const int64_t at = low(c, v) + i->off;
    REFUSE_IF(v.sym != ZERO, LPN_REFUSE_ACCESS);
    for (unsigned k = 0; k < sizeof slots / sizeof *slots; k++) {
        const bool whole = at == slots[k].off && size == slots[k].width;
        if (at < slots[k].off || at + size > slots[k].off + slots[k].width) {
            continue;
        }
        if (write) {
            REFUSE_IF(!slots[k].writable, LPN_REFUSE_ACCESS);
            return true;
        }
        if (slots[k].kind == NUMBER) {
            return any_number(c, out, whole ? slots[k].max : (1u << 8 * size) - 1);
        }
        REFUSE_IF(!whole, LPN_REFUSE_POINTER);
        *out = (value){ slots[k].kind, slots[k].max ? LENGTH : ZERO, 0 };
        return true;
    }
    REFUSE_IF(true, LPN_REFUSE_ACCESS);
    return true;
}

static unsigned place_of(int64_t at, unsigned size)
{
    return (unsigned)at / 4 | (size == 8 ? 128 : 0);
}

static bool load(checker *c, const insn *i)
{
    const unsigned size = access_size(i->op);
    const value v = c->reg[i->src];
    value *const dst = &c->reg[i->dst];
    REFUSE_IF((i->op & 0xe0) != 0x60, LPN_REFUSE_UNSUPPORTED);
    if (v.kind == CTX) {
        return context(c, i, size, false, dst);
    }
    TRY(reach(c, v, i->off, size, READ));
    if (v.kind == STACK) {
        const int64_t at = low(c, v) + i->off;
        if (v.sym == ZERO && at % 4 == 0 && size >= 4) {
            const value *slot = find_slot(c, place_of(at, size));
            if (slot != NULL) {
                *dst = *slot;
                return true;
            }
        }
        TRY(written_at(c, v, i->off, size));
    }
    REFUSE_IF(size == 8, LPN_REFUSE_WIDE);
    return any_number(c, dst, UINT32_MAX >> (32 - 8 * size));
}

static bool store(checker *c, const insn *i)
{
    const unsigned size = access_size(i->op);
    const bool reg = (i->op & 7) == 3;
    const value v = c->reg[i->dst];
    value what = reg ? c->reg[i->src] : (value){ NUMBER, ZERO, (int16_t)i->imm };
    REFUSE_IF((i->op & 0xe0) != 0x60, LPN_REFUSE_UNSUPPORTED);
    REFUSE_IF(what.kind == DEAD, LPN_REFUSE_REGISTER);
    if (v.kind == CTX) {
        REFUSE_IF(what.kind != NUMBER, LPN_REFUSE_POINTER);
        return context(c, i, size, true, NULL);
    }
    TRY(reach(c, v, i->off, size, WRITE));
    const int64_t at = low(c, v) + i->off;
    /* Two words at once: only where they are 4-aligned. */
    REFUSE_IF(size == 8 && (v.kind == PKT || at % 4 != 0 || c->sym[v.sym].step % 4 * (v.sym != ZERO) != 0), LPN_REFUSE_ACCESS);
    if (v.kind != STACK) {
        REFUSE_IF(what.kind != NUMBER, LPN_REFUSE_POINTER);
        return true;
    }
    const bool whole = v.sym == ZERO && size >= 4 && at % 4 == 0, number = what.kind == NUMBER;
    /* A pointer is spilled whole: a half of one in a word or two, an address in two that are 8-aligned. */
    REFUSE_IF(!number && (!whole || (what.kind != LOW && (size != 8 || at % 8 != 0))), LPN_REFUSE_POINTER);
    overwrite(c, v, i->off, size, number);
    if (whole && (reg || (i->imm >= 0 && i->imm == (int16_t)i->imm))) {
        value *slot = make_slot(c, place_of(at, size), !number);
        REFUSE_IF(slot == NULL && !number, LPN_REFUSE_MEMORY);
        if (slot != NULL) {
            *slot = what;
        }
    }
    return true;
}

/* ------------------------------------------------------------------------------------------- arithmetic */

/* The second operand: a register's value, or the immediate as a number. */
static bool operand(checker *c, const insn *i, value *b)
{
    if (i->op & 8) {
        *b = c->reg[i->src];
        REFUSE_IF(b->kind == DEAD, LPN_REFUSE_REGISTER);
        return true;
    }
    return fresh(c, b, NUMBER, (uint32_t)i->imm, (uint32_t)i->imm, 1, NO_ROOM);
}

static unsigned common_step(unsigned a, unsigned b)
{
    while (b != 0) {
        unsigned rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The step of a sum; constants have none. */
static unsigned step_of_sum(const checker *c, value a, value b)
{
    const symbol *s = &c->sym[a.sym], *t = &c->sym[b.sym];
    return common_step(s->lo == s->hi ? 0 : s->step, t->lo == t->hi ? 0 : t->step);
}

static bool sum(checker *c, const insn *i, bool minus, bool wide, value a, value b, value *out)
{
    int64_t blo = low(c, b), bhi = high(c, b);
    if (!(i->op & 8)) {
        blo = bhi = i->imm;                 /* of either sign */
    }
    if (!minus && a.kind == NUMBER && b.kind != NUMBER) {
        value swap = a;
        a = b, b = swap;
        blo = low(c, b), bhi = high(c, b);
    }
    if (!wide) {                            /* of a pointer the lower half is taken */
        a.kind = a.kind == PKT ? LOW : a.kind;
        b.kind = b.kind == PKT ? LOW : b.kind;
    }
    const bool difference = minus && a.kind != NUMBER && a.kind == b.kind;
    const unsigned kind = difference ? NUMBER : a.kind;
    REFUSE_IF(!difference && b.kind != NUMBER, LPN_REFUSE_POINTER);
    REFUSE_IF(a.kind != NUMBER && wide == (a.kind == LOW), LPN_REFUSE_POINTER);
    REFUSE_IF(a.kind == CTX && blo != bhi, LPN_REFUSE_POINTER);
    int64_t lo = minus ? low(c, a) - bhi : low(c, a) + blo, hi = minus ? high(c, a) - blo : high(c, a) + bhi;
    const int32_t space = room(c, a), there = minus ? NO_ROOM : room(c, b);
    int64_t left = space == NO_ROOM ? NO_ROOM : minus ? space + blo : space - bhi;
    if (there != NO_ROOM && there - high(c, a) > left) {
        left = there - high(c, a);
    }
    if (minus && a.sym == b.sym) {          /* the same unknown */
        lo = hi = a.off - b.off;
    } else if (minus && a.sym == LENGTH && room(c, b) != NO_ROOM && room(c, b) + a.off > lo) {
        lo = room(c, b) + a.off;            /* what is left of the packet */
    }
    if (kind != NUMBER) {
        REFUSE_IF(lo < NO_ROOM || hi > MAX_OFFSET, LPN_REFUSE_POINTER);
    } else if (lo < 0 || hi > UINT32_MAX) {
        REFUSE_IF(wide, LPN_REFUSE_WIDE);
        return any_number(c, out, UINT32_MAX);
    }
    if (lo == hi && lo == (int16_t)lo) {
        *out = (value){ (uint8_t)kind, ZERO, (int16_t)lo };
        return true;
    }
    const int64_t off = minus ? a.off - blo : a.off + blo, other = b.off + low(c, a);
    if (blo == bhi && off == (int16_t)off) {
        *out = (value){ (uint8_t)kind, a.sym, (int16_t)off };
        return true;
    }
    if (!minus && a.sym == ZERO && other == (int16_t)other) {
        *out = (value){ (uint8_t)kind, b.sym, (int16_t)other };
        return true;
    }
    const int apart = a.off - b.off;
    if (minus && a.sym == LENGTH && (i->op & 8) && b.sym >= FIRST && kind == NUMBER && lo >= apart && apart == (int16_t)apart) {
        TRY(new_symbol(c, &out->sym));      /* the result's own register may hold b no more */
        c->sym[out->sym] = (symbol){ (uint32_t)(lo - apart), (uint32_t)(hi - apart), NO_ROOM, 1, b.sym };
        out->kind = NUMBER;
        out->off = (int16_t)apart;
        return true;
    }
    return fresh(c, out, kind, lo, hi, step_of_sum(c, a, b), left);
}

/* The bits up to the highest of n. */
static uint32_t ones(uint32_t n)
{
    for (unsigned shift = 1; shift < 32; shift *= 2) {
        n |= n >> shift;
    }
    return n;
}

static bool arithmetic(checker *c, const insn *i)
{
    const unsigned code = i->op >> 4;
    const bool wide = (i->op & 7) == 7, negative = wide && !(i->op & 8) && i->imm < 0;
    value *const dst = &c->reg[i->dst];
    const value a = *dst;
    value b;
    if (code == 0xd || code == 8) {         /* byte order, negation */
        REFUSE_IF(a.kind == DEAD, LPN_REFUSE_REGISTER);
        REFUSE_IF(a.kind != NUMBER, LPN_REFUSE_POINTER);
        REFUSE_IF(code == 8 ? wide : i->imm == 64, LPN_REFUSE_WIDE);
        return any_number(c, dst, code == 0xd && i->imm == 16 ? 0xffff : UINT32_MAX);
    }
    TRY(operand(c, i, &b));
    if (code == 0xb) {
        REFUSE_IF(negative, LPN_REFUSE_WIDE);
        if (i->off != 0) {
            REFUSE_IF(b.kind != NUMBER, LPN_REFUSE_POINTER);
            if (high(c, b) >= (int64_t)1 << (i->off - 1)) {
                REFUSE_IF(wide, LPN_REFUSE_WIDE);
                return any_number(c, dst, UINT32_MAX);
            }
        } else if (!wide && b.kind != NUMBER) {
            REFUSE_IF(b.kind != PKT && b.kind != LOW, LPN_REFUSE_POINTER);
            b.kind = LOW;
        }
        *dst = b;
        return true;
    }
    REFUSE_IF(a.kind == DEAD, LPN_REFUSE_REGISTER);
    if (code < 2) {
        return sum(c, i, code == 1, wide, a, b, dst);
    }
    REFUSE_IF(a.kind != NUMBER || b.kind != NUMBER, LPN_REFUSE_POINTER);
    uint32_t alo = (uint32_t)low(c, a), ahi = (uint32_t)high(c, a), blo = (uint32_t)low(c, b), bhi = (uint32_t)high(c, b);
    uint32_t lo = 0, hi = UINT32_MAX;
    unsigned step = 1, sure = a.sym == ZERO ? 1 : c->sym[a.sym].step;
    const bool constant = blo == bhi;
    switch (code) {
    case 0x2: {                             /* times */
        const uint64_t most = (uint64_t)ahi * bhi;
        REFUSE_IF(wide && (negative || most > UINT32_MAX), LPN_REFUSE_WIDE);
        if (most <= UINT32_MAX) {
            lo = alo * blo, hi = (uint32_t)most;
            step = constant && blo != 0 && blo * sure < 256 && blo < 256 ? (unsigned)blo * sure : 1;
        }
        break;
    }
    case 0x3: case 0x9:                     /* divided by, modulo */
        REFUSE_IF(blo == 0, LPN_REFUSE_DIVISOR);
        REFUSE_IF(negative, LPN_REFUSE_WIDE);
        if (i->off != 0 && (ahi | bhi) >> 31 != 0) {
            REFUSE_IF(wide, LPN_REFUSE_WIDE);
        } else if (code == 0x3) {
            lo = alo / bhi, hi = ahi / blo;
        } else if (ahi < blo) {
            return true;
        } else {
            hi = ahi < bhi ? ahi : bhi - 1;
        }
        break;
    case 0x5:                               /* and */
        if (constant && (bhi & (bhi + 1)) == 0 && ahi <= bhi) {
            return true;                    /* it removes nothing */
        }
        hi = ahi < bhi ? ahi : bhi;
        if (constant && blo != 0) {
            step = blo & (0u - blo);
            step = step > 128 ? 128 : step;
        }
        break;
    case 0x4: case 0xa:                     /* or, exclusive or */
        REFUSE_IF(negative, LPN_REFUSE_WIDE);
        hi = ones(ahi | bhi);
        lo = code == 0xa ? 0 : alo > blo ? alo : blo;
        if ((sure & (sure - 1)) == 0 && bhi < sure && alo % sure == 0 && ahi <= UINT32_MAX - bhi) {
            lo = alo + blo, hi = ahi + bhi; /* no bit in common: a sum */
            step = constant ? sure : 1;
        }
        break;
    case 0x6: case 0x7: case 0xc:           /* shifts */
        REFUSE_IF(bhi > 31, LPN_REFUSE_SHIFT);
        if (code == 0x6) {
            const bool fits = (uint64_t)ahi << bhi <= UINT32_MAX;
            REFUSE_IF(wide && !fits, LPN_REFUSE_WIDE);
            if (fits) {
                lo = alo << blo, hi = ahi << bhi;
                step = constant && blo < 8 && sure << blo < 256 ? sure << blo : 1;
            }
        } else if (code == 0x7 || ahi >> 31 == 0) {
            lo = alo >> bhi, hi = ahi >> blo;
        } else {
            REFUSE_IF(wide, LPN_REFUSE_WIDE);
        }
        break;
    default:
        REFUSE_IF(true, LPN_REFUSE_UNSUPPORTED);
    }
    return fresh(c, dst, NUMBER, lo, hi, step, NO_ROOM);
}

/* ------------------------------------------------------------------------------------------- comparisons */

/* Learn a + more <= b. False if it cannot be. */
static bool at_most(checker *c, value a, value b, int more)
{
    const int64_t by = (int64_t)a.off - b.off + more;
    symbol *const s = &c->sym[a.sym], *const t = &c->sym[b.sym];
    if (s == t) {
        return by <= 0;
    }
    const int32_t space = room(c, (value){ NUMBER, b.sym, 0 });
    if (a.sym >= FIRST && space != NO_ROOM && as_room(space + by) > s->room) {
        s->room = as_room(space + by);
    }
    int64_t lo = s->lo + by, hi = t->hi - by;
    if (lo > t->lo) {
        lo += (t->step - (uint32_t)(lo - t->lo) % t->step) % t->step;
        if (lo > t->hi) {
            return false;
        }
        if (b.sym != ZERO) {
            t->lo = (uint32_t)lo;
        }
    }
    if (hi < s->hi) {
        if (hi < s->lo) {
            return false;
        }
        if (a.sym != ZERO) {
            s->hi = (uint32_t)(hi - (uint32_t)(hi - s->lo) % s->step);
        }
    }
    if (t->rest != 0 && c->sym[t->rest].room < (int64_t)t->lo) {
        c->sym[t->rest].room = as_room(t->lo);
    }
    return true;
}

static bool not_equal(checker *c, value a, value b)
{
    symbol *const s = &c->sym[a.sym];
    if (a.sym == b.sym) {
        return a.off != b.off;
    }
    if (b.sym == LENGTH && s->room == a.off - b.off) {
        s->room++;
    }
    if (low(c, b) == high(c, b) && a.sym != ZERO) {
        if (low(c, a) == high(c, a)) {
            return low(c, a) != low(c, b);
        }
        if (low(c, a) == low(c, b)) {
            s->lo += s->step;
        } else if (high(c, a) == low(c, b)) {
            s->hi -= s->step;
        }
        if (s->rest != 0 && c->sym[s->rest].room < (int64_t)s->lo) {
            c->sym[s->rest].room = as_room(s->lo);
        }
    }
    return true;
}

/* Learn `a OP b`, or that it does not hold. False if that cannot be. */
static bool learn(checker *c, unsigned code, value a, value b, bool taken)
{
    enum { EQ = 0x1, GT = 0x2, GE = 0x3, SET = 0x4, NE = 0x5, SGT = 0x6, SGE = 0x7, LT = 0xa, LE = 0xb, SLT = 0xc, SLE = 0xd };
    if (code == SET) {
        return true;
    }
    if (code == SGT || code == SGE || code == SLT || code == SLE) {
        if (high(c, a) > INT32_MAX || high(c, b) > INT32_MAX) {
            return true;
        }
        code = code < 8 ? code - SGT + GT : code - SLT + LT;
    }
    if (code == EQ || code == NE) {
        if ((code == EQ) == taken) {
            return at_most(c, a, b, 0) && at_most(c, b, a, 0);
        }
        return not_equal(c, a, b) && not_equal(c, b, a);
    }
    const bool less = code == LT || code == LE, strict = code == LT || code == GT;
    if (less == taken) {
        return at_most(c, a, b, strict == taken);
    }
    return at_most(c, b, a, strict == taken);
}

static bool branch(checker *c, const insn *i, bool *on)
{
    const unsigned code = i->op >> 4;
    const bool wide = (i->op & 7) == 5;
    const value a = c->reg[i->dst];
    value b;
    REFUSE_IF(a.kind == DEAD, LPN_REFUSE_REGISTER);
    TRY(operand(c, i, &b));
    bool possible[2] = { true, true };
    if (a.kind != b.kind) {                 /* is it null? An empty region may be. */
        REFUSE_IF(!wide || b.kind != NUMBER || b.sym != ZERO || b.off != 0 || (code != 1 && code != 5), LPN_REFUSE_POINTER);
        REFUSE_IF(a.kind == NUMBER || a.kind == LOW, LPN_REFUSE_POINTER);
        if (a.kind == PKT || a.kind == CTX || a.kind == STACK || size_of(c, a.kind) != 0) {
            possible[code == 1] = false;
        }
        if (possible[1]) {
            TRY(edge(c, (int64_t)c->pc + 1 + i->off));
        }
    } else {
        REFUSE_IF(a.kind == LOW || (a.kind != NUMBER && !wide), LPN_REFUSE_POINTER);
        REFUSE_IF(a.kind != NUMBER && code != 1 && code != 5 && (code > 0xb || code == 4 || code == 6 || code == 7), LPN_REFUSE_POINTER);
        REFUSE_IF(wide && !(i->op & 8) && i->imm < 0, LPN_REFUSE_WIDE);
        REFUSE_IF(wide && (code == 6 || code == 7 || code > 0xb) && (high(c, a) > INT32_MAX || high(c, b) > INT32_MAX), LPN_REFUSE_WIDE);
        /* What is learned for the way that jumps is taken back for the one that goes on. */
        const uint8_t which[5] = { a.sym, b.sym, LENGTH, c->sym[a.sym].rest, c->sym[b.sym].rest };
        symbol kept[5];
        for (unsigned k = 0; k < 5; k++) {
            kept[k] = c->sym[which[k]];
        }
        if (learn(c, code, a, b, true)) {
            TRY(edge(c, (int64_t)c->pc + 1 + i->off));
        }
        for (unsigned k = 0; k < 5; k++) {
            c->sym[which[k]] = kept[k];
        }
        possible[0] = learn(c, code, a, b, false);
    }
    *on = possible[0];
    return true;
}

/* ------------------------------------------------------------------------------------------- helpers */

static bool call(checker *c, uint32_t number)
{
    static const uint8_t kinds[][5] = {
#define KINDS_OF(n, name, a, b, c, d, e) [n] = { a, b, c, d, e },
        LPN_HELPERS(KINDS_OF)
#undef KINDS_OF
    };
    REFUSE_IF(number == 0 || number >= sizeof kinds / sizeof *kinds, LPN_REFUSE_UNSUPPORTED);
    const uint8_t *const kind = kinds[number];
    for (int write = READ; write <= WRITE; write++) {       /* reads of a call come first */
        for (unsigned r = 1; r <= 5 && kind[r - 1] != LPN_ARG_NONE; r++) {
            const value v = c->reg[r];
            if (kind[r - 1] != LPN_ARG_MEM_READ && kind[r - 1] != LPN_ARG_MEM_WRITE) {
                REFUSE_IF(v.kind != NUMBER, v.kind == DEAD ? LPN_REFUSE_REGISTER : LPN_REFUSE_HELPER);
                REFUSE_IF(kind[r - 1] != LPN_ARG_SCALAR && low(c, v) != high(c, v), LPN_REFUSE_HELPER);
                continue;
            }
            const value size = c->reg[r + 1];
            if ((kind[r - 1] == LPN_ARG_MEM_WRITE) != write) {
                continue;
            }
            REFUSE_IF(size.kind != NUMBER || low(c, size) != high(c, size) || low(c, size) > MAX_OFFSET, LPN_REFUSE_HELPER);
            if (low(c, size) == 0) {
                REFUSE_IF(v.kind == DEAD, LPN_REFUSE_REGISTER);
                continue;
            }
            const uint32_t n = (uint32_t)low(c, size);
            TRY(reach(c, v, 0, n, write));
            if (v.kind == STACK) {
                if (write) {
                    overwrite(c, v, 0, n, true);
                } else {
                    TRY(written_at(c, v, 0, n));
                }
            }
        }
    }
    for (unsigned r = 1; r <= 5; r++) {
        c->reg[r] = (value){ 0 };
    }
    return any_number(c, &c->reg[0], UINT32_MAX);
}

/* ------------------------------------------------------------------------------------------- the pass */

static insn fetch(const checker *c, uint32_t pc)
{
    const uint8_t *p = c->image->text + 8 * (size_t)pc;
    return (insn){ p[0], p[1] & 15, p[1] >> 4, (int16_t)lpn_get16(p + 2), (int32_t)lpn_get32(p + 4) };
}

/* One instruction; `*on`: control may go on behind it. */
static bool step(checker *c, const insn *i, bool *on)
{
    REFUSE_IF(c->cost == 0, LPN_REFUSE_COST);
    c->cost--;
    switch (i->op & 7) {
    case 0: {
        const unsigned kind = i->src == 0 ? NUMBER : i->src == 8 ? RODATA : DATA;
        const uint32_t high_word = lpn_get32(c->image->text + 8 * (size_t)c->pc + 12), at = (uint32_t)i->imm;
        REFUSE_IF(i->op != 0x18, LPN_REFUSE_UNSUPPORTED);
        REFUSE_IF(high_word != 0, LPN_REFUSE_WIDE);
        REFUSE_IF(kind != NUMBER && (at > size_of(c, kind) || at > MAX_OFFSET), LPN_REFUSE_ACCESS);
        return fresh(c, &c->reg[i->dst], kind, at, at, 1, NO_ROOM);
    }
    case 1:
        return load(c, i);
    case 2: case 3:
        return store(c, i);
    case 4: case 7:
        return arithmetic(c, i);
    default:
        break;
    }
    switch (i->op) {
    case 0x05: case 0x06:
        *on = false;
        return edge(c, (int64_t)c->pc + 1 + (i->op == 0x05 ? i->off : i->imm));
    case 0x85:
        REFUSE_IF(i->src != 0, LPN_REFUSE_UNSUPPORTED);
        return call(c, (uint32_t)i->imm);
    case 0x95:
        *on = false;
        REFUSE_IF(c->reg[0].kind != NUMBER, c->reg[0].kind == DEAD ? LPN_REFUSE_REGISTER : LPN_REFUSE_POINTER);
        return true;
    default:
        return branch(c, i, on);
    }
}

/* The labels one after the other: their slot, and c->at at what they say. */
static bool next_label(checker *c, uint32_t number, uint32_t *pc)
{
    if (number >= c->labels) {
        *pc = UINT32_MAX;
        return true;
    }
    uint32_t before = *pc;
    if (number % c->stride == 0) {
        const uint8_t *row = c->index + number / c->stride * 4;
        *pc = lpn_get16(row);
        REFUSE_IF(c->at != c->cert + lpn_get16(row + 2), LPN_REFUSE_FORM);
    } else {
        *pc += varint(c);
    }
    TRY(intact(c));
    REFUSE_IF((number > 0 && *pc <= before) || *pc >= c->count, LPN_REFUSE_LABEL);
    return true;
}

static bool walk(checker *c)
{
    uint32_t labels = 0, next = 0;
    const uint8_t *here;
    bool on = true;
    TRY(next_label(c, 0, &next));
    here = c->at;
    for (c->pc = 0; c->pc < c->count; c->pc++) {
        REFUSE_IF(next < c->pc, LPN_REFUSE_LABEL);
        if (next == c->pc) {
            if (on) {
                c->at = here;
                TRY(label(c, COMPARE, c->pc));
            }
            c->at = here;
            TRY(label(c, TAKE, c->pc));
            on = true;
            TRY(next_label(c, ++labels, &next));
            here = c->at;
        }
        const insn i = fetch(c, c->pc);
        if (on) {
            TRY(step(c, &i, &on));
        }
        c->pc += i.op == 0x18 || i.op == 0xb8 || i.op == 0xd8;
    }
    REFUSE_IF(on, LPN_REFUSE_END);
    REFUSE_IF(labels < c->labels, LPN_REFUSE_LABEL);
    /* The frames follow, and nothing else. */
    c->at = here;
    c->refs = c->shared;
    for (unsigned k = 0; k < c->frame_count; k++) {
        REFUSE_IF(c->at != c->cert + lpn_get16(c->frames + 2 * k), LPN_REFUSE_FORM);
        TRY(frame(c, SKIP));
    }
    REFUSE_IF(c->at != c->end, LPN_REFUSE_FORM);
    return true;
}

/* ------------------------------------------------------------------------------------------- the whole */

const char *lpn_refusal_name(int refusal)
{
#define NAME(code, name) name,
    static const char *const names[] = { LPN_REFUSALS(NAME) };
#undef NAME
    return refusal >= 0 && refusal < LPN_REFUSAL_COUNT ? names[refusal] : "?";
}

/* The certificate's beginning: what it needs, how much there is of each, the tables. */
static bool begin(checker *c, size_t room_given)
{
    const unsigned version = byte(c);
    c->symbols = (uint8_t)byte(c);
    c->shared = (uint8_t)byte(c);
    c->slots = (uint8_t)byte(c);
    c->cost = varint(c);
    const uint32_t labels = varint(c);
    uint32_t stride = 1, loops = 0, frames = 0;
    if (labels != 0) {
        stride = varint(c), loops = varint(c), frames = varint(c);
    }
    TRY(intact(c));
    REFUSE_IF(version != VERSION || c->cost > MAX_COST || c->shared < FIRST || c->shared > c->symbols, LPN_REFUSE_FORM);
    REFUSE_IF(labels > c->count || stride == 0 || stride > 255 || loops > 255 || frames > 0xffff, LPN_REFUSE_FORM);
    c->labels = (uint16_t)labels, c->stride = (uint8_t)stride, c->loop_count = (uint8_t)loops, c->frame_count = (uint16_t)frames;
    const size_t groups = (labels + stride - 1) / stride, left = (size_t)(c->end - c->at);
    REFUSE_IF(4 * groups + 8 * loops + 2 * frames > left, LPN_REFUSE_FORM);
    c->index = c->at;
    c->loops = c->index + 4 * groups;
    c->frames = c->loops + 8 * loops;
    c->at = c->frames + 2 * frames;
    for (uint32_t k = 0; k < groups; k++) {
        REFUSE_IF(lpn_get16(c->index + 4 * k + 2) > c->end - c->cert, LPN_REFUSE_FORM);
    }
    for (uint32_t k = 0; k < frames; k++) {
        REFUSE_IF(lpn_get16(c->frames + 2 * k) > c->end - c->cert, LPN_REFUSE_FORM);
    }
    for (uint32_t k = 1; k <= loops; k++) {
        REFUSE_IF(parent(c, k) >= k || lpn_get32(c->loops + 8 * k - 4) > MAX_COST, LPN_REFUSE_FORM);
    }
    /* The work area. */
    const size_t needed = c->symbols * sizeof(symbol) + (c->shared + (size_t)c->slots) * sizeof(value) + c->slots + c->stack / 8u;
    REFUSE_IF(needed > room_given, LPN_REFUSE_MEMORY);
    c->sym = (symbol *)(c + 1);
    c->map = (value *)(c->sym + c->symbols);
    c->slot = c->map + c->shared;
    c->place = (uint8_t *)(c->slot + c->slots);
    c->written = c->place + c->slots;
    clear((uint8_t *)c->sym, needed);
    c->sym[ZERO].room = NO_ROOM;
    c->sym[ZERO].step = 1;
    c->sym[LENGTH] = (symbol){ 0, LPN_MAX_PACKET, 0, 1, 0 };
    c->first = FIRST;
    c->reg[1] = (value){ CTX, ZERO, 0 };
    c->reg[10] = (value){ STACK, ZERO, BOTTOM };
    return true;
}

int lpn_certificate_check(const lpn_image *image, void *work, size_t size, uint32_t *at)
{
    checker *const c = work;
    *at = 0;
    if (size < sizeof *c || (lpn_address(work) & 7) != 0) {
        return LPN_REFUSE_MEMORY;
    }
    *c = (checker){ .image = image, .cert = image->certificate, .at = image->certificate,
                    .end = image->certificate + image->certificate_size, .count = image->text_size / 8,
                    .stack = (uint16_t)((image->stack_used + 7u) & ~7u) };
    if (begin(c, size - sizeof *c)) {
        const uint32_t most = c->cost;
        if (walk(c)) {
            *at = most;
            return LPN_REFUSE_NOTHING;
        }
    }
    *at = c->pc;
    return c->refusal;
}

#ifdef LPN_CHECK_FAULTS
int lpn_check_fault = -1, lpn_check_faults = __COUNTER__;
#endif
