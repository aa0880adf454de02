"""Worst-case and best-case execution time of a container: the heaviest and the lightest path under a cost table."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .cfg import Node
from .cost import Cost, CostError, CostTable, TableSize
from .descriptors import HelperSpec
from .loops import heaviest, lightest
from .verify import Analysis, line_of


@dataclass(frozen=True)
class Step:
    """A part of the longest path: instructions of one source line, in the order the path first meets them."""
    line: tuple[str, int] | int | None                # as the line map gives it
    cycles: int
    insns: int                                        # executed there


@dataclass(frozen=True)
class Time:
    """Cycles of one run of a container."""
    worst: int
    best: int
    path: list[Step] = field(default_factory=list)    # of the worst run


def time_of(analysis: Analysis, table: CostTable, helpers: Mapping[int, HelperSpec], tables: Mapping[int, TableSize] | None = None,
            line_map: list | None = None, buffers: Mapping[int, TableSize] | None = None) -> Time:
    """The bounds on one run of an accepted container. `tables` and `buffers`: those of its bundle, by index. Raises CostError."""
    costs: dict[tuple[int, bool], Cost] = {}

    def cost(slot: int, taken: bool = False) -> Cost:
        if (slot, taken) not in costs:
            insn = analysis.graph.insns[slot]
            found = table.insn(insn, analysis.touched.get(slot, frozenset()), taken)
            if insn.is_call and not insn.is_local_call:
                name = helpers[insn.imm].name
                known = (buffers if name.startswith("buffer_") else tables) or {}
                searched = [known[i] for i in analysis.constants.get(slot, ()) if i in known]
                if name.startswith("buffer_") and not searched:
                    raise CostError(f"{name} at slot {slot}: the size of its buffer is not known")
                called = table.helper(name, searched)
                found = Cost(found.fewest + called.fewest, found.most + called.most)
            costs[slot, taken] = found
        return costs[slot, taken]

    def taken(node: Node, i: int) -> bool:
        return node.last[1].is_branch and node.succs[i][1] == "taken"

    def body(node: Node) -> list[int]:
        """Slots whose cost does not depend on the way out."""
        return [slot for slot, insn in node.code if not insn.is_branch]

    heavy = heaviest(analysis.graph, analysis.bounds, analysis.live, lambda n: sum(cost(s).most for s in body(n)),
                     lambda n, i: cost(n.last[0], taken(n, i)).most if n.last[1].is_branch else 0)
    light = lightest(analysis.graph, analysis.live, lambda n: sum(cost(s).fewest for s in body(n)),
                     lambda n, i: cost(n.last[0], taken(n, i)).fewest if n.last[1].is_branch else 0)
    lines: dict[object, list[int]] = {}

    def add(slot: int, cycles: int, times: int) -> None:
        row = lines.setdefault(line_of(line_map, slot), [0, 0])
        row[0] += times * cycles
        row[1] += times

    for node, turns in sorted(heavy.turns.items(), key=lambda item: item[0].order):
        for slot in body(node):
            add(slot, cost(slot).most, turns)
        if node.last[1].is_branch:
            for i in range(len(node.succs)):
                if (node, i) in heavy.edges:
                    add(node.last[0], cost(node.last[0], taken(node, i)).most, heavy.edges[node, i])
    return Time(heavy.weight + table.module.most, light + table.module.fewest,
                [Step(line, cycles, insns) for line, (cycles, insns) in lines.items()])
