/* SPDX-License-Identifier: LGPL-2.1-only */
/* A part of certificate.c: values, and what the labels say of them. */

/* ------------------------------------------------------------------------------------------- reading */

static APART uint32_t more(checker *c, uint32_t v);       /* the rest of a longer one */

/* LEB128, cut to 32 bits: all that a certificate says is said in these, but for its tables. Most have one byte. */
static uint32_t varint(checker *c)
{
    const uint32_t at = c->at;
    if (!HOLDS(at >= c->size)) {
        const unsigned b = c->cert[at];
        c->at = at + 1;
        return b < 128 ? b : more(c, b - 128);
    }
    REFUSED(c, LPN_REFUSE_FORM);
    return 0;
}

static APART uint32_t more(checker *c, uint32_t v)
{
    for (unsigned shift = 7; shift < 35; shift += 7) {
        const uint32_t at = c->at;
        if (HOLDS(at >= c->size)) {
            REFUSED(c, LPN_REFUSE_FORM);
            break;
        }
        const unsigned b = c->cert[at];
        c->at = at + 1;
        v |= (b & 127) << shift;
        if (b < 128) {
            break;
        }
    }
    return v;
}

static int32_t zigzag(checker *c)
{
    const uint32_t v = varint(c);
    return (int32_t)(v >> 1) ^ -(int32_t)(v & 1);
}

/* Whole words. */
static APART void clear(void *from, const void *to)
{
    uint8_t *p = from;
    do {
        lpn_put32(p, 0);
        p += 4;
    } while (p < (const uint8_t *)to);
}

/* ------------------------------------------------------------------------------------------- values */

INLINE uint32_t plus(uint32_t n, int32_t by)
{
    return n + (uint32_t)by;
}

/* A room, more or less by so much; what is not known is not known then either, nor what is out of range. */
static APART int16_t room_by(int32_t room, int32_t by)
{
    const int32_t sum = room == NO_ROOM ? NO_ROOM : room + by, most = sum < INT16_MAX ? sum : INT16_MAX;
    return (int16_t)(most > NO_ROOM ? most : NO_ROOM);
}

/* A symbol that nothing refers to, made anew: one that has not been used since the label, or none refers to now. */
static APART unsigned new_symbol(checker *c, const symbol *is)
{
    for (unsigned left = c->symbols; left > 0; left--) {
        const unsigned k = c->next;
        if (++c->next == c->symbols) {
            c->next = c->first;
            c->suspect = c->reg;
        }
        const value *v = c->suspect;
        while (v < c->map && !HOLDS(v->sym == k)) {
            v++;
        }
        if (v == c->map) {
            c->sym[k] = *is;
            return k;
        }
    }
    REFUSE_IF(true, LPN_REFUSE_MEMORY);
    return ZERO;
}

/* *to becomes what o describes: kind, bounds and room. */
static void put(checker *c, operand *o, value *to)
{
    value out = { o->v.kind, ZERO, (int16_t)o->is.lo };
    if (o->is.lo != o->is.hi || o->is.lo > INT16_MAX) {
        out.sym = (uint8_t)new_symbol(c, &o->is);
        out.off = 0;
    }
    *to = out;
}

/* *c->to becomes something somewhere in lo..hi, with so much room. */
static void put_some(checker *c, unsigned kind, uint32_t lo, uint32_t hi, int16_t room)
{
    c->a.v.kind = (uint8_t)kind;
    c->a.is.lo = lo;
    c->a.is.hi = hi;
    c->a.is.room = room;
    put(c, &c->a, c->to);
}

static void put_number(checker *c, uint32_t hi)
{
    put_some(c, NUMBER, 0, hi, NO_ROOM);
}

/* How a label says a value: a kind alone; bytes of a word; what the pool at the end has. */
enum { MASK = 16, POOL = 32 };

/* What the pool has: a kind, and what follows it. */
enum { LOWEST = 16, ROOM = 32, SHARED = 64 };

/* The first byte of value `n`; c->at is left behind it if it is in the pool. */
static APART unsigned first_of(checker *c, uint32_t n)
{
    if (n >= POOL) {
        c->at = c->size + POOL - 1 - n;
        return varint(c);
    }
    return n < MASK ? n : BYTES;
}

/* What value `n` is: an unknown of its own. c->at stays. */
static APART void read_value(checker *c, operand *g, uint32_t n)
{
    const uint32_t at = c->at, b = first_of(c, n);
    g->v.kind = b & 15;
    g->is.lo = b & LOWEST ? varint(c) : 0;
    g->is.hi = g->is.lo + (n >= POOL ? varint(c) : b == NUMBER ? UINT32_MAX : 0);
    g->is.room = b & ROOM ? (int16_t)zigzag(c) : NO_ROOM;
    REFUSE_IF(HOLDS(g->is.hi < g->is.lo) || (g->v.kind != NUMBER && g->is.hi > MAX_OFFSET), LPN_REFUSE_FORM);
    c->at = at;
}

