"""Rounds of a loop that are not all alike: a way through its body that a counter lets it go a few times is not the heaviest way of every round. For the
walk along paths (walk.py).

A parser takes an option once and the others as often as there are any: of the rounds through the body one goes the way that takes this option. Some counter is
moved there, a register or a slot that no round moves back; it has known bounds, so as many rounds as fit into them go there.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .cfg import Loop, Node
from .loops import Trace, moves
from .state import LEN, State

KINDS = 4                                             # of rounds, beside the lightest
TRIED = 6                                             # blocks that may be such a way, for each kind

Heaviest = Callable[[frozenset[Node]], tuple[int, Trace]]     # the heaviest way round that goes through none of these blocks


@dataclass(frozen=True)
class Rounds:
    """Rounds take at most `turn` each, as `trace` does, and `more` is what they take beyond that together: `kinds` has of each kind a trace and how often it
    is taken."""
    turn: int
    trace: Trace
    more: int = 0
    kinds: tuple[tuple[Trace, int], ...] = ()


def rounds_of(loop: Loop, head: State, back: list[State], made: dict[int, int], again: int, heaviest: Heaviest,
              through: Callable[[Node], list[State] | None]) -> Rounds:
    """What `again` rounds take at most. `head`: the loop's invariant, with symbols `made` there -> places; `back`: along all ways back;
    `through`: along those of rounds through a block of the body, None if that is not known."""
    turn, trace = heaviest(frozenset())
    weights, kinds, without, left = [turn], [], frozenset[Node](), again
    while left > 0 and len(kinds) < KINDS:
        found = None
        for node, less in _detours(loop, trace, lambda node: heaviest(without | {node})):
            often = _at_most(head, back, made, through(node)) if less[0] < turn else None
            if often is not None and often < left and (found is None or (left - often) * (turn - less[0]) > found[0]):
                found = (left - often) * (turn - less[0]), node, often, less
        if found is None:
            break
        _, node, often, less = found
        kinds.append((trace, often))
        without, left = without | {node}, left - often
        turn, trace = less
        weights.append(turn)
    return Rounds(turn, trace, sum(often * (weight - turn) for weight, (_, often) in zip(weights, kinds)), tuple(kinds))


def _detours(loop: Loop, trace: Trace, without: Callable[[Node], tuple[int, Trace]]) -> Iterable[tuple[Node, tuple[int, Trace]]]:
    """Blocks of a round, those whose absence makes it lightest first: of several that make it equally light the last one."""
    found: dict[int, tuple[Node, tuple[int, Trace]]] = {}
    while trace is not None:
        trace, what, _ = trace
        if isinstance(what, Node) and what.loop is loop and what is not loop.head:
            less = without(what)
            found.setdefault(less[0], (what, less))
    return [found[weight] for weight in sorted(found)[:TRIED]]


def _at_most(head: State, back: list[State], made: dict[int, int], through: list[State] | None) -> int | None:
    """How many rounds end in one of the states `through`, at most; None if that is not known."""
    if not through:
        return through if through is None else 0
    at_head, after, passed = dict(head.places()), [dict(s.places()) for s in back], [dict(s.places()) for s in through]
    found = []
    for sym in sorted({v.sym for v in at_head.values()} & set(made) - {LEN}):
        (lo, hi), (low, high) = (moves(sym, made[sym], at_head[made[sym]], states, places) for states, places in ((back, after), (through, passed)))
        step = low if lo >= 0 and low > 0 else -high if hi <= 0 and high < 0 else 0
        if step:
            least, most = head.bounds(sym)
            found.append((most - least) // step)
    return min(found, default=None)
