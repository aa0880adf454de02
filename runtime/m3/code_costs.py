"""What translated code costs: the times of its Thumb instructions, slot by slot; the rest is measured (costs/thumb2.json).

The translator is the node's own, so the code is what will run there. Times are the table of `timing.py` with the manual's worst
case where it gives a range: 12 cycles for a division, 3 to fill the pipeline with an instruction of 32 bits that two words hold, 2 with
another. A load profits from the one before it only where nothing jumps in between. An access that is not proved to be aligned takes as many
bus cycles as its width can. Code lies in RAM from a word's boundary on, without wait states.
"""
from __future__ import annotations

import re
from collections.abc import Collection

from capstone import arm

from lpn.compiler.isa import Instruction, decode as decode_ebpf
from lpn.runtime.engine.thumb2 import TranslateError, translate
from lpn.verifier.cost import Cost, CostError, CostTable, TableSize

from .timing import MOST_REFILL, Insn, Kind, decode, make_disassembler, most_refill, static_cycles, unaligned_cycles

LEAST_REFILL = 1                #: cycles to fill the pipeline, at least
MORE = {Kind.LONG: 3, Kind.DIVIDE: 10}   #: what operands add at most
BLOCK = arm.ARM_REG_R11         #: points to words of the engine's (thumb2_encode.h)
SOMEWHERE = 0x20012344          #: where data may lie: an address that takes as many instructions as any


class CodeCosts:
    """Costs of one container's translation. `measured`: the table of the engine around it. Raises CostError."""

    def __init__(self, text: bytes, clean32: bool, stack: int, measured: CostTable) -> None:
        self.measured, self.clean32 = measured, clean32
        try:
            self.translated = translate(text, clean32=clean32, stack=stack, rodata=SOMEWHERE, data=SOMEWHERE)
        except TranslateError as e:
            raise CostError(f"the translator refuses this container: {e}", e.slot) from None
        self.insns: dict[int, Instruction] = {}
        slot = 0
        for insn in decode_ebpf(text):
            if insn.is_local_call:
                raise CostError(f"local functions are not timed, slot {slot}", slot)
            self.insns[slot] = insn
            slot += insn.slots
        md, self.starts = make_disassembler(), self.translated.map
        self.prologue = decode(self.translated.code[:self.starts[0]], 0, md)
        self.code = {slot: decode(self.translated.code[self.starts[slot]:self.starts[slot + insn.slots]], self.starts[slot], md)
                     for slot, insn in self.insns.items()}
        everything = [*self.prologue, *(each for code in self.code.values() for each in code)]
        self.at = {each.address: each for each in everything}
        self.before = dict(zip((each.address for each in everything[1:]), everything))
        self.entered = {target for each in everything if (target := jump_target(each)) is not None}

    def insn(self, slot: int, insn: Instruction, regions: Collection[str], taken: bool, aligned: int = 1) -> Cost:
        code, jumps = self.code[slot], insn.is_goto or insn.is_branch
        if insn.is_call or insn.is_exit:
            return self._time(code)
        if any(each.indirect for each in code):         # a function of the engine does it
            return self._time(code) + self.measured.insn(slot, insn, regions, taken)
        octets = [each.octets for each in code if each.octets and BLOCK not in each.bases]
        if not (insn.is_load or insn.is_store) or sum(octets) > insn.size:
            aligned = 1                         # whatever asked for these
        if not jumps:
            return self._time(code) + Cost(0, sum(unaligned_cycles(aligned, each) for each in octets))
        target = insn.target(slot)
        if self._over(slot, insn):              # it is written the other way round: where eBPF goes on, this jumps
            taken, target = not taken, self.insns[slot + 1].target(slot + 1)
        branches = sum(each.jump for each in code)
        refill = Cost(0, 0)
        if branches and (taken or insn.is_goto):
            refill = Cost(LEAST_REFILL, most_refill(self.at[self.starts[target]]))
        return self._time([each for each in code if not each.jump]) + Cost(branches, branches) + refill

    def _time(self, code: list[Insn]) -> Cost:
        """Instructions one after the other. Behind one that others jump to, a load is known to profit only in the best case."""
        fewest = most = 0
        for insn in code:
            before = self.before.get(insn.address)
            quick = static_cycles(insn, before)
            fewest += 1 if insn.conditional else quick
            most += insn.cycles if insn.conditional or insn.address in self.entered else quick
            most += MORE.get(insn.kind, 0) + (MOST_REFILL if insn.jump else 0)
        return Cost(fewest, most)

    def _over(self, slot: int, insn: Instruction) -> bool:
        """Is this a branch over a jump that became one branch?"""
        following = self.insns.get(slot + 1)
        return (insn.is_branch and insn.off == 1 and following is not None and following.is_goto and not self.code[slot + 1]
                and following.target(slot + 1) != slot + 2)

    def at_once(self, slot: int) -> None:
        """What the translator makes of neighbours is told by `insn`."""

    def helper(self, name: str, declared: int, tables: Collection[TableSize]) -> Cost:
        return self.measured.helper(name, declared, tables) + Cost(0, 0 if self.clean32 else self.measured.upper)

    @property
    def module(self) -> Cost:
        return self.measured.module + self._time(self.prologue)


def jump_target(insn: Insn) -> int | None:
    """Where a branch leads to; None if it is none, or leads to what a register says."""
    found = re.search(r"#(0x[0-9a-f]+|\d+)$", insn.text) if insn.jump and not insn.indirect else None
    return int(found[1], 0) if found else None
