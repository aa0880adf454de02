"""What places hold where ways meet: registers, stack, and which unknowns stand for what differs there."""
from __future__ import annotations

from functools import cache
from typing import NamedTuple

from .rules import Violation
from .state import BROKEN, CLOBBER, CLOBBERED, LOW_HALF, MIXTURE, NUMBER, POINTER, STALE, STALE_POINTER, UNUSABLE, Frame, Value, stack_bits


@cache
def no_constants(count: int) -> tuple[int, ...]:
    """One object for each number of states."""
    return (0,) * count


class Places(NamedTuple):
    """What becomes of the places that hold values. It depends on what they hold alone: what is known of the numbers may change behind it."""
    of: tuple[list, list]                             # registers and frames of the states that meet
    regs: list[Value | None]
    frames: list[Frame]
    members: dict[int, tuple[tuple, tuple]]           # new or kept symbol -> (syms, offsets): it is sym_i + off_i in state i
    made: list[int]                                   # new symbols
    in_packet: set[int]                               # of these, those of places in the packet
    cursors: set[int]                                 # of places in the packet that are the same on all ways


def joined_places(of: tuple[list, list], name) -> Places:
    """`of`: registers and frames of each state; `name(place)`: the symbol for a place that differs between them."""
    count = len(of[0])
    zeros = no_constants(count)
    classes: dict[tuple, tuple[int, tuple]] = {}      # (syms, relative offsets) -> (new symbol, its offsets)
    in_packet: set[int] = set()
    cursors: set[int] = set()
    members: dict[int, tuple[tuple, tuple]] = {}

    def same(sym):
        """A place holds it on all ways, as most places do."""
        known = members.get(sym)
        if known is None:
            members[sym] = (sym,) * count, zeros
        elif known[1] is not zeros and known[0] != (sym,) * count:
            raise Violation(38, None, "an unknown has two meanings")

    def merged(place, values):
        first = values[0]
        if values.count(first) == count:              # most places
            if first is not None and first[2]:
                same(first[2])
                if first[1] == "pkt":
                    cursors.add(first[2])
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

    columns = [*zip(*of[0])]
    regs: list[Value | None] = [None] * len(columns)
    # numbers first: what is compared with constants names what moves with it
    for i in sorted(range(len(columns)), key=lambda i: columns[i][0] is not None and columns[i][0].kind != NUMBER):
        regs[i] = merged(i, columns[i])
    joined = []
    for depth, frames in enumerate(zip(*of[1])):
        base, held_there, others = 1000 * (depth + 1), frames[0].slots, [f.slots for f in frames[1:]]
        saved = tuple([merged(base + i, vs) for i, vs in enumerate(zip(*[f.saved for f in frames]))])
        written = frames[0].written
        for f in frames[1:]:
            written &= f.written
        slots = {}
        for off, held in held_there.items():
            found = [held, *[each.get(off) for each in others]]
            if found.count(held) == count or all([x is not None and x[0] == held[0] for x in found]):
                v = merged(base + 600 + off, [x[1] for x in found])
                if v is not None and v.kind not in UNUSABLE:
                    slots[off] = held if v is held[1] else (held[0], v)
        for f in frames:                              # what is a pointer on one side only is nothing at all
            for off, (size, v) in f.slots.items():
                if v[0] != NUMBER and off not in slots:
                    written &= ~stack_bits(off, size)
        joined.append(Frame(slots, written, saved))
    return Places(of, regs, joined, members, [sym for sym, _ in classes.values()], in_packet, cursors)