/* What is known of a value: its own bounds. One that the label left unread is read now. */
static void look(checker *c, operand *o, value *v)
{
    o->v = *v;
    if (v->sym == UNREAD) {
        if ((uint16_t)v->off - 2u < MASK - 2u) {
            o->v.sym = ZERO;                    /* a region's start stays unread */
            o->v.off = 0;
        } else {
            read_value(c, o, (uint16_t)v->off);
            put(c, o, v);
            o->v = *v;
            if (HOLDS(v > &c->reg[10])) {
                c->frame = 0;
            }
        }
    }
    symbol *const s = &c->sym[o->v.sym];
    o->sym = s;
    o->is.lo = plus(s->lo, o->v.off);
    o->is.hi = plus(s->hi, o->v.off);
    /* A label's sum of a symbol and a constant: it must not go around, not even with all that the symbol may be. */
    REFUSE_IF((o->is.lo < s->lo) != (o->v.off < 0) || o->is.lo > o->is.hi, LPN_REFUSE_FORM);
}

/* The room of a value: what is said of its symbol, or what follows from the packet's length. */
static int16_t room_of(const checker *c, const operand *o)
{
    const int16_t room = room_by(o->sym->room, -o->v.off);
    const int32_t left = (int32_t)(c->sym[LENGTH].lo - o->is.hi);
    return o->is.hi < LPN_MAX_PACKET * 2 && left > room ? (int16_t)left : room;
}

/* ------------------------------------------------------------------------------------------- stack */

/* Each word in use, the lowest first, is what is spilled there, or BYTES: off has a bit for each byte that holds a number's. A pointer in
 * two words has UPPER in the second one, what has 32 bits a number 0. */
static APART unsigned known(const value *word)
{
    return word->kind == NUMBER ? 15 : word->kind == BYTES ? word->off & 15 : 0;
}

static bool narrow(const value *word)
{
    return (1u << word->kind & (1u << NUMBER | 1u << LOW | 1u << BYTES)) != 0;
}

/* What stands behind a value in two words, all of it: a kind alone. */
static uint32_t upper(const value *word)
{
    return narrow(word) ? NUMBER : UPPER;
}

static bool pair(const value *word)
{
    return lpn_get32((const uint8_t *)(word + 1)) == upper(word);
}

enum { TEST, SET, KEEP };

/* c->span bytes of the stack from c->low on hold numbers: do they, do they now, or do those that did still? What was spilled there is gone then. */
static bool numbers(checker *c, int what)
{
    bool all = true;
    for (uint32_t at = c->low; at < c->low + c->span; at++) {
        value *const word = &c->reg[11 + at / 4];
        const unsigned bit = 1u << (at & 3), bits = known(word);
        all &= (bits & bit) != 0;
        if (what != TEST) {
            c->frame = 0;
            *word = (value){ BYTES, ZERO, (int16_t)(what == SET ? bits | bit : bits) };
        }
    }
    return all;
}

/* ------------------------------------------------------------------------------------------- labels */

enum { COMPARE, TAKE };

/* Is *v, wherever it is, one of those in c->b? */
static void within(checker *c, value *v)
{
    const symbol *const want = &c->b.is, *const s = &c->a.is;
    look(c, &c->a, v);
    const uint32_t above = s->lo - want->lo, most = want->hi - want->lo;
    REFUSE_IF(above > most || s->hi - s->lo > most - above, LPN_REFUSE_VALUE);
    REFUSE_IF(want->room != NO_ROOM && room_of(c, &c->a) < want->room, LPN_REFUSE_VALUE);
}

/* *v becomes what a label says with number n. Unknowns are not read before they are needed. c->at stays. */
static APART void take(checker *c, value *v, uint32_t n)
{
    const uint32_t at = c->at, b = first_of(c, n);
    *v = (value){ b & 15, UNREAD, (int16_t)n };
    if (b & SHARED) {
        v->sym = (uint8_t)varint(c);
        v->off = (int16_t)zigzag(c);
        if (HOLDS(v->sym >= FIRST)) {           /* this label's own: what another one calls so may be something else */
            c->frame = 0;
        }
        if (HOLDS(v->sym >= c->refs)) {
            REFUSED(c, LPN_REFUSE_FORM);
            v->sym = ZERO;
        }
    }
    c->at = at;
}

