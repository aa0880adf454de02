"""A place that is one of two, with what depends on it, is made once, for short code.

`x = b; x += 3; S; if C goto T; L: ...; T: x = b; x += 5; S; goto L` is `x = b; x += 5; if C goto N; x += -2; N: S; L: ...`.
"""
from __future__ import annotations

from collections import Counter
from dataclasses import replace

from .isa import ALU_OPS, Instruction
from .rewrite import Line, reads_writes, sweep
from .tails import needs_proof

ADD = ALU_OPS["ADD"]
LONGEST = 4                                     # instructions that differ in one number


def make_once(code: list[Line]) -> None:
    while make_one(code):
        sweep(code)


def make_one(code: list[Line]) -> bool:
    ways = Counter(line.target for line in code if line.target is not None)
    index = {line: i for i, line in enumerate(code)}
    for i, branch in enumerate(code):
        if not branch.insn.is_branch or branch in ways or ways[branch.target] != 1:
            continue
        to = index[branch.target]
        length = next((n for n in range(2, LONGEST + 1) if to + n < len(code) and code[to + n].insn.is_goto), 0)
        if not length or i < length or code[to + length].target is not code[i + 1] or not code[to - 1].insn.ends_block or abs(to - i) <= length:
            continue
        first, second = code[i - length:i], code[to:to + length]
        differ = [n for n, (x, y) in enumerate(zip(first, second)) if x.insn != y.insn]
        if len(differ) != 1 or any(line in ways for line in (*first[1:], *second[1:], code[to + length])) or any(line.insn.is_exit or line.target is not None for line in (*first, *second)):
            continue
        [at] = differ
        x, y, behind = first[at].insn, second[at].insn, first[at + 1:]
        between = y.imm - x.imm
        asked, changed = reads_writes(branch.insn)[0], sum({1 << line.insn.dst for line in first[at:] if reads_writes(line.insn)[1]})
        if not adds(x) or replace(x, imm=y.imm) != y or asked & changed or any(needs_proof(line.insn) or line.insn.is_call for line in behind) or abs(between) >> 30:
            continue
        more = Line(replace(x, imm=-between), None, first[at].source)
        first[at].insn = y
        branch.target = behind[0] if behind else code[i + 1]
        for line in (*second, code[to + length]):
            line.dead = True
        code[i - length + at + 1:i + 1] = [branch, more, *behind]
        return True
    return False


def adds(insn: Instruction) -> bool:
    return insn.is_alu and insn.code == ADD and not insn.uses_reg
