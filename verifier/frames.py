"""Where a container's functions lie, and how much of the stack each of them takes.

Functions lie one behind the other: one goes from where it is called to where the next one begins. The engine puts a called function's
stack below what its caller uses, for which it takes the lowest address that the caller makes of r10 and constants (`frame`, which is
`follow` of runtime/engine/load.c). What a caller uses in other ways would not be kept, and is refused (rule 17).
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..compiler.isa import Instruction
from .descriptors import STACK
from .rules import Violation

MAX_FUNCTIONS = 16                                    # of a container, its own code one of them (LPN_MAX_FUNCS)
MOV64, ADD64, SUB64 = 0xBF, 0x07, 0x17
INDEXED = 0x0F, 0x1F                                  # plus, minus a register
LOAD_ACQUIRE = 0x100


@dataclass(frozen=True)
class Frames:
    """The functions of a text by the slot of their first instruction: what each one calls, what of it the engine keeps free for itself while it calls."""
    calls: dict[int, set[int]]
    kept: dict[int, int]                              # of functions that call others, where an engine of ours runs them

    def deepest(self, used: dict[int, int]) -> list[int]:
        """The chain of calls that takes most of the stack: bytes of each function in it. `used`: what each one is proven to use."""
        found: dict[int, list[int]] = {}

        def chain(entry: int) -> list[int]:
            if entry not in found:
                own = whole(used.get(entry, 0))
                below = max(map(chain, sorted(self.calls[entry])), key=sum, default=[])
                found[entry] = [max(own, self.kept.get(entry, 0)), *below] if below else [own]
            return found[entry]
        return chain(0)


def whole(octets: int) -> int:
    """In whole words of 8 bytes."""
    return (octets + 7) // 8 * 8


def frames(insns: dict[int, Instruction], calls: dict[int, set[int]], target: str) -> Frames:
    """Of a text whose functions call each other like this. Raises Violation."""
    entries = sorted(calls)
    if target == "xdp":                               # the kernel keeps of each function what it uses
        return Frames(calls, {})
    if len(entries) > MAX_FUNCTIONS:
        raise Violation(32, entries[MAX_FUNCTIONS], f"the text has {len(entries)} functions, the limit is {MAX_FUNCTIONS}",
                        "make some of them part of those that call them", "the engine has room for no more, and refuses the container")
    ends = [*entries[1:], max(insns) + 1]
    return Frames(calls, {entry: frame((slot, insns[slot]) for slot in range(entry, end) if slot in insns)
                          for entry, end in zip(entries, ends) if calls[entry]})


def frame(code: Iterable[tuple[int, Instruction]]) -> int:
    """Bytes below r10 that the engine takes a function for using: registers are followed as the instructions lie, an index changes nothing."""
    below, lowest = {10: 0}, 0                        # registers whose distance to r10 is known
    for _, insn in code:
        low, gives = 0, None
        if insn.is_jump or insn.is_exit or insn.is_call:
            continue
        if insn.is_load or insn.is_store or insn.is_atomic:
            low = below.get(insn.src if insn.is_load else insn.dst, -insn.off) + insn.off
        elif insn.op == MOV64:
            gives = below.get(insn.src) if not insn.off else None
        elif insn.op in INDEXED:
            gives = below.get(insn.dst)
        elif insn.op in (ADD64, SUB64) and insn.dst in below:
            step = insn.imm if insn.op == ADD64 else -insn.imm
            if abs(step) <= 2 * STACK:
                low = below[insn.dst] + step
                gives = low if -STACK <= low <= 0 else None
            elif step < 0:
                low = -STACK
        if insn.is_alu or insn.is_lddw or insn.is_load or insn.is_atomic and insn.imm == LOAD_ACQUIRE:
            below.pop(insn.dst, None)
            if gives is not None:
                below[insn.dst] = gives
        lowest = min(lowest, max(low, -STACK))
    return whole(-lowest)
