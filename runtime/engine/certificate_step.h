/* SPDX-License-Identifier: LGPL-2.1-only */
/* A part of certificate.c: what each instruction asks for, and what holds behind it. */

static void fetch(checker *c)
{
    const uint8_t *p = c->image->text + 8 * (size_t)c->pc;
    c->op = p[0];
    c->src = p[1] >> 4;
    c->off = (int16_t)lpn_get16(p + 2);
    c->imm = (int32_t)lpn_get32(p + 4);
    c->to = &c->reg[p[1] & 15];
    c->from = &c->reg[c->src];
}

/* ------------------------------------------------------------------------------------------- memory */

/* `size` bytes from c->a + off on, wherever it may point: are they there? c->low: the lowest, from the region's start, of the stack from
 * the lowest in use; c->span: how many it may be. The context is looked at apart. */
static bool reach(checker *c, int32_t off, uint32_t size, bool write)
{
    const unsigned kind = c->a.v.kind;
    const uint32_t limit = c->limit[kind];
    c->span = size + (c->a.is.hi - c->a.is.lo);
    c->low = plus(c->a.is.lo, off) - (kind == STACK ? BOTTOM - limit : 0);
    REFUSE_IF(limit == 0 || c->low > limit || c->span < size || c->span > limit - c->low, LPN_REFUSE_ACCESS);
    REFUSE_IF(write && kind == RODATA, LPN_REFUSE_ACCESS);
    REFUSE_IF(kind == PKT && room_of(c, &c->a) - off - (int32_t)size < (write ? 0 : -LPN_WINDOW), LPN_REFUSE_ACCESS);
    return c->why == 0;
}

/* c->span bytes of the stack may be written, `size` of them are: if it is known which these are, they hold numbers now. */
static APART void overwrite(checker *c, uint32_t size)
{
    numbers(c, c->span == size ? SET : KEEP);
}

/* The context, by words: what is there; + 16: may be written; + 32: has 16 bits; + 64: the packet's end. */
static void context(checker *c, unsigned size, bool write)
{
    static const uint8_t words[] = {
#define SLOT(off, width, name, kind, writable, max) \
    [(off) / 4] = (kind) | (writable) << 4 | ((max) == 0xffff) << 5 | ((max) == 1) << 6,
        LPN_CONTEXT(SLOT)
#undef SLOT
    };
    const uint32_t at = plus(c->a.is.lo, c->off), within_word = at % 4;
    STOP_IF(c->a.v.sym != ZERO || at / 4 >= sizeof words, LPN_REFUSE_ACCESS);
    const unsigned word = words[at / 4], kind = word & 15;
    if (kind != NUMBER) {
        REFUSE_IF(kind == DEAD || write || size != 8 || within_word != 0, LPN_REFUSE_ACCESS);
        *c->to = (value){ (uint8_t)kind, word & 64 ? LENGTH : ZERO, 0 };
        return;
    }
    STOP_IF(within_word + size > 4 || (write && !(word & 16)), LPN_REFUSE_ACCESS);
    if (!write) {
        put_number(c, UINT32_MAX >> (32 - 8 * (word & 32 && size == 4 ? 2 : size)));
    }
}

