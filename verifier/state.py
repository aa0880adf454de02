"""What is known before an instruction: registers, stack, numbers, and differences between numbers.

Every unknown number has a *symbol*; a register holds symbol + constant, as a number or as an offset from a region's
start. Two registers with the same symbol hold the same unknown, so that what a comparison teaches about one is known
of the other, be it a number, a cursor or a spilled copy. The length of the packet is symbol LEN; `pkt_end` is the
packet pointer with offset LEN. `diff` bounds the difference of two symbols where comparisons proved more than their
ranges imply: `diff[cursor, LEN]` is how much of the packet lies behind the cursor.
"""
from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from . import bits, domain as d, exclusive, filled, octets

NUMBER, POINTER, NULLABLE = "number", "pointer", "pointer or null"
LOW_HALF = "low half of a pointer"                    # the lower 32 bits are a pointer's, nothing is said of the upper ones
COMPLEMENT = "complement of a pointer"                # all of its bits turned round: -1 - pointer; clang has it of `end - p - 1`
# What a place holds that cannot be used: a call destroyed it, the packet changed, or the kind depends on the path.
CLOBBERED, STALE, MIXED = "clobbered", "stale packet pointer", "pointer or number"
BROKEN = "what an instruction that breaks a rule gives"  # `off` is its slot
UNUSABLE = {CLOBBERED, STALE, MIXED, BROKEN}
NEAR = (0, 16, 48)                                    # octets
LEN = 1                                               # symbol of the packet's length; symbol 0 is the number 0
ALL_LEFT = {LEN: (0, LEN, 0)}                         # of State.defs: behind the packet's begin all of it is left
ALWAYS = frozenset((0, LEN))                       # symbols that no place needs to refer to
INF = 1 << 70
MAX_DIFFS = 400                                       # differences remembered at a time (rule 38); forgetting is sound
MAX_LINES = 24                                        # lines remembered at a time (rule 38)
MOVES = 4                                             # of bounds that bits and a stride move in turns
MAX_NEAR = 2048                                       # constant offsets whose place before the packet's end is remembered


