"""Numbers of which no two are other than 0 together: flags of headers that exclude each other, where ways meet. For the walk along paths (walk.py).

A parser finds one of several headers, and says so in the flag of that one. Where its ways meet each flag is 0 or 1, and of what follows, a deparser
for instance, each header's part could be taken. So for a flag the state keeps those that are 0 where it is not.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .octets import LEN

if TYPE_CHECKING:
    from .state import State

Exclusive = Mapping[int, frozenset[int]]              # x: what is 0 where x is not; of both it is noted
NONE: Exclusive = {}
MAX_FLAGS = 64                                        # looked at where ways meet


def of_pairs(pairs: list[tuple[int, int]]) -> Exclusive:
    out: dict[int, set[int]] = {}
    for x, y in pairs:
        out.setdefault(x, set()).add(y)
        out.setdefault(y, set()).add(x)
    return {x: frozenset(others) for x, others in out.items()}


def joined(out: State, states: list[State], members: Mapping[int, tuple[tuple, tuple]]) -> Exclusive:
    """What holds in all states. `members`: of each symbol what it is in each of them, see join.py."""
    rows: list[tuple[int, int]] = []                  # (flag, a bit for each state in which it may be other than 0)
    for x, n in out.vars.items():
        if n.slo == 0 and n.shi == 1 and x in members and x != LEN and len(rows) < MAX_FLAGS:
            some = sum(1 << i for i, (s, sym, off) in enumerate(zip(states, *members[x])) if not _is_zero(s, sym, off))
            rows.append((x, some))
    pairs = []
    for i, (x, some) in enumerate(rows):
        for y, other in rows[:i]:
            if not some & other or all(_exclude(s, members, x, y, at) for at, s in enumerate(states) if (some & other) >> at & 1):
                pairs.append((x, y))
    return of_pairs(pairs) if pairs else NONE


def follow(a: State, b: State, to: Mapping[int, tuple[int, int]]) -> bool:
    """Whether what `b` excludes is excluded in `a`, whose symbols and constants `to` has for those of b."""
    for x, others in b.exclusive.items():
        for y in others:
            if x not in to or y not in to:
                return False
            (sx, ox), (sy, oy) = to[x], to[y]
            if not (_is_zero(a, sx, ox) or _is_zero(a, sy, oy) or not ox and not oy and sy in a.exclusive.get(sx, ())):
                return False
    return True


def without(known: Exclusive, live: set[int]) -> Exclusive:
    """The same of symbols that are live."""
    return {x: kept for x, others in known.items() if x in live and (kept := others & live)}


def forget(known: Exclusive, sym: int) -> Exclusive:
    if sym not in known:
        return known
    return {x: kept for x, others in known.items() if x != sym and (kept := others - {sym})}


def _is_zero(s: State, sym: int, off: int) -> bool:
    if not sym:
        return not off
    low, high = s.bounds(sym)
    return low == high == -off


def _exclude(s: State, members: Mapping[int, tuple[tuple, tuple]], x: int, y: int, i: int) -> bool:
    (xs, x_offs), (ys, y_offs) = members[x], members[y]
    return not x_offs[i] and not y_offs[i] and ys[i] in s.exclusive.get(xs[i], ())
