"""What is known before an instruction: registers, stack, numbers, and differences between numbers.

Every unknown number has a *symbol*; a register holds symbol + constant, as a number or as an offset from a region's
start. Two registers with the same symbol hold the same unknown, so that what a comparison teaches about one is known
of the other, be it a number, a cursor or a spilled copy. The length of the packet is symbol LEN; `pkt_end` is the
packet pointer with offset LEN. `diff` bounds the difference of two symbols where comparisons proved more than their
ranges imply: `diff[cursor, LEN]` is how much of the packet lies behind the cursor.
"""
from __future__ import annotations

from fractions import Fraction
from operator import attrgetter
from typing import NamedTuple

from . import affine, bits, derived, domain as d, exclusive, filled, octets, summands
from .octets import LEN

NUMBER, POINTER, NULLABLE = "number", "pointer", "pointer or null"
LOW_HALF = "low half of a pointer"                    # the lower 32 bits are a pointer's, nothing is said of the upper ones
COMPLEMENT = "complement of a pointer"                # all of its bits turned round: -1 - pointer; clang has it of `end - p - 1`
LOW_COMPLEMENT = "complement of a low half of a pointer"      # the same of the lower 32 bits
# What a place holds that cannot be used: a call destroyed it, the packet changed, or the kind depends on the path.
CLOBBERED, STALE, MIXED = "clobbered", "stale packet pointer", "pointer or number"
BROKEN = "what an instruction that breaks a rule gives"  # `off` is its slot
UNUSABLE = {CLOBBERED, STALE, MIXED, BROKEN}
NEAR = (0, 16, 48)                                    # octets
ALWAYS = frozenset((0, LEN))                          # symbols that no place needs to refer to
INF = 1 << 70
MAX_DIFFS = 400                                       # differences remembered at a time (rule 38); forgetting is sound
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


MADE_OF = {"scaled": "shift", "quotients": "quotient", "cleared": "bits", "halves": "low bits", "masked": "bits", "powers": "power", "swapped": "octets"}     # of whole blocks: x: (another unknown, how x is made of it)
OF_BLOCK = ("shifted", "products", "rounded", "extended", "signs", "turned")     # the same, forgotten where a block begins
KNOWN = ("regs", "vars", "diff", "frames", "defs", "added", "strides", "lines", *MADE_OF, *OF_BLOCK, "bits", "sums", "filled",
         "exclusive")                                 # in which states differ: what is owed is no part of it
parts_made_of, parts_known = attrgetter(*MADE_OF), attrgetter(*KNOWN)