/* A load or store. */
INLINE void access(checker *c)
{
    const unsigned class = c->op & 7, quarter = 4u >> (c->op >> 3 & 3), size = quarter != 0 ? quarter : 8;
    const bool write = class != 1;
    look(c, &c->a, write ? c->to : c->from);
    if (class == 3) {
        look(c, &c->b, c->from);
    }
    const unsigned kind = c->a.v.kind;
    const value what = class == 3 ? *c->from : (value){ NUMBER, ZERO, (int16_t)c->imm };
    const bool number = what.kind == NUMBER;
    REFUSE_IF((c->op & 0xe0) != 0x60, LPN_REFUSE_UNSUPPORTED);
    REFUSE_IF(what.kind == DEAD, LPN_REFUSE_REGISTER);
    REFUSE_IF(!number && kind != STACK, LPN_REFUSE_POINTER);
    if (kind == CTX) {
        context(c, size, write);
        return;
    }
    if (!reach(c, c->off, size, write)) {
        return;
    }
    const bool whole = kind == STACK && c->span == size && size >= 4 && (c->low & 3) == 0;
    value *const word = &c->reg[11 + (whole ? c->low / 4 : 0)];
    if (!write) {
        if (whole && !HOLDS(word->kind - 1u >= DATA) && !HOLDS(size == 8 ? !pair(word) : !narrow(word))) {
            look(c, &c->b, word);
            *c->to = *word;
            return;
        }
        REFUSE_IF(kind == STACK && !numbers(c, TEST), LPN_REFUSE_UNWRITTEN);
        STOP_IF(size == 8 && !(whole && pair(word)), LPN_REFUSE_WIDE);
        put_number(c, size > 2 ? UINT32_MAX : (1u << 8 * size) - 1);
        if (whole) {
            *word = *c->to;                     /* read again, it is the same number */
            c->frame = 0;
        }
        return;
    }
    /* Two words at once: only where they are 4-aligned. */
    REFUSE_IF(size == 8 && (kind == PKT || (c->low & 3) != 0 || c->span != size), LPN_REFUSE_ACCESS);
    if (kind == STACK) {
        /* A pointer is spilled whole: a half of one in a word or two, an address in two that are 8-aligned. */
        REFUSE_IF(!number && (!whole || (what.kind != LOW && (size != 8 || (c->low & 7) != 0))), LPN_REFUSE_POINTER);
        overwrite(c, size);
        if (whole && (class == 3 || c->imm >= 0)) {
            if (class == 3 || c->imm == what.off) {
                *word = what;
            }
            if (size == 8) {
                lpn_put32((uint8_t *)(word + 1), upper(word));
            }
        }
    }
}

/* ------------------------------------------------------------------------------------------- arithmetic */

/* The second operand: a register's value, or the immediate as a number. */
static void second(checker *c)
{
    operand *const b = &c->b;
    if (c->op & 8) {
        look(c, b, c->from);
        REFUSE_IF(b->v.kind == DEAD, LPN_REFUSE_REGISTER);
        return;
    }
    b->v = (value){ NUMBER, ZERO, 0 };
    b->sym = c->sym;
    b->is.lo = b->is.hi = (uint32_t)c->imm;
}

/* The result is c->a + c->b or c->a - c->b. */
INLINE void sum(checker *c, bool minus, bool wide)
{
    operand *a = &c->a, *b = &c->b;
    if (!minus && a->is.lo == a->is.hi) {               /* what is known comes second */
        a = &c->b, b = &c->a;
    }
    unsigned kind = a->v.kind, other = b->v.kind;
    const bool difference = minus && other != NUMBER, far = b->is.hi > MAX_OFFSET;
    if (difference && !wide) {                          /* of two packet pointers the lower halves are taken */
        kind |= kind == PKT;
        other |= other == PKT;
    }
    STOP_IF(difference ? kind != other : kind != NUMBER && other != NUMBER, LPN_REFUSE_POINTER);
    if (!minus && kind == NUMBER) {
        kind = other;
    }
    STOP_IF(kind != NUMBER && wide == (kind == LOW), LPN_REFUSE_POINTER);
    if (difference) {
        kind = NUMBER;
    }
    const int32_t space = room_of(c, a), left = room_of(c, b) + a->v.off;
    if (minus) {
        const uint32_t hi = b->is.hi;
        b->is.hi = 0 - b->is.lo;
        b->is.lo = 0 - hi;
    }
    uint32_t lo = a->is.lo + b->is.lo, hi = a->is.hi + b->is.hi;
    bool fits = minus ? lo <= a->is.lo : hi >= a->is.hi;
    if (minus && a->v.sym == LENGTH && left >= (fits ? (int32_t)lo : 0)) {     /* what is left of the packet */
        lo = (uint32_t)left;
        fits = true;
    }
    if (kind != NUMBER) {
        STOP_IF(far || !fits || lo > hi || hi > MAX_OFFSET, LPN_REFUSE_POINTER);
    } else if (!fits) {
        REFUSE_IF(wide, LPN_REFUSE_WIDE);
        put_number(c, UINT32_MAX);
        return;
    }
    /* A constant more, and not so large that it goes round: the same unknown. */
    const int32_t off = (int32_t)plus(b->is.lo, a->v.off);
    if (lo != hi && off == (int16_t)off && b->is.lo == b->is.hi && !far) {
        *c->to = (value){ (uint8_t)kind, a->v.sym, (int16_t)off };
        return;
    }
    put_some(c, kind, lo, hi, far ? NO_ROOM : room_by(space, -(int32_t)b->is.hi));
}

