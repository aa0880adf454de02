"""Tests whose answer is known: of a constant, or of what the same test has said before.

The back end makes a branch of every choice of a value. Two values that are chosen by one condition are two branches upon it, one behind the
other; the second is not there for who has taken the first.
"""
from __future__ import annotations

from .isa import ALU_OPS, JA, JMP32, JMP_OPS, Instruction
from .rewrite import Line, forward, neighbours, reads_writes, sweep

MOV = ALU_OPS["MOV"]
JEQ, JNE, JSET = (JMP_OPS[n] for n in ("JEQ", "JNE", "JSET"))
#: Of two tests that are each other's opposite one is written as the other.
OPPOSITE = {JMP_OPS[a]: JMP_OPS[b] for a, b in (("JNE", "JEQ"), ("JLE", "JGT"), ("JLT", "JGE"), ("JSLE", "JSGT"), ("JSLT", "JSGE"))}
Test = tuple[int, int, int, int | None, int]    # class, operation, register, other register, constant
#: (registers named, what is known): the answer to a test, or the lower half of a register.
Fact = tuple[int, Test | int, int | bool]


def decide_branches(code: list[Line]) -> list[Line]:
    """Branches whose answer is known are left out, or are jumps; those to them go on to where they lead from there. The code without what is not
    reached any more."""
    while decide(code):
        code = sweep(code)
    return sweep(code)


def decide(code: list[Line]) -> bool:
    """Whether jumps lead elsewhere now: behind them more is known then."""
    facts, index = forward(code, behind), {line: i for i, line in enumerate(code)}
    beyond: list[tuple[Line, Line]] = []        # a jump, and where it leads in the end
    for line, before in zip(code, facts):
        if before is None:
            continue
        answer = answered(line.insn, before) if line.insn.is_branch else None
        if answer is not None:
            line.dead = not answer
            line.insn = Instruction(JA) if answer else line.insn
        elif line.target is not None and line.target.insn.is_branch:
            test = line.target
            answer = answered(test.insn, behind(line, before, True))
            if answer is not None:
                beyond.append((line, test.target if answer else code[index[test] + 1]))
    circles = in_circles(code) if beyond else []
    led = [(line, to) for line, to in beyond if circles[index[line.target]] != circles[index[to]]]      # else the loop would have a second entry
    for line, to in led:
        line.target = to
    return bool(led)


def in_circles(code: list[Line]) -> list[int]:
    """For each instruction a number that those share which lead to each other."""
    following, before = neighbours(code)
    ended: list[int] = []                       # each behind all that only it leads to
    seen = [False] * len(code)
    for start in range(len(code)):
        todo = [(start, False)]
        while todo:
            i, done = todo.pop()
            if done:
                ended.append(i)
            elif not seen[i]:
                seen[i] = True
                todo += [(i, True), *((j, False) for j in following[i])]
    circle = [-1] * len(code)
    for start in reversed(ended):
        todo = [start]
        while todo:
            i = todo.pop()
            if circle[i] < 0:
                circle[i] = start
                todo += before[i]
    return circle


def behind(line: Line, facts: frozenset[Fact], jumps: bool) -> frozenset[Fact]:
    """What is known where an instruction leads."""
    insn = line.insn
    if not insn.is_branch:
        return unchanged(insn, facts)
    registers, test, answer = asked(insn, jumps)
    new: list[Fact] = [(registers, test, answer)]
    if test[1] == JEQ and answer and not insn.uses_reg:
        new.append((1 << insn.dst, insn.dst, insn.imm & 0xFFFFFFFF))
    return facts.union(new)


def asked(insn: Instruction, answer: bool) -> tuple[int, Test, bool]:
    """A branch's registers, its test, and the answer as that test has it."""
    code = OPPOSITE.get(insn.code, insn.code)
    registers = 1 << insn.dst | (1 << insn.src if insn.uses_reg else 0)
    return registers, (insn.cls, code, insn.dst, insn.src if insn.uses_reg else None, insn.imm), answer == (code == insn.code)


def unchanged(insn: Instruction, facts: frozenset[Fact]) -> frozenset[Fact]:
    writes = reads_writes(insn)[1]
    if writes:
        facts = frozenset(fact for fact in facts if not writes & fact[0])
    if insn.is_alu and insn.code == MOV and not insn.uses_reg:
        facts = facts.union([(1 << insn.dst, insn.dst, insn.imm & 0xFFFFFFFF)])
    return facts


def answered(insn: Instruction, facts: frozenset[Fact]) -> bool | None:
    """Whether a branch jumps, where that is known."""
    _, test, same = asked(insn, True)
    for _, what, value in facts:
        if what == test:
            return value == same
        if what == insn.dst and insn.cls == JMP32 and not insn.uses_reg:
            return compared(insn.code, value, insn.imm & 0xFFFFFFFF)
    return None


def compared(code: int, x: int, y: int) -> bool:
    """The answer of a 32-bit test of two constants."""
    if code in SIGNED:
        x, y = x ^ 1 << 31, y ^ 1 << 31
    return COMPARE[code](x, y)


SIGNED = {JMP_OPS[n] for n in ("JSGT", "JSGE", "JSLT", "JSLE")}
COMPARE = {JEQ: int.__eq__, JNE: int.__ne__, JSET: lambda x, y: x & y != 0,
           **{JMP_OPS[n]: compare for names, compare in ((("JGT", "JSGT"), int.__gt__), (("JGE", "JSGE"), int.__ge__),
                                                        (("JLT", "JSLT"), int.__lt__), (("JLE", "JSLE"), int.__le__)) for n in names}}