class Value(NamedTuple):
    """What a register holds: `sym` + `off`, an offset into `region` if it is a pointer. `None` instead of a Value: unusable."""
    kind: str
    region: str | None
    sym: int
    off: int

    @property
    def named(self) -> str | None:
        """The region, as messages say it; None: there is none."""
        if self.region is None or not self.region.startswith("stack"):
            return self.region
        depth = int(self.region.removeprefix("stack"))
        return f"the stack of a function called {depth} deep" if depth else "the stack"


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
    __slots__ = ("regs", "vars", "diff", "defs", "added", "strides", "lines", "scaled", "frames", "shifted", "products", "halves", "swapped", "extended",
                 "filled", "bits", "sums", "owed", "settled", "exclusive")

    def __init__(self):
        self.regs: list[Value | None] = [None] * 11
        self.vars: dict[int, d.Num] = {}
        self.diff: dict[tuple[int, int], tuple[int, int]] = {}  # (a, b), a < b: bounds of b - a
        self.defs: dict[int, tuple[int, int, int]] = {}         # x: (v, w, c) where x = w - v + c
        self.added: dict[int, tuple[int, int, int]] = {}        # the same of a summand x
        self.strides: dict[int, tuple[int, int]] = {}           # x: (m, r) where x = r modulo m
        self.lines: dict[tuple[int, int], tuple[int, int, int]] = {}    # (x, y): (base, k, c) where x = base + k * y + c
        self.scaled: dict[int, tuple[int, int]] = {}            # x: (y, n) where x is y shifted right by n; left, if n is negative
        self.frames: list[Frame] = [Frame()]
        self.shifted: dict[int, tuple[Value, int, bool]] = {}   # x: what was shifted left to give x, how many bits are left of it, in 64; within a block
        self.products: dict[int, tuple[int, int, int]] = {}     # x: (y, k, c) where x = k * y + c; within a block, or until it becomes a line
        self.halves: dict[int, tuple[int, int, int]] = {}       # x: (y, c, m) where x is the low bits of y + c that the mask m has
        self.swapped: dict[int, tuple[int, int]] = {}           # x: (y, n) where x is y, of n bits, with its octets in the other order
        self.extended: dict[int, tuple[int, int]] = {}          # x: (y, n) where x is y, of n <= 32 bits, taken as a signed number; within a block
        self.filled: tuple[filled.Span, ...] = ()               # bytes of the stack written up to where a counter stands
        self.bits: dict[int, bits.Row] = {}                     # x: whose bits it has; this and what follows in walk.py only
        self.sums: dict[int, octets.Sum] = {}                   # place in the packet: what it is at least
        self.owed: dict[int, octets.Owed] = {}                  # x: time that grows with it
        self.settled: int | Fraction = 0                        # time that was owed for what is not known any more
        self.exclusive: exclusive.Exclusive | None = None       # x: what is 0 where x is not; None: it is not asked

    def copy(self) -> State:
        s = State.__new__(State)
        s.regs, s.vars, s.diff = self.regs.copy(), self.vars.copy(), self.diff.copy()
        s.frames = [f.copy() for f in self.frames]
        s.defs = self.defs.copy() if self.defs else {}          # what follows is mostly empty
        s.added = self.added.copy() if self.added else {}
        s.strides = self.strides.copy() if self.strides else {}
        s.lines = self.lines.copy() if self.lines else {}
        s.scaled = self.scaled.copy() if self.scaled else {}
        s.shifted = self.shifted.copy() if self.shifted else {}
        s.products = self.products.copy() if self.products else {}
        s.halves = self.halves.copy() if self.halves else {}
        s.swapped = self.swapped.copy() if self.swapped else {}
        s.extended = self.extended.copy() if self.extended else {}
        s.filled = self.filled
        s.bits = dict(self.bits) if self.bits else {}
        s.sums, s.owed, s.settled = dict(self.sums) if self.sums else {}, dict(self.owed) if self.owed else {}, self.settled
        s.exclusive = self.exclusive                            # replaced, not changed
        return s

    def collected(self, keep=frozenset()) -> State:
        """What `collect` leaves, in a state that shares its parts with this one: neither may be changed any more."""
        s = State.__new__(State)
        s.regs, s.vars, s.diff, s.frames, s.defs, s.added, s.strides = self.regs, self.vars, self.diff, self.frames, self.defs, self.added, self.strides
        s.lines, s.scaled, s.halves, s.bits, s.sums, s.owed, s.settled = self.lines, self.scaled, self.halves, self.bits, self.sums, self.owed, self.settled
        s.exclusive, s.filled, s.swapped = self.exclusive, self.filled, self.swapped
        s.collect(keep)
        return s

    def __eq__(self, other):
        """The same is known, of the same symbols."""
        return self is other or (self.regs == other.regs and self.vars == other.vars and self.diff == other.diff
                                 and self.frames == other.frames and self.defs == other.defs and self.added == other.added and self.strides == other.strides
                                 and self.lines == other.lines and self.scaled == other.scaled and self.shifted == other.shifted and self.products == other.products
                                 and self.halves == other.halves and self.swapped == other.swapped and self.extended == other.extended and self.bits == other.bits and self.sums == other.sums
                                 and self.filled == other.filled
                                 and self.exclusive == other.exclusive)

    def facts(self) -> int:
        """How much is known: what memory the state takes."""
        return 11 + len(self.vars) + len(self.diff) + len(self.defs) + len(self.lines) + len(self.filled) + sum(len(f.slots) for f in self.frames)

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
        if (known := self.strides.get(v.sym)) is None:
            n = self.vars[v.sym]
            m = n.mask & -n.mask or 1 << 64                 # of the bits known, those below all that are not
            known = m, n.bits & m - 1
        m, r = known
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
        sym = v.sym
        for (a, b), (lo, hi) in [item for item in self.diff.items() if sym in item[0]]:
            if a == sym:
                slo, shi = self.bounds(a)
                if not self._within(b, slo + lo, shi + hi):
                    return False
            else:
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
        if sym in self.strides and (new := congruent(new, self.strides[sym])) is None:
            return False
        if new == old:
            return True
        self.vars[sym] = new
        if deep and self.lines:
            for (x, y), (base, k, c) in list(self.lines.items()):
                if y == sym and not (self.learn_gap(base, x, *times(k, new, c), deep=False) and self._before_end(x) and self._summand(x)):
                    return False
                if x == sym and not self._back_along(x, y, base, k, c):
                    return False
        if deep and self.scaled and new.slo >= 0:
            for x, (y, n) in list(self.scaled.items()):
                if y == sym and x in self.vars and not self._within(x, *((new.slo >> n, new.shi >> n) if n > 0 else (new.slo << -n, new.shi << -n)), False):
                    return False
        if deep and self.halves and not self._learn_halves(sym, new):
            return False
        if deep and self.swapped and not self._learn_swapped(sym, new):
            return False
        if deep and sym in self.extended and not self._learn_extended(*self.extended[sym], new):
            return False
        if self.bits and not bits.learn(self, sym):
            return False
        if self.exclusive and 0 not in new:
            for other in self.exclusive.get(sym, ()):
                if other in self.vars and not self._meet(other, d.const(0)):
                    return False
        for differences in (self.defs, self.added) if deep else ():
            if sym in differences:
                v, w, c = differences[sym]
                if not self.learn_gap(v, w, new.slo - c, new.shi - c, deep=False):
                    return False
        return True

    def _learn_halves(self, sym: int, n: d.Num) -> bool:
        """What `n`, which is known of a symbol, says of its low bits, and of what it is the low bits of."""
        for x, (y, c, m) in list(self.halves.items()):
            if y == sym and x in self.vars and not self._meet(x, d.low_bits(d.add(n, d.const(c)), m), False):
                return False
            if x != sym or y not in self.vars or n.uhi > m:
                continue
            lo, hi = n.ulo - c & m, n.uhi - c & m
            if lo <= hi and (m == d.M32 or self.vars[y].uhi <= m) and not self._meet(y, d.make(ulo32=lo, uhi32=hi), False):
                return False
        return True

    def _learn_swapped(self, sym: int, n: d.Num) -> bool:
        """A number is 0 where that with its octets in the other order is, and known where that is."""
        for x, (y, size) in list(self.swapped.items()):
            if sym in (x, y):
                other = y if sym == x else x
                if other in self.vars and (n.is_const or 0 not in n) and not self._meet(other, d.byte_swap(n, size) if n.is_const else d.within(self.vars[other], 1, INF)):
                    return False
        return True

    def resolve_halves(self) -> None:
        """Places that hold the low bits of what surely has the same bits above them hold that number, less those bits."""
        for x, (y, c, m) in list(self.halves.items()):
            if x not in self.vars or y not in self.vars:
                continue
            lo, hi = self.bounds(y)
            if (above := lo + c & ~m) == hi + c & ~m:
                off = c - above
                self.learn_gap(y, x, off, off)
                self.renamed(x, y, off)

    def renamed(self, x: int, y: int, off: int) -> None:
        """Places that held `x` hold y + off."""
        def other(v):
            return v._replace(sym=y, off=v.off + off) if v is not None and v.sym == x else v
        self.regs = [other(v) for v in self.regs]
        for frame in self.frames:
            frame.saved = tuple([other(v) for v in frame.saved])
            frame.slots = {at: (size, other(v)) for at, (size, v) in frame.slots.items()}

    def _learn_extended(self, y: int, size: int, n: d.Num) -> bool:
        """What the sign of `n` says of the symbol that it was before."""
        half = 1 << size - 1
        if n.uhi32 < 1 << 31:                         # bit 31 is the sign, whether it has 32 bits or 64
            return self._within(y, max(n.slo, 0), min(n.shi, half - 1), False)
        return n.ulo32 < 1 << 31 or self._within(y, half, 2 * half - 1, False)

    def on_line(self, x: tuple[int, int], base: int, y: tuple[int, int], k: int, c: int) -> bool:
        """x = base + k * y + c, where x and y are (symbol, constant)."""
        (sx, ox), (sy, oy) = x, y
        rest = c + k * oy - ox
        if not sy:
            return sx == base and not rest
        return self.lines.get((sx, sy)) == (base, k, rest) or k < 0 and (base, -rest) in self.ends(sx, sy, -k)

    def ends(self, cursor: int, n: int, k: int) -> list[tuple[int, int]]:
        """(w, c) where w = cursor + k * n + c."""
        found = []
        for (m, y), (base, slope, c) in self.lines.items():
            if y == n and not base and slope == k:
                if not cursor:
                    found.append((m, c))
                elif (there := self.sum_of(cursor, m)) is not None:
                    found.append((there[0], c - there[1]))
        return found

    def forget(self, sym: int) -> None:
        """The symbol is about to stand for something else."""
        if self.sums or self.owed:
            octets.forget(self, sym)
        if self.exclusive:
            self.exclusive = exclusive.forget(self.exclusive, sym)
        self.vars.pop(sym, None)
        self.diff = {key: b for key, b in self.diff.items() if sym not in key}
        self.defs = {x: t for x, t in self.defs.items() if sym != x and sym not in t[:2]}
        self.added = {x: t for x, t in self.added.items() if sym != x and sym not in t[:2]}
        self.lines = {key: t for key, t in self.lines.items() if sym not in key and sym != t[0]}
        self.scaled = {x: t for x, t in self.scaled.items() if sym != x and sym != t[0]}
        self.shifted = {x: t for x, t in self.shifted.items() if sym not in (x, t[0].sym)}
        self.products = {x: t for x, t in self.products.items() if sym not in (x, t[0])}
        self.halves = {x: t for x, t in self.halves.items() if sym not in (x, t[0])}
        self.swapped = {x: t for x, t in self.swapped.items() if sym not in (x, t[0])}
        self.extended = {x: t for x, t in self.extended.items() if sym not in (x, t[0])}
        if self.filled:
            self.filled = tuple([span for span in self.filled if sym not in filled.symbols(span)])
        if self.bits:
            self.bits = {x: row for x, row in self.bits.items() if sym != x and sym not in row.roots}
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
        for (x, y), (klo, khi) in [item for item in self.diff.items() if a in item[0] or b in item[0]]:     # one step of closure: q - a from q - b
            for p, q, l, h in ((x, y, klo, khi), (y, x, -khi, -klo)):   # q - p in l..h
                if p == b and q != a:
                    self._tighten(a, q, lo + l, hi + h)
                elif q == a and p != b:
                    self._tighten(p, b, lo + l, hi + h)
        (alo, ahi), (blo, bhi) = self.bounds(a), self.bounds(b)
        return self._within(b, alo + lo, ahi + hi, deep) and self._within(a, blo - hi, bhi - lo, deep)

    def _store_gap(self, a, b, lo, hi):
        if len(self.diff) >= MAX_DIFFS and ((a, b) if a < b else (b, a)) not in self.diff and not (LEN in (a, b) and self._make_room()):
            return
        if a < b:
            self.diff[a, b] = lo, hi
        else:
            self.diff[b, a] = -hi, -lo

    def _make_room(self) -> bool:
        """Forgets the first difference that is not to the packet's end: accesses are proved by that alone."""
        least = next((pair for pair in self.diff if LEN not in pair), None)
        return least is not None and self.diff.pop(least, None) is not None

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

    def _summand(self, x: int) -> bool:
        """What `x` is added to is as far from the sum."""
        if x not in self.added:
            return True
        (v, w, c), (lo, hi) = self.added[x], self.bounds(x)
        return self.learn_gap(v, w, lo - c, hi - c, deep=False)

    def sums_with(self, sym: int) -> list[tuple[int, int, int]]:
        """(y, w, c) where w = sym + y - c."""
        return [(x if v == sym else v, w, c) for sums in (self.added, self.defs) for x, (v, w, c) in sums.items() if sym in (v, x)]

    def sum_of(self, a: int, b: int) -> tuple[int, int] | None:
        """(w, c) where w = a + b - c; None: their sum has no name."""
        return next(((w, c) for other, w, c in self.sums_with(a) if other == b), None)

    def learn_sums(self, a: int, b: int) -> bool:
        """Sums that have another summand in common are as far apart as these two are."""
        first = {other: (w, c) for other, w, c in self.sums_with(a)}
        for other, w, c in self.sums_with(b) if first else ():
            if other in first:
                (lo, hi), (before, c0) = self.gap(a, b), first[other]
                if not self.learn_gap(before, w, lo + c0 - c, hi + c0 - c):
                    return False
        return True

    def define(self, x: int, v: int, w: int, c: int) -> None:
        """x = w - v + c. Less than what is left of the packet behind a cursor is what is left behind one that far on, if there is one."""
        self.defs[x] = v, w, c
        cursor, end, c0 = self.defs.get(w, (0, 0, 0))
        if end == LEN and (further := self.sum_of(v, cursor)):
            self.defs[x] = further[0], LEN, c + c0 - further[1]

    def _within_packet(self, x: int) -> bool:
        """It was compared with the packet's end, and lies before it."""
        known = self.diff.get((LEN, x))
        return known is not None and known[1] <= 0 and x in self.vars

    def ends_within_packet(self, x: int) -> bool:
        """So many octets of the packet, from its begin or from a cursor, were compared with the packet's end."""
        return x == LEN or self._within_packet(x) or x in self.added and self._within_packet(self.added[x][1])

    def _compared(self, y: int, others: set[int]) -> bool:
        """How far it is from one of the others is known."""
        return any([LEN not in pair and y in pair and (pair[0] in others or pair[1] in others) for pair in self.diff])

    def line_up(self, x: int) -> None:
        """The product `x` is on a line from now on: it is compared with the packet's end, or added to a cursor."""
        if x in self.products and len(self.lines) < MAX_LINES:
            y, k, c = self.products.pop(x)
            if y in self.vars:
                self.lines[x, y] = 0, k, c
                self.along(y)

    def multiples(self, y: int, k: int) -> list[tuple[int, int]]:
        """Who is k * y + c: (it, c)."""
        return [(x, c) for (x, other), (base, slope, c) in self.lines.items() if other == y and slope == k and not base and x in self.vars] + \
               [(x, c) for x, (other, slope, c) in self.products.items() if other == y and slope == k and x in self.vars]

    def subdivide(self, x: int, y: int, k: int, c: int) -> None:
        """Of x = k * y + c whole multiples are known: they are multiples of `x`, too."""
        for (m, other), (base, slope, rest) in list(self.lines.items()):
            if other == y and not base and slope % k == 0 and slope != k and len(self.lines) < MAX_LINES:
                self.lines[m, x] = 0, slope // k, rest - slope // k * c

    def along(self, *moved: int) -> bool:
        """What is on lines of the same slope is as far apart as that says of what they follow, where that is one of those."""
        for (x, mine), (base, k, c) in list(self.lines.items()):
            for (m, theirs), (other, slope, rest) in list(self.lines.items()):
                if slope != k or x == m or mine not in moved and theirs not in moved or m not in self.vars or x not in self.vars:
                    continue
                if base != other:                     # where as much is added to the other's base
                    m, less = not other and self.sum_of(base, m) or (None, 0)
                    rest -= less
                if m is not None:
                    lo, hi = self.gap(mine, theirs)
                    if mine in self.defs and self.defs[mine][1] == theirs:
                        v, _, less = self.defs[mine]  # of mine = theirs - v + less
                        lo, hi = max(lo, self.bounds(v)[0] - less), min(hi, self.bounds(v)[1] - less)
                    lo, hi = (k * lo, k * hi) if k > 0 else (k * hi, k * lo)
                    if not self.learn_gap(x, m, lo + rest - c, hi + rest - c, deep=False):
                        return False
        return True

    def _back_along(self, x: int, y: int, base: int, k: int, c: int) -> bool:
        """What is known of x = base + k * y + c says where `y` is; and how far from `base`, if they move against each other."""
        lo, hi = self.gap(base, x)
        if not self._within(y, *divided(lo - c, hi - c, k), False):
            return False
        if k != -1 or not base:
            return True
        lo, hi = self.bounds(x)
        return self.learn_gap(y, base, lo - c, hi - c, deep=False)

    def bound_by_lines(self, beyond: int = 0) -> None:
        """Of two symbols on a line each has the bounds that follow from the other one's; the one that moves the other only if its own lead further than `beyond`."""
        for (x, y), (base, k, c) in self.lines.items():
            if x in self.vars and y in self.vars and (not base or base in self.vars):
                if max(map(abs, self.bounds(y))) > beyond:
                    lo, hi = self.gap(base, x)
                    self._narrow(y, *divided(lo - c, hi - c, k))
                lo, hi = times(k, self.vars[y], c)
                if base:
                    self._narrow_gap(base, x, lo, hi)
                    (blo, bhi) = self.bounds(base)
                    lo, hi = lo + blo, hi + bhi
                self._narrow(x, lo, hi)
                if base and k == -1:
                    lo, hi = self.gap(y, base)
                    self._narrow(x, lo + c, hi + c)
                    lo, hi = self.bounds(x)
                    self._narrow_gap(y, base, lo - c, hi - c)

    def _narrow(self, sym: int, lo: int, hi: int) -> None:
        """The symbol lies in lo..hi; nothing else follows from it, and nothing at all where it cannot be."""
        n = self.vars[sym]
        if (lo > n.slo or hi < n.shi) and (new := d.within(n, lo, hi)) is not None:
            self.vars[sym] = sym in self.strides and congruent(new, self.strides[sym]) or new

    def _narrow_gap(self, a: int, b: int, lo: int, hi: int) -> None:
        """b - a lies in lo..hi, as above."""
        klo, khi = self.gap(a, b)
        if max(lo, klo) <= min(hi, khi) and (lo > klo or hi < khi):
            self._store_gap(a, b, max(lo, klo), min(hi, khi))

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
        """At a block's start: forget symbols no place refers to, but for `keep`. Parts are replaced, not changed."""
        self.shifted, self.products, self.extended = {}, {}, {}
        live = {v[2] for v in self.regs if v is not None}      # Value.sym, without the way through its name
        live |= ALWAYS
        for frame in self.frames:
            if frame.saved:
                live.update([v[2] for v in frame.saved if v is not None])
            live.update([held[1][2] for held in frame.slots.values()])
        if keep:
            live |= keep & self.vars.keys()
        live.update(self.owed)
        if self.filled:
            filled.collect(self, live)
        if self.defs:
            defs = {}
            for x, (v, w, _) in self.defs.items():
                if x in live:
                    live |= {v, w}
                    defs[x] = self.defs[x]
            self.defs = defs
        if self.lines:
            for (x, y), (base, _, _) in self.lines.items():
                if not base and self.ends_within_packet(x) and (y in live or self._compared(y, live)):
                    live.update((x, y))
            self.lines = {key: t for key, t in self.lines.items() if key[0] in live and key[1] in live}
            live |= {base for base, _, _ in self.lines.values()}
        if self.bits:
            self.bits = {x: row for x, row in self.bits.items() if x in live}
            for row in self.bits.values():
                live |= row.roots
        if self.scaled:
            self.scaled = {x: t for x, t in self.scaled.items() if x in live and t[0] in self.vars}
            live |= {y for y, _ in self.scaled.values()}
        if self.halves:
            self.halves = {x: t for x, t in self.halves.items() if x in live and t[0] in live}
        if self.swapped:
            self.swapped = {x: t for x, t in self.swapped.items() if x in live and t[0] in live}
        if self.added:
            self.added = {x: t for x, t in self.added.items() if x in live and t[0] in live and (t[1] in live or self._within_packet(t[1]))}
            live |= {w for _, w, _ in self.added.values()}
        if not self.vars.keys() <= live:
            self.vars = {s: n for s, n in self.vars.items() if s in live}
        if self.strides:
            self.strides = {x: t for x, t in self.strides.items() if x in live}
        for a, b in self.diff:
            if a not in live or b not in live:
                self.diff = {k: v for k, v in self.diff.items() if k[0] in live and k[1] in live}
                break
        if self.sums:
            octets.collect(self, live)
        if self.exclusive:
            self.exclusive = exclusive.without(self.exclusive, live)