class State:
    __slots__ = ("regs", "vars", "diff", "defs", "added", "strides", "lines", *MADE_OF, "frames", *OF_BLOCK,
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
        self.quotients: dict[int, tuple[int, int, int]] = {}    # x: (y, c, k) where x is y + c, which is not negative, divided by k, rounded down
        self.cleared: dict[int, tuple[int, int]] = {}           # x: (y, 1) where y is not 0, and x is y without the lowest of its bits that are 1
        self.frames: list[Frame] = [Frame()]
        self.shifted: dict[int, tuple[Value, int, bool]] = {}   # x: what was shifted left to give x, how many bits are left of it, in 64; within a block
        self.products: dict[int, tuple[int, int, int]] = {}     # x: (y, k, c) where x = k * y + c; within a block, or until it becomes a line
        self.halves: dict[int, tuple[int, int, int]] = {}       # x: (y, c, m) where x is the low bits of y + c that the mask m has
        self.masked: dict[int, tuple[int, int, int]] = {}       # x: (y, n, m) where x is y shifted right by n, and of that the bits that the mask m has
        self.powers: dict[int, tuple[int, int]] = {}            # x: (y, k) where x is k shifted left by y
        self.swapped: dict[int, tuple[int, int]] = {}           # x: (y, n) where x is y, of n bits, with its octets in the other order
        self.rounded: dict[int, tuple[int, int]] = {}           # x: (y, k) where x is the largest multiple of k that is not above y; within a block
        self.extended: dict[int, tuple[int, int]] = {}          # x: (y, n) where x is y, of n <= 32 bits, taken as a signed number; within a block
        self.signs: dict[int, tuple[int, int]] = {}             # x: (y, n) where x is -1 where y is negative, as numbers of n bits, else 0; within a block
        self.turned: dict[int, tuple[int, int]] = {}            # x: (y, n) where x is y, of n bits, all of them turned round where it is negative; within a block
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
        s.defs = self.defs.copy() if self.defs else {}          # what follows is mostly empty; written out, as a loop over names takes up to 7 % of the analysis
        s.added = self.added.copy() if self.added else {}
        s.strides = self.strides.copy() if self.strides else {}
        s.lines = self.lines.copy() if self.lines else {}
        s.scaled = self.scaled.copy() if self.scaled else {}
        s.quotients = self.quotients.copy() if self.quotients else {}
        s.cleared = self.cleared.copy() if self.cleared else {}
        s.halves = self.halves.copy() if self.halves else {}
        s.masked = self.masked.copy() if self.masked else {}
        s.powers = self.powers.copy() if self.powers else {}
        s.swapped = self.swapped.copy() if self.swapped else {}
        s.shifted = self.shifted.copy() if self.shifted else {}
        s.products = self.products.copy() if self.products else {}
        s.rounded = self.rounded.copy() if self.rounded else {}
        s.extended = self.extended.copy() if self.extended else {}
        s.signs = self.signs.copy() if self.signs else {}
        s.turned = self.turned.copy() if self.turned else {}
        s.bits = self.bits.copy() if self.bits else {}
        s.sums = self.sums.copy() if self.sums else {}
        s.owed = self.owed.copy() if self.owed else {}
        s.filled, s.settled, s.exclusive = self.filled, self.settled, self.exclusive    # replaced, not changed
        return s

    def collected(self, keep=frozenset()) -> State:
        """What `collect` leaves, in a state that shares its parts with this one: neither may be changed any more."""
        s = State.__new__(State)                                # written out, as above
        s.regs, s.vars, s.diff, s.frames = self.regs, self.vars, self.diff, self.frames
        s.defs, s.added, s.strides, s.lines = self.defs, self.added, self.strides, self.lines
        s.scaled, s.quotients, s.cleared, s.halves, s.masked, s.powers, s.swapped = parts_made_of(self)
        s.filled, s.bits, s.sums, s.owed, s.settled, s.exclusive = self.filled, self.bits, self.sums, self.owed, self.settled, self.exclusive
        s.collect(keep)
        return s

    def __eq__(self, other):
        """The same is known, of the same symbols."""
        return self is other or self.regs == other.regs and parts_known(self) == parts_known(other)

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
        return self.learn_of(v.sym, d.sub(n, d.const(v.off)) if v.off else n)

    def learn_of(self, sym: int, n: d.Num | None) -> bool:
        """The same of a symbol."""
        if not self.meet(sym, n):
            return False
        for (a, b), (lo, hi) in [item for item in self.diff.items() if sym in item[0]]:
            if a == sym:
                slo, shi = self.bounds(a)
                if not self.within(b, slo + lo, shi + hi):
                    return False
            else:
                slo, shi = self.bounds(b)
                if not self.within(a, slo - hi, shi - lo):
                    return False
        return True

    def meet(self, sym: int, n: d.Num | None, deep: bool = True) -> bool:
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
                if y == sym and not (self.learn_gap(base, x, *affine.times(k, new, c), deep=False) and summands.learn_length(self, x) and summands.learn_summand(self, x)):
                    return False
                if x == sym and not affine.back_along(self, x, y, base, k, c):
                    return False
        if deep and self.scaled and new.slo >= 0:
            for x, (y, n) in list(self.scaled.items()):
                if y == sym and x in self.vars and not self.within(x, *((new.slo >> n, new.shi >> n) if n > 0 else (new.slo << -n, new.shi << -n)), False):
                    return False
        if deep and self.quotients and not derived.learn_quotients(self, sym, new):
            return False
        if deep and self.halves and not derived.learn_halves(self, sym, new):
            return False
        if deep and self.masked and not derived.learn_masked(self, sym, new):
            return False
        if deep and self.powers and not derived.learn_powers(self, sym, new):
            return False
        if deep and self.swapped and not derived.learn_swapped(self, sym, new):
            return False
        if deep and sym in self.extended and not derived.learn_extended(self, *self.extended[sym], new):
            return False
        if self.bits and not bits.learn(self, sym):
            return False
        if self.exclusive and 0 not in new:
            for other in self.exclusive.get(sym, ()):
                if other in self.vars and not self.meet(other, d.const(0)):
                    return False
        return not deep or summands.learn_difference(self, sym)

    def rename(self, x: int, y: int, off: int) -> None:
        """Places that held `x` hold y + off, which is the same; so do sums of it."""
        def other(v):
            return v._replace(sym=y, off=v.off + off) if v is not None and v.sym == x else v
        self.regs = [other(v) for v in self.regs]
        for frame in self.frames:
            frame.saved = tuple([other(v) for v in frame.saved])
            frame.slots = {at: (size, other(v)) for at, (size, v) in frame.slots.items()}
        for part, (v, w, c) in list(self.added.items()):      # w = v + part - c
            if part == x and y not in (0, v, w):
                self.added.setdefault(y, (v, w, c - off))
            elif v == x and y not in (0, part, w):
                self.added[part] = y, w, c - off

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
        self.shifted = {x: t for x, t in self.shifted.items() if sym not in (x, t[0].sym)}
        for kind in (*MADE_OF, *OF_BLOCK[1:]):
            if known := getattr(self, kind):
                setattr(self, kind, {x: t for x, t in known.items() if sym not in (x, t[0])})
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
            return self.within(b, lo, hi, deep)
        if not b:
            return self.within(a, -hi, -lo, deep)
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
        return self.within(b, alo + lo, ahi + hi, deep) and self.within(a, blo - hi, bhi - lo, deep)

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
                self.within(b, alo + lo, ahi + hi, False)
            if lo <= hi and a and max(alo, blo - hi) <= min(ahi, bhi - lo):
                self.within(a, blo - hi, bhi - lo, False)

    def within(self, sym: int, lo: int, hi: int, deep: bool = True) -> bool:
        n = self.vars[sym]
        if lo <= n.slo and n.shi <= hi:
            return True
        return self.meet(sym, d.within(n, lo, hi), deep)

    def narrow(self, sym: int, lo: int, hi: int) -> None:
        """The symbol lies in lo..hi; nothing else follows from it, and nothing at all where it cannot be."""
        n = self.vars[sym]
        if (lo > n.slo or hi < n.shi) and (new := d.within(n, lo, hi)) is not None:
            self.vars[sym] = sym in self.strides and congruent(new, self.strides[sym]) or new

    def narrow_gap(self, a: int, b: int, lo: int, hi: int) -> None:
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
        self.shifted, self.products, self.rounded, self.extended, self.signs, self.turned = {}, {}, {}, {}, {}, {}
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
                if x in live or v in live and (not w or w != LEN and w in self.vars and (w in live or summands.within_packet(self, w))) \
                        and affine.compared(self, x, live - {v, w}):      # what is left of a constant, or before a place in the packet, and something is at most as much
                    live |= {x, v, w}
                    defs[x] = self.defs[x]
            self.defs = defs
        if self.lines:
            parts = summands.bounded_parts(self, live) if self.added else ()
            for (x, y), (base, _, _) in self.lines.items():
                if not base and (summands.ends_within_packet(self, x) and (y in live or affine.compared(self, y, live)) or x in parts and y in live):
                    live.update((x, y))
            self.lines = {key: t for key, t in self.lines.items() if key[0] in live and key[1] in live}
            live |= {base for base, _, _ in self.lines.values()}
        if self.masked:
            live.update([x for x, y, _ in derived.quotients(self) if x not in live and y in live and affine.compared(self, x, live)])
        if self.bits:
            self.bits = {x: row for x, row in self.bits.items() if x in live}
            for row in self.bits.values():
                live |= row.roots
        if self.scaled:
            self.scaled = {x: t for x, t in self.scaled.items() if x in live and t[0] in self.vars}
            live |= {y for y, _ in self.scaled.values()}
        if self.powers:
            self.powers = {x: t for x, t in self.powers.items() if x in live and t[0] in self.vars}
            live |= {y for y, _ in self.powers.values()}
        for kind in ("quotients", "cleared", "halves", "masked", "swapped"):
            if known := getattr(self, kind):
                setattr(self, kind, {x: t for x, t in known.items() if x in live and t[0] in live})
        if self.added:
            live |= summands.compared_parts(self, live)
            self.added = {x: t for x, t in self.added.items() if x in live and t[0] in live and (t[1] in live or summands.within_packet(self, t[1]) or summands.bounded(self, x, *t) or summands.told_apart(self, x, *t, live))}
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
