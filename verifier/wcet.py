"""Worst-case and best-case execution time of a container: the heaviest and the lightest path under a cost table."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from ..compiler.helpers import number_said, size_said, which
from .at_once import Blocks
from .cfg import Node
from .cost import MAX_ACTION_DATA, Cost, CostError, Costs, TableSize
from .descriptors import MAX_PACKET
from .loops import Path, heaviest, lightest
from .octets import Owed
from .verify import Analysis, lines_of


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
    branches: frozenset[int] = frozenset()            # slots of the branches on it


class Weights:
    """What the parts of a container's graph cost. `helpers`: name and declared cycles by number; `tables` and `buffers`: those of its bundle, by
    index; `longest`: octets of a packet at most. Methods raise CostError."""

    def __init__(self, analysis: Analysis, costs: Costs, helpers: Mapping[int, tuple[str, int]], tables: Mapping[int, TableSize] | None = None,
                 buffers: Mapping[int, TableSize] | None = None, longest: int = MAX_PACKET) -> None:
        self.longest = longest
        self.analysis, self.costs, self.helpers, self.tables, self.buffers = analysis, costs, helpers, tables or {}, buffers or {}
        self.known: dict[tuple[int, bool], Cost] = {}
        self._blocks: Blocks | None = None
        self._nodes: dict[Node, Cost] = {}
        self._edges: dict[tuple[Node, int], Cost] = {}
        self._by_octets: dict[int, Owed] = {}

    def cost(self, slot: int, taken: bool = False) -> Cost:
        if (slot, taken) not in self.known:
            analysis = self.analysis
            insn = analysis.graph.insns[slot]
            try:
                found = self.costs.insn(slot, insn, analysis.touched.get(slot, ()), taken, analysis.aligned.get(slot, 1))
                if insn.is_call and not insn.is_local_call:
                    found += self.helper(slot, self.longest)
            except CostError as e:
                raise CostError(f"{e}, slot {slot}", slot) from None
            self.known[slot, taken] = found
        return self.known[slot, taken]

    def helper(self, slot: int, octets: int) -> Cost:
        """What a call's helper costs by itself; a buffer is given so many octets of the packet at most. A call that no run comes to searches any table."""
        analysis = self.analysis
        name, declared = self.helpers[analysis.graph.insns[slot].imm]
        given = self.buffers if name.startswith("buffer_") else self.tables
        piece = analysis.heads.get(slot, MAX_PACKET) + octets
        firsts = analysis.constants.get(slot, [which(i, 0, MAX_ACTION_DATA) for i in given])
        return self.costs.helper(name, declared, [replace(given[number_said(first)], room=min(size_said(first, 3), MAX_ACTION_DATA), piece=piece)
                                                  for first in firsts if number_said(first) in given])

    def by_octets(self, slot: int) -> Owed:
        """What a buffer's call costs more for octets of the packet than without any, at most."""
        if slot not in self._by_octets:
            none = self.helper(slot, 0).most
            more = [self.helper(slot, octets).most - none for octets in range(self.longest + 1)]
            rate = Fraction(more[-1], max(1, self.longest))
            self._by_octets[slot] = Owed(rate, max(each - rate * octets for octets, each in enumerate(more)), Fraction(more[-1]), ())
        return self._by_octets[slot]

    @property
    def blocks(self) -> Blocks:
        if self._blocks is None:
            self._blocks = Blocks(self.analysis.graph, self.costs, self.cost, self.analysis.live)
        return self._blocks

    def node(self, node: Node) -> Cost:
        """What it costs whatever the way out."""
        if node not in self._nodes:
            ways = self.blocks.ways(node)
            self._nodes[node] = Cost(min(way.fewest for way in ways), min(way.most for way in ways))
        return self._nodes[node]

    def edge(self, node: Node, i: int) -> Cost:
        """And what more this way."""
        if (node, i) not in self._edges:
            cost, least = self.blocks.ways(node)[i], self.node(node)
            self._edges[node, i] = Cost(cost.fewest - least.fewest, cost.most - least.most)
        return self._edges[node, i]


def time_of(analysis: Analysis, costs: Costs, helpers: Mapping[int, tuple[str, int]], tables: Mapping[int, TableSize] | None = None,
            line_map: list | None = None, buffers: Mapping[int, TableSize] | None = None, longest: int = MAX_PACKET) -> Time:
    """The bounds on one run of an accepted container; see Weights. Raises CostError."""
    weights = Weights(analysis, costs, helpers, tables, buffers, longest)
    heavy = heaviest(analysis.graph, analysis.bounds, analysis.live, lambda n: weights.node(n).most, lambda n, i: weights.edge(n, i).most, analysis.shared)
    light = lightest(analysis.graph, analysis.live, lambda n: weights.node(n).fewest, lambda n, i: weights.edge(n, i).fewest)
    module = costs.module
    return Time(heavy.weight + module.most, light + module.fewest,
                *steps_of(weights, heavy, line_map))


def steps_of(weights: Weights, path: Path, line_map: list | None) -> tuple[list[Step], frozenset[int]]:
    """A container's part of a path by source line, and its branches' slots."""
    line_of = lines_of(line_map)
    lines: dict[object, list[int]] = {}
    turns = {node: path.turns[node] for node in weights.analysis.graph.nodes if node in path.turns}

    def add(slot: int, cycles: int, times: int, insns: int) -> None:
        row = lines.setdefault(line_of(slot), [0, 0])
        row[0] += times * cycles
        row[1] += insns

    for node, times in sorted(turns.items(), key=lambda item: item[0].order):
        entered, (last, insn) = weights.blocks.entered(node), node.last
        parts = dict(entered[min(entered)].parts)
        for slot, _ in node.code[:len(node.code) - insn.is_branch]:
            add(slot, parts[slot].most - path.less.get((node, slot), 0) if slot in parts else 0, times, times)
        add(last, weights.node(node).most - sum(cost.most for cost in parts.values()), times, 0)
        for i in range(len(node.succs)):
            if (node, i) in path.edges:
                add(last, weights.edge(node, i).most, path.edges[node, i], path.edges[node, i] * insn.is_branch)
    return [Step(line, cycles, insns) for line, (cycles, insns) in lines.items()], frozenset(
        node.last[0] for node in turns if node.last[1].is_branch)
