/* SPDX-License-Identifier: LGPL-2.1-only */
/* A part of certificate.c: what each instruction asks for, and what holds behind it. */

typedef struct { uint8_t op, dst, src; int16_t off; int32_t imm; } insn;

static insn fetch(const checker *c)
{
    const uint8_t *p = c->image->text + 8 * (size_t)c->pc;
    return (insn){ p[0], p[1] & 15, p[1] >> 4, (int16_t)lpn_get16(p + 2), (int32_t)lpn_get32(p + 4) };
}

/* ------------------------------------------------------------------------------------------- memory */

enum { READ = 0, WRITE = 1 };

static uint32_t size_of(const checker *c, unsigned kind)
{
    switch (kind) {
    case STACK: return c->stack;
    case REC: return c->image->record_size;
    case STATE: return c->image->state_size;
    case OUT: return LPN_OUT_SIZE;
    case RODATA: return c->image->rodata_size;
    case DATA: return c->image->data_size;
    default: return 0;
    }
}

/* Bytes `v + off` to `+ size`, wherever v may point: are they there? `*at`: the lowest, from the region's start, of the stack from
 * the lowest in use. The context is looked at apart. */
static int reach(checker *c, value v, int32_t off, uint32_t size, int write, uint32_t *at)
{
    const uint32_t spread = high(c, v) - low(c, v), limit = v.kind == PKT ? MAX_OFFSET : size_of(c, v.kind);
    *at = plus(low(c, v), off) - (v.kind == STACK ? BOTTOM - limit : 0);
    REFUSE_IF(v.kind == DEAD, LPN_REFUSE_REGISTER);
    REFUSE_IF(*at > limit || spread > limit - *at || size > limit - *at - spread, LPN_REFUSE_ACCESS);
    REFUSE_IF(write && v.kind == RODATA, LPN_REFUSE_ACCESS);
    REFUSE_IF(v.kind == PKT && room(c, v) - off - (int32_t)size < (write ? 0 : -LPN_WINDOW), LPN_REFUSE_ACCESS);
    return 0;
}

/* `span` bytes of the stack may be written, `size` of them are: values spilled there are gone. If it is known which bytes these are,
 * they hold numbers now, or a pointer's. */
static void overwrite(checker *c, uint32_t at, uint32_t span, uint32_t size, bool number)
{
    const uint32_t from = at + (uint32_t)(BOTTOM - c->stack), to = from + span;
    for (unsigned i = 0; i < c->slots; i++) {
        const uint32_t start = (c->place[i] & 127u) * 4;
        if (start < to && from < start + (c->place[i] >> 7 ? 8 : 4)) {
            c->slot[i] = (value){ 0 };
        }
    }
    if (span == size) {
        numbers(c, at, size, number ? SET : CLEAR);
    }
}

/* The context, by words: what is there; + 16: may be written; + 32: has 16 bits; + 64: the packet's end. */
static int context(checker *c, const insn *i, unsigned size, bool write, value *out)
{
    static const uint8_t words[] = {
#define SLOT(off, width, name, kind, writable, max) \
    [(off) / 4] = (kind) | (writable) << 4 | ((max) == 0xffff) << 5 | ((max) == 1) << 6,
        LPN_CONTEXT(SLOT)
#undef SLOT
    };
    const value v = c->reg[write ? i->dst : i->src];
    const uint32_t at = plus(low(c, v), i->off), within_word = at % 4;
    REFUSE_IF(v.sym != ZERO || at / 4 >= sizeof words, LPN_REFUSE_ACCESS);
    const unsigned word = words[at / 4], kind = word & 15;
    if (kind != NUMBER) {
        REFUSE_IF(kind == DEAD || write || size != 8 || within_word != 0, LPN_REFUSE_ACCESS);
        *out = (value){ (uint8_t)kind, word & 64 ? LENGTH : ZERO, 0 };
        return 0;
    }
    REFUSE_IF(within_word + size > 4 || (write && !(word & 16)), LPN_REFUSE_ACCESS);
    return write ? 0 : any_number(c, out, UINT32_MAX >> (32 - 8 * (word & 32 && size == 4 ? 2 : size)));
}