# Entry -------------------------------------------------------------------------------------------
def entry_state(max_packet: int) -> State:
    s = State()
    s.vars[LEN] = d.signed(0, max_packet)
    s.regs[1] = Value(POINTER, "ctx", 0, 0)
    s.regs[10] = Value(POINTER, "stack0", 0, 0)
    return s


# Numbers ------------------------------------------------------------------------------------------
def times(k: int, n: d.Num, c: int) -> tuple[int, int]:
    """Bounds of k times a number, plus c."""
    lo, hi = k * n.slo + c, k * n.shi + c
    return (lo, hi) if k > 0 else (hi, lo)


def divided(lo: int, hi: int, k: int) -> tuple[int, int]:
    """Bounds of the numbers of which k times lies in lo..hi."""
    if k < 0:
        lo, hi, k = -hi, -lo, -k
    return -(-lo // k), hi // k


def congruent(n: d.Num, stride: tuple[int, int]) -> d.Num | None:
    """The bounds moved inwards to values r modulo m, and again where the bits known have moved them since."""
    m, r = stride
    for _ in range(MOVES):
        lo, hi = n.slo + (r - n.slo) % m, n.shi - (n.shi - r) % m
        if lo == n.slo and hi == n.shi:
            break
        if (n := d.within(n, lo, hi)) is None:
            return None
    return n
