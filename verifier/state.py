"""What is known before an instruction: registers, stack, numbers, and differences between numbers.

Every unknown number has a *symbol*; a register holds symbol + constant, as a number or as an offset from a region's
start. Two registers with the same symbol hold the same unknown, so that what a comparison teaches about one is known
of the other, be it a number, a cursor or a spilled copy. The length of the packet is symbol LEN; `pkt_end` is the
packet pointer with offset LEN. `diff` bounds the difference of two symbols where comparisons proved more than their
ranges imply: `diff[cursor, LEN]` is how much of the packet lies behind the cursor.
"""
from __future__ import annotations

from math import gcd
from typing import NamedTuple

from . import bits, domain as d
from .rules import Violation

NUMBER, POINTER, NULLABLE = "number", "pointer", "pointer or null"
LOW_HALF = "low half of a pointer"                    # the lower 32 bits are a pointer's, nothing is said of the upper ones
# What a place holds that cannot be used: a call destroyed it, the packet changed, or the kind depends on the path.
CLOBBERED, STALE, MIXED = "clobbered", "stale packet pointer", "pointer or number"
BROKEN = "what an instruction that breaks a rule gives"  # `off` is its slot
UNUSABLE = {CLOBBERED, STALE, MIXED, BROKEN}
NEAR = (0, 16, 48)                                    # octets
LEN = 1                                               # symbol of the packet's length; symbol 0 is the number 0
INF = 1 << 70
MAX_DIFFS = 400                                       # differences remembered at a time (rule 38); forgetting is sound
MAX_LINES = 24                                        # lines remembered at a time (rule 38)
MAX_NEAR = 2048                                       # constant offsets whose place before the packet's end is remembered


class Value(NamedTuple):
    """What a register holds: `sym` + `off`, an offset into `region` if it is a pointer. `None` instead of a Value: unusable."""
    kind: str
    region: str | None
    sym: int
    off: int


CLOBBER, STALE_POINTER, MIXTURE = (Value(kind, None, 0, 0) for kind in (CLOBBERED, STALE, MIXED))


def number(n: int) -> Value:
    return Value(NUMBER, None, 0, d.s64(n))


class Frame:
    """One function's 512 bytes below r10: values by offset, and a bit per byte that was written (offset -512 is bit 0)."""
    __slots__ = ("slots", "written", "saved")

    def __init__(self, slots=None, written=0, saved=()):
        self.slots: dict[int, tuple[int, Value]] = slots if slots is not None else {}
        self.written = written
        self.saved = saved                            # the caller's r6-r9

    def copy(self):
        return Frame(dict(self.slots), self.written, self.saved)

    def __eq__(self, other):
        return self.written == other.written and self.saved == other.saved and self.slots == other.slots


def stack_bits(off: int, size: int) -> int:
    return ((1 << size) - 1) << (off + 512)


