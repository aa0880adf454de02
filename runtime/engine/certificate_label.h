/* SPDX-License-Identifier: LGPL-2.1-only */
/* A part of certificate.c: values, and what the labels say of them. */

/* ------------------------------------------------------------------------------------------- reading */

static unsigned byte(checker *c)
{
    if (HOLDS(c->at >= c->image->certificate_size)) {
        c->torn = true;                     /* looked at by whoever reads on */
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

/* A value as a label has it: `ref` + `off` for a symbol that several share, else an unknown of its own. */
typedef struct { symbol own; int32_t off; uint8_t kind, ref; } given;

static int get_value(checker *c, given *g)
{
    enum { LOWEST = 1, WIDTH = 2, ROOM = 4, STEPS = 8, SHARED = 16 };
    /* By form: what follows, and how wide it is if no width does. */
    static const struct { uint16_t parts, width; } forms[16] = {
        { 0, 0 }, { LOWEST, 0 }, { LOWEST | WIDTH, 0 }, { LOWEST | WIDTH | ROOM, 0 }, { LOWEST | WIDTH | STEPS, 0 },
        { LOWEST | WIDTH | ROOM | STEPS, 0 }, { SHARED, 0 }, { 0, 0xff }, { 0, 0xffff }, { 0, 1 }, { ROOM, 4095 }, { 0, 0 },
    };
    const unsigned b = byte(c), form = b >> 4, parts = forms[form].parts;
    g->kind = b & 15;
    g->ref = form == 11 ? LENGTH : 0;
    g->off = 0;
    g->own = (symbol){ parts & LOWEST ? varint(c) : 0, forms[form].width, NO_ROOM, 1, 0 };
    if (parts & WIDTH) {
        g->own.hi = varint(c);
    } else if (b == NUMBER) {
        g->own.hi = UINT32_MAX;
    }
    REFUSE_IF(g->own.hi > UINT32_MAX - g->own.lo, LPN_REFUSE_FORM);
    g->own.hi += g->own.lo;
    if (parts & ROOM) {
        g->own.room = (int16_t)zigzag(c);
    }
    if (parts & STEPS) {
        g->own.step = (uint8_t)byte(c);
        REFUSE_IF(g->own.step == 0, LPN_REFUSE_FORM);
        g->own.hi -= (g->own.hi - g->own.lo) % g->own.step;
    }
    if (parts & SHARED) {
        g->ref = (uint8_t)byte(c);
        REFUSE_IF(g->ref >= c->refs, LPN_REFUSE_FORM);
        g->off = (int16_t)zigzag(c);
    }
    REFUSE_IF(c->torn || g->kind == DEAD || g->kind >= KINDS || (g->kind != NUMBER && g->own.hi > MAX_OFFSET), LPN_REFUSE_FORM);
    return 0;
}

/* ------------------------------------------------------------------------------------------- values */

static uint32_t plus(uint32_t n, int32_t by)
{
    return n + (uint32_t)by;
}

static uint32_t low(const checker *c, value v)
{
    return plus(c->sym[v.sym].lo, v.off);
}

static uint32_t high(const checker *c, value v)
{
    return plus(c->sym[v.sym].hi, v.off);
}

static int32_t clip(uint32_t n)
{
    return (int32_t)(n < 1u << 20 ? n : 1u << 20);
}

/* Bytes of packet behind packet + v, at least; far below 0 when it is not known. */
static int32_t room(const checker *c, value v)
{
    const symbol *s = &c->sym[v.sym];
    const int32_t least = (int32_t)c->sym[LENGTH].lo - clip(s->hi);
    return (s->room != NO_ROOM && s->room > least ? s->room : least) - v.off;
}

static int16_t as_room(int32_t n)
{
    return (int16_t)(n < NO_ROOM ? NO_ROOM : n > INT16_MAX ? INT16_MAX : n);
}

static const uint8_t *loop_row(const checker *c, unsigned loop)
{
    return c->cert + c->loops + 8 * loop - 8;
}

/* A loop's parent comes before it; 0: outside all. */
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

static void clear(uint8_t *p, size_t n)
{
    for (; n > 0; n--) {
        *p++ = 0;
    }
}

/* A symbol that nothing refers to, made anew. */
static int new_symbol(checker *c, symbol made, uint8_t *which)
{
    unsigned s = c->first;
    for (bool used = true; used; s++) {
        REFUSE_IF(s >= c->symbols, LPN_REFUSE_MEMORY);
        used = false;
        for (unsigned i = 0; i < 11; i++) {
            used |= c->reg[i].sym == s;
        }
        for (unsigned i = 0; i < c->slots; i++) {
            used |= c->slot[i].sym == s;
        }
    }
    s--;
    for (unsigned i = FIRST; i < c->symbols; i++) {
        if (c->sym[i].rest == s) {
            c->sym[i].rest = 0;
        }
    }
    c->sym[s] = made;
    *which = (uint8_t)s;
    return 0;
}

/* A value somewhere in lo..hi. */
static int fresh(checker *c, value *v, unsigned kind, uint32_t lo, uint32_t hi, unsigned step, int32_t space)
{
    value out = { (uint8_t)kind, ZERO, (int16_t)lo };
    if (lo != hi || lo != (uint32_t)out.off || (kind == NUMBER && out.off < 0)) {
        REFUSE_IF(kind != NUMBER && lo > MAX_OFFSET, LPN_REFUSE_POINTER);
        step = step == 0 ? 1 : step;
        TRY(new_symbol(c, (symbol){ lo, hi - (hi - lo) % step, as_room(space), (uint8_t)step, 0 }, &out.sym));
        out.off = 0;
    }
    *v = out;
    return 0;
}

static int any_number(checker *c, value *v, uint32_t hi)
{
    return fresh(c, v, NUMBER, 0, hi, 1, NO_ROOM);
}

static int constant(checker *c, value *v, uint32_t n)
{
    return fresh(c, v, NUMBER, n, n, 1, NO_ROOM);
}

/* ------------------------------------------------------------------------------------------- stack */

enum { CLEAR, SET, TEST };

/* Bytes of the stack, counted from the lowest in use, hold numbers: do they, from now on, or no longer? */
static bool numbers(checker *c, uint32_t at, uint32_t size, int what)
{
    bool all = true;
    for (; size > 0; size--, at++) {
        uint8_t *const p = &c->written[at >> 3];
        const uint8_t bit = (uint8_t)(1u << (at & 7));
        all &= (*p & bit) != 0;
        if (what != TEST) {
            *p = (uint8_t)(what == SET ? *p | bit : *p & ~bit);
        }
    }
    return all;
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
    for (unsigned most = DEAD; most <= (pointer ? NUMBER : DEAD); most++) {
        for (unsigned i = 0; i < c->slots; i++) {
            if (c->slot[i].kind <= most) {
                c->place[i] = (uint8_t)place;
                c->slot[i] = (value){ 0 };
                return &c->slot[i];
            }
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------- labels */

/* Is symbol + off, wherever it is, one of `want`? */
static int within(checker *c, value v, const symbol *want)
{
    const symbol *s = &c->sym[v.sym];
    const uint32_t above = low(c, v) - want->lo, most = want->hi - want->lo;
    REFUSE_IF(above > most || s->hi - s->lo > most - above, LPN_REFUSE_VALUE);
    REFUSE_IF(above % want->step != 0 || (s->lo != s->hi && s->step % want->step != 0), LPN_REFUSE_VALUE);
    REFUSE_IF(as_room(room(c, v)) < want->room, LPN_REFUSE_VALUE);
    return 0;
}

enum { SKIP, COMPARE, TAKE };

/* One value of a label: passed over, compared with the one that is there, or from now on what is there. */
static int put_value(checker *c, int mode, value *v)
{
    given g;
    TRY(get_value(c, &g));
    if (mode == TAKE) {
        if (g.ref == 0) {
            return fresh(c, v, g.kind, g.own.lo, g.own.hi, g.own.step, g.own.room);
        }
        *v = (value){ g.kind, g.ref, (int16_t)g.off };
        REFUSE_IF(g.kind == NUMBER && low(c, *v) > high(c, *v), LPN_REFUSE_FORM);      /* below 0, or above 32 bits */
    } else if (mode == COMPARE) {
        REFUSE_IF(v->kind != g.kind, LPN_REFUSE_VALUE);
        if (g.ref == 0) {
            return within(c, *v, &g.own);
        }
        value *image = &c->map[g.ref];
        const int32_t off = v->off - g.off;
        REFUSE_IF(off != (int16_t)off, LPN_REFUSE_VALUE);
        REFUSE_IF(image->kind != DEAD && (image->sym != v->sym || image->off != off), LPN_REFUSE_VALUE);
        *image = (value){ NUMBER, v->sym, (int16_t)off };
    }
    return 0;
}

/* What a label says of the stack: spilled values, then runs of written bytes. */
static int frame(checker *c, int mode)
{
    uint32_t at = 0;
    for (uint32_t n = varint(c); n > 0; n--) {
        const unsigned place = byte(c);
        value *const v = mode == COMPARE ? find_slot(c, place) : make_slot(c, place, false);
        REFUSE_IF(v == NULL, mode == COMPARE ? LPN_REFUSE_STACK : LPN_REFUSE_MEMORY);
        TRY(put_value(c, mode, v));
    }
    for (uint32_t n = varint(c); n > 0; n--) {
        const uint32_t gap = varint(c), size = varint(c);
        REFUSE_IF(c->torn || gap > c->stack - at || size > c->stack - at - gap, LPN_REFUSE_FORM);
        at += gap;
        REFUSE_IF(!numbers(c, at, size, mode == TAKE ? SET : TEST) && mode == COMPARE, LPN_REFUSE_STACK);
        at += size;
    }
    return 0;
}

/* An edge into a label of `loop` that claims `cost`, its shared symbols described at c->at. */
static int pass(checker *c, unsigned loop, bool head, uint32_t cost, unsigned shared)
{
    const unsigned common = head ? parent(c, loop) : loop, kept = depth(c, common);
    const bool again = head && inside(c, c->loop, loop);
    uint64_t have = c->cost, need = cost;
    REFUSE_IF(!inside(c, c->loop, common), LPN_REFUSE_LOOP);
    for (unsigned k = 0; k < shared; k++) {
        given g;
        value *image = &c->map[FIRST + k];
        TRY(get_value(c, &g));
        if (k < kept) {                             /* the counter of a loop that goes on is what it was */
            REFUSE_IF(image->kind != DEAD && (image->sym != FIRST + k || image->off != 0), LPN_REFUSE_LOOP);
            *image = (value){ NUMBER, (uint8_t)(FIRST + k), 0 };
        } else if (head && k == kept) {
            const uint8_t *row = loop_row(c, loop);
            const int32_t by = (int8_t)row[3];
            const uint32_t body = lpn_get32(row + 4);
            REFUSE_IF(image->kind == DEAD || by == 0, LPN_REFUSE_LOOP);
            if (again) {
                REFUSE_IF(image->sym != FIRST + k || (by > 0 ? image->off < by : image->off > by), LPN_REFUSE_LOOP);
                have += body;
            } else {
                need += (uint64_t)body * ((g.own.hi - g.own.lo) / (uint32_t)(by > 0 ? by : -by));
            }
        }
        if (image->kind != DEAD) {
            TRY(within(c, *image, &g.own));
        }
    }
    REFUSE_IF(COSTS && have < need, LPN_REFUSE_COST);
    return 0;
}

enum { REGISTERS = 1023, HAS_SHARED = 1 << 10, HAS_FRAME = 1 << 11, HAS_LENGTH = 1 << 12, HAS_LOOP = 1 << 13 };

/* The label at c->at, for slot pc; c->at is left behind it, unless it is compared. */
static int label(checker *c, int mode, uint32_t pc)
{
    const uint32_t cost = varint(c), bits = varint(c), length = bits & HAS_LENGTH ? varint(c) : 0;
    const unsigned shared = bits & HAS_SHARED ? byte(c) : 0;
    const uint32_t described = c->at;
    REFUSE_IF(shared > (unsigned)c->shared - FIRST, LPN_REFUSE_FORM);
    c->refs = (uint8_t)(FIRST + shared);
    if (mode == COMPARE) {
        REFUSE_IF(c->sym[LENGTH].lo < length, LPN_REFUSE_LENGTH);
        clear((uint8_t *)c->map, c->refs * sizeof(value));
        c->map[LENGTH] = (value){ NUMBER, LENGTH, 0 };
    } else if (mode == TAKE) {
        clear((uint8_t *)c->reg, 10 * sizeof(value));
        clear((uint8_t *)c->slot, c->slots * sizeof(value));
        clear(c->written, c->stack / 8u);
        c->sym[LENGTH] = (symbol){ length, LPN_MAX_PACKET, 0, 1, 0 };
        c->cost = cost;
        c->first = c->refs;
    }
    for (unsigned k = 0; k < shared; k++) {
        given g;
        TRY(get_value(c, &g));
        if (mode == TAKE) {
            c->sym[FIRST + k] = g.own;
        }
    }
    const unsigned loop = bits & HAS_LOOP ? byte(c) : 0;
    REFUSE_IF(loop > c->loop_count || depth(c, loop) > shared, LPN_REFUSE_FORM);
    uint32_t spilled = 0;
    if (bits & HAS_FRAME) {
        spilled = byte(c);
        spilled |= byte(c) << 8;
    }
    for (unsigned i = 0; i < 10; i++) {
        if (bits >> i & 1) {
            TRY(put_value(c, mode, &c->reg[i]));
        }
    }
    const uint32_t behind = c->at;
    if (mode != SKIP && spilled != 0) {
        c->at = spilled;
        TRY(frame(c, mode));
    }
    REFUSE_IF(c->torn, LPN_REFUSE_FORM);
    if (mode == COMPARE) {
        c->at = described;
        return pass(c, loop, loop != 0 && lpn_get16(loop_row(c, loop)) == pc, cost, shared);
    }
    c->at = behind;
    if (mode == TAKE) {         /* what is shared lives on where it is used, counters in any case */
        c->loop = (uint8_t)loop;
        c->first = (uint8_t)(FIRST + depth(c, loop));
    }
    return 0;
}

/* ------------------------------------------------------------------------------------------- the index */

/* Groups of labels but the first: slot of the first label, where its content begins. */
static const uint8_t *index_row(const checker *c, uint32_t group)
{
    return c->cert + c->index + 4 * group - 4;
}

/* Control goes to `target`: what holds now must be within what its label says. */
static int edge(checker *c, uint32_t target)
{
    uint32_t lo = 0, hi = (c->labels + STRIDE - 1u) / STRIDE, at;
    FOLLOWED(target);
    while (hi > lo + 1) {
        const uint32_t mid = (lo + hi) / 2;
        if (lpn_get16(index_row(c, mid)) <= target) {
            lo = mid;
        } else {
            hi = mid;
        }
    }
    if (lo == 0) {
        c->at = c->loops + 8u * c->loop_count;
        at = varint(c);
    } else {
        at = lpn_get16(index_row(c, lo));
        c->at = lpn_get16(index_row(c, lo) + 2);
    }
    uint32_t left = c->labels - lo * STRIDE;
    for (left = left < STRIDE ? left : STRIDE; left > 0 && at < target; left--) {
        TRY(label(c, SKIP, at));
        at += varint(c);
    }
    REFUSE_IF(left == 0 || at != target, LPN_REFUSE_TARGET);
    return label(c, COMPARE, target);
}
