"""A set of numbers up to 63 is no number of 64 bits: `t = 1; t <<= x; t &= m; if t != 0 goto A` compares x with the numbers in m.

So LLVM asks whether x is one of several numbers. A 32-bit core calls a function for the shift, whose time nobody knows; of numbers below 32
the test has 32 bits and stays as it is.
"""
from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from .flow import liveness
from .isa import ALU, ALU64, ALU_OPS, JA, JMP, JMP32, JMP_OPS, K, X, Instruction
from .rewrite import Line, reads_writes, targets_of

AND, MOV, LSH = (ALU_OPS[n] for n in ("AND", "MOV", "LSH"))
JEQ, JNE, JGT, JLT, JLE = (JMP_OPS[n] for n in ("JEQ", "JNE", "JGT", "JLT", "JLE"))
MOST, ALL = 63, (1 << 64) - 1
NEAR = 8                                        # instructions before the shift, among which is what says that x is small


@dataclass
class Test:
    """From instruction `first` to the jump `last`: whether a number is in a set."""

    first: int
    last: int
    numbers: int                                # its bits
    if_in: bool


def wide_tests(code: list[Line]) -> bool:
    if not any(line.insn.op == ALU64 | X | LSH for line in code):
        return False
    targets, (before, live) = targets_of(code), liveness(code)
    made: dict[int, list[Line]] = {}            # behind which instruction
    for i in range(len(code) - 1):
        one, shift = code[i].insn, code[i + 1].insn
        if not (one.is_alu and one.op in (ALU | K | MOV, ALU64 | K | MOV) and one.imm == 1 and shift.op == ALU64 | X | LSH and shift.dst == one.dst != shift.src) \
                or code[i + 1] in targets or (most := bound(code, i, shift.src, targets)) is None:
            continue
        tests = found(code, i + 2, one.dst, live, targets)
        if not tests or live[tests[-1].last] >> one.dst & 1 or any(before[code.index(code[test.last].target)] >> one.dst & 1 for test in tests[:-1]):
            continue
        for test in tests:
            made[test.last] = comparisons(test, code, shift.src, most)
        for line in code[i:tests[-1].last + 1]:
            line.dead = True
    if made:
        code[:] = [new for i, line in enumerate(code) for new in (line, *made.get(i, ()))]
    return bool(made)


def bound(code: list[Line], i: int, x: int, targets: set[Line]) -> int | None:
    """The most that x is, where that is below 64 and said shortly before."""
    for at in range(i - 1, max(i - NEAR, 0) - 1, -1):
        insn = code[at].insn
        if code[at + 1] in targets:
            return None
        if insn.op == JMP32 | K | JGT and insn.dst == x and 0 <= insn.imm <= MOST:
            return insn.imm
        if insn.op in (ALU | K | AND, ALU64 | K | AND) and insn.dst == x and 0 <= insn.imm <= MOST:
            return insn.imm
        if insn.ends_block and not insn.is_branch or reads_writes(insn)[1] >> x & 1:
            return None
    return None


def found(code: list[Line], at: int, bit: int, live: list[int], targets: set[Line]) -> list[Test]:
    """The tests of the bit from here on, one behind the other."""
    tests: list[Test] = []
    while at < len(code) - 1 and (test := tested(code, at, bit, targets)) is not None:
        spoilt = {code[k].insn.dst for k in range(at, test.last)} - {bit}
        if any(live[test.last] >> reg & 1 for reg in spoilt):
            break
        tests.append(test)
        at = test.last + 1
        if code[test.last].insn.dst == bit:     # it is gone
            break
    return tests


def tested(code: list[Line], at: int, bit: int, targets: set[Line]) -> Test | None:
    """`[m = ... ll] [t = bit] t &= m; if t ... 0 goto`, the first two in any order."""
    first, temp, mask = at, bit, None
    while at < len(code) - 1 and code[at] not in targets:
        insn = code[at].insn
        if insn.is_lddw and mask is None and insn.dst not in (bit, temp) and insn.src == 0:
            mask = insn.dst, insn.imm & ALL
        elif insn.op == ALU64 | X | MOV and insn.src == bit and insn.off == 0 and temp == bit:
            temp = insn.dst
        elif insn.op == ALU64 | X | AND and insn.dst == temp and mask is not None and insn.src == mask[0] != temp:
            return ended(code, first, at + 1, temp, mask[1], targets)
        elif insn.op == ALU64 | K | AND and insn.dst == temp:
            return ended(code, first, at + 1, temp, insn.imm & ALL, targets)
        else:
            return None
        at += 1
    return None


def ended(code: list[Line], first: int, at: int, temp: int, numbers: int, targets: set[Line]) -> Test | None:
    insn = code[at].insn
    if code[at] in targets or at + 1 >= len(code) or insn.op not in (JMP | K | JEQ, JMP | K | JNE) or insn.dst != temp or insn.imm != 0:
        return None
    return Test(first, at, numbers, insn.code == JNE)


def comparisons(test: Test, code: list[Line], x: int, most: int) -> list[Line]:
    jump, behind = code[test.last], code[test.last + 1]
    among, others = (jump.target, behind) if test.if_in else (behind, jump.target)
    numbers = [n for n in range(most + 1) if test.numbers >> n & 1]
    rest = [n for n in range(most + 1) if not test.numbers >> n & 1]
    if len(runs(rest)) < len(runs(numbers)):
        numbers, among, others = rest, others, among
    out: list[Line] = []

    def jump_if(code: int, n: int, to: Line) -> None:
        out.append(Line(Instruction(JMP32 | K | code, x, 0, 0, n), to, jump.source))
    for low, high in runs(numbers):
        if low == high:
            jump_if(JEQ, low, among)
        else:
            if low:
                jump_if(JLT, low, others)
            jump_if(JLE, high, among)
    if others is not behind:
        out.append(Line(Instruction(JMP | JA, 0, 0, 0, 0), others, jump.source))
    return out


def runs(numbers: list[int]) -> list[tuple[int, int]]:
    """(first, last) of what follows without a gap."""
    ends = [(None, numbers[0]), *((a, b) for a, b in pairwise(numbers) if b > a + 1), (numbers[-1], None)] if numbers else []
    return [(one[1], other[0]) for one, other in pairwise(ends)]
