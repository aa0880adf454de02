"""Lines: an unknown that is another one plus a constant times a third, plus a constant (Karr's domain, of two unknowns and one that is kept).

`State.lines[x, y]` is (base, k, c) where x = base + k * y + c; `State.products[x]` says the same of a product that was compared with nothing yet.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from . import domain as d, summands
from .octets import LEN

if TYPE_CHECKING:
    from .state import State

FAR = 1 << 16                                         # octets: no packet is longer
MAX_LINES = 24                                        # remembered at a time (rule 38)


def on_line(s: State, x: tuple[int, int], base: int, y: tuple[int, int], k: int, c: int) -> bool:
    """x = base + k * y + c, where x and y are (symbol, constant)."""
    (sx, ox), (sy, oy) = x, y
    rest = c + k * oy - ox
    if not sy:
        return sx == base and not rest
    return s.lines.get((sx, sy)) == (base, k, rest) or k < 0 and (base, -rest) in ends(s, sx, sy, -k)


def ends(s: State, cursor: int, n: int, k: int) -> list[tuple[int, int]]:
    """(w, c) where w = cursor + k * n + c."""
    found = []
    for (m, y), (base, slope, c) in s.lines.items():
        if y == n and not base and slope == k:
            if not cursor:
                found.append((m, c))
            elif (there := summands.sum_of(s, cursor, m)) is not None:
                found.append((there[0], c - there[1]))
    return found


def multiples(s: State, y: int, k: int) -> list[tuple[int, int]]:
    """Who is k * y + c: (it, c)."""
    return [(x, c) for (x, other), (base, slope, c) in s.lines.items() if other == y and slope == k and not base and x in s.vars] + \
           [(x, c) for x, (other, slope, c) in s.products.items() if other == y and slope == k and x in s.vars]


def divided_into(s: State, q: int, n: int) -> list[tuple[int, int]]:
    """Of what is a multiple of `q`, which `n` is not above, and lies in the packet: (it, of how many octets for each)."""
    if q == n or s.gap(q, n)[1] > 0:
        return []
    return [(whole, k) for (whole, y), (base, k, _) in s.lines.items() if y == q and not base and 1 < k < FAR and summands.ends_within_packet(s, whole)]


def line_up(s: State, x: int) -> None:
    """The product `x` is on a line from now on: it is compared with the packet's end, or added to a cursor."""
    if x in s.products and len(s.lines) < MAX_LINES:
        y, k, c = s.products.pop(x)
        if y in s.vars:
            s.lines[x, y] = 0, k, c
            along(s, y)


def line_up_parts(s: State, total: int) -> None:
    """The products that are summands of what is compared are on lines, too: where they are computed anew the sum is as far from theirs as the other summands are."""
    for x, (v, w, _) in list(s.added.items()) if total else ():
        if w == total:
            line_up(s, x)
            line_up(s, v)


def subdivide(s: State, x: int, y: int, k: int, c: int) -> None:
    """Of x = k * y + c whole multiples are known: they are multiples of `x`, too."""
    for (m, other), (base, slope, rest) in list(s.lines.items()):
        if other == y and not base and slope % k == 0 and slope != k and len(s.lines) < MAX_LINES:
            s.lines[m, x] = 0, slope // k, rest - slope // k * c


def along(s: State, *moved: int) -> bool:
    """What is on lines of the same slope is as far apart as that says of what they follow, where that is one of those."""
    for (x, mine), (base, k, c) in list(s.lines.items()):
        for (m, theirs), (other, slope, rest) in list(s.lines.items()):
            if slope != k or x == m or mine not in moved and theirs not in moved or m not in s.vars or x not in s.vars:
                continue
            if base != other:                         # where as much is added to the other's base
                m, less = not other and summands.sum_of(s, base, m) or (None, 0)
                rest -= less
            if m is not None:
                lo, hi = s.gap(mine, theirs)
                if mine in s.defs and s.defs[mine][1] == theirs:
                    v, _, less = s.defs[mine]      # of mine = theirs - v + less
                    lo, hi = max(lo, s.bounds(v)[0] - less), min(hi, s.bounds(v)[1] - less)
                lo, hi = (k * lo, k * hi) if k > 0 else (k * hi, k * lo)
                if not s.learn_gap(x, m, lo + rest - c, hi + rest - c, deep=False):
                    return False
    return True


def back_along(s: State, x: int, y: int, base: int, k: int, c: int) -> bool:
    """What is known of x = base + k * y + c says where `y` is; and how far from `base`, if they move against each other."""
    lo, hi = s.gap(base, x)
    if not s.within(y, *divided(lo - c, hi - c, k), False):
        return False
    if k != -1 or not base:
        return True
    lo, hi = s.bounds(x)
    return s.learn_gap(y, base, lo - c, hi - c, deep=False)


def bound(s: State, beyond: int = 0) -> None:
    """Of two symbols on a line each has the bounds that follow from the other one's; the one that moves the other only if its own lead further than `beyond`."""
    for (x, y), (base, k, c) in s.lines.items():
        if x in s.vars and y in s.vars and (not base or base in s.vars):
            if max(map(abs, s.bounds(y))) > beyond:
                lo, hi = s.gap(base, x)
                s.narrow(y, *divided(lo - c, hi - c, k))
            lo, hi = times(k, s.vars[y], c)
            if base:
                s.narrow_gap(base, x, lo, hi)
                (blo, bhi) = s.bounds(base)
                lo, hi = lo + blo, hi + bhi
            s.narrow(x, lo, hi)
            if base and k == -1:
                lo, hi = s.gap(y, base)
                s.narrow(x, lo + c, hi + c)
                lo, hi = s.bounds(x)
                s.narrow_gap(y, base, lo - c, hi - c)


def compared(s: State, y: int, others: set[int]) -> bool:
    """How far it is from one of the others is known."""
    return any([LEN not in pair and y in pair and (pair[0] in others or pair[1] in others) for pair in s.diff])


def times(k: int, n: d.Num, c: int) -> tuple[int, int]:
    """Bounds of k times a number, plus c."""
    lo, hi = k * n.slo + c, k * n.shi + c
    return (lo, hi) if k > 0 else (hi, lo)


def divided(lo: int, hi: int, k: int) -> tuple[int, int]:
    """Bounds of the numbers of which k times lies in lo..hi."""
    if k < 0:
        lo, hi, k = -hi, -lo, -k
    return -(-lo // k), hi // k
