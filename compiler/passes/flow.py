"""The ways through bytecode: what may come next, what is read later, what is known before, what goes round."""
from __future__ import annotations

from collections.abc import Callable

from ..isa import Instruction
from .rewrite import LEAVING, Line, reads_writes

#: Facts as bits of a number: what is known on two ways is what both numbers have.
Facts = int
#: What an instruction leaves of them, and what it adds.
Step = tuple[Facts, Facts]
ON = None, True                                 # it does not jump


def jumps(code: list[Line]) -> list[tuple[int | None, bool] | None]:
    """Of each instruction where it leads, if it does not just go on: (index of its target, if it has one; whether it may go on, too)."""
    index, out = {line: i for i, line in enumerate(code)}, []
    for line in code:
        target, leaves = line.target, line.insn.op in LEAVING
        out.append(None if target is None and not leaves else (None if target is None else index[target], not leaves))
    return out


def followers(code: list[Line]) -> list[tuple[int, ...]]:
    """For each instruction those that may come next."""
    out, last = [], len(code) - 1
    for i, way in enumerate(jumps(code)):
        if way is None:
            out.append((i + 1,) if i < last else ())
        else:
            to, on = way
            out.append((() if to is None else (to,)) + ((i + 1,) if on and i < last else ()))
    return out


def neighbours(code: list[Line]) -> tuple[list[tuple[int, ...]], list[list[int]]]:
    """For each instruction those that may come next, and those before it."""
    following = followers(code)
    preceding: list[list[int]] = [[] for _ in code]
    for i, to in enumerate(following):
        for j in to:
            preceding[j].append(i)
    return following, preceding


def live_out(code: list[Line]) -> list[int]:
    """For each instruction the registers whose values are read after it."""
    return liveness(code)[1]


def liveness(code: list[Line]) -> tuple[list[int], list[int]]:
    """For each instruction the registers whose values are read from it on, and after it."""
    return backward(code, [reads_writes(line.insn) for line in code])


def backward(code: list[Line], effects: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Of what each instruction reads and writes, as bit sets: what is read from it on, and after it. Once through the code, and again as long as
    a jump back leads to more than was known when it was passed."""
    ways, count = jumps(code), len(code)
    before, after = [0] * count, [0] * count
    back = sorted({way[0] for i, way in enumerate(ways) if way is not None and way[0] is not None and way[0] <= i})
    while True:
        known, live = [before[to] for to in back], 0
        for i, way, (reads, writes) in zip(range(count - 1, -1, -1), reversed(ways), reversed(effects)):
            if way is not None:
                to, on = way
                live = (live if on else 0) | (before[to] if to is not None else 0)
            after[i] = live
            before[i] = live = live & ~writes | reads
        if known == [before[to] for to in back]:
            return before, after


def forward(code: list[Line], steps: list[Step | None], behind: Callable[[Instruction, Facts, bool], Facts], given: Facts = 0) -> list[Facts | None]:
    """What is known before each instruction, on all ways to it; None where there is no way. `steps`: of each instruction what it does to
    what is known, if that is always the same; else `behind(insn, facts, jumps)` is known behind it, where it jumps or where it does not. `given`: known
    before the first one."""
    ways = jumps(code)
    before: list[Facts | None] = [None] * len(code)
    before[0] = given
    todo = [0]
    while todo:
        i = todo.pop()
        while True:                             # straight on, as far as that says something new
            facts, step, (to, on) = before[i], steps[i], ways[i] or ON
            if to is not None:
                after = behind(code[i].insn, facts, True) if step is None else facts & step[0] | step[1]
                met = after if before[to] is None else before[to] & after
                if met != before[to]:
                    before[to] = met
                    todo.append(to)
            if not on:
                break
            after = behind(code[i].insn, facts, False) if step is None else facts & step[0] | step[1]
            i += 1
            met = after if before[i] is None else before[i] & after
            if met == before[i]:
                break
            before[i] = met
    return before


def in_circles(code: list[Line]) -> list[int]:
    """For each instruction a number that those share which lead to each other."""
    ways = jumps(code)
    circle = list(range(len(code)))
    if not any(way is not None and way[0] is not None and way[0] <= i for i, way in enumerate(ways)):
        return circle
    starts = sorted({0, *(i + 1 for i, way in enumerate(ways) if way is not None and i + 1 < len(code)),
                     *(way[0] for way in ways if way is not None and way[0] is not None)})
    block = {start: n for n, start in enumerate(starts)}
    ends = [*starts[1:], len(code)]
    following: list[list[int]] = []
    preceding: list[list[int]] = [[] for _ in starts]
    for n, end in enumerate(ends):
        to, on = ways[end - 1] or (None, True)
        following.append(([] if to is None else [block[to]]) + ([n + 1] if on and end < len(code) else []))
        for m in following[n]:
            preceding[m].append(n)
    for blocks in strong_parts(following, preceding):
        if len(blocks) > 1 or blocks[0] in following[blocks[0]]:
            for n in blocks:
                circle[starts[n]:ends[n]] = [starts[blocks[0]]] * (ends[n] - starts[n])
    return circle


def strong_parts(following: list[list[int]], preceding: list[list[int]]) -> list[list[int]]:
    """The nodes of a graph by parts that lead to each other (Kosaraju and Sharir)."""
    ended: list[int] = []                       # each behind all that only it leads to
    seen = [False] * len(following)
    for start in range(len(following)):
        todo = [(start, False)]
        while todo:
            n, done = todo.pop()
            if done:
                ended.append(n)
            elif not seen[n]:
                seen[n] = True
                todo += [(n, True), *((m, False) for m in following[n])]
    parts: list[list[int]] = []
    left = set(ended)
    for start in reversed(ended):
        todo, part = [start], []
        while todo:
            n = todo.pop()
            if n in left:
                left.remove(n)
                part.append(n)
                todo += preceding[n]
        if part:
            parts.append(part)
    return parts
