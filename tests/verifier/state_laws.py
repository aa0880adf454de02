"""The laws of states (verifier/state.py, order.py, join.py): facts that are true of some numbers stay true of them, whatever else that is true is learnt.

A world is a number for each unknown; a state of it says true things only. What a state makes of them, alone, joined with another one or beside one that is said
to hold as well, must be true too.
"""
from __future__ import annotations

import random
from collections.abc import Iterator

from lpn.verifier import affine, chains, derived, domain as d, summands
from lpn.verifier.arithmetic import Arithmetic
from lpn.verifier.join import join
from lpn.verifier.order import leq
from lpn.verifier.state import CLOBBER, LEN, NULLABLE, NUMBER, POINTER, Frame, State, Value, stack_bits

World = dict[int, int]
AGREED: list[bool] = []                              # what was said of joined states, where it is true
SMALL, S63 = (-9, -3, -1, 0, 1, 2, 4, 7, 8, 12, 40), 1 << 63


def some_number(rng: random.Random) -> int:
    return rng.choice((rng.choice(SMALL), rng.randrange(256), rng.randrange(1 << 16), rng.getrandbits(32), rng.getrandbits(33), -rng.getrandbits(31), rng.getrandbits(61) - (1 << 60)))


def num_with(rng: random.Random, x: int) -> d.Num:
    """A set with x in it."""
    n = d.const(x)
    for _ in range(rng.choice((0, 1, 1, 2))):
        n = d.join(n, d.const(x + rng.choice((*SMALL, 64, 256, -256, 1 << 20)) if rng.random() < 0.7 else some_number(rng)))
    return n if rng.random() < 0.8 else d.TOP


def around(rng: random.Random, x: int) -> tuple[int, int]:
    return x - rng.choice((0, 0, 1, 5, 300)), x + rng.choice((0, 0, 1, 5, 300))


def world_of(rng: random.Random) -> tuple[World, State]:
    """Unknowns, some made of others, and a state with true facts."""
    s, w = State(), {0: 0, LEN: rng.choice((0, 1, 40, rng.randrange(2048)))}
    s.vars[LEN] = d.within(num_with(rng, w[LEN]), 0, 2048) or d.signed(0, 2048)
    for x in range(2, 2 + rng.randrange(2, 8)):
        v, y = rng.choice(list(w)), rng.choice(list(w))
        c, how = rng.choice(SMALL), rng.choice("nnndalsShmmqbp3")
        w[x] = some_number(rng)
        if how == "d" and v != y:
            w[x] = w[y] - w[v] + c
            s.defs[x] = v, y, c
        elif how == "a" and v and y and v != y:
            w[x] = w[y] - w[v] + c
            s.added[x] = v, y, c
        elif how == "l" and y:
            k = rng.choice((1, 2, 8, 12, -1, -4))
            w[x] = w[v] + k * w[y] + c
            if k != 1 or v:
                s.lines[x, y] = v, k, c
        elif how in "sS" and y > LEN and 0 <= w[y] < 1 << 40:
            n = rng.choice((1, 3))
            w[x] = w[y] >> n if how == "s" else w[y] << n
            s.scaled[x] = y, n if how == "s" else -n
        elif how == "h" and y:
            m = rng.choice((d.M32, d.M32, 0xFFFF, 0xFF, 7))
            w[x] = w[y] + c & m
            s.halves[x] = y, c & m, m
        elif how == "m" and y > LEN:
            n, m = rng.choice((0, 0, 4, 31)), rng.choice((1, 0x70, 0xF0, 0xC000, d.M64, d.M64 - 7))
            w[x] = picked(w[y], n, m)
            s.masked[x] = y, n, m
        elif how == "p" and y > LEN and 0 <= w[y] < 40:
            k = rng.choice((1, 1, 3, 8))
            w[x] = k << w[y]
            s.powers[x] = y, k
        elif how == "q" and y > LEN and 0 <= w[y] + c:
            k = rng.choice((2, 3, 10, 256))
            w[x] = (w[y] + c) // k
            s.quotients[x] = y, c, k
        elif how == "b" and y > LEN and 0 < w[y]:
            w[x] = w[y] & w[y] - 1
            s.cleared[x] = y, 1
        elif how == "3":
            m = rng.choice((2, 3, 4, 12))
            s.strides[x] = m, w[x] % m
        if not -S63 < w[x] < S63 or x in s.defs.keys() | s.added.keys() and abs(w[x]) > 1 << 62:
            w[x] = 7
            for facts in (s.defs, s.added, s.scaled, s.quotients, s.cleared, s.halves, s.masked, s.powers, s.strides):
                facts.pop(x, None)
            s.lines = {key: t for key, t in s.lines.items() if key[0] != x}
        s.vars[x] = num_with(rng, w[x])
    unknowns = [x for x in w if x]
    for _ in range(rng.randrange(4)):
        a, b = sorted(rng.sample(unknowns, 2)) if rng.random() < 0.6 else (LEN, rng.choice(unknowns[1:]))
        s.diff[a, b] = around(rng, w[b] - w[a])
    for r in range(8):
        x = rng.choice(list(w))
        off = rng.choice(SMALL) if abs(w[x]) < 1 << 62 else 0
        s.regs[r] = rng.choice((Value(NUMBER, None, x, off), Value(NUMBER, None, x, 0), Value(POINTER, "pkt", x, off), None, CLOBBER))
    s.frames = [Frame(saved=tuple(rng.choice(s.regs) for _ in range(2)))]
    for off in (-32, -24, -16, -8):
        size = rng.choice((1, 4, 8))
        held = rng.choice(s.regs)
        if held is not None and held is not CLOBBER and rng.random() < 0.7:
            size = 8 if held.kind == POINTER or not 0 <= concrete(w, held) < 1 << 8 * size else size
            s.frames[0].slots[off] = size, held
            s.frames[0].written |= stack_bits(off, size)
        elif rng.random() < 0.5:
            s.frames[0].written |= stack_bits(off, size)
    return w, s


