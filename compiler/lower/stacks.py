"""How full a parser's stacks are: known where a state is lowered, or counted while the parser runs.

A state has blocks of its own for each number of elements that its stacks may have, so that every element has a constant place. Several stacks
that one circle of states fills multiply those blocks. Where they would be too many, the longest stacks are counted: how many elements they have is
in a variable between states, and a state that names `next` or `last` of such a stack begins with a branch for each number.
"""
from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import prod

import llvmlite.ir as ir

from lpn.compiler.bits import I32, i32
from lpn.lang import ast
from lpn.lang.instances import walk

from .circles import reachable
from .unroll import fills_stack
from .ways import Way

MOST_COPIES = 64                                # of a parser's states, for how full stacks are
MOST_OF_SEVERAL = 8                             # where code is to be short, and copies multiply
Full = tuple[tuple[str, int], ...]              # so many elements in the stack of that name; none in others


def counted_stacks(parser: ast.Parser, small: bool) -> frozenset[ast.StructField]:
    """Those whose elements are counted: as few as do, the longest first. `small`: code is to be short."""
    stacks = {f for state in parser.states for f in named(state)}
    most = MOST_OF_SEVERAL if small and len(stacks) > 1 else MOST_COPIES
    counted: set[ast.StructField] = set()
    for stack in sorted(stacks, key=lambda f: (-f.type.size, f.name)):
        if few_copies(parser, counted, most):
            break
        counted.add(stack)
    return frozenset(counted)


def named(node: ast.Node) -> set[ast.StructField]:
    """The stacks whose `next`, `last` or `lastIndex` is named in it."""
    return {n.base.decl for n in walk(node) if isinstance(n, ast.Member) and n.decl in ("next", "last", "lastIndex")}


def ahead(states: list[ast.State]) -> dict[ast.State, set[ast.StructField]]:
    """The stacks that a state or one after it names."""
    own = {state: named(state) for state in states}
    return {state: {f for one in reachable(state) for f in own[one]} | own[state] if any(own.values()) else set() for state in states}


def few_copies(parser: ast.Parser, counted: set[ast.StructField], most: int) -> bool:
    """Whether the states are lowered no more than so many times: for each number of elements that stacks have which are not counted, and of those that are and
    that the state names."""
    sizes = {f.name: f.type.size for state in parser.states for f in named(state) if f not in counted}
    relevant = {state: {f.name for f in stacks} & sizes.keys() for state, stacks in ahead(parser.states).items()}
    takes = {state: taken(state.statements) for state in parser.states}
    start = next(s for s in parser.states if s.name == "start")
    copies = {state: prod(f.type.size + 1 for f in named(state) & counted) for state in parser.states}
    first: tuple[ast.State, Full] = (start, ())
    seen, todo, all_copies = {first}, [first], copies[start]
    while todo:
        state, full = todo.pop()
        for case in state.transition.cases if state.transition is not None else ():
            for more in takes[state] if case.state is not None else ():
                after = Counter(dict(full)) + Counter(dict(more))
                if any(n > sizes[name] for name, n in after.items() if name in sizes):
                    continue
                next_one = case.state, tuple(sorted((name, n) for name, n in after.items() if name in relevant[case.state]))
                if next_one not in seen:
                    seen.add(next_one)
                    todo.append(next_one)
                    all_copies += copies[case.state]
                    if all_copies > most:
                        return False
    return True


def taken(statements: list[ast.Stmt]) -> set[Full]:
    """How many elements of which stacks the ways through statements take."""
    found: set[Full] = {()}
    for s in statements:
        found = {tuple(sorted((Counter(dict(one)) + Counter(dict(more))).items())) for one in found for more in taken_by(s)}
    return found


def taken_by(s: ast.Stmt) -> set[Full]:
    if isinstance(s, ast.Block):
        return taken(s.statements)
    if isinstance(s, ast.If):
        return taken([s.then]) | (taken([s.otherwise]) if s.otherwise is not None else {()})
    if isinstance(s, ast.Switch):
        return {()}.union(*(taken([block]) for _, block in s.cases if block is not None))
    if isinstance(s, ast.For) and fills_stack(s):
        return taken([s.body] * (int(s.high.const) - int(s.low.const)))
    return {tuple(sorted(Counter(takes(s)).items()))}


def takes(s: ast.Node) -> list[str]:
    """The stacks of which elements are extracted in it, by name, one for each."""
    return [n.args[0].base.decl.name for n in walk(s)
            if isinstance(n, ast.Call) and n.target == "extract" and isinstance(n.args[0], ast.Member) and n.args[0].decl == "next"]


class Stacks:
    """Mixed into `Lowering`. `counted`: the stacks that are counted, and the variables that do it."""

    counted: dict[ast.StructField, ir.Value]

    def count_stacks(self, stacks: frozenset[ast.StructField]) -> None:
        """When a parser begins."""
        self.counted = {f: self.alloca(I32, f"{f.name}.taken") for f in sorted(stacks, key=lambda f: f.name)}
        for slot in self.counted.values():
            self.b.store(i32(0), slot)

    def one_more(self, stack: ast.StructField) -> None:
        """An element was taken."""
        self.stack_next[stack] = self.stack_next.get(stack, 0) + 1
        if stack in self.counted:
            slot = self.counted[stack]
            self.b.store(self.b.add(self.b.load(slot, typ=I32), i32(1)), slot)

    def told_apart(self, state: ast.State, way: Way) -> list[Way]:
        """A way for each number of elements that the counted stacks have which the state names."""
        here = named(state)
        numbers = {f: self.steady_count(slot) for f, slot in self.counted.items() if f in here}
        ways = [way]
        for f, n in numbers.items():
            ways = [told for one in ways for told in self.halved(one, f, n, 0, f.type.size)]
        return ways

    def halved(self, way: Way, f: ast.StructField, n: ir.Value, low: int, high: int) -> list[Way]:
        """One for each number from `low` to `high`."""
        if low == high:
            return [replace(way, stack_next=way.stack_next | {f: low})]
        middle = high if high == f.type.size and low == 0 else (low + high + 1) // 2        # first, whether there is room
        less, more = (self.b.append_basic_block(f"{f.name}.{name}") for name in ("less", "more"))
        self.enter(way)
        self.b.cbranch(self.b.icmp_unsigned("<", n, i32(middle)), less, more)
        return [*self.halved(replace(way, block=less), f, n, low, middle - 1), *self.halved(replace(way, block=more), f, n, middle, high)]

    def steady_count(self, slot: ir.Value) -> ir.Value:
        """What a variable counted so far. Opaque, or LLVM follows a number from state to state and gives a circle of them several entries; and what is counted on
        from is opaque once more, or it is a constant on each way: a verifier sees one variable that grows by one."""
        n = self.opaque(self.b.load(slot, typ=I32), here=True, keeps=True)
        self.b.store(self.opaque(n, here=True, keeps=True), slot)
        return n
