"""Bits that nobody reads need not be cleared: `w &= 0xffff` in front of `w &= 0x1fff`, of a store of two octets or of be16, on all ways from it.

LLVM knows that of numbers that are made on one way; where ways meet, it has masked them before.
"""
from __future__ import annotations

from ..isa import ALU, ALU_OPS, STX, Instruction
from .flow import followers
from .known_bits import ALL, HALF
from .rewrite import Line, reads_writes

AND, END = ALU_OPS["AND"], ALU_OPS["END"]
FARTHEST = 40                                   # instructions that are looked at for one mask


def drop_masks(code: list[Line]) -> bool:
    following: list[tuple[int, ...]] | None = None
    changed = False
    for i, line in enumerate(code):
        insn = line.insn
        if insn.is_alu and insn.code == AND and not insn.uses_reg:
            following = following or followers(code)
            if not is_needed(code, i, ~mask(insn) & ALL, following):
                line.dead = changed = True
    return changed


def is_needed(code: list[Line], i: int, bits: int, following: list[tuple[int, ...]]) -> bool:
    """Whether one of these bits of what i writes may be read behind it."""
    reg, seen, todo = code[i].insn.dst, set(), list(following[i])
    while todo:
        j = todo.pop()
        if j in seen:
            continue
        seen.add(j)
        insn = code[j].insn
        reads, writes = reads_writes(insn)
        if len(seen) > FARTHEST or reads >> reg & 1 and bits & bits_read(insn, reg):
            return True
        if not writes >> reg & 1:
            todo += following[j]
    return False


def bits_read(insn: Instruction, reg: int) -> int:
    """The bits of the register that this instruction, which reads it, may need."""
    if insn.is_alu and insn.dst == reg and not insn.uses_reg and insn.code == AND:
        return mask(insn)
    if insn.is_alu and insn.code == END:
        return (1 << insn.imm) - 1
    if insn.is_store and insn.cls == STX and insn.dst != reg:
        return (1 << 8 * insn.size) - 1
    return ALL


def mask(insn: Instruction) -> int:
    """What an AND with a constant leaves."""
    return insn.imm & (HALF if insn.cls == ALU else ALL)