def picked(x: int, low: int, m: int) -> int:
    """Of x shifted right the bits that the mask has."""
    return d.s64((x & d.M64) >> low & m)


def concrete(w: World, v: Value) -> int:
    return w[v.sym] + v.off


def untrue(w: World, s: State) -> str | None:
    """The first fact of the state that does not hold of these numbers."""
    for x, n in s.vars.items():
        if x in w and w[x] & d.M64 not in n:
            return f"{x} is {w[x]}, not {n}"
    for (a, b), (lo, hi) in s.diff.items():
        if {a, b} <= w.keys() and not lo <= w[b] - w[a] <= hi:
            return f"{b} - {a} is {w[b] - w[a]}, not {lo}..{hi}"
    for x, (v, y, c) in (*s.defs.items(), *s.added.items()):
        if {x, v, y} <= w.keys() and w[x] != w[y] - w[v] + c:
            return f"definition of {x}"
    for x, (m, r) in s.strides.items():
        if x in w and (w[x] - r if not m else (w[x] - r) % m):
            return f"stride of {x}"
    for (x, y), (base, k, c) in s.lines.items():
        if {x, y, base} <= w.keys() and w[x] != w[base] + k * w[y] + c:
            return f"line of {x}, {y}"
    for x, (y, n) in s.scaled.items():
        if {x, y} <= w.keys() and w[x] != (w[y] >> n if n > 0 else w[y] << -n):
            return f"shift of {x}"
    for x, (y, c, k) in s.quotients.items():
        if {x, y} <= w.keys() and w[x] != (w[y] + c) // k:
            return f"quotient of {x}"
    for x, (y, _) in s.cleared.items():
        if {x, y} <= w.keys() and (not w[y] or w[x] != w[y] & w[y] - 1):
            return f"bits of {x}"
    for x, (y, c, m) in s.halves.items():
        if {x, y} <= w.keys() and w[x] != w[y] + c & m:
            return f"half of {y}"
    for x, (y, n, m) in s.masked.items():
        if {x, y} <= w.keys() and w[x] != picked(w[y], n, m):
            return f"bits of {y} in {x}"
    for x, (y, k) in s.powers.items():
        if {x, y} <= w.keys() and w[x] != k << w[y]:
            return f"power of {x}"
    return None


