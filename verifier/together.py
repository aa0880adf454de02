"""Loops that move the packet's cursor on: how often all of them turn together.

A parser that takes options goes round in several loops, one inside another, one behind another: for those before some option, for those behind it. Each moves the
cursor on, and nothing moves it back; so all of them turn as often as there are octets, together, where the bound of each loop alone says as often as that for each, and
of two inside one another as often as the product.

What is proved: a shadow, which no instruction reads, has the cursor as it was at the last of the loops' heads. At the next one it is not further back, and where that is
reached by a way back it is further on, by a loop's step. A loop that leaves the cursor alone and counts an index from there has the sum of both for its cursor.
"""
from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field

from ..compiler.isa import ALU_NAMES
from .cfg import Graph, Loop, Node
from .fixpoint import Fixpoint
from .loops import Shared, moves
from .rules import Violation
from .state import LEN, NUMBER, POINTER, State, Value
from .transfer import Machine

SHADOW = 1 << 20                                      # of stack slots: no instruction reaches it
REGION = "pkt"
TRIES = 6                                             # searches where it is not known to which pointer an index belongs


@dataclass(frozen=True)
class Cursor:
    """The places of a loop's cursor at its head: of a pointer, and of the index that counts from there, if it has one."""
    pointer: int
    index: int | None = None


@dataclass(frozen=True)
class Together:
    """The loops, by their heads how far a way back moves the cursor at least, and the states along their ways back, with the cursor."""
    steps: Mapping[Node, int]
    back: tuple[tuple[State | None, Value], ...]

    @property
    def shared(self) -> Shared:
        """The cursor begins at 0."""
        return Shared(self.steps, max((s.offsets(cursor)[1] for s, cursor in self.back if s is not None), default=0))


class Lost(Exception):
    """A loop is entered without its cursor."""


class Following(Fixpoint):
    """A search with the shadow. `cursors`: those of loops by their heads."""

    def __init__(self, graph: Graph, machine: Machine, max_steps: int, max_facts: int, cursors: Mapping[Node, Cursor]) -> None:
        super().__init__(graph, machine, max_steps, max_facts)
        self.cursors = cursors
        self.moved: dict[tuple[Node, int], int] = {}  # along an edge to a head: how far the cursor is moved at least since the last one,
        self.reached: dict[tuple[Node, int], Value] = {}      # and where it is
        self.entry.frames[0].slots[SHADOW] = 8, Value(POINTER, REGION, 0, 0)

    def transfer(self, node: Node, before: State) -> list[State | None]:
        if node in self.cursors:
            before = before.copy()
            before.frames[0].slots[SHADOW] = 8, self.cursor(node, node, before)
        out = super().transfer(node, before)
        for i, ((succ, _), s) in enumerate(zip(node.succs, out)):
            if s is None or succ not in self.cursors:
                continue
            _, last = s.frames[0].slots.get(SHADOW, (8, None))
            if not _in_packet(last):
                raise Lost
            now = self.reached[node, i] = self.cursor(succ, node, s)
            self.moved[node, i] = s.gap(last.sym, now.sym)[0] + now.off - last.off
            s.frames[0].slots[SHADOW] = 8, now
        return out

    def cursor(self, head: Node, node: Node, s: State) -> Value:
        """Where it is, in a state at a loop's head or of an edge to it; a sum gets a name in `node`."""
        cursor, places = self.cursors[head], dict(s.places())
        at = places.get(cursor.pointer)
        if _in_packet(at) and cursor.index is not None:
            index = places.get(cursor.index)
            self.machine.node = node
            at = self.machine.move_pointer(s, SHADOW + head.id, "ADD", at, index) if index is not None and index.kind == NUMBER else None
        if not _in_packet(at):
            raise Lost
        return at

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


def together(fix: Fixpoint, max_steps: int, max_facts: int, enough: Callable[[Shared | None], bool]) -> Together | None:
    """`fix`: what was found and proved without a shadow. `enough`: whether a bound will do, None being that of each loop alone: else loops behind one another
    share the packet, too, and where that will not do either, indices are looked for that count from a cursor. None where there are not several such loops, or
    it takes too much effort."""
    cursors = {loop.head: Cursor(place) for loop in fix.graph.loops if (place := _cursor(fix, loop)) is not None}
    end, apart = fix.steps + max_steps, not enough(None)
    found = _followed(fix, max_steps, max_facts, cursors, apart).found
    if not apart or not cursors or found is not None and enough(found.shared):
        return found
    indexed = {loop.head: choices for loop in fix.graph.loops if loop.head not in cursors and (choices := _indexed(fix, loop))}
    for _ in range(TRIES if indexed else 0):
        tried = _followed(fix, end - fix.steps, max_facts, {**cursors, **{head: choices[0] for head, choices in indexed.items()}}, True)
        if tried.found is not None:
            return tried.found
        if not (wrong := [head for head in tried.wrong if head in indexed]):
            break
        if len(indexed[wrong[0]]) > 1:
            indexed[wrong[0]] = indexed[wrong[0]][1:]
        else:
            del indexed[wrong[0]]
    return found