class State:
    __slots__ = ("regs", "vars", "diff", "defs", "strides", "lines", "scaled", "frames", "shifted", "halves", "bits")

    def __init__(self):
        self.regs: list[Value | None] = [None] * 11
        self.vars: dict[int, d.Num] = {}
        self.diff: dict[tuple[int, int], tuple[int, int]] = {}  # (a, b), a < b: bounds of b - a
        self.defs: dict[int, tuple[int, int, int]] = {}         # x: (v, w, c) where x = w - v + c
        self.strides: dict[int, tuple[int, int]] = {}           # x: (m, r) where x = r modulo m
        self.lines: dict[tuple[int, int], tuple[int, int, int]] = {}    # (x, y): (base, k, c) where x = base + k * y + c
        self.scaled: dict[int, tuple[int, int]] = {}            # x: (y, n) where x is y shifted right by n; left, if n is negative
        self.frames: list[Frame] = [Frame()]
        self.shifted: dict[int, Value] = {}                     # x: what was shifted left by 32 to give x; within a block
        self.halves: dict[int, tuple[int, int]] = {}            # x: (y, c) where x is the low 32 bits of y + c; within a block
        self.bits: dict[int, bits.Row] = {}                     # x: whose bits it has; in walk.py only

    def copy(self) -> State:
        s = State.__new__(State)
        s.regs, s.vars, s.diff, s.defs = list(self.regs), dict(self.vars), dict(self.diff), dict(self.defs)
        s.strides, s.lines, s.scaled = dict(self.strides), dict(self.lines), dict(self.scaled)
        s.frames, s.shifted, s.halves = [f.copy() for f in self.frames], dict(self.shifted), dict(self.halves)
        s.bits = dict(self.bits) if self.bits else {}
        return s

    def __eq__(self, other):
        """The same is known, of the same symbols."""
        return self is other or (self.regs == other.regs and self.vars == other.vars and self.diff == other.diff
                                 and self.frames == other.frames and self.defs == other.defs and self.strides == other.strides
                                 and self.lines == other.lines and self.scaled == other.scaled and self.shifted == other.shifted
                                 and self.halves == other.halves and self.bits == other.bits)

    def facts(self) -> int:
        """How much is known: what memory the state takes."""
        return 11 + len(self.vars) + len(self.diff) + len(self.defs) + len(self.lines) + sum(len(f.slots) for f in self.frames)

    # Numbers -------------------------------------------------------------------------------------
    def num(self, v: Value) -> d.Num:
        """The number (or offset) a value stands for."""
        if not v.sym:
            return d.const(v.off)
        n = self.vars[v.sym]
        return d.add(n, d.const(v.off)) if v.off else n

    def bounds(self, sym: int) -> tuple[int, int]:
        if not sym:
            return 0, 0
        n = self.vars[sym]
        return n.slo, n.shi

    def offsets(self, v: Value) -> tuple[int, int]:
        """Signed bounds of sym + off, in mathematical integers."""
        lo, hi = self.bounds(v.sym)
        return lo + v.off, hi + v.off

    def gap(self, a: int, b: int) -> tuple[int, int]:
        """Bounds of b - a."""
        if a == b:
            return 0, 0
        if a < b:
            known = self.diff.get((a, b))
        elif known := self.diff.get((b, a)):
            known = -known[1], -known[0]
        lo = hi = 0
        if b:
            n = self.vars[b]
            lo, hi = n.slo, n.shi
        if a:
            n = self.vars[a]
            lo, hi = lo - n.shi, hi - n.slo
        if known:
            klo, khi = known
            return (klo if klo > lo else lo), (khi if khi < hi else hi)
        return lo, hi

    def stride(self, v: Value) -> tuple[int, int]:
        """(m, r): the value is r modulo m; m is 0 for the constant r."""
        if not v.sym:
            return 0, v.off
        m, r = self.strides.get(v.sym, (1, 0))
        return m, (r + v.off) % m

    # Refinement: each returns False when nothing is left -------------------------------------------
    def learn(self, v: Value, n: d.Num | None) -> bool:
        """The value is one of `n`; symbols whose difference to it is known learn from it."""
        if n is None:
            return False
        if not v.sym:
            return v.off in n
        if not self._meet(v.sym, d.sub(n, d.const(v.off)) if v.off else n):
            return False
        for (a, b), (lo, hi) in list(self.diff.items()):
            if a == v.sym:
                slo, shi = self.bounds(a)
                if not self._within(b, slo + lo, shi + hi):
                    return False
            elif b == v.sym:
                slo, shi = self.bounds(b)
                if not self._within(a, slo - hi, shi - lo):
                    return False
        return True

    def _meet(self, sym: int, n: d.Num | None, deep: bool = True) -> bool:
        if n is None:
            return False
        old = self.vars[sym]
        new = d.meet(old, n)
        if new is None:
            return False
        if sym in self.strides and (new := _congruent(new, self.strides[sym])) is None:
            return False
        if new == old:
            return True
        self.vars[sym] = new
        if deep and self.lines:
            for (x, y), (base, k, c) in list(self.lines.items()):
                if y == sym and not (self.learn_gap(base, x, *_times(k, new, c), deep=False) and self._before_end(x)):
                    return False
        if deep and self.scaled and new.slo >= 0:
            for x, (y, n) in list(self.scaled.items()):
                if y == sym and x in self.vars and not self._within(x, *((new.slo >> n, new.shi >> n) if n > 0 else (new.slo << -n, new.shi << -n)), False):
                    return False
        if deep and self.halves and not self._learn_halves(sym, new):
            return False
        if self.bits and not bits.learn(self, sym):
            return False
        if deep and sym in self.defs:
            v, w, c = self.defs[sym]
            return self.learn_gap(v, w, new.slo - c, new.shi - c, deep=False)
        return True

    def _learn_halves(self, sym: int, n: d.Num) -> bool:
        """What `n`, which is known of a symbol, says of its low half, and of what it is the low half of."""
        for x, (y, c) in list(self.halves.items()):
            if y == sym and x in self.vars and not self._meet(x, d.low32(d.add(n, d.const(c))), False):
                return False
            lo, hi = n.ulo - c & d.M32, n.uhi - c & d.M32
            if x == sym and y in self.vars and n.uhi <= d.M32 and lo <= hi and not self._meet(y, d.make(ulo32=lo, uhi32=hi), False):
                return False
        return True

    def on_line(self, x: tuple[int, int], base: int, y: tuple[int, int], k: int, c: int) -> bool:
        """x = base + k * y + c, where x and y are (symbol, constant)."""
        (sx, ox), (sy, oy) = x, y
        rest = c + k * oy - ox
        return self.lines.get((sx, sy)) == (base, k, rest) if sy else sx == base and not rest

    def forget(self, sym: int) -> None:
        """The symbol is about to stand for something else."""
        self.vars.pop(sym, None)
        self.diff = {key: b for key, b in self.diff.items() if sym not in key}
        self.defs = {x: t for x, t in self.defs.items() if sym != x and sym not in t[:2]}
        self.lines = {key: t for key, t in self.lines.items() if sym not in key and sym != t[0]}
        self.scaled = {x: t for x, t in self.scaled.items() if sym != x and sym != t[0]}
        self.shifted = {x: v for x, v in self.shifted.items() if sym not in (x, v.sym)}
        self.halves = {x: t for x, t in self.halves.items() if sym not in (x, t[0])}
        if self.bits:
            self.bits = {x: row for x, row in self.bits.items() if sym != x and sym not in bits.roots(row)}
        self.strides.pop(sym, None)

    def learn_gap(self, a: int, b: int, lo: int, hi: int, deep: bool = True) -> bool:
        """b - a lies in lo..hi."""
        if a == b:
            return lo <= 0 <= hi
        if not a:
            return self._within(b, lo, hi, deep)
        if not b:
            return self._within(a, -hi, -lo, deep)
        known = self.gap(a, b)
        if lo <= known[0] and known[1] <= hi:
            return True
        lo, hi = max(lo, known[0]), min(hi, known[1])
        if lo > hi:
            return False
        self._store_gap(a, b, lo, hi)
        for (x, y), (klo, khi) in list(self.diff.items()):  # one step of closure: q - a from q - b
            for p, q, l, h in ((x, y, klo, khi), (y, x, -khi, -klo)):   # q - p in l..h
                if p == b and q != a:
                    self._tighten(a, q, lo + l, hi + h)
                elif q == a and p != b:
                    self._tighten(p, b, lo + l, hi + h)
        (alo, ahi), (blo, bhi) = self.bounds(a), self.bounds(b)
        return self._within(b, alo + lo, ahi + hi, deep) and self._within(a, blo - hi, bhi - lo, deep)

    def _store_gap(self, a, b, lo, hi):
        if len(self.diff) >= MAX_DIFFS and ((a, b) if a < b else (b, a)) not in self.diff:
            return
        if a < b:
            self.diff[a, b] = lo, hi
        else:
            self.diff[b, a] = -hi, -lo

    def _tighten(self, a, b, lo, hi):
        klo, khi = self.gap(a, b)
        if lo > klo or hi < khi:
            lo, hi = max(lo, klo), min(hi, khi)
            self._store_gap(a, b, lo, hi)
            (alo, ahi), (blo, bhi) = self.bounds(a), self.bounds(b)
            if lo <= hi and b and max(blo, alo + lo) <= min(bhi, ahi + hi):     # else nothing is this way: it need not be told
                self._within(b, alo + lo, ahi + hi, False)
            if lo <= hi and a and max(alo, blo - hi) <= min(ahi, bhi - lo):
                self._within(a, blo - hi, bhi - lo, False)

    def _within(self, sym: int, lo: int, hi: int, deep: bool = True) -> bool:
        n = self.vars[sym]
        if lo <= n.slo and n.shi <= hi:
            return True
        return self._meet(sym, d.within(n, lo, hi), deep)

    def _before_end(self, x: int) -> bool:
        """The packet is as long as where `x` is, if that is known to lie within."""
        if (known := self.diff.get((LEN, x))) is None:
            return True
        return self._within(LEN, self.bounds(x)[0] - known[1], self.bounds(LEN)[1], False)

    def bound_by_lines(self) -> None:
        """What a symbol on a line has for bounds follows from the one that moves it."""
        for (x, y), (base, k, c) in self.lines.items():
            if x in self.vars and y in self.vars and (not base or base in self.vars):
                lo, hi = _times(k, self.vars[y], c)
                if base:
                    klo, khi = self.gap(base, x)
                    if max(lo, klo) <= min(hi, khi) and (lo > klo or hi < khi):
                        self._store_gap(base, x, max(lo, klo), min(hi, khi))
                    (blo, bhi) = self.bounds(base)
                    lo, hi = lo + blo, hi + bhi
                self.vars[x] = d.within(self.vars[x], lo, hi) or self.vars[x]

    # Places --------------------------------------------------------------------------------------
    def places(self):
        """Every place that holds a value: (name, value). Names order as rank of importance and are the same in all states."""
        for i, v in enumerate(self.regs):
            if v is not None:
                yield i, v
        for depth, frame in enumerate(self.frames):
            base = 1000 * (depth + 1)
            for i, v in enumerate(frame.saved):
                if v is not None:
                    yield base + i, v
            for off, (size, v) in frame.slots.items():
                yield base + 600 + off, v

    def collect(self, keep=frozenset()) -> None:
        """At a block's start: forget symbols no place refers to, but for `keep`."""
        self.shifted, self.halves = {}, {}
        live = {v.sym for v in self.regs if v is not None} | {0, LEN}
        for frame in self.frames:
            live.update([v.sym for v in frame.saved if v is not None], [v.sym for _, v in frame.slots.values()])
        live |= {s for s in keep if s in self.vars}
        for x, (v, w, _) in list(self.defs.items()):
            if x not in live:
                del self.defs[x]
            else:
                live |= {v, w}
        if self.lines:
            self.lines = {key: t for key, t in self.lines.items() if key[0] in live and key[1] in live}
            live |= {base for base, _, _ in self.lines.values()}
        if self.bits:
            self.bits = {x: row for x, row in self.bits.items() if x in live}
            for row in self.bits.values():
                live |= bits.roots(row)
        if self.scaled:
            self.scaled = {x: t for x, t in self.scaled.items() if x in live and t[0] in self.vars}
            live |= {y for y, _ in self.scaled.values()}
        if len(self.vars) >= len(live):
            self.vars = {s: n for s, n in self.vars.items() if s in live}
        if self.strides:
            self.strides = {x: t for x, t in self.strides.items() if x in live}
        if self.diff:
            self.diff = {k: b for k, b in self.diff.items() if k[0] in live and k[1] in live}