def asked(rng: random.Random, w: World, s: State) -> Iterator[str]:
    """What is answered."""
    for v in [v for v in s.regs if v is not None and v is not CLOBBER]:
        x, (lo, hi), (m, r) = concrete(w, v), s.offsets(v), s.stride(v)
        if x & d.M64 not in s.num(v) or not lo <= x <= hi or (x - r) % m if m else x != r:
            yield f"{v} is {x}"
        for y in w:
            lo, hi = s.gap(v.sym, y)
            if not lo <= w[y] - w[v.sym] <= hi:
                yield f"{y} - {v.sym} is {w[y] - w[v.sym]}, not {lo}..{hi}"


def learnt(rng: random.Random, w: World, s: State) -> Iterator[str]:
    """True things more; then an unknown begins to stand for something else."""
    for _ in range(3):
        a, b = rng.choice(list(w)), rng.choice(list(w))
        if rng.random() < 0.5:
            done = s.learn_gap(a, b, *around(rng, w[b] - w[a]))
        else:
            off = rng.choice(SMALL) if abs(w[a]) < 1 << 62 else 0
            done = s.learn(Value(NUMBER, None, a, off), num_with(rng, w[a] + off))
        if not done or (why := untrue(w, s)):
            yield f"learning: {why if done else 'nothing is left'}"
            return
    x = rng.choice([x for x in w if x > LEN])
    s.forget(x)
    w[x], s.vars[x] = some_number(rng), d.TOP
    if why := untrue(w, s):
        yield f"forgotten: {why}"


def collected(rng: random.Random, w: World, s: State) -> Iterator[str]:
    s.collect(frozenset(rng.sample(list(w), 2)))
    affine.bound(s)
    if why := untrue(w, s) or next((f"{v.sym} is not known" for _, v in s.places() if v.sym and v.sym not in s.vars), None):
        yield f"collected: {why}"


def resolved(rng: random.Random, w: World, s: State) -> Iterator[str]:
    """Low halves of what has one upper half are that number; no place holds anything else than before, and sums of them are those of that number."""
    for x, (y, c, m) in list(s.halves.items()):
        v, total, less = rng.choice(list(w)), max(w) + 1, rng.choice(SMALL)
        if v not in (0, x) and abs(w[v]) < 1 << 62 and s.added.keys().isdisjoint((x, v)):
            w[total] = w[v] + w[x] - less
            s.vars[total] = num_with(rng, w[total])
            part = rng.choice((x, v))
            s.added[part] = x + v - part, total, less
        if rng.random() < 0.7 and y in w:
            s.vars[y] = d.signed(*around(rng, w[y]))
            s.strides.pop(y, None)
    before = {name: concrete(w, v) for name, v in s.places() if v is not CLOBBER}
    derived.resolve_halves(s)
    if why := untrue(w, s):
        yield f"resolved: {why}"
    elif before != (after := {name: concrete(w, v) for name, v in s.places() if v is not CLOBBER}):
        yield f"resolved: {before} became {after}"


def again(rng: random.Random, w: World, s: State) -> Iterator[str]:
    """Bits of an unknown are those of what it is made of; what is said to have them has them."""
    for x in [x for x in w if x > LEN]:
        c = rng.choice((0, 0, *SMALL)) if abs(w[x]) < 1 << 62 else 0
        m = rng.choice((1, 7, 255, 0xFFFF, d.M32, 0x70, 0xF0, 0xC000, d.M64 - 7))
        low = rng.choice((0, 0, 4)) if not c else 0
        of = derived.bits_in(s, x, c, low, m)
        if of[0] not in w or picked(w[of[0]] + of[1], *of[2:]) != picked(w[x] + c, low, m):
            yield f"again: bits {m:#x} of {x} + {c} >> {low} are not {of}"
        if (known := derived.made_before(s, *of)) and w[known] != picked(w[x] + c, low, m):
            yield f"again: {known} is not {of}"


