"""The laws of what loops fill (verifier/filled.py): a span that is true of some memory stays true of it, whatever is made of it, and nothing else is claimed.

A world is a number for each unknown and the bytes of the stack that hold numbers; a state of it says true things only.
"""
from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

from lpn.verifier import domain as d, filled
from lpn.verifier.filled import Span, Term
from lpn.verifier.join import join
from lpn.verifier.state import LEN, NUMBER, POINTER, State, Value, stack_bits

LOWEST = -40
SEEN: Counter[str] = Counter()                        # what was claimed and true: a law about nothing is none


class World:
    def __init__(self, rng: random.Random, written: set[int] | None = None):
        self.rng, self.state = rng, State()
        s, self.of = self.state, {0: 0, LEN: 50}
        s.vars[LEN] = d.signed(0, 60)
        for x in range(2, 7):
            y, v = rng.choice([*self.of]), rng.choice([*self.of])
            self.of[x], how = rng.randrange(-2, 10), rng.choice("nnnnsdalp")
            if how == "s" and y > LEN and self.of[y] >= 0:
                self.of[x] = self.of[y] << 2
                s.scaled[x] = y, -2
            elif how == "d" and LEN not in (y, v) and y != v:
                self.of[x] = self.of[y] - self.of[v] + 3
                s.defs[x] = v, y, 3
            elif how == "a" and y > LEN and v > LEN and y != v:
                self.of[x] = self.of[y] + self.of[v] + 1
                s.added[y] = v, x, -1
            elif how == "p" and y > LEN:
                self.of[x] = 4 * self.of[y] - 8
                s.products[x] = y, 4, -8
            elif how == "l" and y > LEN:
                self.of[x] = 2 * self.of[y] - 1
                s.lines[x, y] = 0, 2, -1
            value = self.of[x]
            s.vars[x] = d.const(value) if rng.random() < 0.15 else d.signed(value - rng.choice((0, 0, 2, 9)), value + rng.choice((0, 0, 2, 9)))
        for a, b in (sorted(rng.sample(range(2, 7), 2)) for _ in range(2)):
            s.diff[a, b] = self.of[b] - self.of[a] - rng.choice((0, 0, 3)), self.of[b] - self.of[a] + rng.choice((0, 0, 3))
        first = rng.randrange(LOWEST, -4)
        self.bytes = {b for b in range(first, min(first + rng.randrange(24), 0))} if written is None else set(written)
        if rng.random() < 0.3:
            s.frames[0].slots[-48] = 8, Value(POINTER, "pkt", 0, 0)
            s.frames[0].written |= stack_bits(-48, 8)
        for b in self.bytes:
            if rng.random() < 0.5:
                s.frames[0].written |= stack_bits(b, 1)
        s.regs[:7] = [Value(NUMBER, None, rng.choice([*range(2, 7), 0]), rng.randrange(-1, 3)) for _ in range(7)]
        s.filled = tuple(sorted({span for span in (self.span() for _ in range(6)) if self.holds(span)}))

    def term(self) -> Term:
        """Not far from where something is written or not."""
        rng = self.rng
        t = filled.linear(0, [(rng.randrange(2, 7), rng.choice((1, 1, 1, 2, -1))) for _ in range(rng.choice((0, 1, 1, 2)))])
        border = rng.choice([*self.bytes, *(b + 1 for b in self.bytes)] or [-8]) if rng.random() < 0.9 else rng.randrange(LOWEST, 0)
        return filled.plus(t, border - self.value(t))

    def span(self) -> Span:
        return 0, self.term(), self.term()

    def value(self, t: Term, of: dict[int, int] | None = None) -> int:
        return t[0] + sum(k * (self.of if of is None else of)[x] for x, k in t[1])

    def holds(self, span: Span, of: dict[int, int] | None = None) -> bool:
        return all(b in self.bytes for b in range(self.value(span[1], of), self.value(span[2], of)))

    def wrong(self) -> list[str]:
        """What the state says that is not so."""
        found = [f"{span}" for span in self.state.filled if not self.holds(span)]
        there = filled.numbers(self.state.frames[0])
        return found + [f"byte {b}" for b in range(-512, 0) if there >> b + 512 & 1 and b not in self.bytes]


