"""What instructions cost on a target, as data: `verifier/costs/NAME.json`, measured, never written by hand.

A cost is [fewest, most] cycles. An instruction is looked up by the most specific key there is:

    "0x61 pkt"      opcode and the region it touches (stack, ctx, pkt, rec, state, out, rodata, data)
    "0xdc 16"       opcode and width, of a byte swap; opcode and operation, of an atomic
    "0x15 taken"    a jump that is taken
    "0xbf off"      arithmetic with an offset: a move with sign extension, a signed division
    "0x18 address"  lddw of an address in the image
    "0x85 local"    a call of a local function, and its return
    "0x07"          the opcode

A helper's cost is {"call": [fewest, most]}, with "entry": most cycles per entry of the table it searches.
"""
from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..compiler.isa import Instruction

FOLDER = Path(__file__).parent / "costs"


@dataclass(frozen=True)
class Cost:
    """Cycles, at least and at most."""
    fewest: int
    most: int


@dataclass(frozen=True)
class TableSize:
    """What a lookup's time depends on, and that of a buffer's helper: octets of an entry."""
    entries: int
    key_bytes: int
    octets: int = 0


class CostError(ValueError):
    """The table does not say what an instruction costs."""


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

    def insn(self, insn: Instruction, regions: frozenset[str] | set[str], taken: bool) -> Cost:
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

    def helper(self, name: str, tables: list[TableSize]) -> Cost:
        """The cost of calling a helper, `tables`: those it may search. Raises CostError."""
        row = self.helpers.get(name)
        if row is None:
            raise CostError(f"cost table {self.name} does not know helper {name}")
        fewest, most = row["call"]
        per_entry, per_byte = row.get("entry", [0, 0])
        per_octet, = row.get("octet", [0])
        return Cost(fewest, most + max((t.entries * (per_entry + per_byte * t.key_bytes) + per_octet * t.octets for t in tables), default=0))


@cache
def load(name: str) -> CostTable:
    """The table of that name. Raises CostError."""
    try:
        raw = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    except OSError:
        raise CostError(f"there is no cost table {name}") from None
    return CostTable(name, raw["mhz"], raw["how"], Cost(*raw["module"]), Cost(*raw["chain"]),
                     {key: Cost(*cost) for key, cost in raw["insns"].items()}, raw["helpers"])


def available() -> list[str]:
    """The names of all tables."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))
