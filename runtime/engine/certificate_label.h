/* SPDX-License-Identifier: LGPL-2.1-only */
/* A part of certificate.c: values, and what the labels say of them. */

/* ------------------------------------------------------------------------------------------- reading */

static unsigned byte(checker *c)
{
    if (HOLDS(c->at >= c->image->certificate_size)) {
        REFUSED(c, LPN_REFUSE_FORM);
        return 0;
    }
    return c->cert[c->at++];
}

/* LEB128, cut to 32 bits. */
static uint32_t varint(checker *c)
{
    uint32_t v = 0;
    unsigned shift = 0, b;
    do {
        b = byte(c);
        v |= (uint32_t)(b & 127) << shift;
        shift += 7;
    } while (b > 127 && shift < 35);
    return v;
}

static int32_t zigzag(checker *c)
{
    const uint32_t v = varint(c);
    return (int32_t)(v >> 1) ^ -(int32_t)(v & 1);
}

static void clear(void *from, size_t n)
{
    for (uint8_t *p = from; n > 0; n--) {
        *p++ = 0;
    }
}

/* ------------------------------------------------------------------------------------------- values */

static uint32_t plus(uint32_t n, int32_t by)
{
    return n + (uint32_t)by;
}

/* A room, more or less by so much; what is not known is not known then either, nor what is out of range. */
static int16_t room_by(int32_t room, int32_t by)
{
    const int32_t sum = room + by;
    return (int16_t)(room == NO_ROOM || sum < NO_ROOM ? NO_ROOM : sum > INT16_MAX ? INT16_MAX : sum);
}

/* What is known of a value: its own bounds, room and step (0: a constant). */
static void look(const checker *c, operand *o, value v)
{
    symbol *const s = &c->sym[v.sym];
    const uint32_t length = c->sym[LENGTH].lo;
    int32_t room = s->room;
    o->v = v;
    o->sym = s;
    o->is = *s;
    if (s->hi < LPN_MAX_PACKET * 2 && (int32_t)(length - s->hi) > room) {
        room = (int32_t)(length - s->hi);
    }
    o->is.room = room_by(room, -v.off);
    o->is.lo = plus(s->lo, v.off);
    o->is.hi = plus(s->hi, v.off);
    if (o->is.lo == o->is.hi) {
        o->is.step = 0;
    }
}

/* A symbol that nothing refers to, made anew as c->a says. */
static unsigned new_symbol(checker *c)
{
    unsigned s = c->first;
    for (unsigned i = 0; i < 11u + c->slots;) {
        if (c->reg[i++].sym == s) {
            s++;
            i = 0;
        }
    }
    if (HOLDS(s >= c->symbols)) {
        REFUSED(c, LPN_REFUSE_MEMORY);
        return ZERO;
    }
    c->sym[s] = c->a.is;
    return s;
}

/* *c->to becomes what c->a describes: kind, bounds, step and room. */
static void put(checker *c)
{
    operand *const o = &c->a;
    value out = { o->v.kind, ZERO, (int16_t)o->is.lo };
    if (o->is.lo != o->is.hi || o->is.lo != plus(0, out.off) || (out.kind == NUMBER && out.off < 0)) {
        o->is.step |= o->is.step == 0;
        out.sym = (uint8_t)new_symbol(c);
        out.off = 0;
    }
    *c->to = out;
}

/* *c->to becomes something somewhere in lo..hi. */
static void put_some(checker *c, unsigned kind, uint32_t lo, uint32_t hi)
{
    c->a.v.kind = (uint8_t)kind;
    c->a.is.lo = lo;
    c->a.is.hi = hi;
    c->a.is.room = NO_ROOM;
    c->a.is.step = 1;
    put(c);
}

static void put_number(checker *c, uint32_t hi)
{
    put_some(c, NUMBER, 0, hi);
}

/* ------------------------------------------------------------------------------------------- stack */

enum { CLEAR, SET, TEST };

