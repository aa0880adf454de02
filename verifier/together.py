"""Loops that move the packet's cursor on: how often all of them turn together.

A parser that takes options goes round in several loops, one inside another, one behind another: for those before some option, for those behind it. Each moves the
cursor on, and nothing moves it back; so all of them turn as often as there are octets, together, where the bound of each loop alone says as often as that for each, and
of two inside one another as often as the product.

What is proved: a shadow, which no instruction reads, has the cursor as it was at the last of the loops' heads. At the next one it is not further back, and where that is
reached by a way back it is further on, by a loop's step.
"""
from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass

from .cfg import Graph, Loop, Node
from .fixpoint import Fixpoint
from .loops import Shared, moves
from .rules import Violation
from .state import POINTER, State, Value
from .transfer import Machine

SHADOW = 1 << 20                                      # of stack slots: no instruction reaches it
REGION = "pkt"


@dataclass(frozen=True)
class Together:
    """The loops, by their heads how far a way back moves the cursor at least, and the states along their ways back, with the place that has the cursor."""
    steps: Mapping[Node, int]
    back: tuple[tuple[State | None, int], ...]

    @property
    def shared(self) -> Shared:
        """The cursor begins at 0."""
        return Shared(self.steps, max((s.offsets(dict(s.places())[place])[1] for s, place in self.back if s is not None), default=0))


class Lost(Exception):
    """A loop is entered without its cursor."""


class Following(Fixpoint):
    """A search with the shadow. `cursors`: by a loop's head the place that has the cursor there."""

    def __init__(self, graph: Graph, machine: Machine, max_steps: int, max_facts: int, cursors: Mapping[Node, int]) -> None:
        super().__init__(graph, machine, max_steps, max_facts)
        self.cursors = cursors
        self.moved: dict[tuple[Node, int], int] = {}  # along an edge to a head: how far the cursor is moved at least since the last one
        self.entry.frames[0].slots[SHADOW] = 8, Value(POINTER, REGION, 0, 0)

    def transfer(self, node: Node, before: State) -> list[State | None]:
        out = super().transfer(node, before)
        for i, ((succ, _), s) in enumerate(zip(node.succs, out)):
            if s is None or succ not in self.cursors:
                continue
            _, last = s.frames[0].slots.get(SHADOW, (8, None))
            now = dict(s.places()).get(self.cursors[succ])
            if not (_in_packet(last) and _in_packet(now)):
                raise Lost
            self.moved[node, i] = s.gap(last.sym, now.sym)[0] + now.off - last.off
            s.frames[0].slots[SHADOW] = 8, now
        return out

    def step(self, loop: Loop) -> int:
        """How far the cursor is moved at least on a way round on which no loop inside turns; what these move is theirs."""
        least, round_trip = {loop.head: 0}, []
        for node in sorted(loop.body, key=lambda node: node.order):
            for i, (succ, _) in enumerate(node.succs) if node in least else ():
                if self.out.get((node, i)) is None or succ not in loop.body:
                    continue
                there = least[node] + self.moved.get((node, i), 0)
                if succ is loop.head:
                    round_trip.append(there)
                elif succ.order > node.order:
                    least[succ] = min(there, least.get(succ, there))
        return min(round_trip, default=0)


def together(fix: Fixpoint, max_steps: int, max_facts: int, apart: bool) -> Together | None:
    """`fix`: what was found and proved without a shadow; `apart`: where no loop is inside another one, too. None where there are not several such loops, or
    it takes too much effort."""
    cursors = {loop.head: place for loop in fix.graph.loops if (place := _cursor(fix, loop)) is not None}
    if len(cursors) < 2 or not apart and not any(loop.head in cursors and _inside(loop, cursors) for loop in fix.graph.loops):
        return None
    machine = Machine(fix.machine.profile, fix.machine.helpers)       # one of its own: what is told of the container is not to depend on this search
    machine.kept = fix.machine.kept
    following = Following(fix.graph, machine, max_steps, max_facts, cursors)
    try:
        following.run()
        following.check()
    except (Lost, Violation):
        return None
    finally:
        fix.steps += following.steps
    if min(following.moved.values()) < 0:
        return None
    steps, back = {}, []
    for loop in fix.graph.loops:
        if loop.head in cursors:
            steps[loop.head] = following.step(loop)
            back += [(following.out.get(edge), cursors[loop.head]) for edge in loop.back_edges()]
    return Together({head: step for head, step in steps.items() if step}, tuple(back))


def _in_packet(v: Value | None) -> bool:
    return v is not None and v.kind == POINTER and v.region == REGION


def _inside(loop: Loop, heads: Container[Node]) -> bool:
    return loop.parent is not None and (loop.parent.head in heads or _inside(loop.parent, heads))


def _cursor(fix: Fixpoint, loop: Loop) -> int | None:
    """Of what every turn of a loop moves on in the packet, the place that is moved by the least at most; of several the one that is least far."""
    if (head := fix.invariant.get(loop.head)) is None:
        return None
    made, back = fix.made_at.get(loop.head, {}), [s for edge in loop.back_edges() if (s := fix.out.get(edge)) is not None]
    at_head, after = dict(head.places()), [dict(s.places()) for s in back]
    found = []
    for sym in {v.sym for v in at_head.values()} & made.keys():
        place, old = made[sym], at_head[made[sym]]
        if back and _in_packet(old):
            least, most = moves(sym, place, old, back, after)
            if least > 0:
                found.append((most, *head.offsets(old), place))
    return min(found)[-1] if found else None