/* A load or store. */
static int access(checker *c, const insn *i)
{
    const unsigned size = (i->op & 0x18) == 0x18 ? 8 : 4u >> (i->op >> 3 & 3);
    const bool write = (i->op & 7) != 1, reg = (i->op & 7) == 3;
    const value v = c->reg[write ? i->dst : i->src];
    value *const dst = &c->reg[i->dst];
    const value what = reg ? c->reg[i->src] : (value){ NUMBER, ZERO, (int16_t)i->imm };
    const bool number = what.kind == NUMBER;
    uint32_t at;
    REFUSE_IF((i->op & 0xe0) != 0x60, LPN_REFUSE_UNSUPPORTED);
    REFUSE_IF(what.kind == DEAD, LPN_REFUSE_REGISTER);
    REFUSE_IF(!number && v.kind != STACK, LPN_REFUSE_POINTER);
    if (v.kind == CTX) {
        return context(c, i, size, write, dst);
    }
    TRY(reach(c, v, i->off, size, write, &at));
    const uint32_t span = size + (high(c, v) - low(c, v));
    const bool whole = v.kind == STACK && span == size && size >= 4 && (at & 3) == 0;
    const unsigned place = (at + (uint32_t)(BOTTOM - c->stack)) / 4 | (size == 8 ? 128 : 0);
    if (!write) {
        const value *slot = whole ? find_slot(c, place) : NULL;
        if (slot != NULL) {
            *dst = *slot;
            return 0;
        }
        REFUSE_IF(v.kind == STACK && !numbers(c, at, span, TEST), LPN_REFUSE_UNWRITTEN);
        REFUSE_IF(size == 8, LPN_REFUSE_WIDE);
        return any_number(c, dst, UINT32_MAX >> (32 - 8 * size));
    }
    /* Two words at once: only where they are 4-aligned. */
    REFUSE_IF(size == 8 && (v.kind == PKT || (at & 3) != 0 || (span != size && c->sym[v.sym].step % 4 != 0)), LPN_REFUSE_ACCESS);
    if (v.kind == STACK) {
        /* A pointer is spilled whole: a half of one in a word or two, an address in two that are 8-aligned. */
        REFUSE_IF(!number && (!whole || (what.kind != LOW && (size != 8 || (at & 7) != 0))), LPN_REFUSE_POINTER);
        overwrite(c, at, span, size, number);
        if (whole && (reg || (i->imm >= 0 && i->imm == what.off))) {
            value *slot = make_slot(c, place, !number);     /* without one, what is there cannot be read any more */
            if (slot != NULL) {
                *slot = what;
            }
        }
    }
    return 0;
}

/* ------------------------------------------------------------------------------------------- arithmetic */

/* The second operand: a register's value, or the immediate as a number. */
static int operand(checker *c, const insn *i, value *b)
{
    if (i->op & 8) {
        *b = c->reg[i->src];
        REFUSE_IF(b->kind == DEAD, LPN_REFUSE_REGISTER);
        return 0;
    }
    return constant(c, b, (uint32_t)i->imm);
}

/* What the step of a sum divides by; constants have none. */
static unsigned step_of(const checker *c, value v)
{
    const symbol *s = &c->sym[v.sym];
    return s->lo == s->hi ? 0 : s->step;
}

