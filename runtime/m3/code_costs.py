"""What translated code costs: the times of its Thumb instructions, slot by slot; the rest is measured (costs/thumb2.json).

The translator is the node's own, so the code is what will run there. Times are the table of `timing.py` with the manual's worst
case where it gives a range: 3 cycles to fill the pipeline after a jump, 12 for a division, no load that profits from the one before.
Code lies in RAM, without wait states.
"""
from __future__ import annotations

from collections.abc import Collection

from lpn.compiler.isa import Instruction, decode as decode_ebpf
from lpn.runtime.engine.thumb2 import TranslateError, translate
from lpn.verifier.cost import Cost, CostError, CostTable, TableSize

from .timing import Insn, Kind, decode, make_disassembler, static_cycles

REFILL = 1, 3                   #: cycles to fill the pipeline, at least and at most
MORE = {Kind.LONG: 3, Kind.DIVIDE: 10}   #: what operands add at most


class CodeCosts:
    """Costs of one container's translation. `measured`: the table of the engine around it. Raises CostError."""

    def __init__(self, text: bytes, clean32: bool, stack: int, measured: CostTable) -> None:
        self.measured = measured
        try:
            self.translated = translate(text, clean32=clean32, stack=stack)
        except TranslateError as e:
            raise CostError(f"the translator refuses this container: {e}") from None
        self.insns: dict[int, Instruction] = {}
        slot = 0
        for insn in decode_ebpf(text):
            if insn.is_local_call:
                raise CostError("local functions are not timed")
            self.insns[slot] = insn
            slot += insn.slots
        md = make_disassembler()
        starts = self.translated.map
        self.prologue = decode(self.translated.code[:starts[0]], 0, md)
        self.code = {slot: decode(self.translated.code[starts[slot]:starts[slot + insn.slots]], starts[slot], md)
                     for slot, insn in self.insns.items()}

    def insn(self, slot: int, insn: Instruction, regions: Collection[str], taken: bool) -> Cost:
        code, jumps = self.code[slot], insn.is_goto or insn.is_branch
        if not jumps:
            return cost_of(code)
        if self._over(slot, insn):              # it is written the other way round: where eBPF goes on, this jumps
            taken = not taken
        refill = Cost(*REFILL) if code and (taken or insn.is_goto) else Cost(0, 0)
        return cost_of([each for each in code if not each.jump]) + Cost(*[sum(each.jump for each in code)] * 2) + refill

    def _over(self, slot: int, insn: Instruction) -> bool:
        """Is this a branch over a jump that became one branch?"""
        following = self.insns.get(slot + 1)
        return (insn.is_branch and insn.off == 1 and following is not None and following.is_goto and not self.code[slot + 1]
                and following.target(slot + 1) != slot + 2)

    def helper(self, name: str, declared: int, tables: Collection[TableSize]) -> Cost:
        return self.measured.helper(name, declared, tables)

    @property
    def module(self) -> Cost:
        return self.measured.module + cost_of(self.prologue)


def cost_of(code: list[Insn]) -> Cost:
    """Instructions one after the other; each that may jump fills the pipeline in the worst case."""
    fewest, most, before = 0, 0, None
    for insn in code:
        fewest += 1 if insn.conditional else static_cycles(insn, before)
        most += insn.cycles + MORE.get(insn.kind, 0) + (REFILL[1] if insn.jump else 0)
        before = insn
    return Cost(fewest, most)
