"""What reads a copy reads the original, as long as both are the same: then nobody may read the copy.

The register allocator splits a value's life into pieces that have registers of their own, and copies from one to the other.
"""
from __future__ import annotations

from dataclasses import replace

from functools import lru_cache

from ..isa import ALU, ALU64, ALU_OPS, FRAME_POINTER, K, MODES, REGISTERS, STX, X, Instruction
from .flow import Facts, Step, forward, liveness
from .rewrite import Line, clears_upper_half, reads_writes, targets_of

ADD, MOV, END, NEG = (ALU_OPS[n] for n in ("ADD", "MOV", "END", "NEG"))
COPIES = ALU | X | MOV, ALU64 | X | MOV
WHOLE = 8                                       # octets
#: What is known of a register is a row of bits: for each original whether the lower half is its, and whether all is; at last whether the upper half is zero.
ROW = 2 * REGISTERS + 1
ZERO = 1 << ROW - 1
WHOLES = sum(2 << 2 * of for of in range(REGISTERS))


def copied(copy: int, of: int, whole: bool) -> Facts:
    return 1 << ROW * copy + 2 * of + whole


@lru_cache(1 << REGISTERS)
def naming(registers: int) -> Facts:
    """All that is said of these, or of copies of them."""
    rows = [r for r in range(REGISTERS) if registers >> r & 1]
    return sum((1 << ROW) - 1 << ROW * r for r in rows) | sum(3 << ROW * copy + 2 * of for copy in range(REGISTERS) if copy not in rows for of in rows)


@lru_cache(1 << REGISTERS)
def originals(registers: int) -> Facts:
    """All that is said of what these are copies of."""
    return sum(ZERO - 1 << ROW * r for r in range(REGISTERS) if registers >> r & 1)


def read_originals(code: list[Line]) -> bool:
    """Tests are left as they are: what a verifier learns from one it learns of the register that is named."""
    changed = False
    for line, facts in zip(code, forward(code, [step(line.insn) for line in code], behind)):
        insn = line.insn
        if not facts:
            continue
        dst, src = insn.dst, insn.src
        if insn.is_alu:
            if insn.uses_reg and insn.code not in (END, NEG) and insn.off == 0:
                src = original(src, WHOLE if insn.cls == ALU64 else 4, facts)
        elif insn.is_load:
            if insn.mode == MODES["MEM"]:
                src = original(src, WHOLE, facts)
        elif insn.is_store:
            dst = original(dst, WHOLE, facts)
            if insn.cls == STX:
                src = original(src, insn.size, facts)
        if dst != insn.dst or src != insn.src:
            line.insn, changed = replace(insn, dst=dst, src=src), True
        if dst == src and moves(line.insn) or in_force(insn, facts):
            line.dead = changed = True
    return changed


def in_force(insn: Instruction, facts: Facts) -> bool:
    """Whether it is a copy that is there already: LLVM makes one for each way to where they meet."""
    if insn.op not in COPIES or insn.off:
        return False
    whole = insn.cls == ALU64
    return bool(facts & copied(insn.dst, insn.src, whole)) and (whole or bool(facts & ZERO << ROW * insn.dst))


def original(reg: int, octets: int, facts: Facts) -> int:
    """The first register that the lower octets are copied from, or the register itself."""
    row = facts >> ROW * reg & (WHOLES if octets > 4 else ZERO - 1)
    return ((row & -row).bit_length() - 1) // 2 if row else reg


def step(insn: Instruction) -> Step | None:
    """None of a copy: what is known of it depends on the original."""
    reads, writes = reads_writes(insn)
    if insn.is_branch:                          # what is learnt of the copy is not known of the original
        return ~originals(reads), 0
    if insn.op in COPIES and insn.off == 0 and insn.dst != insn.src and insn.src < FRAME_POINTER:
        return None
    return ~naming(writes), ZERO << ROW * insn.dst if clears_upper_half(insn) else 0


def behind(copy: Instruction, facts: Facts, _jumps: bool) -> Facts:
    zero = bool(facts >> ROW * copy.src & ZERO)
    new = copied(copy.dst, copy.src, copy.cls == ALU64 or zero)
    if zero or copy.cls == ALU:
        new |= ZERO << ROW * copy.dst
    return facts & ~naming(1 << copy.dst) | new


def step_in_place(code: list[Line]) -> bool:
    """`y = x; y += n; ...; x = y` is `...; x += n`, where nobody else reads y."""
    steps = [i for i, (line, behind) in enumerate(zip(code, code[1:])) if moves(line.insn) and adds(behind.insn)]
    if not steps:
        return False
    targets, at, changed = targets_of(code), {line: i for i, line in enumerate(code)}, False
    before, after = liveness(code)
    for i in steps:
        copy, step = code[i].insn, code[i + 1].insn
        if not moves(copy) or step.dst != copy.dst or code[i + 1] in targets or copy.src == FRAME_POINTER:     # it may be a step itself by now
            continue
        x, y = copy.src, copy.dst
        for j in range(i + 2, len(code)):
            line = code[j]
            if line in targets or line.insn.ends_block:
                break
            if moves(line.insn) and line.insn.dst == x and line.insn.src == y:
                if not after[j] >> y & 1:
                    line.insn = replace(step, dst=x)
                    code[i].dead = code[i + 1].dead = changed = True
                break
            reads, writes = reads_writes(line.insn)
            if reads >> y & 1 or writes >> x & 1 or writes >> y & 1 or line.target is not None and before[at[line.target]] >> y & 1:
                break
    return changed


def moves(insn: Instruction) -> bool:
    return insn.op == ALU64 | X | MOV and insn.off == 0


def adds(insn: Instruction) -> bool:
    return insn.op == ALU64 | K | ADD
