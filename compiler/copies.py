"""What reads a copy reads the original, as long as both are the same: then nobody may read the copy.

The register allocator splits a value's life into pieces that have registers of their own, and copies from one to the other.
"""
from __future__ import annotations

from dataclasses import replace

from .isa import ALU64, ALU_OPS, FRAME_POINTER, MODES, STX, Instruction
from .rewrite import Line, clears_upper_half, forward, liveness, reads_writes

ADD, MOV, END, NEG = (ALU_OPS[n] for n in ("ADD", "MOV", "END", "NEG"))
WHOLE = 8
#: (copy, original, octets that are the same), or (register, None, 0): the upper half of the register is zero.
Fact = tuple[int, int | None, int]


def read_originals(code: list[Line]) -> None:
    """Tests are left as they are: what a verifier learns from one it learns of the register that is named."""
    for line, facts in zip(code, forward(code, behind)):
        insn = line.insn
        if not facts:
            continue
        if insn.is_alu and insn.uses_reg and insn.code not in (END, NEG) and insn.off == 0:
            line.insn = replace(insn, src=original(insn.src, WHOLE if insn.cls == ALU64 else 4, facts))
        elif insn.is_load and insn.mode == MODES["MEM"]:
            line.insn = replace(insn, src=original(insn.src, WHOLE, facts))
        elif insn.is_store:
            value = original(insn.src, insn.size, facts) if insn.cls == STX else insn.src
            line.insn = replace(insn, dst=original(insn.dst, WHOLE, facts), src=value)
        line.dead = moves(line.insn) and line.insn.src == line.insn.dst


def original(reg: int, octets: int, facts: frozenset[Fact]) -> int:
    return min((of for copy, of, same in facts if copy == reg and of is not None and same >= octets), default=reg)


def behind(line: Line, facts: frozenset[Fact], _jumps: bool) -> frozenset[Fact]:
    insn = line.insn
    reads, writes = reads_writes(insn)
    if insn.is_branch:                          # what is learnt of the copy is not known of the original
        return frozenset(f for f in facts if f[1] is None or not reads >> f[0] & 1)
    new: list[Fact] = []
    if insn.is_alu and insn.code == MOV and insn.uses_reg and insn.off == 0 and insn.dst != insn.src and insn.src < 10:
        zero = (insn.src, None, 0) in facts
        new.append((insn.dst, insn.src, WHOLE if insn.cls == ALU64 or zero else 4))
        if insn.cls == ALU64 and zero:
            new.append((insn.dst, None, 0))
    if clears_upper_half(insn):
        new.append((insn.dst, None, 0))
    if writes:
        facts = frozenset(f for f in facts if not writes >> f[0] & 1 and (f[1] is None or not writes >> f[1] & 1))
    return facts.union(new) if new else facts


def step_in_place(code: list[Line]) -> None:
    """`y = x; y += n; ...; x = y` is `...; x += n`, where nobody else reads y."""
    targets = {line.target for line in code if line.target is not None}
    before, after = liveness(code)
    at = {line: i for i, line in enumerate(code)}
    for i in range(len(code) - 2):
        copy, step = code[i].insn, code[i + 1].insn
        if not (moves(copy) and adds(step) and step.dst == copy.dst and code[i + 1] not in targets and copy.src != FRAME_POINTER):
            continue
        x, y = copy.src, copy.dst
        for j in range(i + 2, len(code)):
            line = code[j]
            if line in targets or line.insn.ends_block:
                break
            if moves(line.insn) and line.insn.dst == x and line.insn.src == y:
                if not after[j] >> y & 1:
                    line.insn = replace(step, dst=x)
                    code[i].dead = code[i + 1].dead = True
                break
            reads, writes = reads_writes(line.insn)
            if reads >> y & 1 or writes >> x & 1 or writes >> y & 1 or line.target is not None and before[at[line.target]] >> y & 1:
                break


def moves(insn: Instruction) -> bool:
    return insn.is_alu and insn.cls == ALU64 and insn.code == MOV and insn.uses_reg and insn.off == 0


def adds(insn: Instruction) -> bool:
    return insn.is_alu and insn.cls == ALU64 and insn.code == ADD and not insn.uses_reg
