"""Short code where a way ends: one comparison with the packet's end for two ways, a result made in front of the branch that returns it.

Both cost an instruction on one way, and are for code that is to be short. What a header says decides where the packet has to go on to: LLVM compares
on both ways, `if C goto T; t = b; t += m; if t > e goto S; ...; T: t = b; t += n; if t > e goto S`. A register that neither way needs takes
the one number or the other, and is compared once. And `if C goto S`, where S is `w0 = n; exit` for this branch alone, is `w0 = n; if C goto E`,
where E is some other `exit`.

That the packet ends too early is asked once where it is asked twice: `if C goto A; S; A: w0 = n; if C goto E; S`, S being `w0 = m; exit`, is
`w0 = n; if C goto E; S`.
"""
from __future__ import annotations

from dataclasses import dataclass, replace

from ..isa import ALU, ALU64, ALU_OPS, JMP, JMP_OPS, Instruction
from .flow import liveness
from .rewrite import Line, Ways, reads_writes, repeated, runs_in

MOV, ADD, REGISTER = ALU_OPS["MOV"], ALU_OPS["ADD"], 8
#: Comparisons of a place with the packet's end: whether the place is the first register, and whether it jumps where the packet is too short.
COMPARISONS = {JMP_OPS["JGT"]: (True, True), JMP_OPS["JLE"]: (True, False), JMP_OPS["JLT"]: (False, True), JMP_OPS["JGE"]: (False, False)}
SPOILED = range(6)                              # registers that nobody expects to be kept


@dataclass(frozen=True)
class Comparison:
    """Three instructions: whether `base` and `octets` more lie behind `end`; where they lead if so, and if not. `at`: the first one's index."""

    at: int
    place: int
    base: int
    octets: int
    end: int
    short: Line
    enough: Line

    def same(self, other: Comparison) -> bool:
        return (self.base, self.end, self.short, self.enough) == (other.base, other.end, other.short, other.enough)


@repeated
def shorten_ends(code: list[Line]) -> bool:
    return compare_once(code) or result_first(code) or ask_once(code)


def comparison(code: list[Line], at: int) -> Comparison | None:
    if at + 3 >= len(code):
        return None
    copy, add, branch = (line.insn for line in code[at:at + 3])
    if not (copy.op == ALU64 | MOV | REGISTER and not copy.off and add.op == ALU64 | ADD and add.dst == copy.dst
            and branch.is_branch and branch.cls == JMP and branch.uses_reg and branch.code in COMPARISONS):
        return None
    first, jumps = COMPARISONS[branch.code]
    place, end = (branch.dst, branch.src) if first else (branch.src, branch.dst)
    target, on = code[at + 2].target, behind(code, at + 3)
    if place != copy.dst or end == place or target is None:
        return None
    return Comparison(at, place, copy.src, add.imm, end, *((target, on) if jumps else (on, target)))


def behind(code: list[Line], at: int) -> Line:
    """Where control goes from there."""
    line = code[at]
    return line.target if line.insn.is_goto and line.target is not None else line


def compare_once(code: list[Line]) -> bool:
    ways = Ways(code)
    before, _ = liveness(code)
    for i, branch in enumerate(code):
        if not branch.insn.is_branch:
            continue
        on, to = comparison(code, i + 1), comparison(code, ways.index[branch.target])
        if on is None or to is None or not on.same(to) or not alone(ways, on, to):
            continue
        needed = before[on.at] | before[to.at] | reads_writes(branch.insn)[0]
        if any(before[ways.index[line]] >> way.place & 1 for way in (on, to) for line in (way.short, way.enough)):
            continue
        free = next((reg for reg in SPOILED if not needed >> reg & 1), None)
        if free is None:
            continue
        number, other, compare = (code[on.at + k] for k in range(3))
        number.insn = Instruction(ALU64 | MOV, free, imm=on.octets)
        other.insn = Instruction(ALU64 | ADD | REGISTER, free, on.base)
        compare.insn = replace(compare.insn, **{"dst" if compare.insn.dst == on.place else "src": free})
        branch.target = other
        for line in code[to.at:to.at + 3]:
            line.dead = True
        in_front(code, i, Line(Instruction(ALU64 | MOV, free, imm=to.octets), None, code[to.at + 1].source))
        return True
    return False


def alone(ways: Ways, on: Comparison, to: Comparison) -> bool:
    """Whether nobody else comes to these comparisons, nor into them: to the first from in front of it, to the second by the branch."""
    apart = all(ways.to[ways.code[way.at + k]] == (way is to and k == 0) for way in (on, to) for k in range(3))
    return apart and to.at > on.at + 2 and not runs_in(ways.code, to.at)


def in_front(code: list[Line], at: int, line: Line) -> None:
    """Puts an instruction in front of another one: who jumps to that jumps to it."""
    old = code[at]
    for each in code:
        if each.target is old:
            each.target = line
    code.insert(at, line)


def result_first(code: list[Line]) -> bool:
    ways = Ways(code)
    before, _ = liveness(code)
    for i, branch in ways.lone_branches():
        at = ways.index[branch.target]
        result, end = code[at], code[at + 1] if at + 1 < len(code) else None
        if end is None or not gives(result) or not end.insn.is_exit or at <= i or (before[i + 1] | reads_writes(branch.insn)[0]) & 1:
            continue
        other = next((line for line in code if line.insn.is_exit and line is not end), None)
        if other is None:
            continue
        branch.target = other
        result.dead = True
        end.dead = not ways.to[end]
        in_front(code, i, Line(result.insn, None, result.source))
        return True
    return False


def ask_once(code: list[Line]) -> bool:
    ways = Ways(code)
    for first, result, end, other, again, same, leaves in zip(*(code[n:] for n in range(7))):
        if first.target is not other or ways.to[other] != 1 or not same_question(first, again) or not again.target.insn.is_exit:
            continue
        if not (gives(result) and end.insn.is_exit and gives(other) and same.insn == result.insn and leaves.insn.is_exit):
            continue
        if reads_writes(first.insn)[0] & 1:     # what is asked of is not there any more
            continue
        at = ways.index[first]
        for line in code:
            if line.target in (first, same):
                line.target = other if line.target is first else result
        code[at:at + 5] = [other, again, result, end]
        same.dead, leaves.dead = True, not ways.to[leaves]
        return True
    return False


def same_question(first: Line, again: Line) -> bool:
    return again.insn.is_branch and replace(again.insn, off=first.insn.off) == first.insn


def gives(line: Line) -> bool:
    """Whether this makes a constant the result."""
    return line.insn.op in (ALU | MOV, ALU64 | MOV) and line.insn.dst == 0
