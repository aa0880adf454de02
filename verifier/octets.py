"""Octets of one packet, and time that is owed for them: what loops that copy parts of a packet may take together. For the walk along paths (walk.py).

A cursor that moved by several unknown numbers of octets is behind the packet's start by all of them together, and not behind its end. So of
a packet of 127 octets not each of four options is 100 octets long, and a loop over the first one leaves less to the others. The state keeps two
things: `sums[c]`, numbers that a place in the packet (or its length) is never below, together; and `owed[x]`, time that grows with an unknown:
what a loop takes that turns as often as an unknown says is added up only where all of them are known to fit into one packet.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .state import State, Value

LEN = 1                                               # symbol of the packet's length; symbol 0 is the number 0
NEAR = 1 << 16                                        # octets
MAX_MEMBERS = 16                                      # of a sum

Sum = tuple[frozenset[int], int]                      # (members, k): at least so much as all members and k together; a member is at least 0
NOTHING: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Owed:
    """Cycles owed for an unknown: `fixed` + `rate` for each of it, `most` at most. `visits`: the loops' numbers, by how much each turn moves, and
    how far they go beyond the unknown."""
    rate: Fraction
    fixed: Fraction
    most: Fraction
    visits: tuple[tuple[object, int, int], ...]

    @cached_property
    def enough(self) -> int:
        """From where on it is `most`; 0 where nothing is owed for more of it."""
        return -((self.fixed - self.most) // self.rate) if self.rate else 0

    def and_more(self, other: Owed) -> Owed:
        """Both are owed."""
        return Owed(self.rate + other.rate, self.fixed + other.fixed, self.most + other.most, self.visits + other.visits)

    def either(self, other: Owed) -> Owed:
        """One of both is owed."""
        return Owed(max(self.rate, other.rate), max(self.fixed, other.fixed), max(self.most, other.most),
                    self.visits + tuple(each for each in other.visits if each not in self.visits))

    def of(self, x: int | Fraction) -> Fraction:
        return self.most if self.rate and x >= self.enough else min(self.fixed + self.rate * x, self.most)


# Sums --------------------------------------------------------------------------------------------
def sum_of(s: State, v: Value) -> Sum:
    """What a place in the packet is at least. A place of which nothing is noted is its own sum."""
    if not v.sym:
        return NOTHING, v.off
    found = s.sums.get(v.sym)
    if found is None:
        low = s.bounds(v.sym)[0]
        found = (frozenset((v.sym,)), 0) if low >= 0 and v.sym != LEN else (NOTHING, low)
    return found[0], found[1] + v.off


def moved(s: State, out: Value, p: Value, n: Value) -> None:
    """The place `out` is n octets behind p. It may have had a name before, which is of a place so many octets away."""
    members, k = sum_of(s, p)
    low = s.bounds(n.sym)[0]
    if n.sym and low >= 0 and n.sym not in members and len(members) < MAX_MEMBERS:
        s.sums[out.sym] = members | {n.sym}, k + n.off - out.off
    else:
        s.sums[out.sym] = members, k + low + n.off - out.off


def added(s: State, out: Value, a: Value, b: Value, wide: bool) -> None:
    """The number `out` is a + b: of numbers that are counted, it is not below them together. Nothing is noted where the sum may not fit."""
    bounds = [(low + v.off, high + v.off) for v in (a, b) for low, high in [s.bounds(v.sym) if v.sym else (0, 0)]]
    if min(low for low, _ in bounds) < 0 or sum(high for _, high in bounds) >= 1 << (63 if wide else 32):
        return
    counted = s.sums.get(LEN, (NOTHING, 0))[0] | s.owed.keys()
    members, k = NOTHING, -out.off
    for v, (low, _) in zip((a, b), bounds):
        found, least = s.sums.get(v.sym, (frozenset((v.sym,)) & counted, 0))
        if found and not found & members and len(found | members) <= MAX_MEMBERS:
            members, k = members | found, k + least + v.off
        else:
            k += low
    if members:
        s.sums[out.sym] = members, k


def before_end(s: State, sym: int) -> None:
    """It was compared with the packet's end: what the packet's length is at least may follow."""
    if sym in (0, LEN):
        return
    members, k = s.sums.get(sym, (NOTHING, 0)) if LEN in s.sums else sum_of(s, _value(sym, 0))
    if not members:
        return
    known, most = s.sums.get(LEN, (NOTHING, 0))
    k += s.gap(sym, LEN)[0]
    if known <= members and (known != members or k > most) or not members <= known and _room(s, members) > _room(s, known):
        s.sums[LEN] = members, k


def _room(s: State, members: Iterable[int]) -> int:
    return sum(s.vars[x].shi for x in members if x in s.vars)


def given(s: State, sym: int, place: Value, n: Value) -> bool:
    """`sym` is the end of n octets that the packet has from a place on; False, and nothing is noted, where that cannot be said of n."""
    members, k = sum_of(s, place)
    if n.sym in members or not n.sym or s.offsets(n)[0] < 0 or n.off < 0 or s.bounds(n.sym)[0] < 0 or len(members) == MAX_MEMBERS:
        return False
    s.sums[sym] = members | {n.sym}, k + n.off
    return True


def replaced(s: State, sym: int, by: Sum, others: Iterable[int]) -> None:
    """The place is at least `by`, and so are `others` behind it, and the packet's end. Those before it may be far before: what is known of one is kept where it
    says more."""
    by = by[0] & s.vars.keys(), by[1]
    s.sums[sym] = by
    for place in {*others, LEN} - {0, sym}:
        members, k = s.sums.get(place, (NOTHING, 0))
        if sym in members and not members & by[0]:
            s.sums[place] = members - {sym} | by[0], k + by[1]
        elif (least := s.gap(sym, place)[0]) > -NEAR and (not members or k < 0 or by[1] + least >= k) and not any(x in s.owed for x in members - by[0]):
            s.sums[place] = by[0], by[1] + least


def forget(s: State, sym: int) -> None:
    """The symbol is about to stand for something else."""
    if sym in s.owed:
        s.settled += most_of(s, sym)
        del s.owed[sym]
    s.sums = {place: (members - {sym}, k) for place, (members, k) in s.sums.items() if place != sym}


def collect(s: State, live: set[int]) -> None:
    s.sums = {place: (members & s.vars.keys() & live, k) for place, (members, k) in s.sums.items() if place in live}


def join_sums(out: State, states: list[State], members: dict[int, tuple[tuple, tuple]], at: Iterable[int]) -> None:
    """Sums that all know. `members`: of each symbol what it is in each state, see join.py; `at`: symbols of places in the packet."""
    # the same unknown may stand in several places, plus a constant in some
    numbers = sorted((x for x in members if x != LEN and x in out.vars and out.vars[x].slo >= 0), key=lambda x: (max(members[x][1]), x))
    for place in sorted({*at, LEN} & members.keys()):
        syms, offs = members[place]
        if not any(sym in s.sums for s, sym in zip(states, syms)):
            continue
        each = [sum_of(s, _value(sym, off)) for s, sym, off in zip(states, syms, offs)]
        if not any(found for found, _ in each):
            continue
        taken: list[set[int]] = [set() for _ in states]
        least, kept = [k for _, k in each], []
        for x in numbers:
            parts, shifts = members[x]
            inside = [part in found and part not in gone for part, (found, _), gone in zip(parts, each, taken)]
            if x == place or not any(inside) or not all(fits or not part for fits, part in zip(inside, parts)):
                continue
            kept.append(x)
            for i, (part, shift) in enumerate(zip(parts, shifts)):
                taken[i].add(part)
                least[i] -= shift
        if kept and len(kept) <= MAX_MEMBERS:
            out.sums[place] = frozenset(kept), min(least)


def follows(a: State, b: State, to: dict[int, tuple[int, int]]) -> int | None:
    """None if the sums of `b` are known in `a`, whose symbols and constants `to` has for those of b; otherwise the place whose is not."""
    for place, (members, k) in b.sums.items():
        found, least = sum_of(a, _value(*to[place])) if place in to else (NOTHING, 0)
        images = [to.get(x) for x in members]
        syms = [image[0] for image in images if image is not None and image[0]]
        if (place not in to or None in images or len(set(syms)) < len(syms) or not found.issuperset(syms)
                or any(x not in b.vars or b.vars[x].slo < 0 for x in members)
                or least - sum(image[1] for image in images if image is not None) < k):
            return place
    return None


def widened(old: State, new: State, apart: bool) -> None:
    """Sums that stay what they are."""
    new.sums = {place: known for place, known in new.sums.items() if (old.sums.get(place) == known or not apart and place not in old.sums)
                and all(x in new.vars and new.vars[x].slo >= 0 for x in known[0])}


def _value(sym: int, off: int) -> Value:
    from .state import NUMBER, Value
    return Value(NUMBER, None, sym, off)


# Time --------------------------------------------------------------------------------------------
def owe(s: State, sym: int, more: Owed) -> None:
    s.owed[sym] = s.owed[sym].and_more(more) if sym in s.owed else more


def most_of(s: State, sym: int) -> Fraction:
    """What is owed for one unknown, at most."""
    return s.owed[sym].of(s.bounds(sym)[1])


def join_owed(out: State, states: list[State], members: dict[int, tuple[tuple, tuple]]) -> None:
    """What is owed in each state is owed for what the unknown has become, or settled: `settled` is then what is, at most, in one of them."""
    left, counted = Fraction(0), out.sums.get(LEN, (NOTHING, 0))[0]
    places = sorted(members.items(), key=lambda item: (item[0] not in counted, item[0]))     # of several places that have it, the one that is counted
    for i, s in enumerate(states):
        settled = s.settled
        for sym, owed in s.owed.items():
            x = next((x for x, (syms, _) in places if syms[i] == sym and out.vars[x].slo >= 0), None)
            if x is None:
                settled += most_of(s, sym)
                continue
            owed = replace(owed, fixed=max(Fraction(0), owed.fixed - owed.rate * members[x][1][i]))    # else another state would owe less than nothing
            out.owed[x] = out.owed[x].either(owed) if x in out.owed else owed
        left = max(left, settled)
    out.settled = left


def in_all(s: State) -> int | Fraction:
    """What is owed at most: as much as fits into the packet, for what costs most first; or first into another place or number that is bounded and has
    some of the unknowns in it, and of the others as much as fits into the packet, where that is less."""
    return _least(s)[0]


def owing(s: State) -> tuple[int | Fraction, dict[object, int]]:
    """The same, and how often each loop's turn is a part of it."""
    total, most = _least(s)
    return total, {visit: max(0, int(x + past)) // step for owed, x in most for visit, step, past in owed.visits}


def _least(s: State) -> tuple[int | Fraction, list[tuple[Owed, int]]]:
    """The total, and of what is owed how much of the unknown there is."""
    owed = sorted(s.owed.items(), key=lambda item: -item[1].rate)
    others = [place for place, (members, _) in s.sums.items() if place != LEN and not members.isdisjoint(s.owed)]
    return min([_owing(s, owed, places) for places in ((LEN,), *((place, LEN) for place in others))], key=lambda each: each[0])


def _owing(s: State, left: list[tuple[int, Owed]], places: tuple[int, ...]) -> tuple[int | Fraction, list[tuple[Owed, int]]]:
    """Each unknown is counted in the first place that has it: what all take is no more than what those of each place take at most."""
    total, most = s.settled, []
    for place in places:
        members, k = s.sums.get(place, (NOTHING, 0))
        if members.isdisjoint([x for x, _ in left]):
            continue
        room = s.bounds(place)[1] - k - sum([s.vars[x].slo for x in members if x in s.vars])
        for x, owed in left:
            if x in members:
                low, high = s.bounds(x)
                more = max(0, min(high - low, room, owed.enough - low)) if owed.rate else 0
                room -= more
                most.append((owed, low + more))
        left = [each for each in left if each[0] not in members]
    most += [(owed, s.bounds(x)[1]) for x, owed in left]
    for owed, x in most:
        total += owed.of(x)
    return total, most