static void arithmetic(checker *c)
{
    enum { ADD = 0, SUB = 1, MUL = 2, DIV = 3, OR = 4, AND = 5, LSH = 6, RSH = 7, NEG = 8, MOD = 9, XOR = 10, MOV = 11, ARSH = 12, END = 13 };
    unsigned code = c->op >> 4;
    const bool wide = (c->op & 7) == 7, negative = !(c->op & 8) && c->imm < 0;
    const operand *const a = &c->a, *const b = &c->b;
    if (code != MOV) {
        look(c, &c->a, c->to);
        STOP_IF(a->v.kind == DEAD, LPN_REFUSE_REGISTER);
    }
    if (code == END || code == NEG) {
        REFUSE_IF(a->v.kind != NUMBER, LPN_REFUSE_POINTER);
        REFUSE_IF(code == NEG ? wide : c->imm == 64, LPN_REFUSE_WIDE);
        put_number(c, code == END && c->imm == 16 ? 0xffff : UINT32_MAX);
        return;
    }
    if (negative && code <= SUB) {
        c->imm = (int32_t)(0u - (uint32_t)c->imm);
        code ^= SUB;
    }
    second(c);
    if (code <= SUB) {
        sum(c, code == SUB, wide);
        return;
    }
    /* Wide, a negative immediate has 64 bits: to take its lower ones of something, or to shift by it, is another matter. */
    REFUSE_IF(wide && negative && code != AND, LPN_REFUSE_WIDE);
    if (code == MOV && c->off == 0) {
        if (!(c->op & 8)) {
            put_some(c, NUMBER, b->is.lo, b->is.lo, NO_ROOM);
            return;
        }
        *c->to = b->v;
        if (!wide && b->v.kind != NUMBER) {
            REFUSE_IF(b->v.kind != PKT && b->v.kind != LOW, LPN_REFUSE_POINTER);
            c->to->kind = LOW;
        }
        return;
    }
    STOP_IF((a->v.kind != NUMBER && code != MOV) || b->v.kind != NUMBER, LPN_REFUSE_POINTER);
    const uint32_t alo = a->is.lo, ahi = a->is.hi;
    uint32_t blo = b->is.lo, bhi = b->is.hi, lo = 0, hi;
    bool known = c->off == 0;               /* of what has a sign nothing is */
    if (code == LSH || code == RSH || code == ARSH) {       /* times, or by, a power of 2 */
        STOP_IF(bhi > 31, LPN_REFUSE_SHIFT);
        known = code != ARSH;
        code = code == LSH ? MUL : DIV;
        blo = 1u << blo, bhi = 1u << bhi;
    }
    if (code == MUL) {
        const uint64_t most = (uint64_t)ahi * bhi;
        known = most >> 32 == 0;
        lo = alo * blo, hi = (uint32_t)most;
    } else if (code == DIV || code == MOD) {
        STOP_IF(blo == 0, LPN_REFUSE_DIVISOR);
        hi = bhi - 1;
        if (code == DIV) {
            lo = alo / bhi, hi = ahi / blo;
        }
    } else if (code == AND) {
        hi = ahi < bhi ? ahi : bhi;
        if (ahi <= blo && blo == bhi && (blo & (blo + 1)) == 0) {           /* all of it: the same unknown */
            return;
        }
    } else {                                /* OR, XOR: no more than the sum; MOV with its sign */
        const uint32_t most = ahi + bhi;
        hi = lpn_ones(ahi | bhi);
        hi = most >= ahi && most < hi ? most : hi;
    }
    if (!known) {
        REFUSE_IF(wide, LPN_REFUSE_WIDE);
        lo = 0, hi = UINT32_MAX;
    }
    put_some(c, NUMBER, lo, hi, NO_ROOM);
}

