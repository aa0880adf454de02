"""Which bits of one unknown are bits of another: a field is a part of the word that was loaded, and a comparison of the field teaches
something about the word, and about the other fields of it.

A row has 64 entries, the lowest bit first: 0, 1, or (symbol, bit). Only the walk along paths (walk.py) keeps rows.
"""
from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Union

from . import domain as d

if TYPE_CHECKING:
    from .state import State, Value

Entry = Union[int, tuple[int, int]]
Row = tuple[Entry, ...]
ZERO: Row = (0,) * 64


class Kept(tuple):
    """A row that a state keeps. It is asked often: its entries are gathered once."""

    @cached_property
    def roots(self) -> frozenset[int]:
        return frozenset([entry[0] for entry in self if type(entry) is tuple])

    @cached_property
    def known(self) -> tuple[int, int]:
        """Which entries are numbers, and those that are 1."""
        return sum([1 << i for i, entry in enumerate(self) if type(entry) is not tuple]), sum([1 << i for i, entry in enumerate(self) if entry == 1])

    @cached_property
    def runs(self) -> tuple[tuple[int, int, int, int], ...]:
        """The others, as many of one symbol together as lie there side by side: (symbol, first entry, first bit, as many ones)."""
        out: list[tuple[int, int, int, int]] = []
        for i, entry in enumerate(self):
            if type(entry) is tuple:
                if out and self[i - 1] == (entry[0], entry[1] - 1):
                    root, at, bit, ones = out[-1]
                    out[-1] = root, at, bit, ones << 1 | 1
                else:
                    out.append((entry[0], i, entry[1], 1))
        return tuple(out)


@lru_cache(1 << 10)
def constant(n: int) -> Row:
    return tuple([n >> i & 1 for i in range(64)])


@lru_cache(1 << 12)
def _own(sym: int, mask: int, bits: int) -> Row:
    return tuple([(sym, i) if mask >> i & 1 else bits >> i & 1 for i in range(64)])


def row_of(s: State, v: Value) -> Row | None:
    """The bits of a number; None where a constant was added to an unknown."""
    if not v.sym:
        return constant(v.off & d.M64)
    if v.off:
        return None
    if v.sym in s.bits:
        return s.bits[v.sym]
    n = s.vars[v.sym]
    return _own(v.sym, n.mask, n.bits)


def low(row: Row, size: int) -> Row:
    """The lower `size` octets."""
    return row[:8 * size] + ZERO[8 * size:]


def shifted(row: Row, n: int) -> Row:
    """Left by n, right if n is negative; zeros come in."""
    return (ZERO[:n] + row)[:64] if n >= 0 else (row + ZERO)[-n:64 - n]


def swapped(row: Row, width: int) -> Row:
    """Octets in the other order."""
    return tuple(row[width - 8 - i // 8 * 8 + i % 8] for i in range(width)) + ZERO[width:]


def combined(name: str, a: Row, b: Row, own: int) -> Row | None:
    """AND, OR, XOR, and ADD where no bit is carried; what is a bit of neither is one of symbol `own`."""
    out: list[Entry] = []
    for i, (x, y) in enumerate(zip(a, b)):
        if name == "AND":
            known = 0 if x == 0 or y == 0 else y if x == 1 else x if y == 1 or x == y else None
        elif name == "OR":
            known = 1 if x == 1 or y == 1 else y if x == 0 else x if y == 0 or x == y else None
        elif x == 0 or y == 0:
            known = y if x == 0 else x
        elif name == "ADD":
            return None
        else:
            known = 0 if x == y else None
        out.append((own, i) if known is None else known)
    return tuple(out)


def keep(s: State, sym: int, row: Row) -> None:
    """Notes the bits of a new unknown, and what is known of them. Entries of its own symbol are of what that was before, in the turn before this
    one: nothing is known of them any more."""
    kept = Kept(row)
    if sym in kept.roots:
        kept = Kept([(sym, i) if type(entry) is tuple and entry[0] == sym else entry for i, entry in enumerate(row)])
    if kept.roots - {sym}:
        s.bits[sym] = kept
        if (n := d.meet(s.vars[sym], _known(s, kept, sym))) is not None:
            s.vars[sym] = n


def learn(s: State, sym: int) -> bool:
    """More is known of a symbol: so it is of those whose bits it has, and of those that have bits of these. False when nothing is left."""
    n, changed = s.vars[sym], {sym}
    parts: dict[int, list[int]] = {}
    if (own := s.bits.get(sym)) is not None:
        told = ~n.mask
        if (n.bits ^ own.known[1]) & own.known[0] & told:
            return False
        for root, at, bit, ones in own.runs:
            if root != sym and (mask := told >> at & ones):
                part = parts.setdefault(root, [0, 0])
                part[0] |= mask << bit
                part[1] |= (n.bits >> at & mask) << bit
    for root, (mask, bits) in parts.items():
        old = s.vars[root]
        new = d.meet(old, d.make(bits=bits, mask=d.M64 & ~mask))
        if new is None:
            return False
        if new != old:
            s.vars[root] = new
            changed.add(root)
    for x, row in s.bits.items():
        if x != sym and not changed.isdisjoint(row.roots):
            if (met := d.meet(s.vars[x], _known(s, row, x))) is None:
                return False
            s.vars[x] = met
    return True


def _known(s: State, row: Kept, own: int) -> d.Num:
    mask, bits = 0, row.known[1]
    for root, at, bit, ones in row.runs:
        if root == own:
            mask |= ones << at
        else:
            n = s.vars[root]
            unknown = n.mask >> bit & ones
            mask |= unknown << at
            bits |= (n.bits >> bit & ones & ~unknown) << at
    return d.make(bits=bits, mask=mask)