/* Is *v what a label says with number n? */
static void compare(checker *c, value *v, uint32_t n)
{
    value is;
    if (n == NUMBER) {                          /* any is one */
        REFUSE_IF(v->kind != NUMBER, LPN_REFUSE_VALUE);
        return;
    }
    take(c, &is, n);
    if (is.kind == BYTES) {
        REFUSE_IF(((uint32_t)is.off & ~known(v) & 15) != 0 || !narrow(v), LPN_REFUSE_STACK);
        return;
    }
    STOP_IF(v->kind != is.kind, LPN_REFUSE_VALUE);
    if (is.sym == UNREAD) {
        read_value(c, &c->b, n);
        within(c, v);
        return;
    }
    value *const image = &c->map[is.sym];
    look(c, &c->a, v);
    const int32_t off = c->a.v.off - is.off;
    REFUSE_IF(off != (int16_t)off || (image->kind != DEAD && (image->sym != c->a.v.sym || image->off != off)), LPN_REFUSE_VALUE);
    image->kind = NUMBER;
    image->sym = c->a.v.sym;
    image->off = (int16_t)off;
}

/* One value of a label: compared with the one that is there, or from now on what is there. One that nobody has looked at since a label said so
 * is what another label says with the same number. */
INLINE void put_value(checker *c, int mode, value *v, uint32_t n)
{
    if (HOLDS(v->sym != UNREAD) || HOLDS((uint16_t)v->off != n)) {
        if (mode == TAKE) {
            take(c, v, n);
        } else {
            compare(c, v, n);
        }
    }
}

/* What a label says of the stack, so far before the certificate's end: a bit for each row of the table of words. Where the words still are as the
 * label before said, and this one says the same, there is nothing to do. */
static void frame(checker *c, int mode, uint32_t before)
{
    const uint8_t *said = c->cert + (c->size - before);
    STOP_IF(before > c->size || 8 * before < c->has[WORDS], LPN_REFUSE_FORM);
    for (uint32_t octet = c->table; octet < c->start; octet += 8 * ROW) {
        for (unsigned bits = *said++; bits != 0; bits &= bits - 1) {
            const uint32_t row = octet + ROW * lpn_lowest(bits);
            if (row < c->start) {
                const unsigned place = c->cert[row];
                value *const word = &c->reg[11 + place / 2];
                put_value(c, mode, word, lpn_get16(c->cert + row + 1));
                if (place & 1) {
                    if (mode == TAKE) {
                        lpn_put32((uint8_t *)(word + 1), upper(word));
                    } else {
                        REFUSE_IF(!pair(word), LPN_REFUSE_STACK);
                    }
                }
            }
        }
    }
}

/* Loops have rows: slot of the head, the loop around it (0: none), what the counter moves by at least, what it is a multiple of, the most
 * that a turn costs. */
static const uint8_t *loop_row(const checker *c, unsigned loop)
{
    return c->rows + LOOP_ROW * loop - LOOP_ROW;
}

/* The loop around one: it comes before it, or is none. */
static unsigned parent(const checker *c, unsigned loop)
{
    const unsigned around = loop_row(c, loop)[2];
    return around < loop ? around : 0;
}

static APART unsigned depth(const checker *c, unsigned loop)
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

/* Nothing is known but how long the packet is at least. */
static void begin_block(checker *c, uint32_t length, uint32_t cost, bool same)
{
    clear(c->reg, same ? &c->reg[10] : c->map);
    c->reg[10] = (value){ STACK, ZERO, BOTTOM };
    c->sym[LENGTH] = (symbol){ .lo = length, .hi = LPN_MAX_PACKET };
    c->cost = cost;
    c->next = c->first = c->refs;
    c->suspect = c->map;
}

/* What a label may say beside its registers: a bit for each behind theirs. */
enum { SHARES, SPILLED, PROVEN, NUMBERS, LOOP, SAID };

