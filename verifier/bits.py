"""Which bits of one unknown are bits of another: a field is a part of the word that was loaded, and a comparison of the field teaches
something about the word, and about the other fields of it.

A row has 64 entries, the lowest bit first: 0, 1, or (symbol, bit). Only the walk along paths (walk.py) keeps rows.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Union

from . import domain as d

if TYPE_CHECKING:
    from .state import State, Value

Entry = Union[int, tuple[int, int]]
Row = tuple[Entry, ...]
ZERO: Row = (0,) * 64


def constant(n: int) -> Row:
    return tuple(n >> i & 1 for i in range(64))


def row_of(s: State, v: Value) -> Row | None:
    """The bits of a number; None where a constant was added to an unknown."""
    if not v.sym:
        return constant(v.off & d.M64)
    if v.off:
        return None
    if v.sym in s.bits:
        return s.bits[v.sym]
    n = s.vars[v.sym]
    return tuple((v.sym, i) if n.mask >> i & 1 else n.bits >> i & 1 for i in range(64))


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
    row = tuple((sym, i) if type(entry) is tuple and entry[0] == sym else entry for i, entry in enumerate(row))
    if any(type(entry) is tuple and entry[0] != sym for entry in row):
        s.bits[sym] = row
        if (known := _known(s, row, sym)) is not None and (n := d.meet(s.vars[sym], known)) is not None:
            s.vars[sym] = n


def learn(s: State, sym: int) -> bool:
    """More is known of a symbol: so it is of those whose bits it has, and of those that have bits of these. False when nothing is left."""
    n, changed = s.vars[sym], {sym}
    parts: dict[int, list[int]] = {}
    for i, entry in enumerate(s.bits.get(sym, ())):
        if n.mask >> i & 1:
            continue
        bit = n.bits >> i & 1
        if type(entry) is not tuple:
            if entry != bit:
                return False
        elif entry[0] != sym:
            part = parts.setdefault(entry[0], [0, 0])
            part[0] |= 1 << entry[1]
            part[1] |= bit << entry[1]
    for root, (mask, bits) in parts.items():
        old = s.vars[root]
        new = d.meet(old, d.make(bits=bits, mask=d.M64 & ~mask))
        if new is None:
            return False
        if new != old:
            s.vars[root] = new
            changed.add(root)
    for x, row in s.bits.items():
        if x != sym and any(type(entry) is tuple and entry[0] in changed for entry in row):
            known = _known(s, row, x)
            if known is None or (met := d.meet(s.vars[x], known)) is None:
                return False
            s.vars[x] = met
    return True


def roots(row: Row) -> set[int]:
    return {entry[0] for entry in row if type(entry) is tuple}


def _known(s: State, row: Row, own: int) -> d.Num | None:
    bits = mask = 0
    for i, entry in enumerate(row):
        if type(entry) is not tuple:
            bits |= entry << i
        elif entry[0] == own:
            mask |= 1 << i
        else:
            n = s.vars[entry[0]]
            if n.mask >> entry[1] & 1:
                mask |= 1 << i
            else:
                bits |= (n.bits >> entry[1] & 1) << i
    return d.make(bits=bits, mask=mask)