# Entry -------------------------------------------------------------------------------------------
def entry_state(max_packet: int) -> State:
    s = State()
    s.vars[LEN] = d.signed(0, max_packet)
    s.regs[1] = Value(POINTER, "ctx", 0, 0)
    s.regs[10] = Value(POINTER, "stack0", 0, 0)
    return s


# Join --------------------------------------------------------------------------------------------
def join(states: list[State], name, head: bool, keep=frozenset()) -> State:
    """The state all of `states` are within. `name(place)` gives the symbol for a place that differs between them; at
    a loop's head all its new symbols are related to each other, because that is where invariants start."""
    if len(states) == 1 and not head:
        return states[0].copy()
    out, count = State(), len(states)
    zeros = (0,) * count
    classes: dict[tuple, tuple[int, tuple]] = {}      # (syms, relative offsets) -> (new symbol, its offsets)
    in_packet: set[int] = set()                       # new symbols of places in the packet
    members: dict[int, tuple[tuple, tuple]] = {}      # new or kept symbol -> (syms, offsets): it is sym_i + off_i in state i

    def merged(place, values):
        first = values[0]
        if values.count(first) == count:              # what most places are: the same on all ways
            if first is not None and first.sym:
                syms = (first.sym,) * count
                if members.setdefault(first.sym, (syms, zeros))[0] != syms:
                    raise Violation(38, None, "an unknown has two meanings")
            return first
        if None in values:
            return None
        kind = first.kind
        if kind == BROKEN:
            return first
        if any(v.kind != kind or v.region != first.region for v in values):
            kinds, regions = {v.kind for v in values}, {v.region for v in values}
            if kinds == {POINTER, LOW_HALF} and len(regions) == 1:
                kind = LOW_HALF                       # of either the lower half is known to be a pointer's
            else:
                broken = [v for v in values if v.kind == BROKEN]
                return broken[0] if broken else CLOBBER if CLOBBERED in kinds else STALE_POINTER if STALE in kinds else MIXTURE
        syms, offs = tuple([v.sym for v in values]), tuple([v.off for v in values])
        key = syms, tuple([o - offs[0] for o in offs])
        if key not in classes:
            classes[key] = name(place), offs
            if members.setdefault(classes[key][0], (syms, offs)) != (syms, offs):
                raise Violation(38, None, "an unknown has two meanings")
        sym, base = classes[key]
        if first.region == "pkt":
            in_packet.add(sym)
        return Value(kind, first.region, sym, offs[0] - base[0])

    for i in range(11):
        out.regs[i] = merged(i, [s.regs[i] for s in states])
    out.frames = []
    for depth in range(len(states[0].frames)):
        frames, base = [s.frames[depth] for s in states], 1000 * (depth + 1)
        saved = tuple(merged(base + i, list(vs)) for i, vs in enumerate(zip(*(f.saved for f in frames))))
        written = frames[0].written
        for f in frames[1:]:
            written &= f.written
        slots = {}
        for off, held in frames[0].slots.items():
            found = [f.slots.get(off) for f in frames]
            if found.count(held) == count or all(x is not None and x[0] == held[0] for x in found):
                v = merged(base + 600 + off, [x[1] for x in found])
                if v is not None and v.kind not in UNUSABLE:
                    slots[off] = held if v is held[1] else (held[0], v)
        for f in frames:                              # what is a pointer on one side only is nothing at all
            for off, (size, v) in f.slots.items():
                if v.kind != NUMBER and off not in slots:
                    written &= ~stack_bits(off, size)
        out.frames.append(Frame(slots, written, saved))

    kept = states[0].vars.keys()
    for s in states[1:]:
        kept = kept & s.vars.keys()
    for sym in kept:
        if sym == LEN or sym in keep:
            members.setdefault(sym, ((sym,) * count, zeros))
    _join_defs(out, states, members, kept)
    for sym, (syms, offs) in members.items():
        if syms[0] == sym and offs is zeros:
            n = states[0].vars[sym]
            for s in states:
                if s.vars[sym] is not n:
                    n = d.join(n, s.vars[sym])
        else:
            nums = [s.num(Value(NUMBER, None, a, o)) for s, a, o in zip(states, syms, offs)]
            n = nums[0]
            for other in nums:
                if other is not n:
                    n = d.join(n, other)
        out.vars[sym] = n
        if not n.is_const and (stride := _join_strides(states, syms, offs)):
            out.strides[sym] = stride
            out.vars[sym] = _congruent(n, stride) or n
    _join_diffs(out, states, members, in_packet, {c[0] for c in classes.values()} if head else None)
    _join_lines(out, states, members, [c[0] for c in classes.values()] if head else [])
    return out