/* The label at c->at, for slot pc. */
static void label(checker *c, int mode, uint32_t pc)
{
    uint32_t said[SAID];
    const uint32_t cost = varint(c), bits = varint(c);
    for (unsigned k = 0; k < SAID; k++) {
        said[k] = bits >> k & 1024 ? varint(c) : 0;
    }
    const uint32_t shared = said[SHARES], length = said[PROVEN], loop = said[LOOP];
    const uint32_t before = said[SPILLED];
    const bool same = before != 0 && !HOLDS(before != c->frame);
    unsigned kept = loop;                       /* the loops that go on if control comes here: they keep their counters */
    bool head = false, again = false;
    uint32_t have = c->cost;
    STOP_IF(shared > c->has[SHARE] || loop > c->has[LOOPS], LPN_REFUSE_FORM);
    STOP_IF(depth(c, loop) > shared, LPN_REFUSE_FORM);
    if (mode == COMPARE) {
        REFUSE_IF(c->sym[LENGTH].lo < length, LPN_REFUSE_LENGTH);
        head = loop != 0 && lpn_get16(loop_row(c, loop)) == pc;
        if (head) {
            again = inside(c, c->loop, loop);
            kept = parent(c, loop);
        }
        REFUSE_IF(!inside(c, c->loop, kept), LPN_REFUSE_LOOP);
        kept = FIRST + depth(c, kept);
        for (unsigned k = FIRST; k < FIRST + shared; k++) {
            c->map[k] = (value){ k < kept, (uint8_t)k, 0 };             /* a number, or nothing yet */
        }
    }
    c->refs = FIRST + shared;
    if (mode == TAKE) {
        begin_block(c, length, cost, same);
    }
    const uint32_t own = bits & 1023;
    for (uint32_t left = own | (said[NUMBERS] & 1023); left != 0; left &= left - 1) {
        const unsigned r = lpn_lowest(left);
        value *const v = &c->reg[r];
        put_value(c, mode, v, own >> r & 1 ? (uint16_t)varint(c) : NUMBER);
        REFUSE_IF(v->kind == BYTES, LPN_REFUSE_FORM);
    }
    if (mode == TAKE) {
        c->frame = before;
    }
    if (!same && before != 0) {
        frame(c, mode, before);
    }
    for (unsigned k = FIRST; k < c->refs; k++) {
        value image = c->map[k];
        read_value(c, &c->b, (uint16_t)varint(c));
        if (mode == TAKE) {
            c->sym[k] = c->b.is;
            continue;
        }
        if (head && k == kept) {                /* this loop's counter */
            const uint8_t *const row = loop_row(c, loop);
            const int32_t by = (int8_t)row[3], unit = row[4];
            const uint32_t body = lpn_get32(row + 5);
            unsigned from = image.sym;
            int32_t moved = image.off;
            STOP_IF(image.kind == DEAD || by == 0 || unit == 0, LPN_REFUSE_LOOP);
            if (again) {
                const symbol *const was = &c->sym[k];
                if (from == ZERO && !HOLDS(was->lo != was->hi) && !HOLDS(was->lo > INT16_MAX)) {       /* both are known */
                    moved -= (int32_t)was->lo;
                    from = k;
                }
                REFUSE_IF(from != k || moved / by < 1, LPN_REFUSE_LOOP);
                have += body;
                /* No multiple lies between. */
                c->b.is.lo -= (c->b.is.lo - 1) % (uint32_t)unit;
                c->b.is.hi += (uint32_t)unit - 1 - c->b.is.hi % (uint32_t)unit;
            } else {
                REFUSE_IF(unit != 1 && (from != ZERO || c->b.is.hi > INT32_MAX), LPN_REFUSE_LOOP);
                const uint64_t turns = (uint64_t)body * ((c->b.is.hi - c->b.is.lo) / (uint32_t)(by > 0 ? by : -by));
                STOP_IF(COSTS && turns > have, LPN_REFUSE_COST);
                have -= (uint32_t)turns;
            }
            REFUSE_IF(moved % unit != 0, LPN_REFUSE_LOOP);
        }
        if (image.kind != DEAD) {
            within(c, &image);
        }
    }
    if (mode == COMPARE) {
        REFUSE_IF(COSTS && have < cost, LPN_REFUSE_COST);
        return;
    }
    c->loop = loop;
}

/* ------------------------------------------------------------------------------------------- the index */

/* To the first label of a group, or behind the one before it: its slot is what the group has and its own distance. */
static uint32_t group(checker *c, uint32_t number)
{
    const uint8_t *const row = &c->cert[c->index + 4 * number];
    c->at = c->start;
    if (number == 0) {
        return 0;
    }
    c->at = lpn_get16(row + 2);
    return lpn_get16(row);
}

/* The label at c->at: its slot. c->at is left at what it says, c->behind at the one behind it. Jumps and the pass come this way alike, so both
 * read the same labels, wherever the index may lead. */
static uint32_t label_at(checker *c, uint32_t before)
{
    const uint32_t first = varint(c), size = first & 15;
    c->behind = size != 0 ? size : varint(c);
    c->behind += c->at;
    return before + (first >> 4);
}

/* Control goes to `target`: what holds now must be within what its label says. */
static void edge(checker *c, uint32_t target)
{
    uint32_t lo = 0, hi = (c->has[LABELS] + STRIDE - 1) / STRIDE;
    FOLLOWED(target);
    while (hi > lo + 1) {
        const uint32_t mid = (lo + hi) / 2;
        if (lpn_get16(&c->cert[c->index + 4 * mid]) < target) {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    uint32_t left = c->has[LABELS] - lo * STRIDE, at = group(c, lo);
    for (left = left < STRIDE ? left : STRIDE; left > 0; left--) {
        at = label_at(c, at);
        if (at >= target) {
            break;
        }
        c->at = c->behind;
    }
    STOP_IF(left == 0 || at != target, LPN_REFUSE_TARGET);
    label(c, COMPARE, target);
}