static int sum(checker *c, bool minus, bool wide, value a, value b, value *out)
{
    if (!minus && a.kind == NUMBER) {
        const value swap = a;
        a = b, b = swap;
    }
    if (!wide && minus && (b.kind == PKT || b.kind == LOW)) {       /* of two pointers the lower halves are taken */
        a.kind = a.kind == PKT ? LOW : a.kind;
        b.kind = LOW;
    }
    const bool difference = minus && a.kind != NUMBER && a.kind == b.kind;
    const unsigned kind = difference ? NUMBER : a.kind;
    REFUSE_IF(!difference && b.kind != NUMBER, LPN_REFUSE_POINTER);
    REFUSE_IF(a.kind != NUMBER && wide == (a.kind == LOW), LPN_REFUSE_POINTER);
    const uint32_t alo = low(c, a), ahi = high(c, a), blo = low(c, b), bhi = high(c, b);
    uint32_t lo = minus ? alo - bhi : alo + blo, hi = minus ? ahi - blo : ahi + bhi;
    const int apart = a.off - b.off;
    bool fits = difference ? (int32_t)lo >= 0 : minus ? alo >= bhi : hi >= ahi;
    if (minus && a.sym == b.sym) {          /* the same unknown */
        lo = hi = (uint32_t)apart;
        fits = apart >= 0;
    } else if (minus && a.sym == LENGTH) {  /* what is left of the packet */
        const int32_t left = room(c, b) + a.off;
        if (left >= 0 && (!fits || (uint32_t)left > lo)) {
            lo = (uint32_t)left;
            fits = true;
        }
    }
    if (kind != NUMBER) {
        REFUSE_IF(bhi > MAX_OFFSET || lo + MAX_OFFSET > 2 * MAX_OFFSET || hi + MAX_OFFSET > 2 * MAX_OFFSET, LPN_REFUSE_POINTER);
    } else if (!fits) {
        REFUSE_IF(wide, LPN_REFUSE_WIDE);
        return any_number(c, out, UINT32_MAX);
    }
    const int32_t off = a.off + (minus ? -clip(blo) : clip(blo)), other = b.off + clip(alo);
    if (lo != hi) {
        if (blo == bhi && off == (int16_t)off) {
            *out = (value){ (uint8_t)kind, a.sym, (int16_t)off };
            return 0;
        }
        if (!minus && alo == ahi && other == (int16_t)other) {
            *out = (value){ (uint8_t)kind, b.sym, (int16_t)other };
            return 0;
        }
        if (minus && a.sym == LENGTH && blo != bhi && kind == NUMBER && (int32_t)lo >= apart && apart == (int16_t)apart) {
            out->kind = NUMBER;
            out->off = (int16_t)apart;
            return new_symbol(c, (symbol){ lo - (uint32_t)apart, hi - (uint32_t)apart, NO_ROOM, 1, b.sym }, &out->sym);
        }
    }
    unsigned step = step_of(c, a), rest = step_of(c, b);
    while (rest != 0) {
        const unsigned next = step % rest;
        step = rest;
        rest = next;
    }
    int32_t space = room(c, a) + (minus ? clip(blo) : -clip(bhi));
    if (!minus && room(c, b) - clip(ahi) > space) {
        space = room(c, b) - clip(ahi);
    }
    return fresh(c, out, kind, lo, hi, step, space);
}

