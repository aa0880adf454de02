"""What the parts of a graph cost where an engine does several instructions at once (`AtOnce` in cost.py).

They may begin in one block and end in the next, so what a block costs depends on how it is entered: at its first instruction, or so many
slots behind the beginning of what is still being done. A cost is counted where what is done at once ends. Let c(n, j, i) be what block n
costs, entered j slots behind and left along edge i. An edge has one cost all the same. Take any numbers g(n, j), 0 where a container begins: along a
path, the sum of c(n, j, i) is that of c(n, j, i) + g(n, j) - g(the next n, the next j), because all g but the first one's cancel. So if
an edge costs the most of these over all j with which its block can be entered, no path costs more than its edges. That holds for any g; it says
most where g(n, j) is how much less the block costs entered so than entered as early as it can be.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .cfg import Graph, Node
from .cost import Cost, Costs

FREE = Cost(0, 0)


class Passed(NamedTuple):
    """A block entered in one way. `parts`: by slot what it costs, whatever the way out; `ways`: of each edge, or of the end, (all that it costs, how many
    slots behind the next block is entered)."""
    parts: list[tuple[int, Cost]]
    ways: list[tuple[Cost, int]]


class Blocks:
    """`cost(slot, taken)`: of an instruction by itself; `live(node, i)`: the edge can be taken."""

    def __init__(self, graph: Graph, costs: Costs, cost: Callable[[int, bool], Cost], live: Callable[[Node, int], bool]) -> None:
        self.costs, self.cost = costs, cost
        self.passed: dict[Node, dict[int, Passed]] = {}
        self.known: dict[Node, list[Cost]] = {}
        todo = [(graph.nodes[0], 0)]
        while todo:
            node, behind = todo.pop()
            entered = self.passed.setdefault(node, {})
            if behind not in entered:
                entered[behind] = self._pass(node, behind)
                todo += [(node.succs[i][0], entered[behind].ways[i][1]) for i in range(len(node.succs)) if live(node, i)]

    def ways(self, node: Node) -> list[Cost]:
        """What the block costs along each of its edges; of one without edges, what it costs."""
        if node not in self.known:
            entered = self.entered(node)
            self.known[node] = [Cost(min(each.ways[i][0].fewest for each in entered.values()),
                                     max(each.ways[i][0].most + self._less(node, behind) - self._less_in_next(node, i, each.ways[i][1])
                                         for behind, each in entered.items()))
                                for i in range(max(1, len(node.succs)))]
        return self.known[node]

    def entered(self, node: Node) -> dict[int, Passed]:
        """By how many slots behind it can be entered. What is never entered is as if it were."""
        if node not in self.passed:
            self.passed[node] = {0: self._pass(node, 0)}
        return self.passed[node]

    def _less(self, node: Node, behind: int) -> int:
        """g of the block entered so."""
        entered = self.entered(node)
        first = min(entered)
        if behind == first or behind not in entered:
            return 0
        return min(early.most - late.most for (early, _), (late, _) in zip(entered[first].ways, entered[behind].ways))

    def _less_in_next(self, node: Node, i: int, behind: int) -> int:
        return self._less(node.succs[i][0], behind) if node.succs else 0

    def _pass(self, node: Node, behind: int) -> Passed:
        begun = node.first - behind if behind else None
        parts: list[tuple[int, Cost]] = []
        for slot, insn in node.code:
            if begun is None:
                begun = slot
            handler = self.costs.at_once(begun)
            left = begun + handler.slots - slot - 1 if handler else 0      # slots of it that follow
            if insn.is_branch:
                spent = sum((cost for _, cost in parts), FREE)
                taken = spent + (handler.way(slot - begun + 1) if handler else self.cost(slot, True))
                on = spent + (FREE if left else handler.way(0) if handler else self.cost(slot, False))
                return Passed(parts, [(taken, 0) if kind == "taken" else (on, slot + 1 - begun if left else 0) for _, kind in node.succs])
            if not left:
                parts.append((slot, handler.way(0) if handler else self.cost(slot, False)))
                begun = None
        next_slot = node.last[0] + node.last[1].slots
        on = sum((cost for _, cost in parts), FREE)
        return Passed(parts, [(on, next_slot - begun if begun is not None else 0)] * max(1, len(node.succs)))
