"""Whether a number is one of some that follow each other is one test or two, where LLVM subtracts the first of them: `t = x; t -= a; if t < n goto L`.

None is asked whether it lies beyond an end that it cannot pass: where the bits that a number may have say so, `if x >= a goto L` is the same. And two
numbers are `if x == a goto L; if x == a + 1 goto L`.
"""
from __future__ import annotations

from dataclasses import dataclass

from ..isa import ALU, ALU_OPS, JMP32, JMP_OPS, K, Instruction, X, signed32
from .flow import live_out
from .rewrite import Line, reads_writes, targets_of

ADD, MOV = ALU_OPS["ADD"], ALU_OPS["MOV"]
JEQ, JGT, JGE, JLT, JLE = (JMP_OPS[n] for n in ("JEQ", "JGT", "JGE", "JLT", "JLE"))
HALF = (1 << 32) - 1
FARTHEST = 8                                    # instructions in front of a branch that are looked at


@dataclass(frozen=True)
class Range:
    """A branch that jumps where the number of `reg` is one of `count` from `least` on, or, not `inside`, where it is none of them. It is copied to
    another register first, or nobody needs it behind."""

    reg: int
    least: int
    count: int
    inside: bool
    copy: Line | None
    add: Line
    branch: Line


def range_tests(code: list[Line]) -> dict[Line, Range]:
    """By the instruction that adds: where the number is still known."""
    targets, after = targets_of(code), live_out(code)
    out: dict[Line, Range] = {}
    for i, branch in enumerate(code):
        insn = branch.insn
        if not insn.is_branch or insn.cls != JMP32 or insn.uses_reg or insn.code not in (JGT, JGE, JLT, JLE) or insn.imm < 0 or after[i] >> insn.dst & 1:
            continue
        adds = writer(code, i, insn.dst, targets)
        if adds is None or not is_half(code[adds].insn, ADD, K) or code[adds].insn.imm >= 0:
            continue
        copies = writer(code, adds, insn.dst, targets) if code[adds] not in targets else None
        of = code[copies].insn.src if copies is not None and is_half(code[copies].insn, MOV, X) else None
        if of is not None and any(reads_writes(line.insn)[1] >> of & 1 for line in code[copies:i]):      # type: ignore[misc]
            of = None
        count = insn.imm + (insn.code in (JGT, JLE))
        out[code[adds]] = Range(insn.dst if of is None else of, -code[adds].insn.imm, count, insn.code in (JLT, JLE),
                                code[copies] if of is not None else None, code[adds], branch)           # type: ignore[index]
    return out


def writer(code: list[Line], at: int, reg: int, targets: set[Line]) -> int | None:
    """What makes the register's value on the only way to instruction `at`, and nobody reads it between."""
    for i in range(at - 1, max(at - FARTHEST, 0) - 1, -1):
        if code[i + 1] in targets or code[i].insn.is_jump or code[i].insn.is_exit or code[i].insn.is_call:
            return None
        reads, writes = reads_writes(code[i].insn)
        if writes >> reg & 1:
            return i
        if reads >> reg & 1:
            return None
    return None


def is_half(insn: Instruction, code: int, source: int) -> bool:
    return insn.op == ALU | code | source and not insn.off


def test_ends(found: Range, most: int) -> Line | None:
    """Says it shorter, where that is so. `most`: the greatest number that it may be. A second test, if it is two: it comes in front of the other."""
    last, branch, second = found.least + found.count - 1, found.branch, None
    if most <= last:
        branch.insn = Instruction(JMP32 | (JGT if found.inside else JLE), found.reg, imm=found.least - 1)
    elif found.count == 2 and found.inside and found.copy is not None:
        second = Line(Instruction(JMP32 | JEQ, found.reg, imm=signed32(found.least)), branch.target, branch.source)
        branch.insn = Instruction(JMP32 | JEQ, found.reg, imm=signed32(last))
    else:
        return None
    found.add.dead = True
    if found.copy is not None:
        found.copy.dead = True
    return second