def _times(k: int, n: d.Num, c: int) -> tuple[int, int]:
    """Bounds of k times a number, plus c."""
    lo, hi = k * n.slo + c, k * n.shi + c
    return (lo, hi) if k > 0 else (hi, lo)


def _join_lines(out, states, members, new):
    """Lines and shifts that all know; at a loop's head, places that move by constants in every turn lie on lines (Karr's domain, of two
    unknowns and one that the loop leaves alone)."""
    def same(sym):
        return not sym or sym in members and members[sym][0].count(sym) == len(states) and not any(members[sym][1])

    first = states[0]
    for key, line in first.lines.items():
        if all(s.lines.get(key) == line for s in states) and same(key[0]) and same(key[1]) and same(line[0]):
            out.lines[key] = line
    for x, t in first.scaled.items():
        if all(s.scaled.get(x) == t for s in states) and same(x) and same(t[0]):
            out.scaled[x] = t
    for x, row in first.bits.items():
        if all(s.bits.get(x) == row for s in states) and same(x) and all(map(same, bits.roots(row))):
            out.bits[x] = row
    counters = [y for y in new if 0 in members[y][0]][:MAX_LINES]
    for x in new[:MAX_LINES]:
        for y in counters:
            if x != y and len(out.lines) < MAX_LINES and (line := _line(states, members[x], members[y], x, y)) and same(line[0]):
                out.lines[x, y] = line
    out.bound_by_lines()


