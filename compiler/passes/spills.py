"""Reloads of what a register still holds, or of a constant, spills of what is in its slot already, and spills that are never reloaded.

The register allocator decides interval by interval: it reloads a value that another register has, and puts one back that was only read.
Only where no instruction takes the stack's address: then loads and stores that name r10 are all there are.
"""
from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from ..isa import ALU, ALU64, ALU_OPS, FRAME_POINTER, MODES, REGISTERS, ST, STX, X, Instruction
from .copies import COPIES
from .flow import Facts, Step, backward, forward
from .rewrite import Line, clears_upper_half, reads_writes

MOV = ALU_OPS["MOV"]
Slot = tuple[int, int]                          # (offset from r10, octets)


def drop_reloads(code: list[Line]) -> bool:
    held, changed = Held(code), False
    if not held.slots or any(takes_address(line) for line in code):
        return False
    for line, facts in zip(code, forward(code, [held.step(line) for line in code], held.behind)):
        insn = line.insn
        slot = slot_of(line)
        if facts is None or slot is None or slot[1] < 4 or insn.mode != MODES["MEM"]:
            continue
        if insn.is_store:
            if insn.cls == STX and held.has(insn.src, slot, facts):
                line.dead = changed = True
        elif held.has(insn.dst, slot, facts) and (slot[1] == 8 or held.has(insn.dst, None, facts)):
            line.dead = changed = True
        else:
            other = next((reg for reg in range(FRAME_POINTER) if held.has(reg, slot, facts)), None)
            if other is not None:
                line.insn = replace(insn, op=(ALU64 if slot[1] == 8 else ALU) | X | MOV, src=other, off=0)
                changed = True
    return changed


def reload_constants(code: list[Line]) -> bool:
    """What is loaded from a word that is never stored but as one number is made: no register was free for it."""
    stored: dict[Slot, set[int | None]] = {}
    for line in code:
        slot = slot_of(line)
        if slot is not None and line.insn.is_store:
            stored.setdefault(slot, set()).add(line.insn.imm if line.insn.cls == ST else None)
    if not stored or any(takes_address(line) for line in code):
        return False
    changed = False
    for line in code:
        slot = slot_of(line)
        if slot is None or not line.insn.is_load or line.insn.mode != MODES["MEM"] or slot[1] != 4 or None in stored.get(slot, {None}):
            continue
        if len(stored[slot]) == 1 and not any(at < slot[0] + 4 and slot[0] < at + size for at, size in stored if (at, size) != slot):
            line.insn = Instruction(ALU | MOV, line.insn.dst, 0, 0, next(iter(stored[slot])))
            changed = True
    return changed


def takes_address(line: Line) -> bool:
    insn = line.insn
    return insn.src == FRAME_POINTER and (insn.is_alu and insn.uses_reg or insn.cls == STX) or insn.is_atomic


def slot_of(line: Line) -> tuple[int, int] | None:
    """(offset, octets) of a load from the stack, or a store to it."""
    insn = line.insn
    if insn.src != FRAME_POINTER and insn.dst != FRAME_POINTER:
        return None
    base = insn.src if insn.is_load else insn.dst if insn.is_store else None
    return (insn.off, insn.size) if base == FRAME_POINTER else None


class Held:
    """What registers hold of the stack. Of each register a row of bits: for each slot whether it, or its lower half, is what is there; at last whether its
    upper half is zero."""

    def __init__(self, code: list[Line]) -> None:
        self.slots = slots = sorted({slot for line in code if (slot := slot_of(line)) is not None})
        self.bit: dict[Slot | None, int] = {slot: 1 << n for n, slot in enumerate(slots)} | {None: 1 << len(slots)}
        self.row = len(slots) + 1
        self.words = sum(self.bit[slot] for slot in slots if slot[1] == 4)
        self.rows = lru_cache(1 << REGISTERS)(self._rows)
        self.touching = {(start, octets): self.everywhere(sum(self.bit[at, size] for at, size in slots if at < start + octets and start < at + size))
                         for start, octets in slots}

    def everywhere(self, bits: Facts) -> Facts:
        """These bits of all rows."""
        return sum(bits << self.row * reg for reg in range(REGISTERS))

    def _rows(self, registers: int) -> Facts:
        return sum((1 << self.row) - 1 << self.row * reg for reg in range(REGISTERS) if registers >> reg & 1)

    def has(self, reg: int, slot: Slot | None, facts: Facts) -> bool:
        return bool(facts >> self.row * reg & self.bit[slot])

    def step(self, line: Line) -> Step | None:
        """None of a copy, which holds what the original does."""
        insn, slot = line.insn, slot_of(line)
        if slot is not None and insn.is_store:
            return ~self.touching[slot], self.bit[slot] << self.row * insn.src if insn.cls == STX else 0
        if insn.op in COPIES and insn.off == 0:
            return None
        new = self.bit[None] if clears_upper_half(insn) else 0
        if slot is not None and insn.mode == MODES["MEM"]:
            new |= self.bit[slot]
        return ~self.rows(reads_writes(insn)[1]), new << self.row * insn.dst

    def behind(self, copy: Instruction, facts: Facts, _jumps: bool) -> Facts:
        new = facts >> self.row * copy.src & (self.rows(1) if copy.cls == ALU64 else self.words)
        if copy.cls == ALU:
            new |= self.bit[None]
        return facts & ~self.rows(1 << copy.dst) | new << self.row * copy.dst


def drop_stores(code: list[Line]) -> bool:
    """Of what nobody reloads."""
    slots, changed = [slot_of(line) for line in code], False
    if not any(slots) or any(takes_address(line) for line in code):
        return False
    deepest = min(slot[0] for slot in slots if slot is not None)
    octets = [0 if slot is None else (1 << slot[1]) - 1 << slot[0] - deepest for slot in slots]
    _, after = backward(code, [(mine, 0) if line.insn.is_load else (0, mine) for line, mine in zip(code, octets)])
    for line, mine, live in zip(code, octets, after):
        if mine and not mine & live and line.insn.is_store:
            line.dead = changed = True
    return changed