def along(rng: random.Random, w: World, s: State) -> Iterator[str]:
    """What a line says of bounds and differences, of which some are near the truth."""
    x, c, k = max(w) + 1, rng.choice(SMALL), rng.choice((-1, -1, 2, -3, 12))
    small = [z for z in w if abs(w[z]) < 1 << 58]
    base, y = rng.choice(small), rng.choice(small)
    if not y or y == base:
        return
    w[x], s.vars[x] = w[base] + k * w[y] + c, d.TOP
    s.lines[x, y] = base, k, c
    for z in {x, y, base} - {0}:
        if rng.random() < 0.7:
            s.vars[z] = d.signed(*around(rng, w[z]))
            s.strides.pop(z, None)
    for a, b in {tuple(sorted((base, x))), tuple(sorted((base, y)))}:
        if a and rng.random() < 0.5:
            s.diff[a, b] = around(rng, w[b] - w[a])
    if rng.random() < 0.5:
        affine.bound(s, rng.choice((0, 100)))
    elif not s.learn(Value(NUMBER, None, x, 0), d.signed(*around(rng, w[x]))):
        yield "along lines: nothing is left"
    if why := untrue(w, s):
        yield f"along lines: {why}"


def summed(rng: random.Random, w: World, s: State) -> Iterator[str]:
    """Sums and differences of unknowns more, and what is compared of their parts."""
    small = [x for x in w if abs(w[x]) < 1 << 58]
    for _ in range(4):
        x, a, b = max(w) + 1, rng.choice(small), rng.choice(small)
        moved, how = rng.choice(SMALL), rng.choice("+-<")
        if how == "+" and a and b:
            w[x] = w[a] + w[b] + moved
            s.vars[x] = num_with(rng, w[x])
            Arithmetic.relate_sum(None, s, x, Value(POINTER, "pkt", a, moved), Value(NUMBER, None, b, 0))
        elif how == "-" and b and a != b:
            w[x] = w[a] - w[b] + moved
            s.vars[x] = num_with(rng, w[x])
            summands.define(s, x, b, a, moved)
        elif how == "<" and not (s.learn_gap(a, b, *around(rng, w[b] - w[a])) and summands.learn_sums(s, a, b)):
            yield "summed: nothing is left"
            return
        small += [x] if x in w and abs(w[x]) < 1 << 58 else []
        if why := untrue(w, s):
            yield f"summed: {why}"
            return
    yield from asked(rng, w, s)


def chained(rng: random.Random, w: World, s: State) -> Iterator[str]:
    """How far unknowns are apart, by sums that are put in for one another; and what is half of a sum lies between its parts."""
    for _ in summed(rng, w, s):
        return
    for a in w:
        for b in rng.sample(sorted(w), min(4, len(w))):
            lo, hi = chains.gap(s, a, b)
            if not lo <= w[b] - w[a] <= hi:
                yield f"chained: {b} - {a} is {w[b] - w[a]}, not {lo}..{hi}"
    for total in sorted({y for _, y, _ in (*s.added.values(), *s.defs.values())}):
        half, off = max(w) + 1, rng.choice(SMALL)
        w[half], s.vars[half] = w[total] + off >> 1, d.TOP
        summands.halfway(s, half, total, off)
    if why := untrue(w, s):
        yield f"halved: {why}"


def beside(w: World, a: State, b: State, local: set[int]) -> str | None:
    """Why the world of a is none of b: unknowns of `local` are what their places hold, any other one is what it is."""
    there = {x: n for x, n in w.items() if x not in local}

    def same(held: Value | None, wanted: Value | None) -> str | None:
        if wanted is None or wanted.kind == CLOBBER.kind:
            return None
        if held is None or (held.kind, held.region) != (wanted.kind, wanted.region):
            return f"{held} is not {wanted}"
        x = concrete(w, held) - wanted.off
        return None if there.setdefault(wanted.sym, x) == x else f"{held} is not {wanted}"
    for i in range(11):
        if why := same(a.regs[i], b.regs[i]):
            return why
    fa, fb = a.frames[0], b.frames[0]
    for held, wanted in zip(fa.saved, fb.saved):
        if why := same(held, wanted):
            return why
    pointers = sum({stack_bits(off, size) for off, (size, v) in fa.slots.items() if v.kind == POINTER})
    kept = sum({stack_bits(off, size) for off, (size, v) in fb.slots.items() if v.kind == POINTER})
    if fb.written & ~fa.written or fb.written & ~kept & pointers:
        return "bytes of the stack"
    for off, (size, v) in fb.slots.items():
        found = fa.slots.get(off)
        if found is None or found[0] != size:
            return f"stack slot {off}"
        if why := same(found[1], v):
            return why
    if any(x not in there for x in b.vars if x not in local):
        return "an unknown that is not there"
    return untrue(there, b)


