"""A copy whose original nobody needs any more is the original under another name: the two registers change names instead.

Behind the copy, as far as one of the two is read, or before it, as far as what is copied is made: where no way leads in from elsewhere, or out, with
either of them. LLVM's register allocator copies what it gives another register for the rest of its life.
"""
from __future__ import annotations

from dataclasses import replace

from ..isa import ALU_OPS, FRAME_POINTER, STX, Instruction
from .copies import COPIES, moves
from .flow import liveness, neighbours
from .rewrite import Line, clears_upper_half, reads_writes

END, NEG = ALU_OPS["END"], ALU_OPS["NEG"]
HIGH = 8                                        # the first register whose number does not fit in the three bits of short Thumb instructions
FARTHEST = 200                                  # instructions that change names for one copy


def rename_copies(code: list[Line]) -> bool:
    copies = [i for i, line in enumerate(code) if line.insn.op in COPIES and line.insn.off == 0 and line.insn.src not in (FRAME_POINTER, line.insn.dst)]
    if not copies:
        return False
    before, after = liveness(code)
    copies = [i for i in copies if not after[i] >> code[i].insn.src & 1]
    if not copies:
        return False
    following, preceding = neighbours(code)
    changed = False
    for i in copies:
        a, b = code[i].insn.dst, code[i].insn.src
        both = 1 << a | 1 << b
        if after[i] >> b & 1 or not moves(code[i].insn) and not is_narrow(code, i, preceding):
            continue
        behind = reached(code, i, both, following, before, preceding, after)
        region = behind if behind is not None else reached(code, i, both, preceding, after, following, before)
        if region is None or before[0] & both and (0 in region or i == 0 and behind is None):       # what the container is given
            continue
        if costs(code, region, a, b) > 0:
            continue
        for j in region:
            code[j].insn = swapped(code[j].insn, a, b)
            before[j], after[j] = exchanged(before[j], a, b), exchanged(after[j], a, b)
        before[i] = after[i] = before[i] if behind is not None else after[i]
        code[i].dead = changed = True
    return changed


def reached(code: list[Line], i: int, both: int, onward: list, live: list[int], back: list, left: list[int]) -> set[int] | None:
    """The instructions on the ways from i, in one direction, as long as one of the registers is needed. None if there are too many, if one needs
    these very registers, or if another way leads there. `live`: what is needed where such a way comes to an instruction; `left`: on its other side."""
    found: set[int] = set()
    todo = list(onward[i])
    while todo:
        j = todo.pop()
        if j in found or not live[j] & both:
            continue
        if j == i or len(found) == FARTHEST or is_fixed(code[j].insn, both):
            return None
        found.add(j)
        todo += onward[j]
    if all(p == i or p in found or not left[p] & both for j in found for p in back[j]):
        return found
    return None


def is_narrow(code: list[Line], i: int, preceding: list[list[int]]) -> bool:
    """Whether what instruction i copies has an upper half of zeros: whether the instruction that made it, on the one way here, leaves such a one."""
    reg = code[i].insn.src
    passed: set[int] = set()
    while i and len(preceding[i]) == 1 and i not in passed:         # a circle that nothing leads to has no beginning
        passed.add(i)
        i = preceding[i][0]
        if not code[i].dead and reads_writes(code[i].insn)[1] >> reg & 1:
            return clears_upper_half(code[i].insn)
    return False


def costs(code: list[Line], region: set[int], a: int, b: int) -> int:
    """How many more instructions name a high register, which takes a node a longer instruction."""
    if (a < HIGH) == (b < HIGH):
        return 0
    named = sum((a in names) - (b in names) for j in region for names in (registers(code[j].insn),))
    return named if a < HIGH else -named


def registers(insn: Instruction) -> tuple[int, ...]:
    return ((insn.dst,) if names_dst(insn) else ()) + ((insn.src,) if names_src(insn) else ())


def is_fixed(insn: Instruction, both: int) -> bool:
    """Whether an instruction means one of these registers without naming it."""
    return insn.is_call and both & 0b111111 != 0 or (insn.is_exit or insn.is_atomic) and both & 1 != 0


def swapped(insn: Instruction, a: int, b: int) -> Instruction:
    other = {a: b, b: a}
    dst = other.get(insn.dst, insn.dst) if names_dst(insn) else insn.dst
    src = other.get(insn.src, insn.src) if names_src(insn) else insn.src
    return insn if (dst, src) == (insn.dst, insn.src) else replace(insn, dst=dst, src=src)


def names_dst(insn: Instruction) -> bool:
    return insn.is_alu or insn.is_load or insn.is_store or insn.is_atomic or insn.is_branch or insn.is_lddw


def names_src(insn: Instruction) -> bool:
    return (insn.is_alu and insn.code not in (END, NEG) or insn.is_branch) and insn.uses_reg or insn.is_load or insn.is_atomic \
        or insn.is_store and insn.cls == STX


def exchanged(registers: int, a: int, b: int) -> int:
    """A set of registers, by their new names."""
    return registers ^ (1 << a | 1 << b) if (registers >> a ^ registers >> b) & 1 else registers
