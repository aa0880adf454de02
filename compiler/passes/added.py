"""What is added, or stored, is so where it is known which number it is.

Rows take different numbers of octets, and LLVM makes one addition of a number chosen before: each way to the addition gives the number a
register. Where they all do, each adds its number itself, and nothing where that is 0; and so they store it.
"""
from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from ..isa import ALU, ALU64, ALU_OPS, MODES, ST, STX, Instruction
from .flow import liveness
from .rewrite import Line, reads_writes

ADD, MOV = ALU_OPS["ADD"], ALU_OPS["MOV"]


def add_where_known(code: list[Line]) -> bool:
    jumps: dict[Line, list[int]] = defaultdict(list)
    for i, line in enumerate(code):
        if line.target is not None:
            jumps[line.target].append(i)
    additions = [i for i, line in enumerate(code) if i and line in jumps and (is_addition(line.insn) or is_kept(line.insn))]
    if not additions:
        return False
    before, after = liveness(code)
    changed = False
    for i in additions:
        line, insn = code[i], code[i].insn
        if after[i] >> insn.src & 1:
            continue
        numbers: list[Line] = []
        for at in (*([] if code[i - 1].insn.ends_block else [i - 1]), *jumps[line]):
            number = None if at == i - 1 and code[at].insn.is_branch else number_given(code, at, insn, jumps)
            if number is None or number in numbers or code[at].insn.is_branch and not only_for_it(code, at, insn, number, before):
                break
            numbers.append(number)
        else:
            for number in numbers:
                if insn.is_store:
                    number.insn = replace(insn, op=insn.op & ~7 | ST, src=0, imm=number.insn.imm)
                    continue
                number.insn = Instruction(insn.op & ~8, insn.dst, 0, 0, number.insn.imm)
                number.dead |= number.insn.imm == 0 and insn.cls == ALU64       # one of 32 bits takes the upper half away
            line.dead = changed = True
            break                               # what is live is another question now
    return changed


def is_addition(insn: Instruction) -> bool:
    return insn.is_alu and insn.code == ADD and insn.uses_reg and insn.dst != insn.src


def is_kept(insn: Instruction) -> bool:
    return insn.cls == STX and insn.mode == MODES["MEM"] and insn.size < 8 and insn.dst != insn.src


def number_given(code: list[Line], at: int, addition: Instruction, jumps: dict[Line, list[int]]) -> Line | None:
    """The instruction that gives the register its number on the way that ends at `at`, if nothing asks for either register behind it."""
    touched, last = 1 << addition.src | 1 << addition.dst, at
    while at >= 0:
        line = code[at]
        insn = line.insn
        if insn.is_jump and at < last:          # its other way has the number, too
            return None
        reads, writes = reads_writes(insn)
        if insn.is_alu and insn.code == MOV and not insn.uses_reg and insn.dst == addition.src:
            if addition.is_store:               # of its lower octets
                return line if not line.dead else None
            return line if not line.dead and (insn.cls == ALU64 or insn.imm >= 0) and (addition.cls == ALU64 or insn.cls == ALU) else None
        if (reads | writes) & touched or line in jumps or at and code[at - 1].insn.ends_block:
            return None
        if addition.is_store and (insn.is_load or insn.is_store or insn.is_atomic or insn.is_call):      # a store does not pass what reaches memory
            return None
        at -= 1
    return None


def only_for_it(code: list[Line], branch: int, addition: Instruction, number: Line, before: list[int]) -> bool:
    """Whether a number from before a branch is for this addition alone, and adds nothing."""
    other = branch + 1
    return number.insn.imm == 0 and addition.cls == ALU64 and code[branch].target is not code[other] and not before[other] >> addition.src & 1
