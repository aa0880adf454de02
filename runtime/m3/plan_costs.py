"""What an interpreted container costs where the interpreter goes by a plan: its handlers' costs, slot by slot, from the interpreter's table.

The plan is the engine's own (runtime/engine/plan.py), so what is done at once here is what the node does at once.
"""
from __future__ import annotations

from collections.abc import Collection

from lpn.compiler.isa import Instruction
from lpn.runtime.engine.plan import plan_of
from lpn.verifier.cost import AtOnce, Cost, CostTable, TableSize


class PlanCosts:
    """Costs of one 32-bit clean container by this table. `certified`, `fuse`: as of the plan."""

    def __init__(self, text: bytes, table: CostTable, *, certified: bool, fuse: bool = True) -> None:
        self.table = table
        self.plan = plan_of(text, certified=certified, fuse=fuse)

    @property
    def module(self) -> Cost:
        return self.table.module

    def at_once(self, slot: int) -> AtOnce | None:
        handler = self.plan[slot]
        ways = self.table.handlers.get(handler.name, {})
        return AtOnce(handler.name, handler.instructions, ways) if ways or handler.instructions > 1 else None

    def insn(self, slot: int, insn: Instruction, regions: Collection[str], taken: bool, aligned: int = 1) -> Cost:
        return self.table.insn(slot, insn, regions, taken)

    def helper(self, name: str, declared: int, tables: Collection[TableSize]) -> Cost:
        return self.table.helper(name, declared, tables)