def ordered(rng: random.Random, w: World, s: State) -> Iterator[str]:
    """Of a state that says less, or something else: if all of the first is said to be within, it must be."""
    other, local = s.copy(), set(rng.sample(sorted(x for x in w if x > LEN), rng.randrange(2)))
    other.halves, done = {}, []                       # halves end with the block
    for _ in range(rng.choice((1, 1, 2))):
        what, known = rng.choice("vdDAslcpwrnkxotS"), sorted(other.vars.keys() & w.keys())
        x, y = rng.choice(known), rng.choice(known)
        if what == "v":
            other.vars[x] = num_with(rng, w.get(x, 0) + rng.choice((0, 0, 1, -1)))
        elif what == "d" and x < y:
            other.diff[x, y] = around(rng, w[y] - w[x] + rng.choice((0, 0, 1, -1)))
        elif what in "DA" and (facts := other.defs if what == "D" else other.added):
            at = rng.choice(sorted(facts))
            facts[at] = *facts[at][:2], facts[at][2] + rng.choice((0, 1))
        elif what == "s":
            x = rng.choice(sorted(other.strides) or [x])
            m = s.strides.get(x, (2, 0))[0]
            other.strides[x] = rng.choice((m, 2, 3)), rng.randrange(2)
        elif what == "l" and other.lines:
            at = rng.choice(sorted(other.lines))
            base, k, c = other.lines[at]
            other.lines[at] = rng.choice(((base, k, c + 1), (base, k + 1, c), (x, k, c)))
        elif what == "c" and (made := rng.choice((other.scaled, other.quotients))):
            at = rng.choice(sorted(made))
            made[at] = made[at][0], made[at][1] + 1
        elif what in "rk":
            i = rng.randrange(8)
            if (v := other.regs[i]) is not None:
                other.regs[i] = rng.choice((None, v._replace(off=v.off + 1), v._replace(sym=x), v._replace(kind=POINTER, region="rec"), v._replace(kind=NULLABLE),
                                            Value(NUMBER, None, v.sym, v.off), v))
        elif what == "S":
            saved = [*other.frames[0].saved]
            if (v := saved[0]) is not None:
                saved[0] = rng.choice((v._replace(off=v.off + 1), v._replace(sym=x), Value(NUMBER, None, v.sym, v.off), None))
            other.frames[0].saved = tuple(saved)
        elif what == "o":
            x = rng.choice([z for z in w if z > LEN])
            local, more = local | {x}, rng.choice((-8, 1, 4))
            moved(other, x, more)
            if rng.random() < 0.7:                    # some facts by too much, or the other way
                what, wrong = "O", rng.choice((more, -more, -2 * more))
                other.defs = {y: (v, z, c + wrong) for y, (v, z, c) in other.defs.items()}
                other.added = {y: (v, z, c + wrong) for y, (v, z, c) in other.added.items()}
                other.lines = {key: (base, k, c + wrong) for key, (base, k, c) in other.lines.items()}
                other.diff = {key: (lo + wrong, hi + wrong) for key, (lo, hi) in other.diff.items()}
        elif what == "t" and x > LEN and y > LEN:             # what is known stays, and the places hold the other one
            local |= {x, y}
            renamed_places(other, {x: y, y: x})
            other.vars[x] = other.vars[y] = d.join(other.vars[x], other.vars[y])
            if rng.random() < 0.5:
                other.strides, other.defs, other.added = {}, {}, {}
        elif what == "w":
            other.frames[0].written ^= stack_bits(rng.choice((-32, -24, -16, -9, -8, -40)), rng.choice((1, 4)))
        elif what == "p" and other.frames[0].slots:
            off = rng.choice(sorted(other.frames[0].slots))
            size, v = other.frames[0].slots[off]
            how = rng.choice("dskf")
            if how == "d":
                del other.frames[0].slots[off]
            else:
                other.frames[0].slots[off] = (4 if how == "s" else size), (v._replace(off=v.off + 1) if how == "f" else v._replace(kind=POINTER, region="pkt") if how == "k" else v)
        elif what == "n":
            copied = {old: old + 40 for old in local if old in other.vars}
            renamed(other, copied)
            local = {copied.get(x, x) for x in local}
        done.append(what)
    said = leq(s, other, {x: 0 for x in local})
    if said is None and (why := beside(w, s, other, local)):
        yield f"within: {why}"
    if said is not None and done == ["o"] and any(v.sym == x for _, v in s.places()) and all(x != base for base, _, _ in s.lines.values()):
        yield f"the same in other words: {said}"


