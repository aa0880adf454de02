"""The order of analysis, what bounds a loop, and sums over the graph.

A loop is bounded by a *counter*: an unknown whose value at the head has known bounds (or a bounded difference to something the
loop leaves alone), and which every turn moves by at least a constant in one direction. Registers, stack slots, numbers
and packet cursors are all counters alike, and the exit test need not be looked at: its effect is in the invariant.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, permutations
from operator import add
from types import MappingProxyType
from typing import Any, Union

from . import shrinking
from .cfg import Graph, Loop, Node
from .rules import Violation
from .state import INF, LEN, NUMBER, State, Value


@dataclass(frozen=True, slots=True)
class Bound:
    """The head of the loop at slot `head` runs at most `bound` times each time the loop is entered."""
    head: int
    bound: int
    depth: int                                        # 1: not nested
    counter: str


def place_name(place: int) -> str:
    if place < 1000:
        return f"r{place}"
    off = place % 1000
    return f"saved r{6 + off}" if off < 4 else f"stack slot r10 - {600 - off}"


def region_order(graph: Graph, loop: Loop | None):
    """Nodes and whole inner loops of a loop's body (or of everything), each after what leads to it."""
    nodes = graph.nodes if loop is None else sorted(loop.body, key=lambda n: n.order)
    for node in nodes:
        if loop is not None and node is loop.head:
            continue
        if node.loop is loop:
            yield node
        elif node.loop.head is node and node.loop.parent is loop:
            yield node.loop


