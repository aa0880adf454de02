"""What was loaded before a call is not loaded again behind it, where the helper has not written it.

LLVM takes a helper for one that may write all memory. One that stands apart (helpers.py) writes what it is given to write, and nothing else; so where
that is known to be other octets, behind the same pointer, the number waits in a register that calls leave alone and nobody else uses.
"""
from __future__ import annotations

from dataclasses import replace

from ..helpers import HELPERS, Arg, size_said
from ..isa import ALU, ALU64, ALU_OPS, MODES, Instruction
from .flow import liveness, neighbours
from .renamed import swapped
from .rewrite import Line, reads_writes

MOV, REGISTER = ALU_OPS["MOV"], 8
KEPT = (6, 7, 8, 9)                             # what a call leaves alone
APART = {helper.number: helper.padded_args for helper in HELPERS if helper.apart}


def keep_over_calls(code: list[Line]) -> bool:
    calls = [i for i, line in enumerate(code) if line.insn.is_call]
    if not calls:
        return False
    used = 0
    for line in code:
        reads, writes = reads_writes(line.insn)
        used |= reads | writes
    free = next((reg for reg in KEPT if not used >> reg & 1), None)
    if free is None:
        return False
    following, preceding = neighbours(code)
    for i in reversed(range(calls[-1])):        # the last before a call: what is kept the shortest
        insn = code[i].insn
        if is_word(insn) and insn.src in KEPT and insn.dst not in KEPT:
            again = loaded_again(code, i, following, preceding)
            uses = reads_of(code, i, following, preceding) if again else None
            if uses is None:
                continue
            code[i].insn = replace(insn, dst=free)
            for j in uses:
                code[j].insn = swapped(code[j].insn, insn.dst, free)       # nobody uses the other name
            for j in again:
                cls = ALU if insn.size < 8 else ALU64       # a load of less clears what is above it, too
                code[j].insn = Instruction(cls | MOV | REGISTER, code[j].insn.dst, free)
            return True
    return False


def is_word(insn: Instruction) -> bool:
    return insn.is_load and insn.mode == MODES["MEM"]


def onward(i: int, following: list[tuple[int, ...]], preceding: list[list[int]]) -> list[int]:
    """What comes next and has no other way to it."""
    return [j for j in following[i] if preceding[j] == [i] and j]


def loaded_again(code: list[Line], i: int, following: list, preceding: list) -> list[int]:
    """Loads of what i loads, behind a call, where nothing has been written, on ways that lead through i alone."""
    load, found = code[i].insn, []
    todo = [(j, False) for j in onward(i, following, preceding)]
    while todo:
        j, called = todo.pop()
        insn = code[j].insn
        if called and is_word(insn) and (insn.op, insn.src, insn.off) == (load.op, load.src, load.off):
            found.append(j)
        if insn.is_store or insn.is_atomic or reads_writes(insn)[1] >> load.src & 1 or insn.is_call and not spares(code, j, load, preceding):
            continue
        todo += [(k, called or insn.is_call) for k in onward(j, following, preceding) if k != i]
    return found


def spares(code: list[Line], call: int, load: Instruction, preceding: list) -> bool:
    """Whether the helper writes none of the octets loaded: it writes nothing, or so many octets from where the load's own pointer leads."""
    args = APART.get(code[call].insn.imm) if code[call].insn.src == 0 else None
    if args is None:
        return False
    for number, kind in enumerate(args, 1):
        if kind == Arg.MEM_WRITE:
            pointer, first = given(code, call, number, preceding), given(code, call, 1, preceding)
            if pointer is None or first is None or pointer.op != ALU64 | MOV | REGISTER or pointer.off or pointer.src != load.src:
                return False
            if first.uses_reg or size_said(first.imm, number) > load.off:
                return False
    return True


def given(code: list[Line], call: int, reg: int, preceding: list) -> Instruction | None:
    """The copy or constant that a register has at the call, made where every way to the call passes, and its original not written since."""
    after, i = 0, call
    while preceding[i] == [i - 1]:
        i -= 1
        insn = code[i].insn
        writes = reads_writes(insn)[1]
        if writes >> reg & 1:
            is_move = insn.is_alu and insn.code == MOV
            return insn if is_move and not (insn.uses_reg and after >> insn.src & 1) else None
        after |= writes
    return None


def reads_of(code: list[Line], i: int, following: list, preceding: list) -> list[int] | None:
    """All that reads what i loads. None if that is not for certain, or if one of them cannot read it elsewhere."""
    reg, found = code[i].insn.dst, []
    before, after = liveness(code)
    todo = [i]
    while todo:
        j = todo.pop()
        if j != i:
            reads, writes = reads_writes(code[j].insn)
            if reads >> reg & 1:
                if writes >> reg & 1 or code[j].insn.is_call or code[j].insn.is_exit:
                    return None
                found.append(j)
            if writes >> reg & 1:
                continue
        alone = onward(j, following, preceding)
        if any(before[k] >> reg & 1 for k in following[j] if k not in alone):
            return None
        todo += [k for k in alone if k != i]
    return found