def _line(states, xs, ys, x, y):
    """(base, k, c) with x = base + k * y + c in all states."""
    at = [i for i, sym in enumerate(ys[0]) if not sym]
    turned = [i for i in range(len(states)) if ys[0][i] == y and xs[0][i] == x and ys[1][i]]
    if turned:
        dx, dy = xs[1][turned[0]], ys[1][turned[0]]
    else:
        others = [i for i in at if ys[1][i] != ys[1][at[0]] and xs[0][i] == xs[0][at[0]]]
        if not others:
            return None
        dx, dy = xs[1][others[0]] - xs[1][at[0]], ys[1][others[0]] - ys[1][at[0]]
    if not dx or dx % dy:
        return None
    k, base = dx // dy, xs[0][at[0]]
    c = xs[1][at[0]] - k * ys[1][at[0]]
    if k == 1 and not base:
        return None                                   # a difference, which others keep
    if all(s.on_line((sx, ox), base, (sy, oy), k, c) for s, sx, ox, sy, oy in zip(states, *xs, *ys)):
        return base, k, c
    return None


def _congruent(n: d.Num, stride: tuple[int, int]) -> d.Num | None:
    """The bounds moved inwards to values r modulo m."""
    m, r = stride
    return d.within(n, n.slo + (r - n.slo) % m, n.shi - (n.shi - r) % m)


