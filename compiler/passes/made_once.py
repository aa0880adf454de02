"""A place that is one of two, with what depends on it, is made once, for short code.

`x = b; x += 3; S; if C goto T; L: ...; T: x = b; x += 5; S; goto L` is `x = b; x += 5; if C goto N; x += -2; N: S; L: ...`.
"""
from __future__ import annotations

from dataclasses import replace

from ..isa import ALU_OPS, Instruction
from .regions import regions
from .rewrite import Line, Ways, reads_writes, repeated
from .tails import needs_proof

ADD = ALU_OPS["ADD"]
LONGEST = 4                                     # instructions that differ in one number


@repeated
def make_once(code: list[Line]) -> bool:
    ways, reached = Ways(code), None
    for i, branch in ways.lone_branches():
        to = ways.index[branch.target]
        length = length_of(code, to, code[i + 1])
        if branch in ways.to or not length or i < length or abs(to - i) <= length:
            continue
        first, second, back = code[i - length:i], code[to:to + length], code[to + length]
        if any(line in ways.to for line in (*first[1:], *second[1:], back)) or any(line.insn.is_exit or line.insn.is_jump for line in first):
            continue
        at = differ_at(first, second)
        if at is None:
            continue
        insn, other, behind = first[at].insn, second[at].insn, first[at + 1:]
        if not begins_anew(first, second) or not adds_another(insn, other) or asked(branch) & changed(first[at:]):
            continue
        reached = regions(code) if reached is None else reached
        if any(needs_proof(line, reached) for line in behind):
            continue
        less = Line(replace(insn, imm=insn.imm - other.imm), None, first[at].source)
        first[at].insn = other
        branch.target = behind[0] if behind else code[i + 1]
        for line in (*second, back):
            line.dead = True
        code[i - length + at:i + 1] = [first[at], branch, less, *behind]
        return True
    return False


def length_of(code: list[Line], to: int, on: Line) -> int:
    """How many instructions stand there in front of a jump to `on`; 0 if not two to LONGEST of them."""
    for n in range(2, LONGEST + 1):
        if to + n < len(code) and code[to + n].insn.is_goto:
            return n if code[to + n].target is on else 0
    return 0


def differ_at(first: list[Line], second: list[Line]) -> int | None:
    """The one instruction that is not the same in both; None where there are none or several."""
    differ = [n for n, (x, y) in enumerate(zip(first, second)) if x.insn != y.insn]
    return differ[0] if len(differ) == 1 else None


def begins_anew(first: list[Line], second: list[Line]) -> bool:
    """Whether the second leave what they would without the first, which were executed before them: a sum is added to, not made anew."""
    if any(line.insn.is_call or line.insn.is_atomic for line in second) or any(line.insn.is_store for line in first) and any(line.insn.is_load for line in second):
        return False
    return not changed(first) & needed(second)


def adds_another(insn: Instruction, other: Instruction) -> bool:
    """Whether both add a constant to one register, and the difference is a constant of an instruction, too."""
    return insn.is_alu and insn.code == ADD and not insn.uses_reg and replace(insn, imm=other.imm) == other and not abs(other.imm - insn.imm) >> 30


def asked(branch: Line) -> int:
    return reads_writes(branch.insn)[0]


def needed(lines: list[Line]) -> int:
    """The registers that they read as they were before."""
    read = 0
    for line in reversed(lines):
        reads, writes = reads_writes(line.insn)
        read = read & ~writes | reads
    return read


def changed(lines: list[Line]) -> int:
    written = 0
    for line in lines:
        written |= reads_writes(line.insn)[1]
    return written