def entered(rng: random.Random, w: World, s: State) -> Iterator[str]:
    """A state that holds constants, as where a loop is entered, and one with unknowns for them, some facts changed."""
    first = State()
    first.vars = {LEN: s.vars[LEN]}
    constant = lambda v: v if v is None or v is CLOBBER else v._replace(sym=0, off=concrete(w, v)) if v.sym > LEN else v
    first.regs = [constant(v) for v in s.regs]
    first.frames = [Frame({off: (size, constant(v)) for off, (size, v) in s.frames[0].slots.items()}, s.frames[0].written, tuple(map(constant, s.frames[0].saved)))]
    s.defs, s.added, s.scaled, s.quotients, s.cleared = {}, {}, {}, {}, {}      # those never follow from constants
    s.collect()
    if rng.random() < 0.7:
        s.lines = {key: rng.choice(((base, k, c), (base, k, c + 1), (rng.choice(list(w)), k, c))) for key, (base, k, c) in s.lines.items()}
    local = {x for x in w if x > LEN}
    if leq(first, s, dict.fromkeys(local, 0)) is None and (why := beside(w, first, s, local)):
        yield f"entered: {why}"


def left(rng: random.Random, w: World, s: State) -> Iterator[str]:
    """A cursor that is a constant, the begin of the packet among them, and what is left behind it; then unknowns, of which the second is defined by the first."""
    first, second, at, c = State(), State(), rng.choice((0, 0, 1, 40)), rng.choice(SMALL)
    first.vars, first.regs[:2] = {LEN: s.vars[LEN]}, [Value(POINTER, "pkt", 0, at), Value(NUMBER, None, LEN, c)]
    wrong = rng.choice((0, 0, 1, -1))
    second.vars, second.regs[:2] = {LEN: s.vars[LEN], 40: d.TOP, 41: d.TOP}, [Value(POINTER, "pkt", 40, 0), Value(NUMBER, None, 41, 0)]
    second.defs[41] = 40, LEN, at + c + wrong
    said, why = leq(first, second, {40: 0, 41: 0}), beside({0: 0, LEN: w[LEN]}, first, second, {40, 41})
    if (said is None) != (why is None):
        yield f"left: {said}, {why}"
    third, o1, o2 = State(), rng.choice(SMALL), rng.choice(SMALL)
    there = {0: 0, LEN: w[LEN], 30: (p := rng.randrange(1500)), 31: w[LEN] - p + (c + at + wrong - o1 - o2)}
    third.vars, third.regs[:2] = {LEN: s.vars[LEN], 30: num_with(rng, p), 31: d.TOP}, [Value(POINTER, "pkt", 30, o1), Value(NUMBER, None, 31, o2)]
    third.defs[31] = 30, LEN, there[31] - w[LEN] + p
    out = join([first, third], lambda place: 50 + place, True)
    if bool(out.defs) != (not wrong):
        yield f"left: {out.defs} where {wrong} is wrong"
    for world, state in (({0: 0, LEN: w[LEN]}, first), (there, third)):
        if why := beside(world, state, out, {50, 51}) or leq(state, out, {50: 0, 51: 0}):
            yield f"left: {why}"


def renamed_places(s: State, to: dict[int, int], more: int = 0) -> None:
    """Places hold unknowns of other names, `more` less than it."""
    value = lambda v: v._replace(sym=to[v.sym], off=v.off - more) if v is not None and v.sym in to else v
    s.regs = [value(v) for v in s.regs]
    s.frames[0].saved = tuple(value(v) for v in s.frames[0].saved)
    s.frames[0].slots = {off: (size, value(v)) for off, (size, v) in s.frames[0].slots.items()}