def _join_strides(states, syms, offs):
    """The congruence all agree on (Granger's domain); None if it says nothing."""
    for s, sym in zip(states, syms):
        if sym and sym not in s.strides:
            return None
    m, r = None, 0
    for s, sym, off in zip(states, syms, offs):
        m2, r2 = s.stride(Value(NUMBER, None, sym, off))
        m, r = (m2, r2) if m is None else (gcd(m, m2, r - r2), r)
    return (m, r % m) if m > 1 else None


def _join_defs(out, states, members, kept):
    """x = w - v + c survives where it holds in every state for the joined x, v and w."""
    if not all(s.defs for s in states):
        return
    zeros = (0,) * len(states)
    for sym, (syms, offs) in list(members.items()):
        if syms[0] not in states[0].defs:
            continue
        defs = [s.defs.get(a) for s, a in zip(states, syms)]
        if None in defs:
            continue
        parts = []
        for k in (0, 1):
            wanted = tuple([x[k] for x in defs])
            if not any(wanted):
                parts.append((0, zeros))
                continue
            found = [(m, o) for m, (ss, o) in members.items() if ss == wanted]
            if not found and len(set(wanted)) == 1 and wanted[0] in kept:
                members[wanted[0]] = (wanted, zeros)
                found = [(wanted[0], zeros)]
            parts.append(found[0] if found else None)
        if None in parts or sym in (parts[0][0], parts[1][0]):
            continue
        (v, ov), (w, ow) = parts
        constants = {x[2] + o - b + a for x, o, a, b in zip(defs, offs, ov, ow)}
        if len(constants) == 1:
            out.defs[sym] = v, w, constants.pop()


