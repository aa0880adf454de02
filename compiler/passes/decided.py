"""Tests whose answer is known: of a constant, or of what the same test has said before.

The back end makes a branch of every choice of a value. Two values that are chosen by one condition are two branches upon it, one behind the
other; the second is not there for who has taken the first.
"""
from __future__ import annotations

from ..isa import ALU_OPS, JA, JMP32, JMP_OPS, REGISTERS, Instruction
from .flow import Facts, Step, forward, in_circles
from .rewrite import Line, reads_writes, sweep

MOV = ALU_OPS["MOV"]
JEQ, JNE, JSET = (JMP_OPS[n] for n in ("JEQ", "JNE", "JSET"))
#: Of two tests that are each other's opposite one is written as the other.
OPPOSITE = {JMP_OPS[a]: JMP_OPS[b] for a, b in (("JNE", "JEQ"), ("JLE", "JGT"), ("JLT", "JGE"), ("JSLE", "JSGT"), ("JSLT", "JSGE"))}
Test = tuple[int, int, int, int | None, int]    # class, operation, register, other register, constant


def decide_branches(code: list[Line]) -> bool:
    """Branches whose answer is known are left out, or are jumps; those to them go on to where they lead from there."""
    changed = False
    while True:
        decided, led = decide(code)
        changed = changed or decided or led
        if not led:
            return changed
        sweep(code)


def decide(code: list[Line]) -> tuple[bool, bool]:
    """Whether the answer of a branch is known, and whether a jump leads elsewhere now: behind those more is known then."""
    known, index, decided = Known(code), {line: i for i, line in enumerate(code)}, False
    beyond: list[tuple[Line, Line]] = []        # a jump, and where it leads in the end
    steps = [known.step(line.insn) for line in code]
    for line, before, step in zip(code, forward(code, steps, known.behind), steps):
        if before is None or line.target is None:
            continue
        answer = known.answer(line.insn, before) if line.insn.is_branch else None
        if answer is not None:
            line.dead, decided = not answer, True
            line.insn = Instruction(JA) if answer else line.insn
        elif line.target.insn.is_branch:
            test = line.target
            answer = known.answer(test.insn, known.behind(line.insn, before, True) if step is None else before)
            if answer is not None:
                beyond.append((line, test.target if answer else code[index[test] + 1]))
    circles = in_circles(code) if beyond else []
    led = [(line, to) for line, to in beyond if circles[index[line.target]] != circles[index[to]]]      # else the loop would have a second entry
    for line, to in led:
        line.target = to
    return decided, bool(led)


class Known:
    """Answers to tests, and the lower halves of registers: a bit for each."""

    def __init__(self, code: list[Line]) -> None:
        self.bits: dict[tuple[Test, bool] | tuple[int, int], Facts] = {}
        self.about = [0] * REGISTERS                        # of each register what names it
        self.constants = [0] * REGISTERS                    # and what says its value
        self.values: dict[Facts, int] = {}
        for line in code:
            insn = line.insn
            if insn.is_branch:
                test, _ = asked(insn)
                for answer in (True, False):
                    self.add((test, answer), insn.dst, test[3])
            if (constant := compared_with(insn) if insn.is_branch else made(insn)) is not None:
                self.values[self.add((insn.dst, constant), insn.dst)] = constant
                self.constants[insn.dst] |= self.bits[insn.dst, constant]

    def add(self, fact: tuple, *registers: int | None) -> Facts:
        bit = self.bits.setdefault(fact, 1 << len(self.bits))
        for reg in registers:
            if reg is not None:
                self.about[reg] |= bit
        return bit

    def step(self, insn: Instruction) -> Step | None:
        """None of a branch: what is known depends on where it leads."""
        if insn.is_branch:
            return None
        writes, gone = reads_writes(insn)[1], 0
        if writes:
            for reg in range(REGISTERS):
                if writes >> reg & 1:
                    gone |= self.about[reg]
        constant = made(insn)
        return ~gone, self.bits[insn.dst, constant] if constant is not None else 0

    def behind(self, branch: Instruction, facts: Facts, jumps: bool) -> Facts:
        """What is known where a branch leads."""
        test, same = asked(branch)
        facts |= self.bits[test, jumps == same]
        if test[1] == JEQ and jumps == same and not branch.uses_reg:
            facts |= self.bits[branch.dst, branch.imm & 0xFFFFFFFF]
        return facts

    def answer(self, insn: Instruction, facts: Facts) -> bool | None:
        """Whether a branch jumps, where that is known."""
        test, same = asked(insn)
        for answer in (True, False):
            if facts & self.bits[test, answer]:
                return answer == same
        constant = facts & self.constants[insn.dst]
        if constant and insn.cls == JMP32 and not insn.uses_reg:
            return compared(insn.code, self.values[constant & -constant], insn.imm & 0xFFFFFFFF)
        return None


def asked(insn: Instruction) -> tuple[Test, bool]:
    """A branch's test, and its answer where the branch jumps."""
    code = OPPOSITE.get(insn.code, insn.code)
    return (insn.cls, code, insn.dst, insn.src if insn.uses_reg else None, insn.imm), code == insn.code


def made(insn: Instruction) -> int | None:
    """The constant that an instruction puts into its register's lower half."""
    return insn.imm & 0xFFFFFFFF if insn.is_alu and insn.code == MOV and not insn.uses_reg else None


def compared_with(insn: Instruction) -> int | None:
    """The constant that a branch tests for equality."""
    return insn.imm & 0xFFFFFFFF if insn.code in (JEQ, JNE) and not insn.uses_reg else None


def compared(code: int, x: int, y: int) -> bool:
    """The answer of a 32-bit test of two constants."""
    if code in SIGNED:
        x, y = x ^ 1 << 31, y ^ 1 << 31
    return COMPARE[code](x, y)


SIGNED = {JMP_OPS[n] for n in ("JSGT", "JSGE", "JSLT", "JSLE")}
COMPARE = {JEQ: int.__eq__, JNE: int.__ne__, JSET: lambda x, y: x & y != 0,
           **{JMP_OPS[n]: compare for names, compare in ((("JGT", "JSGT"), int.__gt__), (("JGE", "JSGE"), int.__ge__),
                                                        (("JLT", "JSLT"), int.__lt__), (("JLE", "JSLE"), int.__le__)) for n in names}}