/* ------------------------------------------------------------------------------------------- comparisons */

/* Learn a + more <= b. False if it cannot be. */
static bool at_most(const checker *c, operand *a, operand *b, unsigned more)
{
    const uint32_t least = a->is.lo + more, most = b->is.hi - more;
    symbol *const s = a->sym, *const t = b->sym;
    const bool constant = a->is.lo == a->is.hi;
    if (s == t && !constant) {              /* the same unknown */
        return a->v.off + (int)more <= b->v.off;
    }
    if (b->is.hi < more || most < a->is.lo) {
        return false;
    }
    const int16_t room = room_by(room_of(c, b), a->v.off + (int32_t)more);
    if (!constant && room > s->room) {
        s->room = room;
    }
    if (most < a->is.hi) {
        s->hi -= a->is.hi - most;
        a->is.hi = most;
    }
    if (least > b->is.lo) {
        t->lo += least - b->is.lo;
        b->is.lo = least;
    }
    return true;
}

/* Learn a != b. */
static bool not_equal(const operand *a, const operand *b)
{
    symbol *const s = a->sym;
    if (b->is.lo == b->is.hi) {
        if (a->is.lo == a->is.hi) {
            return a->is.lo != b->is.lo;
        }
        s->lo += a->is.lo == b->is.lo;
        s->hi -= a->is.hi == b->is.lo;
    }
    return true;
}

/* Learn how c->a and c->b compare. False if that cannot be. */
INLINE bool learn(checker *c, bool taken)
{
    enum { EQ = 1, SET_BITS = 4, NE = 5 };
    const unsigned code = c->op >> 4;
    operand *const a = &c->a, *const b = &c->b;
    if (code == SET_BITS) {
        return true;
    }
    if (code == EQ || code == NE) {
        return (code == EQ) == taken ? at_most(c, a, b, 0) && at_most(c, b, a, 0) : not_equal(a, b) && not_equal(b, a);
    }
    const bool strict = !(code & 1);
    return (code >= 10) == taken ? at_most(c, a, b, strict == taken) : at_most(c, b, a, strict == taken);
}

static void branch(checker *c)
{
    const unsigned code = c->op >> 4;
    const bool wide = (c->op & 7) == 5, equality = (code & ~4u) == 1, sign = (code & ~1u) == 6 || code > 11;
    const uint32_t target = plus(c->pc + 1, c->off);
    operand *const a = &c->a, *const b = &c->b;
    symbol kept[2];
    for (bool taken = true;; taken = false) {
        look(c, a, c->to);
        second(c);
        const bool high = (a->is.hi | b->is.hi) >> 31 != 0;
        STOP_IF(a->v.kind == DEAD || a->v.kind == LOW || (a->v.kind != NUMBER && (!wide || sign || code == 4)), LPN_REFUSE_POINTER);
        if (a->v.kind != b->v.kind) {                   /* is it null? */
            REFUSE_IF(b->v.kind != NUMBER || b->is.hi != 0 || !equality, LPN_REFUSE_POINTER);
            edge(c, target);
            return;
        }
        REFUSE_IF(wide && ((!(c->op & 8) && c->imm < 0) || (sign && high)), LPN_REFUSE_WIDE);
        /* What is learned for the way that jumps is taken back for the one that goes on. */
        symbol *const s = a->sym, *const t = b->sym;
        if (taken) {
            kept[0] = *s;
            kept[1] = *t;
        }
        const bool can = (sign && high) || learn(c, taken);
        if (!taken) {
            c->on = can;
            if (can) {
                FOLLOWED(c->pc + 1);
            }
            return;
        }
        if (can) {
            edge(c, target);
        }
        if (c->why != 0) {
            return;
        }
        *s = kept[0];
        *t = kept[1];
    }
}