def _join_diffs(out, states, members, in_packet, new):
    """Differences worth keeping: known in some state, or, at a loop's head, of a symbol made here."""
    wanted = set()
    own = {sym for sym, (syms, _) in members.items() if syms[0] == sym and syms.count(sym) == len(syms)}
    others = [(sym, syms, offs) for sym, (syms, offs) in members.items() if sym not in own]
    for i, s in enumerate(states):
        where: dict[int, list[int]] = {}              # what else than itself a symbol has become
        for sym, syms, _ in others:
            where.setdefault(syms[i], []).append(sym)
        for key in s.diff:
            a, b = key
            if a in own and b in own:
                wanted.add(key)
            if a in where or b in where:
                for x in [a, *where.get(a, ())] if a in own else where.get(a, ()):
                    for y in [b, *where.get(b, ())] if b in own else where.get(b, ()):
                        if x != y:
                            wanted.add((x, y) if x < y else (y, x))
        for sym, syms, offs in others:                # a new symbol and the one it came from
            base = syms[i]
            near = 0 < offs[i] <= MAX_NEAR or not offs[i] and sym in in_packet
            if LEN in members and sym != LEN and not base and near and len(wanted) < MAX_DIFFS // 2:
                wanted.add((LEN, sym) if LEN < sym else (sym, LEN))     # a constant place here, another one there: both before the end
            if base and base != sym and base in members:
                wanted.add((base, sym) if base < sym else (sym, base))
    if new is not None:
        for x in new:
            for y in members:
                if x != y and len(wanted) < 2 * MAX_DIFFS:
                    wanted.add((x, y) if x < y else (y, x))
    for a, b in sorted(wanted):
        if len(out.diff) >= MAX_DIFFS:
            break
        lo, hi = INF, -INF
        (syms_a, offs_a), (syms_b, offs_b) = members[a], members[b]
        klo, khi = out.gap(a, b)
        for s, sa, oa, sb, ob in zip(states, syms_a, offs_a, syms_b, offs_b):
            l, h = s.gap(sa, sb)
            lo, hi = min(lo, l + ob - oa), max(hi, h + ob - oa)
            if lo <= klo and hi >= khi:
                break                                 # no more than the bounds say
        else:
            out.diff[a, b] = lo, hi


def widen(old: State, new: State, fresh: frozenset, steps: list[int], apart: bool = False) -> None:
    """Make `new` (a join that includes what led to `old`) an upper bound that stops growing, in place.

    apart: differences between symbols of this head go where one of the two moved; otherwise a symbol's bounds and its
    differences, widened in turns, can each pull the other back for ever."""
    if apart:
        moved = {sym for sym in fresh if sym in new.vars and (sym not in old.vars or new.vars[sym] != old.vars[sym])}
        new.diff = {key: b for key, b in new.diff.items() if not (moved & set(key) and fresh.issuperset(key))}
    for sym in fresh:
        if sym in new.vars and sym in old.vars:
            wide = d.widen(old.vars[sym], new.vars[sym], steps)
            new.vars[sym] = sym in new.strides and _congruent(wide, new.strides[sym]) or wide
    for key, (lo, hi) in list(new.diff.items()):
        known = old.diff.get(key)
        if known is None:
            if key[0] not in old.vars or key[1] not in old.vars:
                continue
            if apart:
                del new.diff[key]
                continue
            known = old.gap(*key)                     # it was no more than the bounds say, which are about to say less
        if apart:                                     # nor shrink again: two differences would widen each other in turns
            lo, hi = min(lo, known[0]), max(hi, known[1])
        new.diff[key] = (lo if lo >= known[0] else -_beyond(-lo)), (hi if hi <= known[1] else _beyond(hi))
    new.lines = {key: line for key, line in new.lines.items() if old.lines.get(key, line) == line}
    new.bound_by_lines()


def _beyond(most: int) -> int:
    """Where a difference that grew goes on to: a place that is before the packet's end, or not far behind it, mostly stays so."""
    return next((step for step in NEAR if most <= step), INF)