@dataclass(frozen=True)
class Tried:
    """What was found; and if nothing, the heads of loops whose cursors may be the reason, the likeliest first."""
    found: Together | None = None
    wrong: list[Node] = field(default_factory=list)


def _followed(fix: Fixpoint, max_steps: int, max_facts: int, cursors: Mapping[Node, Cursor], apart: bool) -> Tried:
    if len(cursors) < 2 or not apart and not any(loop.head in cursors and _inside(loop, cursors) for loop in fix.graph.loops):
        return Tried()
    machine = Machine(fix.machine.profile, fix.machine.helpers)       # one of its own: what is told of the container is not to depend on this search
    machine.kept, machine.patient = fix.machine.kept, fix.machine.patient
    following = Following(fix.graph, machine, max_steps, max_facts, cursors)
    try:
        following.run()
        following.check()
    except (Lost, Violation):
        return Tried()
    finally:
        fix.steps += following.steps
    if back := [edge for edge, moved in following.moved.items() if moved < 0]:
        node, i = back[0]
        loops, loop = [node.succs[i][0]], node.loop
        while loop is not None:
            loops.append(loop.head)
            loop = loop.parent
        return Tried(None, loops)
    steps, back = {}, []
    for loop in fix.graph.loops:
        if loop.head in cursors:
            steps[loop.head] = following.step(loop)
            back += [(following.out.get(edge), following.reached[edge]) for edge in loop.back_edges() if edge in following.reached]
    return Tried(Together({head: step for head, step in steps.items() if step}, tuple(back)))


def _in_packet(v: Value | None) -> bool:
    return v is not None and v.kind == POINTER and v.region == REGION


def _inside(loop: Loop, heads: Container[Node]) -> bool:
    return loop.parent is not None and (loop.parent.head in heads or _inside(loop.parent, heads))


def _moved(fix: Fixpoint, loop: Loop) -> list[tuple[int, int, Value]]:
    """Of what every turn of a loop moves on: by how much at most, the place, and what is there at the head."""
    if (head := fix.invariant.get(loop.head)) is None:
        return []
    made, back = fix.made_at.get(loop.head, {}), [s for edge in loop.back_edges() if (s := fix.out.get(edge)) is not None]
    at_head, after = dict(head.places()), [dict(s.places()) for s in back]
    found = []
    for sym in {v.sym for v in at_head.values()} & made.keys():
        least, most = moves(sym, made[sym], at_head[made[sym]], back, after) if back else (0, 0)
        if least > 0:
            found.append((most, made[sym], at_head[made[sym]]))
    return found


def _cursor(fix: Fixpoint, loop: Loop) -> int | None:
    """Of what every turn of a loop moves on in the packet, the place that is moved by the least at most; of several the one that is least far."""
    found = [(most, *fix.invariant[loop.head].offsets(at), place) for most, place, at in _moved(fix, loop) if _in_packet(at)]
    return min(found)[-1] if found else None


def _indexed(fix: Fixpoint, loop: Loop) -> list[Cursor]:
    """Numbers that every turn moves on, each with the pointers into the packet that stay: those first to which the loop adds it."""
    indices = sorted(place for _, place, at in _moved(fix, loop) if at.kind == NUMBER)
    head, back = fix.invariant.get(loop.head), [s for edge in loop.back_edges() if (s := fix.out.get(edge)) is not None]
    if head is None or not indices:
        return []
    staying = {at: place for place, at in reversed([*head.places()])
               if _in_packet(at) and at.sym != LEN and all(dict(s.places()).get(place) == at for s in back)}
    added = _added(loop)
    return sorted((Cursor(place, index) for place in staying.values() for index in indices),
                  key=lambda each: ({each.pointer, each.index} not in added, each.pointer, each.index))


def _added(loop: Loop) -> list[set[int]]:
    """Pairs of registers of which a loop makes a sum in a third one."""
    found = []
    for node in loop.body:
        insns = [insn for _, insn in node.code]
        for one, two in zip(insns, insns[1:]):
            if one.is_alu and two.is_alu and one.uses_reg and two.uses_reg and one.dst == two.dst \
                    and (ALU_NAMES[one.code], ALU_NAMES[two.code]) == ("MOV", "ADD"):
                found.append({one.src, two.src})
    return found
