"""Whether the highest bits of a number are these is a test of its bounds: `t = x; t &= 0xf0; if t != 0x40 goto L` is `if x < 0x40 goto L; if x >= 0x50 goto L`.

Of an octet, that is, which is no more than 0xff; and one of the two is no question where the bits are all ones. Late: the passes before know from a mask which
bits a number has.
"""
from __future__ import annotations

from dataclasses import dataclass

from ..isa import ALU_OPS, JMP32, JMP_OPS, K, Instruction, X, signed32
from .flow import live_out
from .known_bits import HALF, facts
from .ranges import is_half, writer
from .rewrite import Line, reads_writes, sweep, targets_of

AND, MOV = ALU_OPS["AND"], ALU_OPS["MOV"]
JEQ, JNE, JGE, JLT = (JMP_OPS[n] for n in ("JEQ", "JNE", "JGE", "JLT"))


@dataclass(frozen=True)
class Masked:
    """`branch` compares the bits `mask` of `reg`, which is copied first or which nobody needs behind; `step` masks them."""

    reg: int
    copy: Line | None
    step: Line
    branch: Line
    behind: Line | None                         # where it goes on, if others jump there, too: no place to jump to is new

    @property
    def number(self) -> int:
        return self.branch.insn.imm & HALF

    @property
    def equal(self) -> bool:
        return self.branch.insn.code == JEQ

    def tests(self, possible: int) -> list[Line] | None:
        """The same by its bounds, where that is less; None if it is not. `possible`: the bits that `reg` may have."""
        mask = self.step.insn.imm & HALF
        unit = mask & -mask
        if not unit or possible & ~mask & ~(unit - 1) or self.number & ~mask:
            return None
        least, behind = self.number, self.number + unit
        two = bool(least) and behind <= possible
        if two and (self.copy is None or self.equal and self.behind is None):
            return None
        out = []
        if two:
            out.append(self.test(JLT, least, self.behind if self.equal else self.branch.target))
        out.append(self.test(*(((JGE, least) if behind > possible else (JLT, behind)) if self.equal else
                               ((JLT, least) if behind > possible else (JGE, behind))), self.branch.target))
        return out

    def test(self, code: int, number: int, target: Line | None) -> Line:
        return Line(Instruction(JMP32 | code, self.reg, imm=signed32(number)), target, self.branch.source)


def masked_tests(code: list[Line]) -> dict[Line, Masked]:
    """By the instruction that masks: where the number is still known."""
    targets, after = targets_of(code), live_out(code)
    out: dict[Line, Masked] = {}
    for i, branch in enumerate(code[:-1]):
        insn = branch.insn
        if not insn.is_branch or insn.uses_reg or insn.code not in (JEQ, JNE) or insn.imm < 0 or after[i] >> insn.dst & 1 or branch in targets:
            continue
        step = writer(code, i, insn.dst, targets)
        if step is None or not is_half(code[step].insn, AND, K):
            continue
        at = writer(code, step, insn.dst, targets) if code[step] not in targets else None
        behind = code[i + 1] if code[i + 1] in targets else None
        of = code[at].insn.src if at is not None and is_half(code[at].insn, MOV, X) else None
        if at is not None and of is not None and not any(reads_writes(line.insn)[1] >> of & 1 for line in code[at:i]):
            out[code[step]] = Masked(of, code[at], code[step], branch, behind)
        else:
            out[code[step]] = Masked(insn.dst, None, code[step], branch, behind)
    return out


def compare_bounds(code: list[Line]) -> None:
    found, instead = masked_tests(code), {}
    for line, known in facts(code) if found else ():
        if line in found:
            bits, value = known.registers[found[line].reg]
            tests = found[line].tests((value | ~bits) & HALF)
            if tests is not None:
                instead[found[line].branch] = tests
                line.dead = found[line].branch.dead = True
                if found[line].copy is not None:
                    found[line].copy.dead = True
    if instead:
        code[:] = [each for line in code for each in (*instead.get(line, ()), line)]
        sweep(code)
