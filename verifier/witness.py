"""How it comes to a broken rule: a way through the program, followed from the entry without joining it with others.

What is known on one way alone is more than what is known on all of them, so the example it gives is closer to a real run.
The search is bounded; where it finds nothing the message has no path, and the example is of what all ways have in common.
"""
from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

from .cfg import Loop, Node
from .fixpoint import Fixpoint
from .rules import Violation

BUDGET = 6_000                                        # instructions followed


@dataclass(frozen=True)
class Witness:
    """`path`: the slot each block of the way begins with, then the instruction that breaks the rule."""
    path: list[int]
    example: str = ""


def find(fix: Fixpoint, broken: Violation) -> Witness | None:
    """The first way on which the same rule is broken at the same instruction."""
    loop = next((l for l in fix.graph.loops if l.head.first == broken.slot), None)
    if broken.rule == 33 and loop is not None:
        return Witness(round_trip(fix, loop))
    distance = distances(fix, [n for n in fix.graph.nodes if any(slot == broken.slot for slot, _ in n.code)])
    first = fix.graph.nodes[0]
    if broken.slot is None or first not in distance:
        return None
    machine = fix.machine
    machine.checking, fix.max_steps = True, fix.steps + 2 * BUDGET
    followed, count = 0, 0
    todo: list[tuple] = [(first, fix.entry, None)]
    while todo and followed < BUDGET:
        node, state, trace = todo.pop()
        followed += len(node.code)
        count += 1
        trace = (node.first, trace)
        before = state.copy()
        before.collect()
        try:                                          # a block met again makes unknowns of its own
            after = fix.transfer(replace(node, id=(node.id, count)), before)
        except Violation as found:
            if (found.rule, found.slot) == (broken.rule, broken.slot):
                return Witness(_slots(trace, broken.slot), found.example)
            continue
        ways = [(distance[succ], succ, s) for (succ, _), s in zip(node.succs, after) if s is not None and succ in distance]
        todo += [(succ, s, trace) for _, succ, s in sorted(ways, key=lambda way: -way[0])]
    return None


def _slots(trace, last: int) -> list[int]:
    out = [last]
    while trace is not None:
        slot, trace = trace
        if slot != out[-1]:
            out.append(slot)
    return out[::-1]


def distances(fix: Fixpoint, goals: list[Node]) -> dict[Node, int]:
    """How many blocks it is at least from each to one of the goals, by edges that can be taken."""
    out, todo = {n: 0 for n in goals}, deque(goals)
    while todo:
        node = todo.popleft()
        for pred, i in fix.incoming[node]:
            if pred not in out and fix.out.get((pred, i)) is not None:
                out[pred] = out[node] + 1
                todo.append(pred)
    return out


def round_trip(fix: Fixpoint, loop: Loop) -> list[int]:
    """The shortest way from a loop's head back to it."""
    came: dict[Node, Node | None] = {loop.head: None}
    todo = deque([loop.head])
    while todo:
        node = todo.popleft()
        for i, (succ, _) in enumerate(node.succs):
            if fix.out.get((node, i)) is None or succ not in loop.body:
                continue
            if succ is loop.head:
                back = [succ.first]
                while node is not None:
                    back.append(node.first)
                    node = came[node]
                return back[::-1]
            if succ not in came:
                came[succ] = node
                todo.append(succ)
    return []
