"""Which registers a later branch, address or store may depend on: what ways are worth being kept apart for."""
from __future__ import annotations

from ..compiler import isa
from .cfg import Graph, Node
from .liveness import backward

MOV, END = isa.ALU_OPS["MOV"], isa.ALU_OPS["END"]


def relevant(graph: Graph) -> dict[Node, tuple[int, ...]]:
    """Of each block the registers, at its beginning."""
    def at_beginning(node: Node, registers: int) -> int:
        for _, insn in reversed(node.code):
            registers = _before(insn, registers)
        return registers
    return {node: tuple(r for r in range(10) if registers >> r & 1) for node, registers in backward(graph, at_beginning).items()}


def _before(insn: isa.Instruction, after: int) -> int:
    dst, src = 1 << insn.dst, 1 << insn.src
    if insn.is_branch:
        return after | dst | (src if insn.uses_reg else 0)
    if insn.is_exit:
        return 1
    if insn.is_call:                                  # arguments, and what a local function is given
        return after & ~0x3F | 0x3E
    if insn.is_lddw:
        return after & ~dst
    if insn.is_load:
        return after & ~dst | src if after & dst else after
    if insn.is_atomic:
        return after | dst | src
    if insn.is_store:
        return after | (src if insn.cls == isa.STX else 0)
    if insn.is_alu and after & dst:
        return (after & ~dst if insn.code == MOV else after) | (src if insn.uses_reg and insn.code != END else 0)
    return after
