"""A result is made where it is returned, not in front of the test that decides whether it is.

LLVM puts `w0 = reason` before `if C goto exit`, since then both ways share the exit: every packet that goes on executes a constant for
those that do not. Here the branch goes to the constant and an exit of its own, which all branches with that constant share.
"""
from __future__ import annotations

from dataclasses import dataclass, replace

from ..isa import ALU, ALU64, ALU_OPS, EXIT, JA, K, Instruction
from .copies import moves
from .flow import live_out, liveness, neighbours
from .placement import INVERSE, inverted
from .rewrite import Line, Ways, reads_writes, runs_in, sweep, targets_of

MOV = ALU_OPS["MOV"]
CONSTANT = ALU | K | MOV, ALU64 | K | MOV


@dataclass
class Result:
    """A constant in r0 that some ways return and others do not need."""

    line: Line
    jumps: list[Line]           #: to an exit
    exits: list[Line]           #: reached from the instruction before them


def sink_results(code: list[Line]) -> bool:
    """Such constants are made where they are returned; no way executes more than before."""
    made = [i for i, line in enumerate(code) if makes_result(line)]
    if not made:
        return False
    live, (following, before) = liveness(code)[0], neighbours(code)
    found = [result for i in made if (result := returned(code, i, live, following, before)) is not None]
    move(code, found)
    sweep(code)                                 # a jump to where a constant was made leads to what is behind it
    return share_results(code) or bool(found)


def makes_result(line: Line) -> bool:
    insn = line.insn
    return insn.op in CONSTANT and insn.dst == 0


def returned(code: list[Line], at: int, live: list[int], following: list[list[int]], before: list[list[int]]) -> Result | None:
    """Where the constant of instruction `at` is returned. None if it is read otherwise, meets another value, or is needed on all ways."""
    result, spared, seen, todo = Result(code[at], [], []), False, set(), [at + 1]
    while todo:
        i = todo.pop()
        if i in seen or not live[i] & 1:
            spared = spared or i not in seen
            continue
        seen.add(i)
        line = code[i]
        if line.insn.is_exit:
            result.exits.append(line)
        elif reads_writes(line.insn)[0] & 1:
            return None
        elif line.target is not None and line.target.insn.is_exit:
            result.jumps.append(line)
            todo += [i + 1] if line.insn.is_branch else []
        else:
            todo += following[i]
    alone = 0 not in seen and all(set(before[i]) <= seen | {at} for i in seen if not code[i].insn.is_exit)
    return result if spared and alone else None


def move(code: list[Line], results: list[Result]) -> None:
    made = {line: result.line for result in results for line in result.exits}
    out: list[Line] = []
    for line in code:
        if line in made:                        # jumps go to the exit itself, behind it
            out.append(copied(made[line]))
        out.append(line)
    for result in results:
        result.line.dead = True
        own = copied(result.line)
        out += [own, Line(Instruction(EXIT), None, own.source)]
        for jump in result.jumps:
            jump.target = own
    code[:] = out


def copied(line: Line) -> Line:
    return Line(line.insn, None, line.source)


def share_results(code: list[Line]) -> bool:
    """Jumps to a constant and an exit go to one such pair for each constant: best to one that is reached without a jump, too."""
    code = [line for line in code if not line.dead]
    pairs = [(line, before.insn.ends_block) for before, line, after in zip(code, code[1:], code[2:])
             if makes_result(line) and after.insn.is_exit]
    best: dict[Instruction, Line] = {}
    for line, _ in sorted(pairs, key=lambda pair: pair[1]):
        best.setdefault(line.insn, line)
    shared, changed = {line: best[line.insn] for line, _ in pairs if line is not best[line.insn]}, False
    for line in code:
        if line.target in shared:
            line.target, changed = shared[line.target], True
    return skip_results(code, shared) or changed


def skip_results(code: list[Line], shared: dict[Line, Line]) -> bool:
    """`if C goto A; w0 = reason; exit` jumps to such a pair elsewhere if not C, and A stands behind it, where nothing else leads there."""
    ways, changed = Ways(code), False
    for i, (branch, line, end) in enumerate(zip(code, code[1:], code[2:])):
        if line not in shared or branch.insn.code not in INVERSE or branch.target not in ways.index or line in ways.to or end in ways.to:
            continue
        to, pair = ways.index[branch.target], ways.index[shared[line]]
        if to == i + 3:
            branch.insn, branch.target = inverted(branch.insn), shared[line]
            line.dead = end.dead = changed = True
        elif to > i and ways.alone(branch) and runs_in(code, pair):
            line.insn, line.target = Instruction(JA), shared[line]          # placement.py lets A follow
            end.dead = changed = True
    return changed


def compare_originals(code: list[Line]) -> bool:
    """`y = x; if y ...` compares x, where y is not read again."""
    copies = [i for i, (line, behind) in enumerate(zip(code, code[1:])) if moves(line.insn) and behind.insn.is_branch]
    if not copies:
        return False
    targets, live, changed = targets_of(code), live_out(code), False
    for i in copies:
        copy, branch = code[i].insn, code[i + 1]
        if branch not in targets and not live[i + 1] >> copy.dst & 1:
            insn = branch.insn
            source = copy.src if insn.uses_reg and insn.src == copy.dst else insn.src
            branch.insn = replace(insn, dst=copy.src if insn.dst == copy.dst else insn.dst, src=source)
            code[i].dead = changed = True
    return changed
