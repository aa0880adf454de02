"""A set of numbers up to 63 is no number of 64 bits: `t = 1; t <<= x; t &= m; if t != 0 goto A` compares x with the numbers in m.

So LLVM asks whether x is one of several numbers. A 32-bit core calls a function for the shift, whose time nobody knows; of numbers below 32
the test has 32 bits and stays as it is.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from ..isa import ALU, ALU64, ALU_OPS, JA, JMP, JMP32, JMP_OPS, K, X, Instruction
from .flow import liveness
from .rewrite import Line, reads_writes, targets_of

AND, MOV, LSH = (ALU_OPS[n] for n in ("AND", "MOV", "LSH"))
JEQ, JNE, JGT, JLT, JLE = (JMP_OPS[n] for n in ("JEQ", "JNE", "JGT", "JLT", "JLE"))
MOST, ALL = 63, (1 << 64) - 1
NEAR = 8                                        # instructions before the shift, among which is what says that x is small
MOST_BETWEEN = 4                                # of a test, that belong to something else
MOVES, MASKS = (ALU | X | MOV, ALU64 | X | MOV), (ALU | K | AND, ALU64 | K | AND)


@dataclass
class Test:
    """Up to the jump `last`: whether a number is in a set. What stands between its instructions and is `kept` does not change; the registers `spoilt` hold
    what they make."""

    last: int
    numbers: int                                # its bits
    if_in: bool
    kept: list[Line] = field(default_factory=list)
    spoilt: int = 0


def wide_tests(code: list[Line]) -> bool:
    if not any(line.insn.op == ALU64 | X | LSH for line in code):
        return False
    targets, (before, live) = targets_of(code), liveness(code)
    made: dict[int, list[Line]] = {}            # behind which instruction
    for i in range(len(code) - 1):
        one, shift = code[i].insn, code[i + 1].insn
        if not (one.op in (ALU | K | MOV, ALU64 | K | MOV) and one.imm == 1 and shift.op == ALU64 | X | LSH and shift.dst == one.dst != shift.src) \
                or code[i + 1] in targets or (bounded := bound(code, i, shift.src, targets)) is None:
            continue
        x, most = bounded
        tests = found(code, i + 2, one.dst, live, targets)
        if not tests or live[tests[-1].last] >> one.dst & 1 or any(before[code.index(code[test.last].target)] >> one.dst & 1 for test in tests[:-1]):
            continue
        kept = [line for test in tests for line in test.kept]
        if any(reads_writes(line.insn)[1] >> x & 1 for line in kept):
            continue
        for test in tests:
            made[test.last] = comparisons(test, code, x, most)
        for line in code[i:tests[-1].last + 1]:
            line.dead = line not in kept
    if made:
        code[:] = [new for i, line in enumerate(code) for new in (line, *made.get(i, ()))]
    return bool(made)


def bound(code: list[Line], i: int, x: int, targets: set[Line]) -> tuple[int, int] | None:
    """The most that x is, where that is below 64 and said shortly before, and the register that it was said of: x, or one that is the same."""
    for at in range(i - 1, max(i - NEAR, 0) - 1, -1):
        insn = code[at].insn
        if code[at + 1] in targets:
            return None
        if insn.dst == x and (insn.op == JMP32 | K | JGT or insn.op in MASKS) and 0 <= insn.imm <= MOST:
            return x, insn.imm
        if insn.dst == x and insn.op in MASKS and code[at] not in targets and (y := copied(code[at - 1].insn, x)) is not None:
            return bound_of_twin(code, i, at, y, targets)
        if insn.ends_block and not insn.is_branch or reads_writes(insn)[1] >> x & 1:
            return None
    return None


def copied(insn: Instruction, to: int) -> int | None:
    """The register of which it makes a copy there."""
    return insn.src if insn.op in MOVES and insn.off == 0 and insn.dst == to else None


def bound_of_twin(code: list[Line], i: int, mask: int, y: int, targets: set[Line]) -> tuple[int, int] | None:
    """`x = y; x &= m`, up to instruction `mask`: what was said of `z = y; z &= m` before, where z is still there. LLVM compares 32 bits and shifts by 64."""
    m, twin = code[mask].insn.imm, None
    for at in range(mask - 2, max(mask - 2 - NEAR, 0), -1):
        insn = code[at].insn
        if code[at + 1] in targets:
            return None
        if twin is None and insn.op == JMP32 | K | JGT and 0 <= insn.imm <= MOST:
            twin = insn.dst, insn.imm
        elif twin is not None and insn.op in MASKS and (insn.dst, insn.imm) == (twin[0], m) and m >= 0 and code[at] not in targets \
                and copied(code[at - 1].insn, twin[0]) == y:
            written = [reads_writes(line.insn)[1] for line in code[at + 1:i]]
            return twin if not any(w >> twin[0] & 1 for w in written) else None
        elif insn.ends_block and not insn.is_branch or reads_writes(insn)[1] >> y & 1:
            return None
    return None


def found(code: list[Line], at: int, bit: int, live: list[int], targets: set[Line]) -> list[Test]:
    """The tests of the bit from here on, one behind the other."""
    tests: list[Test] = []
    while at < len(code) - 1 and (test := tested(code, at, bit, targets)) is not None:
        if live[test.last] & test.spoilt & ~(1 << bit):
            break
        tests.append(test)
        at = test.last + 1
        if code[test.last].insn.dst == bit:     # it is gone
            break
    return tests


def tested(code: list[Line], at: int, bit: int, targets: set[Line]) -> Test | None:
    """`[m = ... ll] [t = bit] t &= m; if t ... 0 goto`, the first two in any order, and little between them that has to do with none of their registers."""
    temp, mask, test = bit, None, Test(0, -1, False)
    while at < len(code) - 1 and code[at] not in targets:
        insn = code[at].insn
        reads, writes = reads_writes(insn)
        if test.numbers >= 0 and insn.op in (JMP | K | JEQ, JMP | K | JNE) and insn.dst == temp and insn.imm == 0:
            test.last, test.if_in = at, insn.code == JNE
            return test
        if test.numbers < 0 and insn.is_lddw and mask is None and insn.dst not in (bit, temp) and insn.src == 0:
            mask = insn.dst, insn.imm & ALL
            test.spoilt |= writes
        elif test.numbers < 0 and insn.op == ALU64 | X | MOV and insn.src == bit and insn.off == 0 and temp == bit:
            temp = insn.dst
            test.spoilt |= writes
        elif test.numbers < 0 and insn.op == ALU64 | X | AND and insn.dst == temp and mask is not None and insn.src == mask[0] != temp:
            test.numbers = mask[1]
        elif test.numbers < 0 and insn.op == ALU64 | K | AND and insn.dst == temp:
            test.numbers = insn.imm & ALL
        else:
            used = 1 << bit | 1 << temp | (1 << mask[0] if mask is not None and test.numbers < 0 else 0)
            if not (insn.is_alu or insn.is_load) or reads & (test.spoilt | used) or writes & used or len(test.kept) == MOST_BETWEEN:
                return None
            test.kept.append(code[at])
            test.spoilt &= ~writes
        at += 1
    return None


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