def moved(s: State, x: int, more: int) -> None:
    """Unknown x stands for what it was and `more`."""
    at = lambda y: more if y == x else 0
    renamed_places(s, {x: x}, more)
    if x in s.vars:
        s.vars[x] = d.add(s.vars[x], d.const(more))
    s.strides = {y: (m, (r + at(y)) % m) for y, (m, r) in s.strides.items()}
    s.diff = {(a, b): (lo + at(b) - at(a), hi + at(b) - at(a)) for (a, b), (lo, hi) in s.diff.items()}
    s.defs, s.added = [{y: (v, w, c + at(y) - at(w) + at(v)) for y, (v, w, c) in facts.items()} for facts in (s.defs, s.added)]
    s.lines = {(y, z): (base, k, c + at(y) - at(base) - k * at(z)) for (y, z), (base, k, c) in s.lines.items()}
    for kind in ("scaled", "quotients", "cleared", "masked", "powers"):
        setattr(s, kind, {y: t for y, t in getattr(s, kind).items() if x not in (y, t[0])})
    s.halves = {y: (z, (c - at(z)) & m, m) for y, (z, c, m) in s.halves.items() if y != x}


def renamed(s: State, to: dict[int, int]) -> None:
    """Unknowns of a state by other names."""
    of = lambda x: to.get(x, x)
    renamed_places(s, to)
    s.vars, s.strides = {of(x): n for x, n in s.vars.items()}, {of(x): t for x, t in s.strides.items()}
    s.diff = {(min(of(a), of(b)), max(of(a), of(b))): (lo, hi) if (of(a) < of(b)) == (a < b) else (-hi, -lo) for (a, b), (lo, hi) in s.diff.items()}
    s.defs, s.added = [{of(x): (of(v), of(y), c) for x, (v, y, c) in facts.items()} for facts in (s.defs, s.added)]
    s.lines = {(of(x), of(y)): (of(base), k, c) for (x, y), (base, k, c) in s.lines.items()}
    for kind in ("scaled", "quotients", "cleared", "halves", "masked", "powers"):
        setattr(s, kind, {of(x): (of(t[0]), *t[1:]) for x, t in getattr(s, kind).items()})


def joined(rng: random.Random, w: World, s: State) -> Iterator[str]:
    """With the state of another world, of the same unknowns: where the proof says that both lie in what comes of it, they do; it nearly always does."""
    second = dict(w)
    other = s.copy()
    for kind in ("defs", "added", "lines", "scaled", "quotients", "cleared", "halves", "masked", "powers", "strides", "diff"):
        setattr(other, kind, {})
    for x in list(w)[2:]:
        if rng.random() < 0.5:
            second[x] = w[x] + rng.choice(SMALL)
        other.vars[x] = num_with(rng, second[x])
    for i, v in enumerate(other.regs):
        if v is not None and v is not CLOBBER and rng.random() < 0.4:
            other.regs[i] = v._replace(off=v.off + rng.choice(SMALL)) if abs(second[v.sym]) < 1 << 62 else None
    for off in list(other.frames[0].slots):
        if rng.random() < 0.3:
            other.frames[0].slots[off] = 8, Value(NUMBER, None, 0, 5)
            other.frames[0].written |= stack_bits(off, 8)
    made: dict[int, object] = {}
    names: dict[object, int] = {}

    def name(place: object) -> int:
        made[names.setdefault(place, 100 + len(names))] = place
        return names[place]
    out = join([s, other], name, True, frozenset(x for x in w if rng.random() < 0.3))
    for world, state in ((w, s), (second, other)):
        why = beside(world, state, out, set(made))
        if (leq(state, out, made) is None) == (why is None):
            AGREED.append(why is None)
        elif why is not None:
            yield f"joined: {why}"


def broken(seed: int = 1, worlds: int = 400) -> Iterator[str]:
    """What does not hold."""
    for i in range(worlds):
        rng = random.Random(f"{seed} {i}")
        w, s = world_of(rng)
        assert untrue(w, s) is None, untrue(w, s)
        for law in (asked, collected, joined, *[along] * 2, *[summed] * 2, *[chained] * 3, left, resolved, again, *[learnt, entered] * 3, *[ordered] * 8):
            for why in law(rng, dict(w), s.copy()):
                yield f"{i}: {law.__name__}: {why}"