# Order -------------------------------------------------------------------------------------------
def leq(a: State, b: State, local=None) -> str | None:
    """None if every concrete state of `a` is one of `b`; otherwise what is not. Only the symbols in `local` (those made where
    `b` is) may stand for something else in `a`: any other symbol is the same unknown in both."""
    if a is b:
        return None
    to: dict[int, tuple[int, int]] = {0: (0, 0), LEN: (LEN, 0)}

    def fits(place, va, vb):
        if vb is None or vb.kind in UNUSABLE:
            return None
        if va == vb and to.setdefault(vb.sym, (vb.sym, 0)) == (vb.sym, 0):
            return None                               # most places
        if va is None or va.region != vb.region or va.kind != vb.kind and (va.kind, vb.kind) != (POINTER, LOW_HALF):
            return f"place {place}: {va} is not {vb}"
        image = va.sym, va.off - vb.off
        if local is not None and vb.sym not in local and image != (vb.sym, 0):
            return f"place {place}: {va} is not {vb}"
        if to.setdefault(vb.sym, image) != image:
            return f"place {place}: {va} breaks an equality"
        return None

    for i in range(11):
        if (why := fits(i, a.regs[i], b.regs[i])):
            return why
    if len(a.frames) != len(b.frames):
        return "different depth"
    for depth, (fa, fb) in enumerate(zip(a.frames, b.frames)):
        for i, (va, vb) in enumerate(zip(fa.saved, fb.saved)):
            if (why := fits(("saved", depth, i), va, vb)):
                return why
        if fb.written & ~fa.written:
            return f"stack bytes of frame {depth} not written"
        for off, (size, vb) in fb.slots.items():
            found = fa.slots.get(off)
            if found is None or found[0] != size:
                return f"stack slot {off} of frame {depth} not there"
            if (why := fits(("slot", depth, off), found[1], vb)):
                return why
        for off, (size, va) in fa.slots.items():      # a pointer must not pass as written bytes
            if va.kind != NUMBER and off not in fb.slots and fb.written & stack_bits(off, size):
                return f"stack slot {off} of frame {depth} holds a pointer"
    for sym, n in b.vars.items():
        if sym not in to:
            if sym not in a.vars:
                return f"symbol {sym} unknown"
            to[sym] = sym, 0
        base, off = to[sym]
        if not off and a.vars.get(base) is n:
            continue
        if not d.leq(a.num(Value(NUMBER, None, base, off)), n):
            return f"symbol {sym}: {a.num(Value(NUMBER, None, base, off))} is not within {n}"
    for (x, y), (lo, hi) in b.diff.items():
        (sx, ox), (sy, oy) = to[x], to[y]
        if sx == x and sy == y and ox == oy and a.diff.get((x, y)) == (lo, hi):
            continue
        glo, ghi = a.gap(sx, sy)
        if glo + oy - ox < lo or ghi + oy - ox > hi:
            return f"difference of symbols {x}, {y}: {glo + oy - ox}..{ghi + oy - ox} is not within {lo}..{hi}"
    for x, (m, r) in b.strides.items():
        m2, r2 = a.stride(Value(NUMBER, None, *to[x]))
        if m2 % m or r2 % m != r:
            return f"stride of symbol {x}"
    for (x, y), (base, k, c) in b.lines.items():
        if base and to.setdefault(base, (base, 0)) != (base, 0) or x not in to or y not in to or not a.on_line(to[x], base, to[y], k, c):
            return f"line of symbols {x}, {y}"
    for x, (y, n) in b.scaled.items():
        if to.get(x) != (x, 0) or to.get(y, (y, 0)) != (y, 0) or a.scaled.get(x) != (y, n):
            return f"shift of symbol {x}"
    for x, row in b.bits.items():
        if a.bits.get(x) != row or any(to.get(y) != (y, 0) for y in {x} | bits.roots(row)):
            return f"bits of symbol {x}"
    for x, (v, w, c) in b.defs.items():
        (sx, ox), (sv, ov), (sw, ow) = to[x], to[v], to[w]
        known = a.defs.get(sx)
        if known != (sv, sw, c - ox + ow - ov):
            return f"definition of symbol {x}"
    return None
