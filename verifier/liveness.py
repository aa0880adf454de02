"""What may be read later: of what nobody reads again nothing needs to be known.

Of the stack, before anything is analysed. Whoever holds a pointer to it may read all of it, so registers that may hold one are followed; r10 itself reads
where it says. A mistake here can lose a program, not soundness: what is forgotten is not known.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping

from ..compiler import isa
from .cfg import Graph, Node
from .state import stack_bits

MOV, END = isa.ALU_OPS["MOV"], isa.ALU_OPS["END"]
FRAME, ARGUMENTS, CLOBBERED, ALL = 1 << 10, 0b111110, 0b111111, (1 << 512) - 1


def backward(graph: Graph, before: Callable[[Node, int], int]) -> dict[Node, int]:
    """For each node the bits that hold at its beginning: `before` says it of a node and what holds behind it, at the beginning of any that follows."""
    held = {node: 0 for node in graph.nodes}
    changed = True
    while changed:
        changed = False
        for node in reversed(graph.nodes):
            behind = 0
            for succ, _ in node.succs:
                behind |= held[succ]
            new = before(node, behind)
            if new != held[node]:
                held[node], changed = new, True
    return held


def live_at(graph: Graph, use: Mapping[Node, tuple[int, int]]) -> dict[Node, int]:
    """For each node the bits of what is read behind its beginning before it is written. `use`: what a node reads first, what it writes."""
    return backward(graph, lambda node, behind: use[node][0] | behind & ~use[node][1])


def live_stack(graph: Graph) -> dict[Node, int] | None:
    """For each node a bit for each byte of the stack (as Frame.written has them) that may be read before it is written. None: nobody knows, since
    a pointer to the stack lies in memory, or several functions have one."""
    pointers = stack_pointers(graph)
    if pointers is None:
        return None
    use: dict[Node, tuple[int, int]] = {}
    for node in graph.nodes:
        used, written, may = 0, 0, pointers[node]
        for _, insn in node.code:
            if insn.is_load and insn.src == 10:
                used |= _bytes(insn) & ~written
            elif insn.is_load and may >> insn.src & 1 or insn.is_call and may & ARGUMENTS:
                used |= ALL & ~written
            elif insn.is_store and insn.dst == 10:
                written |= _bytes(insn)
            may = _pointers_after(insn, may)
        use[node] = used, written
    return live_at(graph, use)


def _bytes(insn: isa.Instruction) -> int:
    return stack_bits(insn.off, insn.size) & ALL if insn.off >= -512 else 0          # below it is refused anyway (rule 17)


def stack_pointers(graph: Graph) -> dict[Node, int] | None:
    """For each node a bit for each register that may hold a pointer to the stack at its beginning; None where memory may, or there are local functions."""
    out = {node: FRAME for node in graph.nodes}
    changed = True
    while changed:
        changed = False
        for node in graph.nodes:
            may = out[node]
            for _, insn in node.code:
                if insn.is_local_call or insn.is_atomic or insn.is_store and insn.cls == isa.STX and may >> insn.src & 1:
                    return None
                may = _pointers_after(insn, may)
            for succ, _ in node.succs:
                if may & ~out[succ]:
                    out[succ], changed = out[succ] | may, True
    return out


def _pointers_after(insn: isa.Instruction, may: int) -> int:
    if insn.is_call:
        return may & ~CLOBBERED
    if insn.is_load or insn.is_lddw:
        return may & ~(1 << insn.dst)
    if insn.is_alu:
        given = insn.uses_reg and insn.code != END and may >> insn.src & 1
        return may | 1 << insn.dst if given else may & ~(1 << insn.dst) if insn.code == MOV else may
    return may
