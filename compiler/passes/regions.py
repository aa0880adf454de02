"""Which memory an instruction reaches that a verifier takes without a proof: the context, or the header record, the state and the output buffer by the pointer
that the context has of them. Each is there as a whole, whatever has been asked before.

Of each register it is known to which of them it points, to the first octet, where that is the same on all ways.
"""
from __future__ import annotations

from functools import cache

from ..isa import ALU64, ALU_OPS, MODES, REGISTERS, Instruction, X
from ..target import CTX_OUT, CTX_REC, CTX_STATE
from .flow import Facts, Step, forward
from .rewrite import Line, reads_writes

COPY = ALU64 | X | ALU_OPS["MOV"]
CONTEXT = 1                                     # a bit of a register's row
BEHIND = {CTX_REC: 2, CTX_STATE: 4, CTX_OUT: 8}             # by the place of the pointer
ROW = 4
GIVEN = CONTEXT << ROW * 1                      # r1


def of(reg: int, facts: Facts) -> int:
    return facts >> ROW * reg & (1 << ROW) - 1


def is_pointer(insn: Instruction) -> bool:
    return insn.is_load and insn.size == 8 and insn.mode == MODES["MEM"] and insn.off in BEHIND


@cache
def nothing(registers: int) -> Facts:
    """What is left where these, a bit set, are written."""
    return ~sum((1 << ROW) - 1 << ROW * reg for reg in range(REGISTERS) if registers >> reg & 1)


def step(insn: Instruction) -> Step | None:
    """None of what may make a pointer."""
    if insn.op == COPY and not insn.off or is_pointer(insn):
        return None
    return nothing(reads_writes(insn)[1]), 0


def behind(insn: Instruction, facts: Facts, _jumps: bool) -> Facts:
    base = of(insn.src, facts)
    new = base if insn.op == COPY else BEHIND[insn.off] if base == CONTEXT else 0
    return facts & nothing(1 << insn.dst) | new << ROW * insn.dst


def regions(code: list[Line]) -> dict[Line, int]:
    """Of each load and each store that reaches such memory which one that is."""
    out = {}
    for line, facts in zip(code, forward(code, [step(line.insn) for line in code], behind, GIVEN)):
        insn = line.insn
        if facts and (insn.is_load or insn.is_store) and not insn.is_atomic and (region := of(insn.src if insn.is_load else insn.dst, facts)):
            out[line] = region
    return out
