"""What instructions cost on a target, as data: `verifier/costs/NAME.json`, measured, never written by hand.

A cost is [fewest, most] cycles. An instruction is looked up by the most specific key there is:

    "0x61 pkt"      opcode and the region it touches (stack, ctx, pkt, rec, state, out, rodata, data)
    "0xdc 16"       opcode and width, of a byte swap; opcode and operation, of an atomic
    "0x15 taken"    a jump that is taken
    "0xbf off"      arithmetic with an offset: a move with sign extension, a signed division
    "0x18 address"  lddw of an address in the image
    "0x85 local"    a call of a local function, and its return
    "0x07"          the opcode

A helper's cost is {"call": [fewest, most]}, with "entry" for a lookup: most cycles per entry of the table, per entry and key byte, and
per entry and field (as much as per entry, if it is not there). `record`: most cycles of a chain per byte of header record beyond 64.
Translated code has a table without instructions: theirs are known themselves.
"""
from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

from ..compiler.isa import Instruction

FOLDER = Path(__file__).parent / "costs"
RECORD = 64                                           # bytes of the record that `chain` is measured with


@dataclass(frozen=True)
class Cost:
    """Cycles, at least and at most."""
    fewest: int
    most: int

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.fewest + other.fewest, self.most + other.most)


@dataclass(frozen=True)
class TableSize:
    """What a lookup's time depends on, and that of a buffer's helper: octets of an entry."""
    entries: int
    key_bytes: int
    fields: int = 1
    octets: int = 0


class CostError(ValueError):
    """The table does not say what an instruction costs."""


class Costs(Protocol):
    """What executing a container costs; raises CostError for what it does not know. See CostTable."""
    @property
    def module(self) -> Cost:
        """Entering and leaving the container."""

    def insn(self, slot: int, insn: Instruction, regions: Collection[str], taken: bool) -> Cost:
        """The instruction at a slot; of a helper call without the helper."""

    def helper(self, name: str, declared: int, tables: Collection[TableSize]) -> Cost:
        """The helper itself."""


@dataclass(frozen=True)
class CostTable:
    """One way to execute containers on one target."""
    name: str
    mhz: int
    how: str                                          # how the figures were obtained
    module: Cost                                      # entering and leaving a container
    chain: Cost                                       # a chain's own, per run
    insns: dict[str, Cost]
    helpers: dict[str, dict[str, list[int]]]
    record: int = 0

    def insn(self, slot: int, insn: Instruction, regions: Collection[str], taken: bool) -> Cost:
        """The cost of one instruction. `regions`: what a memory access may touch. Raises CostError."""
        op = f"0x{insn.op:02x}"
        if insn.is_local_call and f"{op} local" in self.insns:
            return self.insns[f"{op} local"]
        if insn.is_alu and insn.off and f"{op} off" in self.insns:
            return self.insns[f"{op} off"]
        if insn.is_lddw and insn.src and f"{op} address" in self.insns:
            return self.insns[f"{op} address"]
        if (taken or insn.is_goto) and f"{op} taken" in self.insns:
            return self.insns[f"{op} taken"]
        if (special := self.insns.get(f"{op} {insn.imm}")) is not None and (insn.is_atomic or insn.is_alu):
            return special
        known = [self.insns[key] for region in regions if (key := f"{op} {region}") in self.insns]
        if known and len(known) == len(regions):
            return Cost(min(c.fewest for c in known), max(c.most for c in known))
        if op not in self.insns:
            raise CostError(f"cost table {self.name} does not know opcode {op}")
        return self.insns[op]

    def helper(self, name: str, declared: int, tables: Collection[TableSize]) -> Cost:
        """The cost of calling a helper; `declared`: of one of the node's own, `tables`: those it may search. Raises CostError."""
        row = self.helpers.get(name)
        fewest, most = row["call"] if row is not None else self.helpers["clock_us"]["call"]
        if row is None:
            return Cost(fewest, most + declared)
        if not tables and ("entry" in row or "octet" in row):
            raise CostError(f"{name}: the size of its table or buffer is not known")
        per_entry, per_byte, per_field = [*row.get("entry", [0, 0]), 0][:3]
        per_octet, = row.get("octet", [0])
        grown = (t.entries * (per_entry + (per_field or per_entry) * (t.fields - 1) + per_byte * t.key_bytes) + per_octet * t.octets
                 for t in tables)
        return Cost(fewest, most + max(grown, default=0))

    def chain_of(self, record_size: int) -> Cost:
        """A chain's own cost, with this header record."""
        return Cost(self.chain.fewest, self.chain.most + self.record * max(0, record_size - RECORD))


@cache
def load(name: str) -> CostTable:
    """The table of that name. Raises CostError."""
    try:
        raw = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    except OSError:
        raise CostError(f"there is no cost table {name}") from None
    return CostTable(name, raw["mhz"], raw["how"], Cost(*raw["module"]), Cost(*raw["chain"]),
                     {key: Cost(*cost) for key, cost in raw["insns"].items()}, raw["helpers"], raw.get("record", 0))


def available() -> list[str]:
    """The names of all tables."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))
