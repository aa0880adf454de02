"""The order of analysis, what bounds a loop, and sums over the graph.

A loop is bounded by a *counter*: an unknown whose value at the head has known bounds (or a bounded difference to something the
loop leaves alone), and which every turn moves by at least a constant in one direction. Registers, stack slots, numbers
and packet cursors are all counters alike, and the exit test need not be looked at: its effect is in the invariant.
"""
from __future__ import annotations

from dataclasses import dataclass

from .cfg import Graph, Loop, Node
from .rules import Violation
from .state import INF, LEN, State


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
    for sym in sorted({v.sym for v in at_head.values()} & set(symbols)):
        lo, hi = INF, -INF                            # of this turn's change
        for s, places in zip(back, after):
            v, old = places.get(symbols[sym]), at_head[symbols[sym]]
            if v is None or v.kind != old.kind or v.region != old.region or sym not in s.vars:
                lo, hi = -INF, INF
                break
            l, h = s.gap(sym, v.sym)
            lo, hi = min(lo, l + v.off - old.off), max(hi, h + v.off - old.off)
        step = lo if lo > 0 else -hi if hi < 0 else 0
        if not step:
            continue
        ranges = [head.bounds(sym)]
        for other in head.vars:
            if other != sym and other not in symbols and (other != LEN or stable_length) and all(other in s.vars for s in back):
                ranges.append(head.gap(sym, other))
        width = min(h - l for l, h in ranges)
        moved.append(f"{place_name(symbols[sym])} moves by {'at least ' if lo != hi else ''}{step if lo > 0 else -step}")
        if width < 1 << 32 and (best is None or width // step + 1 < best[0]):
            best = width // step + 1, f"{moved[-1]} a turn"
    if best:
        return best
    known = f"{', '.join(moved[:3])}, but no comparison bounds it" if moved else "nothing moves by a constant in every turn"
    raise Violation(33, loop.head.first, f"no counter bounds the loop: {known}",
                    "count in one direction and compare the counter with a bounded value before going back")


def longest(graph: Graph, bounds: dict[Node, int], live, weight, edge_weight=lambda node, i: 0) -> int:
    """The heaviest path from the entry, each loop's body as often as its bound. `live(node, i)`: the edge can be taken."""
    def region(loop: Loop | None):
        start = graph.nodes[0] if loop is None else loop.head
        best: dict[Node, int] = {start: 0}            # heaviest path up to, not including, the node
        top = 0

        def leave(node, reached, inner=()):
            """Push `reached` along the edges of `node` that stay in this region; not those inside an inner loop."""
            nonlocal top
            for i, (succ, _) in enumerate(node.succs):
                if succ in inner or not live(node, i):
                    continue
                there = reached + edge_weight(node, i)
                if loop is not None and succ is loop.head:
                    top = max(top, there)
                elif loop is None or succ in loop.body:
                    best[succ] = max(best.get(succ, 0), there)

        def visit(item):
            nonlocal top
            if isinstance(item, Node):
                if item in best:
                    reached = best[item] + weight(item)
                    top = max(top, reached)
                    leave(item, reached)
            elif item.head in best:
                reached = best[item.head] + bounds[item.head] * region(item)
                top = max(top, reached)
                for node in item.body:
                    leave(node, reached, item.body)

        if loop is not None:
            visit(loop.head)
        for item in region_order(graph, loop):
            visit(item)
        return top

    return region(None)