def rank(loop: Loop, head: State, back: list[State | None], symbols: dict[int, int], stable_length: bool) -> tuple[int, str]:
    """(most runs of the head, counter). `symbols`: symbol made at this head -> its place. `back`: the states along the back edges.
    Raises Violation."""
    back = [s for s in back if s is not None]
    if not back:
        return 1, "none: it never repeats"
    at_head = dict(head.places())
    after = [dict(s.places()) for s in back]
    best, moved = None, []
    still = [other for other in [0, *head.vars] if other not in symbols and (other != LEN or stable_length) and all([not other or other in s.vars for s in back])]     # what the loop leaves alone
    for sym in sorted({v.sym for v in at_head.values()} & set(symbols)):
        for turns, how in shrinking.bounds(head, back, [places.get(symbols[sym]) for places in after], at_head[symbols[sym]]):
            found = turns, f"{place_name(symbols[sym])} {how}"
            best = min(best, found) if best else found
        lo, hi = moves(sym, symbols[sym], at_head[symbols[sym]], back, after)
        step = lo if lo > 0 else -hi if hi < 0 else 0
        if not step:
            continue
        runs = []
        for other in still:
            l, h = head.gap(sym, other)               # wherever the head runs
            runs.append((h - l) // step + 1)
            gaps = [s.gap(sym, other) for s in back]  # where it runs once more
            runs.append((max(h for _, h in gaps) - min(l for l, _ in gaps)) // step + 2)
        most = min(runs)
        moved.append(f"{place_name(symbols[sym])} moves by {'at least ' if lo != hi else ''}{step if lo > 0 else -step}")
        if most <= 1 << 32 and (best is None or most < best[0]):
            best = most, f"{moved[-1]} a turn"
    if best is None:
        held = {sym: symbols[sym] for sym in {v.sym for v in at_head.values()} & set(symbols)}
        best = _approaching(head, back, held, at_head, after) or _adding_up(head, back, held, at_head, after, still)
    if best:
        return best
    known = f"{', '.join(moved[:3])}, but no comparison bounds it" if moved else "nothing is known to move by a constant in every turn and to stay in bounds"
    raise Violation(33, loop.head.first, f"no counter bounds the loop: {known}",
                    "count in one direction and compare the counter with a bounded value before going back")


def _approaching(head: State, back: list[State], symbols: Mapping[int, int], at_head: dict[int, Value], after: list[dict[int, Value]]) -> tuple[int, str] | None:
    """The same, of two unknowns that come closer to each other in every turn, whichever of them moves, as the ends of a binary search do; None: there are not two."""
    best = None
    ends = [(sym, place) for sym, place in sorted(symbols.items()) if at_head[place].kind == NUMBER]
    for (x, low), (y, high) in permutations(ends, 2):
        least, most = head.gap(x, y)                  # wherever the head runs
        if most - least > 1 << 32:
            continue
        step = min((moves(x, low, at_head[low], [s], [places])[0] - moves(y, high, at_head[high], [s], [places])[1] for s, places in zip(back, after)), default=0)
        if step > 0 and (best is None or (most - least) // step + 1 < best[0]):
            best = (most - least) // step + 1, f"{place_name(low)} and {place_name(high)} come closer by at least {step} a turn"
    return best


def _adding_up(head: State, back: list[State], symbols: Mapping[int, int], at_head: dict[int, Value], after: list[dict[int, Value]],
               still: list[int]) -> tuple[int, str] | None:
    """The same, of two bounded unknowns whose sum grows in every turn, whichever of them moves, as two lists are merged; None: there are not two."""
    best = None
    room = {sym: min([h - l for l, h in [head.gap(sym, other) for other in still]]) for sym in symbols}      # how far it goes at most
    ends = [(sym, place) for sym, place in sorted(symbols.items()) if room[sym] <= 1 << 32]
    turns = {sym: [moves(sym, place, at_head[place], [s], [places])[0] for s, places in zip(back, after)] for sym, place in ends}
    for (x, one), (y, other) in combinations(ends, 2):
        step = min(map(add, turns[x], turns[y]))
        if step > 0 and (best is None or (room[x] + room[y]) // step + 1 < best[0]):
            best = (room[x] + room[y]) // step + 1, f"{place_name(one)} and {place_name(other)} move by at least {step} a turn together"
    return best


def moves(sym: int, place: int, old: Value, back: list[State], after: list[dict[int, Value]]) -> tuple[int, int]:
    """Bounds of how far one turn moves a counter: symbol `sym`, which is in `old` at the head. `after`: the places of the states in `back`."""
    lo, hi = INF, -INF
    for s, places in zip(back, after):
        v = places.get(place)
        if v is None or v.kind != old.kind or v.region != old.region or sym not in s.vars:
            return -INF, INF
        l, h = s.gap(sym, v.sym)
        lo, hi = min(lo, l + v.off - old.off), max(hi, h + v.off - old.off)
    return lo, hi


# Steps, the last one first: (the trace before, a node, an edge (node, i), a trace, what is known of visits or of a call, how often). Paths share their
# beginnings. How often is a number, or of a loop's visit (its number, i, j): of its turns those from the i-th on and before the j-th; all to j where
# `path_of` is not told how many it has.
Trace = Union[tuple[Any, Any, Union[int, tuple[object, int, int]]], None]


@dataclass(frozen=True, slots=True)
class Turns:
    """How often loops turn on the way up to a step, by visit."""
    of: Mapping[object, int]


@dataclass(frozen=True, slots=True)
class Given:
    """A call in a node that takes less than the node's weight says: how much less by how many turns there are of `visit`."""
    visit: object
    node: Node
    slot: int
    less: Callable[[int], int]


@dataclass(frozen=True, slots=True)
class Path:
    """A way from the entry to an end: its weight, and how often it takes each node and each edge (node, i); of calls (node, slot), how much less they
    take than that."""
    weight: int
    turns: dict[Node, int]
    edges: dict[tuple[Node, int], int]
    less: dict[tuple[Node, int], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Shared:
    """Loops, by head, whose ways back move one counter by at least `steps`, and by at most `most` together."""
    steps: Mapping[Node, int]
    most: int


def heaviest(graph: Graph, bounds: Mapping[Node, int], live, weight, edge_weight=lambda node, i: 0, shared: Shared | None = None) -> Path:
    """The heaviest path from the entry to an end. `live(node, i)`: the edge can be taken. A loop whose head runs n times
    costs n - 1 times its heaviest way round and the heaviest way from the head to where it is left; those of `shared` turn no more often together than
    their counter allows."""
    ends, _ = _region(graph, None, bounds, live, weight, edge_weight)
    longest, trace = max(ends.values(), key=lambda end: end[0])
    if shared is not None:
        visit = turning_together(graph, None, bounds, live, weight, edge_weight, shared)
        cost, end = max(visit.inside.values(), key=lambda end: end[0])
        if visit.more + cost < longest:
            longest, trace = visit.more + cost, (visit.after(None), end, 1)
    return path_of(longest, trace)


def heaviest_inside(graph: Graph, loop: Loop, bounds: Mapping[Node, int], live, weight, edge_weight) -> tuple[dict[Node, tuple[int, Trace]], tuple[int, Trace]]:
    """The heaviest way from a loop's head, in its last turn, to each of its nodes, that one included, and the heaviest way round; as `heaviest`."""
    return _region(graph, loop, bounds, live, weight, edge_weight) if bounds[loop.head] else ({}, (0, None))


def _region(graph: Graph, loop: Loop | None, bounds: Mapping[Node, int], live, weight, edge_weight) -> tuple[dict[Node, tuple[int, Trace]], tuple[int, Trace]]:
    """Heaviest path through each node, from the region's start and including it; heaviest way round."""
    best: dict[Node, tuple[int, Trace]] = {graph.nodes[0] if loop is None else loop.head: (0, None)}
    ends: dict[Node, tuple[int, Trace]] = {}
    way_round: tuple[int, Trace] = (0, None)
    items = list(region_order(graph, loop))
    for item in [loop.head, *items] if loop else items:
        if isinstance(item, Loop):
            if item.head not in best or not bounds[item.head]:
                continue
            inner, (turn, round_trace) = _region(graph, item, bounds, live, weight, edge_weight)
            before, trace = best[item.head]
            again = bounds[item.head] - 1
            if again:
                before, trace = before + again * turn, (trace, round_trace, again)
            passed = {node: (before + cost, (trace, inside, 1)) for node, (cost, inside) in inner.items()}
        elif item in best:
            before, trace = best[item]
            passed = {item: (before + weight(item), (trace, item, 1))}
        else:
            continue
        ends.update(passed)
        inside = item.body if isinstance(item, Loop) else ()
        for node, (reached, trace) in passed.items():
            for i, (succ, _) in enumerate(node.succs):
                if succ in inside or not live(node, i):
                    continue
                there = reached + edge_weight(node, i)
                if loop is not None and succ is loop.head:
                    if there >= way_round[0]:
                        way_round = there, (trace, (node, i), 1)
                elif (loop is None or succ in loop.body) and (succ not in best or there > best[succ][0]):
                    best[succ] = there, (trace, (node, i), 1)
    return ends, way_round


@dataclass(frozen=True, slots=True)
class Visit:
    """Of loops that share a counter, each in its last turn: the heaviest way from where it begins to each node; and the turns before these: what they take
    in all, and of which loops, how often."""
    inside: dict[Node, tuple[int, Trace]]
    more: int
    turns: list[tuple[Trace, int]]

    def after(self, before: Trace) -> Trace:
        """With the turns."""
        for each, often in self.turns:
            before = before, each, often
        return before


def turning_together(graph: Graph, loop: Loop | None, bounds: Mapping[Node, int], live, weight, edge_weight, shared: Shared) -> Visit:
    """For one visit of a loop, or for everything. Of the counter the loops get a share each, those first whose turns cost most for it; none turns more often
    than its own bound says."""
    loops = [each for each in graph.loops if each.head in shared.steps and (loop is None or each.head in loop.body) and bounds[each.head]]
    once = {**bounds, **{each.head: 1 for each in loops}}
    inside, (turn, trace) = _region(graph, loop, once, live, weight, edge_weight)
    found = [(each, shared.steps[each.head], *_region(graph, each, once, live, weight, edge_weight)[1]) for each in loops]
    alone = bounds[loop.head] - 1 if loop is not None and loop not in loops else 0      # the loop itself is none of them
    left, more, turns = shared.most, alone * turn, [(trace, alone)] if alone else []
    for each, step, turn, trace in sorted(found, key=lambda way: -Fraction(way[2], way[1])):
        often = min(-(-left // step), _entries(each, loop, bounds) * (bounds[each.head] - 1))
        left, more = max(0, left - often * step), more + often * turn
        turns.append((trace, often))
    return Visit(inside, more, turns)


def _entries(loop: Loop, around: Loop | None, bounds: Mapping[Node, int]) -> int:
    """How often a loop is entered at most in one visit of another one, or of everything."""
    return 1 if loop is around or loop.parent is None else bounds[loop.parent.head] * _entries(loop.parent, around, bounds)


def path_of(weight: int, trace: Trace, visits: Mapping[object, int] = MappingProxyType({})) -> Path:
    """What a trace takes, in all. `visits`: of loops' visits how often they turn."""
    turns: dict[Node, int] = {}
    edges: dict[tuple[Node, int], int] = {}
    less: dict[tuple[Node, int], int] = {}
    todo = [(trace, 1, visits)]
    while todo:
        trace, times, visits = todo.pop()
        while trace is not None:
            trace, what, again = trace
            if type(again) is tuple:
                visit, first, last = again
                again = max(0, min(visits.get(visit, last), last) - first)
            if isinstance(what, Turns):
                visits = {**visits, **what.of}
            elif isinstance(what, Given):
                if what.visit in visits:
                    less[what.node, what.slot] = what.less(visits[what.visit])
            elif isinstance(what, Node):
                turns[what] = turns.get(what, 0) + times * again
            elif what is not None and len(what) == 2:
                edges[what] = edges.get(what, 0) + times * again
            elif what is not None:
                todo.append((what, times * again, visits))
    return Path(weight, turns, edges, less)


def lightest(graph: Graph, live, weight, edge_weight=lambda node, i: 0) -> int:
    """A weight that every path from the entry to an end has at least: each node once, no loop repeated."""
    least = {graph.nodes[0]: 0}
    out = None
    for node in graph.nodes:                          # a way back never makes a path lighter
        if node not in least:
            continue
        passed = least[node] + weight(node)
        if not node.succs:
            out = passed if out is None else min(out, passed)
        for i, (succ, _) in enumerate(node.succs):
            if live(node, i) and succ.order > node.order:
                there = passed + edge_weight(node, i)
                least[succ] = min(least.get(succ, there), there)
    return out or 0
