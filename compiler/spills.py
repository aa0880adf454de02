"""Reloads of what a register still holds, spills of what is in its slot already, and spills that are never reloaded.

The register allocator decides interval by interval: it reloads a value that another register has, and puts one back that was only read.
Only where no instruction takes the stack's address: then loads and stores that name r10 are all there are.
"""
from __future__ import annotations

from dataclasses import replace

from .isa import ALU, ALU64, ALU_OPS, FRAME_POINTER, MODES, STX, X
from .rewrite import Line, backward, clears_upper_half, forward, reads_writes

MOV = ALU_OPS["MOV"]
STACK = 512                                     # octets below r10
ZERO = None                                     # (register, ZERO, 0): the upper half of the register is zero
Fact = tuple[int, int | None, int]              # (register, offset from r10, octets): the register holds what is there, or its lower half does


def drop_reloads(code: list[Line]) -> None:
    if any(takes_address(line) for line in code):
        return
    for line, facts in zip(code, forward(code, behind)):
        insn = line.insn
        slot = slot_of(line)
        if facts is None or slot is None or slot[1] < 4 or insn.mode != MODES["MEM"]:
            continue
        if insn.is_store:
            line.dead = insn.cls == STX and (insn.src, *slot) in facts
        elif (insn.dst, *slot) in facts and (slot[1] == 8 or (insn.dst, ZERO, 0) in facts):
            line.dead = True
        else:
            other = next((reg for reg, *where in sorted(facts, key=str) if tuple(where) == slot), None)
            if other is not None:
                line.insn = replace(insn, op=(ALU64 if slot[1] == 8 else ALU) | X | MOV, src=other, off=0)


def takes_address(line: Line) -> bool:
    insn = line.insn
    return insn.is_alu and insn.uses_reg and insn.src == FRAME_POINTER or insn.cls == STX and insn.src == FRAME_POINTER or insn.is_atomic


def slot_of(line: Line) -> tuple[int, int] | None:
    """(offset, octets) of a load from the stack, or a store to it."""
    insn = line.insn
    base = insn.src if insn.is_load else insn.dst if insn.is_store else None
    return (insn.off, insn.size) if base == FRAME_POINTER else None


def behind(line: Line, facts: frozenset[Fact], _jumps: bool) -> frozenset[Fact]:
    insn, slot = line.insn, slot_of(line)
    if slot is not None and insn.is_store:
        start, octets = slot
        facts = frozenset(f for f in facts if f[1] is ZERO or f[1] + f[2] <= start or start + octets <= f[1])
        return facts | {(insn.src, start, octets)} if insn.cls == STX else facts
    writes = reads_writes(insn)[1]
    copied: list[Fact] = []
    if insn.is_alu and insn.code == MOV and insn.uses_reg and insn.off == 0:
        copied = [(insn.dst, *where) for reg, *where in facts if reg == insn.src and (insn.cls == ALU64 or where[1] == 4)]
    if writes:
        facts = frozenset(f for f in facts if not writes >> f[0] & 1)
    if clears_upper_half(insn):
        copied.append((insn.dst, ZERO, 0))
    if slot is not None and insn.mode == MODES["MEM"]:
        copied.append((insn.dst, *slot))
    return facts.union(copied) if copied else facts


def drop_stores(code: list[Line]) -> None:
    """Of what nobody reloads."""
    if any(takes_address(line) for line in code):
        return
    slots = [slot_of(line) for line in code]
    octets = [0 if slot is None else (1 << slot[1]) - 1 << STACK + slot[0] for slot in slots]
    _, after = backward(code, [(mine, 0) if line.insn.is_load else (0, mine) for line, mine in zip(code, octets)])
    for line, mine, live in zip(code, octets, after):
        if line.insn.is_store and mine and not mine & live:
            line.dead = True
