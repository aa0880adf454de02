"""A result is made where it is returned, not in front of the test that decides whether it is.

LLVM puts `w0 = reason` before `if C goto exit`, since then both ways share the exit: every packet that goes on executes a constant for
those that do not. Here the branch goes to the constant and an exit of its own, which all branches with that constant share.
"""
from __future__ import annotations

from dataclasses import dataclass, replace

from .isa import ALU64, ALU_OPS, EXIT, Instruction
from .rewrite import Line, live_out, liveness, neighbours, reads_writes

MOV = ALU_OPS["MOV"]


@dataclass
class Result:
    """A constant in r0 that some ways return and others do not need."""

    line: Line
    jumps: list[Line]           #: to an exit
    exits: list[Line]           #: reached from the instruction before them


def sink_results(code: list[Line]) -> list[Line]:
    """The code with such constants where they are returned; no way executes more than before."""
    found, live = [], liveness(code)[0]
    following, before = neighbours(code)
    for i, line in enumerate(code):
        if makes_result(line):
            result = returned(code, i, live, following, before)
            if result is not None:
                found.append(result)
    return moved(code, found)


def makes_result(line: Line) -> bool:
    insn = line.insn
    return insn.is_alu and insn.code == MOV and not insn.uses_reg and insn.dst == 0


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
    alone = all(set(before[i]) <= seen | {at} for i in seen if not code[i].insn.is_exit)
    return result if spared and alone else None


def moved(code: list[Line], results: list[Result]) -> list[Line]:
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
    share_results([line for line in out if not line.dead])
    return out


def copied(line: Line) -> Line:
    return Line(line.insn, None, line.source)


def share_results(code: list[Line]) -> None:
    """Jumps to a constant and an exit go to one such pair for each constant: best to one that is reached without a jump, too."""
    pairs = [(line, before.insn.ends_block) for before, line, after in zip(code, code[1:], code[2:])
             if makes_result(line) and after.insn.is_exit]
    best: dict[Instruction, Line] = {}
    for line, _ in sorted(pairs, key=lambda pair: pair[1]):
        best.setdefault(line.insn, line)
    shared = {line: best[line.insn] for line, _ in pairs}
    for line in code:
        if line.target is not None:
            line.target = shared.get(line.target, line.target)


def compare_originals(code: list[Line]) -> None:
    """`y = x; if y ...` compares x, where y is not read again."""
    targets = {line.target for line in code if line.target is not None}
    for line, branch, live in zip(code, code[1:], live_out(code)[1:]):
        copy, insn = line.insn, branch.insn
        if copy.is_alu and copy.cls == ALU64 and copy.code == MOV and copy.uses_reg and copy.off == 0 and insn.is_branch \
                and branch not in targets and not live >> copy.dst & 1:
            source = copy.src if insn.uses_reg and insn.src == copy.dst else insn.src
            branch.insn = replace(insn, dst=copy.src if insn.dst == copy.dst else insn.dst, src=source)
            line.dead = True