static int arithmetic(checker *c, const insn *i)
{
    enum { ADD = 0, SUB = 1, MUL = 2, DIV = 3, OR = 4, AND = 5, LSH = 6, RSH = 7, NEG = 8, MOD = 9, XOR = 10, MOV = 11, ARSH = 12, END = 13 };
    const unsigned code = i->op >> 4;
    const bool wide = (i->op & 7) == 7, immediate = !(i->op & 8);
    value *const dst = &c->reg[i->dst];
    const value a = *dst;
    value b;
    REFUSE_IF(a.kind == DEAD && code != MOV, LPN_REFUSE_REGISTER);
    if (code == END || code == NEG) {
        REFUSE_IF(a.kind != NUMBER, LPN_REFUSE_POINTER);
        REFUSE_IF(code == NEG ? wide : i->imm == 64, LPN_REFUSE_WIDE);
        return any_number(c, dst, code == END && i->imm == 16 ? 0xffff : UINT32_MAX);
    }
    if (code <= SUB && immediate && i->imm < 0) {
        TRY(constant(c, &b, 0u - (uint32_t)i->imm));
        return sum(c, code == ADD, wide, a, b, dst);
    }
    TRY(operand(c, i, &b));
    if (code <= SUB) {
        return sum(c, code == SUB, wide, a, b, dst);
    }
    /* Wide, a negative immediate has 64 bits: to take its lower ones of something, or to shift by it, is another matter. */
    REFUSE_IF(wide && immediate && i->imm < 0 && code != AND, LPN_REFUSE_WIDE);
    if (code == MOV && i->off == 0) {
        if (!wide && b.kind != NUMBER) {
            REFUSE_IF(b.kind != PKT && b.kind != LOW, LPN_REFUSE_POINTER);
            b.kind = LOW;
        }
        *dst = b;
        return 0;
    }
    REFUSE_IF((a.kind != NUMBER && code != MOV) || b.kind != NUMBER, LPN_REFUSE_POINTER);
    const uint32_t alo = low(c, a), ahi = high(c, a), blo = low(c, b), bhi = high(c, b);
    const unsigned sure = a.sym == ZERO ? 1 : c->sym[a.sym].step;
    uint32_t lo = 0, hi = UINT32_MAX, step = 1;
    bool known = true;
    switch (code) {
    case MOV:                               /* with its sign */
        known = bhi >> (i->off - 1) == 0;
        lo = blo, hi = bhi;
        break;
    case MUL:
        known = (uint64_t)ahi * bhi <= UINT32_MAX;
        lo = alo * blo, hi = ahi * bhi;
        step = blo == bhi && blo < 256 ? sure * blo : 1;
        break;
    case DIV: case MOD:
        REFUSE_IF(blo == 0, LPN_REFUSE_DIVISOR);
        known = i->off == 0 || (ahi | bhi) >> 31 == 0;
        if (code == DIV) {
            lo = alo / bhi, hi = ahi / blo;
        } else if (ahi < blo) {
            lo = alo, hi = ahi;
        } else {
            hi = bhi - 1;
        }
        break;
    case AND:
        if (blo == bhi && (bhi & (bhi + 1)) == 0 && ahi <= bhi) {
            return 0;                       /* it removes nothing */
        }
        hi = ahi < bhi ? ahi : bhi;
        step = blo == bhi ? blo & (0u - blo) : 1;
        break;
    case OR: case XOR:
        hi = ahi | bhi;
        for (unsigned shift = 1; shift < 32; shift *= 2) {
            hi |= hi >> shift;
        }
        lo = code == XOR ? 0 : alo > blo ? alo : blo;
        if ((sure & (sure - 1)) == 0 && bhi < sure && alo % sure == 0) {
            lo = alo + blo, hi = ahi + bhi; /* no bit in common: a sum */
            step = blo == bhi ? sure : 1;
        }
        break;
    default:                                /* shifts */
        REFUSE_IF(bhi > 31, LPN_REFUSE_SHIFT);
        if (code == LSH) {
            known = (uint64_t)ahi << bhi <= UINT32_MAX;
            lo = alo << blo, hi = ahi << bhi;
            step = blo == bhi ? sure << bhi : 1;
        } else {
            known = code == RSH || ahi >> 31 == 0;
            lo = alo >> bhi, hi = ahi >> blo;
        }
    }
    if (!known) {
        REFUSE_IF(wide, LPN_REFUSE_WIDE);
        return any_number(c, dst, UINT32_MAX);
    }
    if (step > 255) {                       /* what it divides by for sure, and has room for */
        step &= 0u - step;
        step = step > 128 ? 128 : step;
    }
    return fresh(c, dst, NUMBER, lo, hi, step, NO_ROOM);
}

/* ------------------------------------------------------------------------------------------- comparisons */

/* n + by, or the nearest number there is. */
static uint32_t moved(uint32_t n, int32_t by)
{
    const uint32_t sum = plus(n, by);
    return by < 0 ? (sum > n ? 0 : sum) : sum < n ? UINT32_MAX : sum;
}