/* c->span bytes of the stack from c->low on hold numbers: do they, from now on, or no longer? */
static bool numbers(checker *c, int what)
{
    bool all = true;
    for (uint32_t at = c->low; at < c->low + c->span; at++) {
        uint8_t *const p = &c->written[at >> 3];
        const uint8_t bit = (uint8_t)(1u << (at & 7));
        all &= (*p & bit) != 0;
        if (what != TEST) {
            *p = (uint8_t)(what == SET ? *p | bit : *p & ~bit);
        }
    }
    return all;
}

/* The spilled value at a place, or a slot for one; NULL when there is none. */
static value *find_slot(checker *c, unsigned place, bool made)
{
    for (unsigned i = 0; i < c->slots; i++) {
        value *const slot = &c->reg[11 + i];
        if (made ? slot->kind == DEAD : slot->kind != DEAD && c->place[i] == place) {
            c->place[i] = (uint8_t)place;
            return slot;
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------- labels */

/* A value as a label has it, in c->b: v.sym + v.off for a symbol that several share, else an unknown of its own (v.sym is 0). */
static void get_value(checker *c)
{
    enum { LOWEST = 1, WIDTH = 2, ROOM = 4, STEPS = 8, SHARED = 16 };
    /* By form: what follows, and how many bits wide it is if no width does. */
    static const uint8_t forms[16][2] = {
        { 0, 0 }, { LOWEST, 0 }, { LOWEST | WIDTH, 0 }, { LOWEST | WIDTH | ROOM, 0 }, { LOWEST | WIDTH | STEPS, 0 },
        { LOWEST | WIDTH | ROOM | STEPS, 0 }, { SHARED, 0 }, { 0, 8 }, { 0, 16 }, { 0, 1 }, { ROOM, 12 }, { 0, 0 }, { 0, 32 },
    };
    operand *const g = &c->b;
    const unsigned b = byte(c), parts = forms[b >> 4][0], bits = forms[b >> 4][1];
    uint32_t lo = 0, width = bits != 0 ? UINT32_MAX >> (32 - bits) : 0;
    g->v.kind = b & 15;
    g->v.sym = b >> 4 == 11 ? LENGTH : ZERO;
    g->v.off = 0;
    g->is.room = NO_ROOM;
    g->is.step = 1;
    if (parts & LOWEST) {
        lo = varint(c);
    }
    if (parts & WIDTH) {
        width = varint(c);
    }
    if (parts & ROOM) {
        g->is.room = (int16_t)zigzag(c);
    }
    if (parts & STEPS) {
        g->is.step = (uint8_t)byte(c);
        if (HOLDS(g->is.step == 0)) {
            REFUSED(c, LPN_REFUSE_FORM);
            g->is.step = 1;
        }
        width -= width % g->is.step;
    }
    if (parts & SHARED) {
        g->v.sym = (uint8_t)byte(c);
        g->v.off = (int16_t)zigzag(c);
        if (HOLDS(g->v.sym >= c->refs)) {
            REFUSED(c, LPN_REFUSE_FORM);
            g->v.sym = 0;
        }
    }
    g->is.lo = lo;
    g->is.hi = lo + width;
    REFUSE_IF(g->v.kind - 1u >= KINDS - 1 || g->is.hi < lo || (g->v.kind != NUMBER && g->is.hi > MAX_OFFSET), LPN_REFUSE_FORM);
}

/* Is v, wherever it is, one of those in c->b? */
static void within(checker *c, value v)
{
    const symbol *const want = &c->b.is, *const s = &c->a.is;
    look(c, &c->a, v);
    const uint32_t above = s->lo - want->lo, most = want->hi - want->lo;
    REFUSE_IF(above > most || s->hi - s->lo > most - above, LPN_REFUSE_VALUE);
    REFUSE_IF(above % want->step != 0 || s->step % want->step != 0, LPN_REFUSE_VALUE);
    REFUSE_IF(s->room < want->room, LPN_REFUSE_VALUE);
}

enum { SKIP, COMPARE, TAKE };

/* One value of a label: passed over, compared with the one that is there, or from now on what is there. */
static void put_value(checker *c, int mode, value *v)
{
    const operand *const g = &c->b;
    get_value(c);
    if (mode == TAKE) {
        *v = g->v;
        if (g->v.sym == ZERO) {
            c->a = *g;
            c->to = v;
            put(c);
        }
    } else if (mode == COMPARE) {
        value *const image = &c->map[g->v.sym];
        const int32_t off = v->off - g->v.off;
        REFUSE_IF(v->kind != g->v.kind, LPN_REFUSE_VALUE);
        if (g->v.sym == ZERO) {
            within(c, *v);
            return;
        }
        REFUSE_IF(off != (int16_t)off || (image->kind != DEAD && (image->sym != v->sym || image->off != off)), LPN_REFUSE_VALUE);
        image->kind = NUMBER;
        image->sym = v->sym;
        image->off = (int16_t)off;
    }
}

/* What a label says of the stack: spilled values, then runs of written bytes. */
static void frame(checker *c, int mode)
{
    for (uint32_t n = varint(c); n > 0 && c->why == 0; n--) {
        value *const v = find_slot(c, byte(c), mode == TAKE);
        STOP_IF(v == NULL, mode == TAKE ? LPN_REFUSE_MEMORY : LPN_REFUSE_STACK);
        put_value(c, mode, v);
    }
    c->low = 0;
    for (uint32_t n = varint(c); n > 0; n--) {
        c->low += varint(c);
        c->span = varint(c);
        STOP_IF(c->why != 0 || c->low > c->stack || c->span > c->stack - c->low, LPN_REFUSE_FORM);
        REFUSE_IF(!numbers(c, mode == TAKE ? SET : TEST) && mode == COMPARE, LPN_REFUSE_STACK);
        c->low += c->span;
    }
}

/* Loops have rows: slot of the head, the loop around it (0: none), what the counter moves by, the most that a turn costs. */
static const uint8_t *loop_row(const checker *c, unsigned loop)
{
    return c->cert + c->loops + 8 * loop - 8;
}

/* The loop around one; it comes before it. */
static unsigned parent(const checker *c, unsigned loop)
{
    return loop_row(c, loop)[2];
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

/* Nothing is known but how long the packet is at least. */
static void begin_block(checker *c, uint32_t length, uint32_t cost)
{
    clear(c->reg, (11u + c->slots) * sizeof(value));
    clear(c->written, c->stack / 8u);
    c->reg[10] = (value){ STACK, ZERO, BOTTOM };
    c->sym[LENGTH] = (symbol){ length, LPN_MAX_PACKET, 0, 1 };
    c->cost = cost;
}

enum { HAS_SHARED = 1 << 10, HAS_FRAME = 1 << 11, HAS_LENGTH = 1 << 12, HAS_LOOP = 1 << 13 };

/* The label at c->at, for slot pc; c->at is left behind it. */
static void label(checker *c, int mode, uint32_t pc)
{
    const uint32_t cost = varint(c), bits = varint(c), length = bits & HAS_LENGTH ? varint(c) : 0, spilled = bits & HAS_FRAME ? varint(c) : 0;
    const unsigned shared = bits & HAS_SHARED ? byte(c) : 0, loop = bits & HAS_LOOP ? byte(c) : 0;
    unsigned kept = loop;                       /* the loops that go on if control comes here: they keep their counters */
    bool head = false, again = false;
    uint64_t need = cost;
    uint32_t have = c->cost;
    STOP_IF(shared > (unsigned)c->shared - FIRST || loop > c->loop_count, LPN_REFUSE_FORM);
    STOP_IF(depth(c, loop) > shared, LPN_REFUSE_FORM);
    c->refs = (uint8_t)(FIRST + shared);
    if (mode == COMPARE) {
        REFUSE_IF(c->sym[LENGTH].lo < length, LPN_REFUSE_LENGTH);
        head = loop != 0 && lpn_get16(loop_row(c, loop)) == pc;
        if (head) {
            again = inside(c, c->loop, loop);
            kept = parent(c, loop);
        }
        REFUSE_IF(!inside(c, c->loop, kept), LPN_REFUSE_LOOP);
        kept = FIRST + depth(c, kept);
        clear(c->map, c->refs * sizeof(value));
        for (unsigned k = LENGTH; k < kept; k++) {
            c->map[k] = (value){ NUMBER, (uint8_t)k, 0 };
        }
    } else if (mode == TAKE) {
        begin_block(c, length, cost);
        c->first = c->refs;
    }
    for (unsigned i = 0; i < 10; i++) {
        if (bits >> i & 1) {
            put_value(c, mode, &c->reg[i]);
        }
    }
    if (mode != SKIP && spilled != 0) {
        const uint32_t behind = c->at;
        c->at = c->image->certificate_size - spilled;
        frame(c, mode);
        c->at = behind;
    }
    for (unsigned k = FIRST; k < c->refs; k++) {
        const value image = c->map[k];
        get_value(c);
        if (mode == TAKE) {
            c->sym[k] = c->b.is;
        }
        if (mode != COMPARE) {
            continue;
        }
        if (head && k == kept) {                /* this loop's counter */
            const uint8_t *const row = loop_row(c, loop);
            const int32_t by = (int8_t)row[3];
            const uint32_t body = lpn_get32(row + 4);
            STOP_IF(image.kind == DEAD || by == 0, LPN_REFUSE_LOOP);
            if (again) {
                REFUSE_IF(image.sym != k || (by > 0 ? image.off < by : image.off > by), LPN_REFUSE_LOOP);
                have += body;
            } else {
                need += (uint64_t)body * ((c->b.is.hi - c->b.is.lo) / (uint32_t)(by > 0 ? by : -by));
            }
        }
        if (image.kind != DEAD) {
            within(c, image);
        }
    }
    if (mode == COMPARE) {
        REFUSE_IF(COSTS && have < need, LPN_REFUSE_COST);
    } else if (mode == TAKE) {
        for (unsigned i = 0; shared != 0 && i < 11u + c->slots; i++) {      /* sums of a shared symbol and a constant: below 0, or above 32 bits? */
            look(c, &c->a, c->reg[i]);
            REFUSE_IF(c->a.is.lo + bias(&c->a) > c->a.is.hi + bias(&c->a), LPN_REFUSE_FORM);
        }
        c->loop = (uint8_t)loop;
        c->first = (uint8_t)(FIRST + depth(c, loop));           /* what is shared lives on where it is used, counters in any case */
    }
}

/* ------------------------------------------------------------------------------------------- the index */

/* To the first label of a group: its slot, c->at is left at what it says. Jumps and the pass come here alike, so both read the same
 * labels, wherever the index may lead. */
static uint32_t group(checker *c, uint32_t number)
{
    c->at = number == 0 ? c->loops + 8u * c->loop_count : lpn_get16(c->cert + c->index + 2 * number - 2);
    return varint(c);
}

/* Control goes to `target`: what holds now must be within what its label says. */
static void edge(checker *c, uint32_t target)
{
    uint32_t lo = 0, hi = (c->labels + STRIDE - 1u) / STRIDE;
    FOLLOWED(target);
    while (hi > lo + 1) {
        const uint32_t mid = (lo + hi) / 2;
        if (group(c, mid) <= target) {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    uint32_t left = c->labels - lo * STRIDE, at = group(c, lo);
    for (left = left < STRIDE ? left : STRIDE; left > 0 && at < target; left--) {
        label(c, SKIP, at);
        at += varint(c);
    }
    STOP_IF(left == 0 || at != target, LPN_REFUSE_TARGET);
    label(c, COMPARE, target);
}
