"""Small changes of bytecode: near what a verifier accepts lies what it must not."""
from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace

from ..isa import ALU, ALU64, ALU_OPS, JMP, JMP32, JMP_OPS, DecodeError, Instruction, decode, encode, slot_indices

BRANCHES = [code for name, code in JMP_OPS.items() if name not in ("JA", "CALL", "EXIT")]
ARITHMETIC = [code for name, code in ALU_OPS.items() if name not in ("END", "NEG")]
SIZES = (0x00, 0x08, 0x10, 0x18)
WORDS = (0, 1, 2, 7, 8, 15, 16, 31, 32, 63, 64, 65, 255, 256, 2048, -1, -8, 0x7FFFFFFF, -0x80000000)

Program = list[tuple[Instruction, int | None]]        #: instructions; of a jump or local call the place of its target


def linked(text: bytes) -> Program:
    """Raises DecodeError, KeyError (a jump to no instruction)."""
    program = decode(text)
    slots = slot_indices(program)
    place = {slot: i for i, slot in enumerate(slots)}
    return [(insn, place[insn.target(slot)] if insn.is_jump or insn.is_local_call else None) for insn, slot in zip(program, slots)]


def assembled(program: Program) -> bytes:
    """Raises ValueError (a field that does not fit)."""
    slots = slot_indices([insn for insn, _ in program])
    end = slots[-1] + program[-1][0].slots if program else 0
    return encode([insn if target is None else insn.retarget(slot, slots[target] if target < len(slots) else end)
                   for (insn, target), slot in zip(program, slots)])


def without(program: Program, gone: Iterable[int]) -> Program:
    """Jumps to what is gone lead to what followed it."""
    dropped = set(gone)
    after, n = [], 0
    for i in range(len(program) + 1):
        after.append(n)
        n += i not in dropped
    return [(insn, None if target is None else after[target]) for i, (insn, target) in enumerate(program) if i not in dropped]


def _constant(insn: Instruction, rng: random.Random, program: Program) -> Instruction:
    others = [other.imm for other, _ in program if not other.is_lddw and other.imm] or [1]
    imm = rng.choice((insn.imm + 1, insn.imm - 1, insn.imm ^ 1 << rng.randrange(32), rng.choice(WORDS), rng.choice(others)))
    if insn.is_lddw:
        return replace(insn, imm=imm % (1 << 64)) if not insn.src else replace(insn, imm=imm % 80)
    return replace(insn, imm=(imm + (1 << 31)) % (1 << 32) - (1 << 31))


def _offset(insn: Instruction, rng: random.Random) -> Instruction:
    return replace(insn, off=max(-0x8000, min(0x7FFF, insn.off + rng.choice((1, -1, 2, -2, 4, -4, 8, -8)))))


def _changed(insn: Instruction, rng: random.Random, program: Program) -> Instruction:
    way = rng.randrange(6)
    if insn.is_branch:
        if way == 0:
            return replace(insn, op=insn.op & 0x0F | rng.choice(BRANCHES))
        if way == 1:
            return replace(insn, op=insn.op & 0xF8 | (JMP if insn.cls == JMP32 else JMP32))
    elif insn.is_alu and insn.code not in (ALU_OPS["END"], ALU_OPS["NEG"]):
        if way == 0 and not insn.off:
            return replace(insn, op=insn.op & 0x0F | rng.choice(ARITHMETIC))
        if way == 1 and insn.off != 32:
            return replace(insn, op=insn.op & 0xF8 | (ALU if insn.cls == ALU64 else ALU64))
    elif insn.is_load or insn.is_store:
        if way < 3:
            return _offset(insn, rng)
        if way == 3 and insn.mode == 0x60:
            return replace(insn, op=insn.op & ~0x18 | rng.choice(SIZES))
    if way == 2:
        return replace(insn, dst=rng.randrange(10)) if not insn.is_call else insn
    if way == 3 and (insn.uses_reg and (insn.is_alu or insn.is_branch) or insn.is_load or insn.is_store and insn.cls == 3):
        return replace(insn, src=rng.randrange(11))
    if insn.is_lddw or (insn.is_alu or insn.is_branch) and not insn.uses_reg or insn.is_store and insn.cls == 2:
        return _constant(insn, rng, program)
    return insn


def mutate(text: bytes, rng: random.Random) -> bytes | None:
    """The program with one to three changes; None if it cannot be written."""
    try:
        program = linked(text)
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            i, way = rng.randrange(len(program)), rng.randrange(12)
            insn, target = program[i]
            if way == 0 and len(program) > 3:
                program = without(program, {i})
            elif way == 1 and target is not None and not insn.is_local_call:
                program[i] = insn, min(len(program) - 1, max(0, target + rng.choice((-1, 1, 2, -2))))
            elif way == 2 and i + 1 < len(program) and target is None and program[i + 1][1] is None:
                program[i], program[i + 1] = program[i + 1], program[i]
            else:
                program[i] = _changed(insn, rng, program), target
        return assembled(program)
    except (DecodeError, KeyError, ValueError, IndexError):
        return None


def shrink(text: bytes, fails: Callable[[bytes], bool]) -> bytes:
    """A shorter program for which `fails` still holds: instructions go, jumps become straight, constants become small."""
    def tried(program: Program) -> bool:
        nonlocal text
        try:
            candidate = assembled(program)
        except ValueError:
            return False
        if candidate == text or not fails(candidate):
            return False
        text = candidate
        return True

    again = True
    while again:
        again, size = False, max(1, len(linked(text)) // 2)
        while size:
            at = 0
            while at < len(program := linked(text)):
                if tried(without(program, range(at, min(at + size, len(program))))):
                    again = True
                else:
                    at += size
            size //= 2
        for i in range(len(linked(text))):
            program = linked(text)
            if i < len(program):
                insn, target = program[i]
                for simpler in (replace(insn, imm=0), replace(insn, imm=1)):
                    if insn.imm not in (0, 1) and not insn.is_call and not insn.is_lddw and tried([*program[:i], (simpler, target), *program[i + 1:]]):
                        again = True
                        break
    return text
