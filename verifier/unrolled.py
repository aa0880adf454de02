"""Loops of a few turns, turn by turn: the last try, where no invariant of a loop says enough.

    for (i = 0; i < 8; i++) sum += p[i];                at the head a sum is anything; behind eight turns it is at most 8 * 255
    for (step = 8; step; step >>= 1) if (t[at + step] <= key) at += step;

The first turns have copies of the loop's body (cfg.py, `unroll`). That is the same program, only longer; where it is found that the loop itself is entered no more,
no counter of it is asked for. Which loops, is guessed here: those of few turns that lie before what could not be proved, the shortest first.
"""
from __future__ import annotations

from collections.abc import Iterator

from .cfg import Loop, Unrolled
from .endless import never_left
from .fixpoint import Fixpoint
from .loops import rank
from .rules import Violation

TURNS = 64                                            # of a loop, at most
ROOM = 2048                                           # instructions that the copies have in all
UNKNOWN = (4, 16, 64)                                 # turns that are tried, of a loop which nothing is known to end


def candidates(fix: Fixpoint, slot: int, room: int) -> Iterator[Unrolled]:
    """Loops from which an instruction is reached, or around it, and how often to copy their bodies; but those that are never left."""
    found: list[tuple[int, Loop, int]] = []
    reaching = {node for node in fix.graph.nodes if any(at == slot for at, _ in node.code)}
    todo = [*reaching]
    while todo:
        for before in todo.pop().preds:
            if before not in reaching:
                reaching.add(before)
                todo.append(before)
    for loop in fix.graph.loops:
        if loop.head in reaching and fix.invariant.get(loop.head) is not None and not never_left(fix, loop):
            size = sum(len(node.code) for node in loop.body)
            turns = _turns(fix, loop)
            found += [(size * n, loop, n) for n in ((turns,) if turns else UNKNOWN) if n <= TURNS and size * n <= room]
    for _, loop, turns in sorted(found, key=lambda each: (each[0], each[1].head.order)):
        yield Unrolled(loop.head.id, turns)


def _turns(fix: Fixpoint, loop: Loop) -> int:
    """How often its head runs; 0: nothing says it."""
    back = [fix.out.get(edge) for edge in loop.back_edges()]
    try:
        return rank(loop, fix.invariant[loop.head], back, fix.made_at.get(loop.head, {}), False)[0]
    except Violation:
        return 0