/* ------------------------------------------------------------------------------------------- helpers */

/* What each takes: three bits an argument, r1's lowest. */
#define KINDS(a, b, c, d, e) ((a) | (b) << 3 | (c) << 6 | (d) << 9 | (e) << 12)
enum { OWN_KINDS = KINDS(LPN_ARG_SCALAR, LPN_ARG_SCALAR, LPN_ARG_SCALAR, LPN_ARG_SCALAR, LPN_ARG_SCALAR) };

static void call(checker *c)
{
    static const uint16_t kinds[] = {
#define KINDS_OF(n, name, a, b, c, d, e) [n] = KINDS(a, b, c, d, e),
        LPN_HELPERS(KINDS_OF)
#undef KINDS_OF
    };
    const uint32_t number = (uint32_t)c->imm;
    const bool own = number - LPN_HELPER_OWN <= LPN_HELPER_OWN_MAX - LPN_HELPER_OWN;     /* it is given five numbers */
    STOP_IF((!own && number - 1 >= sizeof kinds / sizeof *kinds - 1) || c->src != 0, LPN_REFUSE_UNSUPPORTED);
    value *v = &c->reg[1];
    uint32_t which = 0;
    for (unsigned left = own ? OWN_KINDS : kinds[number]; left != 0; left >>= 3, v++) {     /* of none a buffer is written before another one is read */
        const unsigned kind = left & 7;
        const bool write = kind == LPN_ARG_MEM_WRITE;
        look(c, &c->a, v);
        if (!write && kind != LPN_ARG_MEM_READ) {
            REFUSE_IF(v->kind != NUMBER || (kind == LPN_ARG_CONST && c->a.is.lo != c->a.is.hi), LPN_REFUSE_HELPER);
            which = c->a.is.lo;
            continue;
        }
        const uint32_t size = v == &c->reg[2] ? LPN_SIZE2(which) : LPN_SIZE3(which);
        if (reach(c, 0, size, write) && v->kind == STACK) {
            REFUSE_IF(!write && !numbers(c, TEST), LPN_REFUSE_UNWRITTEN);
            if (write) {
                overwrite(c, size);
            }
        }
    }
    clear(&c->reg[1], &c->reg[6]);
    c->to = &c->reg[0];
    put_number(c, UINT32_MAX);
}

/* ------------------------------------------------------------------------------------------- all of them */

/* The address of a section, or two words of a number. */
static void wide_load(checker *c)
{
    const uint32_t at = (uint32_t)c->imm;
    const unsigned kind = c->src == 0 ? NUMBER : c->src == 8 ? RODATA : DATA;
    STOP_IF(c->op != 0x18, LPN_REFUSE_UNSUPPORTED);
    REFUSE_IF(lpn_get32(c->image->text + 8 * (size_t)c->pc + 12) != 0, LPN_REFUSE_WIDE);
    REFUSE_IF(kind != NUMBER && at > c->limit[kind], LPN_REFUSE_ACCESS);
    put_some(c, kind, at, at, NO_ROOM);
}

/* One instruction; c->on: control may go on behind it. */
static void step(checker *c)
{
    REFUSE_IF(COSTS && c->cost == 0, LPN_REFUSE_COST);
    c->cost--;
    switch (c->op & 7) {
    case 0:
        wide_load(c);
        return;
    case 1: case 2: case 3:
        access(c);
        return;
    case 4: case 7:
        arithmetic(c);
        return;
    default:
        break;
    }
    switch (c->op) {
    case 0x05: case 0x06:
        c->on = false;
        edge(c, plus(c->pc + 1, c->op == 0x05 ? c->off : c->imm));
        return;
    case 0x85:
        call(c);
        return;
    case 0x95:
        c->on = false;
        REFUSE_IF(c->reg[0].kind != NUMBER, LPN_REFUSE_REGISTER);
        return;
    default:
        branch(c);
    }
}
