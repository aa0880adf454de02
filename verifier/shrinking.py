"""Counters that no constant moves: what a turn shifts, divides, folds, takes a bit from, or carries through 0 in 32 bits.

Of each the number of runs of the head follows from what it may be there: a number of 32 bits is divided by 10 ten times, and folded to 16 bits twice.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Optional

from .domain import M32, S32, s32
from .state import NUMBER, State, Value

Found = Optional[tuple[int, str]]                      # how often the head runs, and what a turn does to the counter


def bounds(head: State, back: list[State], after: list[Value | None], old: Value) -> Iterator[tuple[int, str]]:
    """What bounds a loop by what its turns make of `old`, which a place holds at the head: `after`, in the states that come back."""
    if all([v is not None and v.kind == old.kind for v in after]):
        for way in (_shifted, _divided, _folded, _cleared, _through_zero):
            if (found := way(head, back, after, old)) is not None:
                yield found


def _empty(s: State, sym: int) -> bool:
    """May it be 0?"""
    return sym not in s.vars or 0 in s.vars[sym]


def _shifted(head: State, back: list[State], after: list[Value], old: Value) -> Found:
    """Its bits are used up, or it grows out of its bounds."""
    sym, most, may_be_0, steps = old.sym, 0, False, set()
    for s, v in zip(back, after):
        y, n = s.scaled.get(v.sym, (0, 0)) if not v.off else (0, 0)
        asked = _empty(s, v.sym)                      # only before the turn: the last one made it 0
        if y != sym or asked and (n < 0 or _empty(s, sym)):
            return None                               # 0 shifted is 0 again
        most, may_be_0 = max(most, s.vars[v.sym].shi), may_be_0 or asked
        steps.add(n)
    if min(steps) < 0 < max(steps):
        return None
    start, end, way = (head.vars[sym].uhi, 1, "right") if min(steps) > 0 else (most, max(head.vars[sym].slo, 1), "left")
    bits, least = max(start.bit_length() - end.bit_length(), 0), min(map(abs, steps))     # ways back may take turns: by the least to where any of them leads
    return bits // least + 1 + may_be_0, f"is shifted {way} in every turn"


def _divided(head: State, back: list[State], after: list[Value], old: Value) -> Found:
    """Divided by a constant it becomes 0."""
    least = asked = 0
    for s, v in zip(back, after):
        y, c, k = s.quotients.get(v.sym, (0, 0, 0)) if not v.off else (0, 0, 0)
        if y != old.sym or c or _empty(s, v.sym) and _empty(s, y):     # 0 divided is 0 again
            return None
        least, asked = min(least, k) if least else k, max(asked, _empty(s, v.sym))
    n, turns = head.vars[old.sym].uhi, 1 + asked
    while n := n // least:
        turns += 1
    return turns, f"is divided by {least} in every turn"


def _folded(head: State, back: list[State], after: list[Value], old: Value) -> Found:
    """What lies above its low bits is added to them, as a checksum is folded (RFC 1071, 4.1): it falls as long as there is something above them."""
    widths = set()
    for s, v in zip(back, after):
        width, high = _fold(s, v, old.sym)
        if not width or s.vars[v.sym].slo >> width < 1 and head.vars[old.sym].slo >> width < 1 and s.vars[high].slo < 1:
            return None                               # what has nothing above its low bits stays what it is
        widths.add(width)
    if len(widths) != 1:
        return None
    width, n, turns = widths.pop(), head.vars[old.sym].uhi, 1
    while n >> width:
        n, turns = most_folded(n, width), turns + 1
    return turns, f"is folded to {width} bits in every turn"


def _fold(s: State, v: Value, sym: int) -> tuple[int, int]:
    """To how many bits `sym` was folded to give `v`, and what was above them; 0, 0: it was not."""
    for a, (b, w, c) in s.added.items():
        for low, high in ((a, b), (b, a)):
            if w == v.sym and c == v.off == 0 and low in s.halves and high in s.scaled and high in s.vars:
                (y, off, mask), (z, width) = s.halves[low], s.scaled[high]
                if y == z == sym and not off and width > 0 and mask == (1 << width) - 1:
                    return width, high
    return 0, 0


def most_folded(n: int, width: int) -> int:
    """The largest that a number of at most `n` gives."""
    high, low = n >> width, n & (1 << width) - 1
    return max(high + low, high - 1 + (1 << width) - 1)


def _cleared(head: State, back: list[State], after: list[Value], old: Value) -> Found:
    """It loses its lowest bit."""
    for s, v in zip(back, after):
        if v.off or s.cleared.get(v.sym, (0, 0))[0] != old.sym:
            return None
    n = head.vars[old.sym]
    return (n.bits | n.mask).bit_count() + 1, "loses a bit in every turn"


def _through_zero(head: State, back: list[State], after: list[Value], old: Value) -> Found:
    """It goes through 0 in 32 bits, as from -1 up: its lower half moves by a constant as a signed number."""
    n, steps = head.vars[old.sym], set()
    for s, v in zip(back, after):
        y, c, m = s.halves.get(v.sym, (0, 0, 0)) if old.kind == NUMBER and v.off == old.off == 0 else (0, 0, 0)
        step = s32(c)
        if y != old.sym or m != M32 or n.slo32 + step < -S32 or n.shi32 + step >= S32:
            return None
        steps.add(step)
    least = min(steps) if min(steps) > 0 else -max(steps)
    return ((n.shi32 - n.slo32) // least + 1, f"moves by {least if min(steps) > 0 else -least} a turn") if least > 0 else None
