"""Differences and sums that have a name of their own.

`State.defs[x]` is (v, w, c) where x = w - v + c; `State.added[x]` says the same of a summand x: w = v + x - c. What is learnt of one says where the others are.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from .octets import LEN

if TYPE_CHECKING:
    from .state import State

MAX_SUMS = 256                                        # of either kind, remembered at a time (rule 38)


def sums_with(s: State, sym: int) -> list[tuple[int, int, int]]:
    """(y, w, c) where w = sym + y - c."""
    return [(x if v == sym else v, w, c) for sums in (s.added, s.defs) for x, (v, w, c) in sums.items() if sym in (v, x)]


def sum_of(s: State, a: int, b: int) -> tuple[int, int] | None:
    """(w, c) where w = a + b - c; None: their sum has no name."""
    return next(((w, c) for other, w, c in sums_with(s, a) if other == b), None)


def learn_sums(s: State, a: int, b: int) -> bool:
    """Sums that have another summand in common are as far apart as these two are; what is left of one sum, the other way round."""
    if a in s.defs and b in s.defs and s.defs[a][1] == s.defs[b][1]:
        (v, _, c), (other, _, c0), (lo, hi) = s.defs[a], s.defs[b], s.gap(a, b)
        if not s.learn_gap(other, v, lo + c - c0, hi + c - c0):
            return False
    first = {other: (w, c) for other, w, c in sums_with(s, a)}
    for other, w, c in sums_with(s, b) if first else ():
        if other in first:
            (lo, hi), (before, c0) = s.gap(a, b), first[other]
            if not s.learn_gap(before, w, lo + c0 - c, hi + c0 - c):
                return False
    return True


def note(s: State, x: int, v: int, w: int, c: int) -> None:
    """w = v + x - c. What was noted of another sum of `x` is of that one's other summand from now on, if nothing is noted of that."""
    if x == LEN:                                      # which has no names of its own where ways meet
        x, v = v, x
    other, before, c0 = s.added.get(x, (0, 0, 0))
    if other and (other, before) != (v, w):
        s.added.setdefault(other, (x, before, c0))
    s.added[x] = v, w, c
    _forget_oldest(s.added)


def _forget_oldest(sums: dict[int, tuple[int, int, int]]) -> None:
    while len(sums) > MAX_SUMS:
        del sums[next(iter(sums))]


def define(s: State, x: int, v: int, w: int, c: int) -> None:
    """x = w - v + c. Less than what is left behind a cursor, of the packet or of something in it, is what is left behind one that far on, if there is one."""
    s.defs[x] = v, w, c
    cursor, end, c0 = s.defs.get(w, (0, 0, 0))
    if end and (further := sum_of(s, v, cursor)):
        s.added.setdefault(x, (v, w, c))
        s.defs[x] = further[0], end, c + c0 - further[1]
        _forget_oldest(s.added)
    _forget_oldest(s.defs)


def together(s: State, low: int, high: int, y: int) -> None:
    """y = low + high."""
    s.added.setdefault(low, (high, y, 0))
    s.learn_gap(high, y, *s.bounds(low))


def halfway(s: State, m: int, total: int, off: int) -> None:
    """m = (total + off) / 2, rounded down: from each of two that are `total` together it is half as far as they are apart."""
    for x, (y, w, c) in [*s.added.items(), *s.defs.items()]:
        for one, other in ((x, y), (y, x)) if w == total and x != m and y else ():
            if one in s.vars and other in s.vars:
                lo, hi = s.gap(one, other)
                s.learn_gap(one, m, lo + off - c >> 1, hi + off - c >> 1)


def learn_summand(s: State, x: int) -> bool:
    """What `x` is added to is as far from the sum."""
    return _learn(s, s.added, x)


def learn_difference(s: State, x: int) -> bool:
    """The same, and of what `x` is the difference is as far apart."""
    return _learn(s, s.defs, x) and _learn(s, s.added, x)


def _learn(s: State, sums: dict[int, tuple[int, int, int]], x: int) -> bool:
    if x not in sums:
        return True
    (v, w, c), (lo, hi) = sums[x], s.bounds(x)
    return s.learn_gap(v, w, lo - c, hi - c, deep=False)


def bound(s: State) -> None:
    """A difference has the bounds that follow from those of what it is of: where a length goes down beside a cursor only one of the two is compared."""
    for x, (v, w, c) in s.defs.items():
        if x in s.vars and (not v or v in s.vars) and (not w or w in s.vars):
            lo, hi = s.gap(v, w)
            s.narrow(x, lo + c, hi + c)


def within_packet(s: State, x: int) -> bool:
    """It was compared with the packet's end, and lies before it."""
    known = s.diff.get((LEN, x))
    return known is not None and known[1] <= 0 and x in s.vars


def ends_within_packet(s: State, x: int) -> bool:
    """So many octets of the packet, from its begin or from a cursor, were compared with the packet's end, or are what is left before it."""
    return x == LEN or within_packet(s, x) or x in s.added and within_packet(s, s.added[x][1]) or x in s.defs and s.defs[x][1] == LEN


def bounded(s: State, x: int, v: int, w: int, c: int) -> bool:
    """Of the sum w = v + x - c more is known than its summands say: it was compared."""
    return bool(v and w) and w in s.vars and s.bounds(w)[1] < s.bounds(v)[1] + s.bounds(x)[1] - c


def told_apart(s: State, x: int, v: int, w: int, c: int, live: set[int]) -> bool:
    """The same of what the sum w = v + x - c is apart from one of the live: it was compared with that."""
    for (a, b), (lo, hi) in s.diff.items() if v and w in s.vars else ():
        if w in (a, b) and LEN not in (a, b):
            z, lo, hi = (b, lo, hi) if a == w else (a, -hi, -lo)      # z - w
            if z in live and z not in (x, v) and all(lo > l - h2 + c or hi < h - l2 + c for (l, h), (l2, h2) in ((s.gap(v, z), s.bounds(x)), (s.gap(x, z), s.bounds(v)))):
                return True
    return False


def compared_parts(s: State, live: set[int]) -> set[int]:
    """Summands of places that the packet has, which are no less than one of the live: of a padded length, say, the length."""
    parts = {x: (v, w) for x, (v, w, _) in s.added.items() if x not in live and v in live and (w in live or within_packet(s, w))}
    found: set[int] = set()
    for (a, b), (lo, hi) in s.diff.items() if parts else ():
        for x, z, most in ((a, b, hi), (b, a, -lo)):
            if most <= 0 and x in parts and z in live and z != LEN and z not in parts[x]:
                found.add(x)
    return found


def bounded_parts(s: State, live: set[int]) -> set[int]:
    """Summands of such sums whose other one is among the live."""
    return {part for x, (v, w, c) in s.added.items() for part, other in ((x, v), (v, x)) if other in live and bounded(s, x, v, w, c)}


def cursor_before(s: State, x: int) -> int | None:
    """Behind which cursor there are so many octets, up to a place that has a name; None: behind none, or the packet's begin."""
    if x in s.added:
        return s.added[x][0]
    return s.defs[x][0] if x in s.defs and s.defs[x][1] == LEN else None


def learn_length(s: State, x: int) -> bool:
    """The packet is as long as where `x` is, if that is known to lie within."""
    if (known := s.diff.get((LEN, x))) is None:
        return True
    return s.within(LEN, s.bounds(x)[0] - known[1], s.bounds(LEN)[1], False)