def answers(w: World) -> list[str]:
    s, out = w.state, []
    for _ in range(4):
        t = w.term()
        for made in (filled.resolved(s, t), filled.resolved(s, t, True), filled.resolved(s, t, False, False)):
            if w.value(made) != w.value(t):
                out.append(f"{t} is {w.value(t)}, {made} is not")
        wide = filled.linear(t[0], (*t[1], *((x, k) for part, (v, _, _) in s.added.items() for k in (-1, 2) for x in (part, v))))
        out += [f"{wide} is {w.value(wide)}, {made} is not" for made in filled._summed_up(s, wide) if w.value(made) != w.value(wide)]
        if filled.at_least(s, t) > w.value(t):
            out.append(f"{t} is {w.value(t)}, not at least {filled.at_least(s, t)}")
        span = w.span()
        if filled.covered(s, *span):
            SEEN["covered"] += w.value(span[1]) < w.value(span[2])
            if not w.holds(span):
                out.append(f"{span} is not covered")
        SEEN["not covered"] += not w.holds(span)
    certain = filled.certain(s, 0)
    SEEN["certain"] += certain != 0
    return out + [f"byte {b} is not certain" for b in range(-512, 0) if certain >> b + 512 & 1 and b not in w.bytes]


def stored(w: World) -> list[str]:
    """A number at a variable place; then a pointer at a constant one, and what is settled; then an unknown becomes another."""
    s, t, size = w.state, w.term(), w.rng.choice((1, 2, 4))
    if LOWEST <= w.value(t) <= -size:
        filled.fill(s, 0, t, size)
        w.bytes |= set(range(w.value(t), w.value(t) + size))
    out = w.wrong()
    filled.settle(s)
    out += w.wrong()
    at = w.rng.randrange(LOWEST // 8, 0) * 8
    s.frames[0].written |= stack_bits(at, 8)
    s.frames[0].slots[at] = 8, Value(POINTER, "pkt", 0, 0)
    before = s.filled
    filled.cut(s, 0, at, at + 8)
    w.bytes -= set(range(at, at + 8))
    out += w.wrong()
    SEEN["cut"] += s.filled != before
    SEEN["left"] += bool(s.filled)
    x = w.rng.randrange(2, 7)
    s.forget(x)
    w.of[x] = w.rng.randrange(-20, 20)
    return out + w.wrong()


def met(rng: random.Random, head: bool) -> list[str]:
    """Two ways; on the second one a turn more has written a byte or two."""
    one = World(rng)
    two = World(rng, one.bytes)
    for x in range(2, 7):
        if rng.random() < 0.5:                        # the same unknown on both
            two.of[x] = one.of[x]
            two.state.vars[x] = d.join(one.state.vars[x], d.const(one.of[x]))
    for table in (two.state.scaled, two.state.defs, two.state.added, two.state.lines, two.state.products, two.state.diff):
        table.clear()
    for x in range(2, 7):
        two.state.vars[x] = d.join(two.state.vars[x], d.const(two.of[x]))
    two.state.regs[:4] = [v and v._replace(off=v.off + rng.choice((0, 1, 1, 2))) for v in one.state.regs[:4]]
    t = one.term()
    size = rng.choice((1, 2))
    if LOWEST <= two.value(t) <= -size and rng.random() < 0.8:
        filled.fill(two.state, 0, t, size)
        two.bytes |= set(range(two.value(t), two.value(t) + size))
    two.state.filled = tuple(span for span in two.state.filled if two.holds(span))
    ways = [one, two]
    out = join([w.state for w in ways], lambda place: 100 + place, head, frozenset(x for x in range(2, 7) if rng.random() < 0.5))
    wrong = []
    for w in ways:
        of = {**w.of, **{v.sym: w.of[u.sym] + u.off - v.off for u, v in zip(w.state.regs, out.regs) if v is not None and u is not None and v.sym > 99}}
        wrong += [f"{span} where ways meet" for span in out.filled if not all(x in of for x in filled.symbols(span)) or not w.holds(span, of)]
        known = {0: (0, 0), LEN: (LEN, 0)} | {x: (x, 0) for x in range(2, 7)}
        known |= {v.sym: (u.sym, u.off - v.off) for u, v in zip(w.state.regs, out.regs) if v is not None and u is not None and v.sym > 99}
        claimed = State()
        claimed.filled = tuple((0, *(filled.plus(t, rng.choice((0, 0, 0, 1, -1))) for t in span[1:])) for span in out.filled)
        if claimed.filled and filled.lost(w.state, claimed, known) is None:
            SEEN["follows"] += 1
            wrong += [f"{span} does not follow" for span in claimed.filled if not w.holds(span, of)]
    SEEN["met"] += any(x > 99 for span in out.filled for x in filled.symbols(span))
    return wrong


def broken(worlds: int = 400) -> Iterator[str]:
    """What does not hold."""
    for i in range(worlds):
        rng = random.Random(i)
        w = World(rng)
        for why in (*w.wrong(), *answers(w), *stored(w), *met(rng, rng.random() < 0.5)):
            yield f"{i}: {why}"