/* Learn a + more <= b. False if it cannot be. */
static bool at_most(checker *c, value a, value b, int more)
{
    const int32_t by = a.off - b.off + more, space = room(c, (value){ NUMBER, b.sym, 0 }) + by;
    symbol *const s = &c->sym[a.sym], *const t = &c->sym[b.sym];
    if (s == t) {
        return by <= 0;
    }
    if (a.sym != ZERO && as_room(space) > s->room) {
        s->room = as_room(space);
    }
    const uint32_t lo = moved(s->lo, by), hi = moved(t->hi, -by);
    if (lo > t->hi || hi < s->lo) {
        return false;
    }
    if (lo > t->lo) {
        t->lo = t->hi - (t->hi - lo) / t->step * t->step;
    }
    if (hi < s->hi) {
        s->hi = s->lo + (hi - s->lo) / s->step * s->step;
    }
    return true;
}

static bool not_equal(checker *c, value a, value b)
{
    symbol *const s = &c->sym[a.sym];
    const uint32_t constant = low(c, b);
    if (a.sym == b.sym) {
        return a.off != b.off;
    }
    if (b.sym == LENGTH && s->room == a.off - b.off) {
        s->room++;
    }
    if (constant == high(c, b)) {
        if (low(c, a) == high(c, a)) {
            return low(c, a) != constant;
        }
        if (low(c, a) == constant) {
            s->lo += s->step;
        } else if (high(c, a) == constant) {
            s->hi -= s->step;
        }
    }
    return true;
}

/* Learn `a OP b`, or that it does not hold. False if that cannot be. */
static bool learn(checker *c, unsigned code, value a, value b, bool taken)
{
    enum { EQ = 1, GT = 2, GE = 3, SET_BITS = 4, NE = 5, SGT = 6, SGE = 7, LT = 10, LE = 11, SLT = 12, SLE = 13 };
    bool can = true;
    if (code == SGT || code == SGE || code >= SLT) {
        if ((high(c, a) | high(c, b)) >> 31 != 0) {
            return true;
        }
        code = code < 8 ? code - SGT + GT : code - SLT + LT;
    }
    if (code == EQ || code == NE) {
        can = (code == EQ) == taken ? at_most(c, a, b, 0) && at_most(c, b, a, 0) : not_equal(c, a, b) && not_equal(c, b, a);
    } else if (code != SET_BITS) {
        const bool less = code >= LT, strict = code == LT || code == GT;
        can = less == taken ? at_most(c, a, b, strict == taken) : at_most(c, b, a, strict == taken);
    }
    const uint8_t both[2] = { a.sym, b.sym };
    for (unsigned k = 0; k < 2; k++) {      /* so much lies behind what it is the rest of */
        const symbol *s = &c->sym[both[k]];
        if (s->rest != 0 && c->sym[s->rest].room < clip(s->lo)) {
            c->sym[s->rest].room = as_room(clip(s->lo));
        }
    }
    return can;
}

static int branch(checker *c, const insn *i, bool *on)
{
    const unsigned code = i->op >> 4;
    const bool wide = (i->op & 7) == 5, equality = code == 1 || code == 5, sign = code == 6 || code == 7 || code > 11;
    const value a = c->reg[i->dst];
    const uint32_t target = plus(c->pc + 1, i->off);
    value b;
    TRY(operand(c, i, &b));
    REFUSE_IF(a.kind == DEAD, LPN_REFUSE_REGISTER);
    REFUSE_IF(a.kind == LOW || (a.kind != NUMBER && (!wide || sign || code == 4)), LPN_REFUSE_POINTER);
    if (a.kind != b.kind) {                 /* is it null? */
        REFUSE_IF(a.kind == NUMBER || b.kind != NUMBER || high(c, b) != 0 || !equality, LPN_REFUSE_POINTER);
        return edge(c, target);
    }
    REFUSE_IF(wide && ((!(i->op & 8) && i->imm < 0) || (sign && (high(c, a) | high(c, b)) >> 31 != 0)), LPN_REFUSE_WIDE);
    /* What is learned for the way that jumps is taken back for the one that goes on. */
    const uint8_t which[4] = { a.sym, b.sym, c->sym[a.sym].rest, c->sym[b.sym].rest };
    symbol kept[4];
    for (unsigned k = 0; k < 4; k++) {
        kept[k] = c->sym[which[k]];
    }
    if (learn(c, code, a, b, true)) {
        TRY(edge(c, target));
    }
    for (unsigned k = 0; k < 4; k++) {
        c->sym[which[k]] = kept[k];
    }
    *on = learn(c, code, a, b, false);
    if (*on) {
        FOLLOWED(c->pc + 1);
    }
    return 0;
}

