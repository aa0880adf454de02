"""Ways that meet and part again by what they were: told apart where the proof needs it.

    if (p + 2 > end) r = -22; else r = 0;        two ways meet here, and what the first comparison taught is forgotten
    if (r == 0) use(p[1]);                       and here they part again

    while (i < 4) { r = ...; i++; }             the first turn meets the others here, so a loop that is always entered seems to be one that need not be
    return r;

A block where ways meet is given one copy for each of them (cfg.py, `split`). That is the same program, only longer; which blocks, is guessed here: those that
lie nearest before what could not be proved. Where that is not enough, the ways that meet at one block alone, which differ in a constant (a flag, a number of a kind
of header, a pointer or 0), stay apart up to there: questions about something else that lie between are copied for each of them, and not for each answer. Of a loop's head the copies ask before the first turn and behind each: the loop begins with what its head led to.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

from .cfg import Graph, Loop, Node, between
from .fixpoint import Fixpoint
from .state import NUMBER, State

ROUNDS = 6                                            # of telling apart more
LONGEST = 24                                          # instructions of a block that is copied
MORE = 512                                            # instructions that copies have in all
TRIES = 12                                            # of blocks whose ways stay apart
OF_DATA = range(13, 31)                               # what is known of data: more ways may be known better
OF_LOOPS = 33, 34                                     # what is known of how often loops turn: bounds may be known better
OF_MORE = *OF_DATA, 33                                # what copies of single blocks may prove: a `break` may join those that go on, where it is asked once more


def turns(loop: Loop) -> bool:
    """Can the loop begin with what its head leads to? Not if that is two blocks of it, the head itself or the head of another loop."""
    begins = [succ for succ, _ in loop.head.succs if succ in loop.body]
    return len(begins) == 1 and begins[0] is not loop.head and begins[0].loop is loop


def nearest(graph: Graph, slot: int) -> Iterator[Node]:
    """Where ways meet on the way to an instruction, the nearest first."""
    kept = {loop.head for loop in graph.loops if not turns(loop)}
    todo = [node for node in graph.nodes if any(at == slot for at, _ in node.code)]
    seen = set(todo)
    for node in todo:
        if len(node.preds) > 1 and node not in kept and len(node.code) <= LONGEST:
            yield node
        for before in node.preds:
            if before not in seen:
                seen.add(before)
                todo.append(before)


def inside(graph: Graph, slot: int, most: int, room: int) -> list[int]:
    """As `more`, of the blocks where ways meet in a loop that begins at an instruction: of a binary search either end moves, and each way back says which."""
    heads = {loop.head for loop in graph.loops}
    within = {node for loop in graph.loops if loop.head.first == slot for node in loop.body} - heads
    out: list[int] = []
    for node in nearest(graph, slot):
        if node in within:
            room -= (len(node.preds) - 1) * len(node.code)
            if room < 0 or len(out) == most:
                break
            out.append(node.id)
    return out


def more(graph: Graph, slot: int, most: int, room: int) -> list[int]:
    """Numbers of at most so many nodes to copy, the nearest ones, as long as there is room for the copies."""
    out: list[int] = []
    for node in nearest(graph, slot):
        room -= (len(node.preds) - 1) * len(node.code)
        if room < 0 or len(out) == most:
            break
        out.append(node.id)
    return out


def flags(fix: Fixpoint, slot: int, room: int) -> Iterator[Node]:
    """Where ways meet that differ in a constant, and stay apart from there to an instruction with no more copies than there is room for; the nearest first."""
    return _meeting(fix, slot, room, _told_apart)


def choices(fix: Fixpoint, slot: int, room: int) -> Iterator[Node]:
    """As `flags`, where ways meet of which each has taken the less of two numbers."""
    return _meeting(fix, slot, room, _chosen)


def _meeting(fix: Fixpoint, slot: int, room: int, differ: Callable[[list[State]], bool]) -> Iterator[Node]:
    heads = {loop.head for loop in fix.graph.loops}
    todo = [node for node in fix.graph.nodes if any(at == slot for at, _ in node.code)]
    seen, far = set(todo), 0
    for node in todo:
        if len(node.preds) > 1 and node not in heads and differ([s for e in fix.incoming[node] if (s := fix.out.get(e)) is not None]):
            if not (region := between(node, slot)) or (len(node.preds) - 1) * sum(len(n.code) for n in region) > room:
                far += 1
                if far > TRIES:
                    return
                continue
            yield node
        for before in node.preds:
            if before not in seen:
                seen.add(before)
                todo.append(before)


def _told_apart(ways: list[State]) -> bool:
    """A place tells by a constant which way it was: 0 and 1, a pointer and 0, or 8 and what was found to be another number."""
    seen: dict[int, set[object]] = {}
    for s in ways:
        for place, v in s.places():
            seen.setdefault(place, set()).add(s.num(v).ulo if v.kind == NUMBER and s.num(v).is_const else v.kind)
    return any(len(found) > 1 and any(type(each) is int for each in found) for found in seen.values())


def _chosen(ways: list[State]) -> bool:
    """A place has the less of two numbers, which was asked on both ways. So it is behind `i < n && i < 8`, where how many there are is counted."""
    for s, t in combinations(ways, 2):
        here = dict(t.places())
        for place, v in s.places():
            w = here.get(place)
            if w is not None and v.sym != w.sym and v.kind == w.kind == NUMBER and all((not x.sym or x.sym in u.vars) for x in (v, w) for u in (s, t)):
                if s.gap(v.sym, w.sym)[0] + w.off - v.off >= 0 and t.gap(v.sym, w.sym)[1] + w.off - v.off <= 0:
                    return True
    return False