/* ------------------------------------------------------------------------------------------- helpers */

static int call(checker *c, uint32_t number)
{
    static const uint8_t kinds[][5] = {
#define KINDS_OF(n, name, a, b, c, d, e) [n] = { a, b, c, d, e },
        LPN_HELPERS(KINDS_OF)
#undef KINDS_OF
    };
    REFUSE_IF(number - 1 >= sizeof kinds / sizeof *kinds - 1, LPN_REFUSE_UNSUPPORTED);
    const uint8_t *const kind = kinds[number];
    for (int write = READ; write <= WRITE; write++) {       /* reads of a call come first */
        for (unsigned r = 1; r <= 5 && kind[r - 1] != LPN_ARG_NONE; r++) {
            const value v = c->reg[r], size = c->reg[r + 1];
            const uint32_t n = low(c, size);
            uint32_t at;
            if (kind[r - 1] != LPN_ARG_MEM_READ && kind[r - 1] != LPN_ARG_MEM_WRITE) {
                REFUSE_IF(v.kind != NUMBER || (kind[r - 1] != LPN_ARG_SCALAR && low(c, v) != high(c, v)), LPN_REFUSE_HELPER);
            } else if ((kind[r - 1] == LPN_ARG_MEM_WRITE) == write) {
                TRY(reach(c, v, 0, n, write, &at));
                if (v.kind == STACK) {
                    const uint32_t span = n + (high(c, v) - low(c, v));
                    REFUSE_IF(!write && !numbers(c, at, span, TEST), LPN_REFUSE_UNWRITTEN);
                    if (write) {
                        overwrite(c, at, span, n, true);
                    }
                }
            }
        }
    }
    clear((uint8_t *)&c->reg[1], 5 * sizeof(value));
    return any_number(c, &c->reg[0], UINT32_MAX);
}

/* ------------------------------------------------------------------------------------------- all of them */

/* One instruction; `*on`: control may go on behind it. */
static int step(checker *c, const insn *i, bool *on)
{
    REFUSE_IF(COSTS && c->cost == 0, LPN_REFUSE_COST);
    c->cost--;
    switch (i->op & 7) {
    case 0: {
        const unsigned kind = i->src == 0 ? NUMBER : i->src == 8 ? RODATA : DATA;
        const uint32_t at = (uint32_t)i->imm;
        REFUSE_IF(i->op != 0x18, LPN_REFUSE_UNSUPPORTED);
        REFUSE_IF(lpn_get32(c->image->text + 8 * (size_t)c->pc + 12) != 0, LPN_REFUSE_WIDE);
        REFUSE_IF(kind != NUMBER && at > size_of(c, kind), LPN_REFUSE_ACCESS);
        return fresh(c, &c->reg[i->dst], kind, at, at, 1, NO_ROOM);
    }
    case 1: case 2: case 3:
        return access(c, i);
    case 4: case 7:
        return arithmetic(c, i);
    default:
        break;
    }
    switch (i->op) {
    case 0x05: case 0x06:
        *on = false;
        return edge(c, plus(c->pc + 1, i->op == 0x05 ? i->off : i->imm));
    case 0x85:
        REFUSE_IF(i->src != 0, LPN_REFUSE_UNSUPPORTED);
        return call(c, (uint32_t)i->imm);
    case 0x95:
        *on = false;
        REFUSE_IF(c->reg[0].kind != NUMBER, LPN_REFUSE_REGISTER);
        return 0;
    default:
        return branch(c, i, on);
    }
}
