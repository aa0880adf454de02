"""What instructions cost on a target, as data: `verifier/costs/NAME.json`, measured, never written by hand.

A cost is [fewest, most] cycles. An instruction is looked up by the most specific key there is:

    "0x61 pkt"      opcode and the region it touches (stack, ctx, pkt, rec, state, out, rodata, data)
    "0xdc 16"       opcode and width, of a byte swap; opcode and operation, of an atomic
    "0x15 taken"    a jump that is taken
    "0xbf off"      arithmetic with an offset: a move with sign extension, a signed division
    "0x18 address"  lddw of an address in the image
    "0x85 local"    a call of a local function, and its return
    "0x07"          the opcode

A helper's cost is {"call": [fewest, most]}, and for a lookup or a buffer's call what grows, in most cycles: "entry": per entry; "match": by a
field's kind of match, per entry and field that matches ("pass") or does not ("miss"): for the field, for each word of it and each octet that is left;
"bisect": of a table of exact fields alone, per step of the search, and per step and key byte; "copy" and "zero": the
pieces in which action data are written; "ways": of a buffer's call, which goes one of them, each [cycles, per key byte, per entry, per entry and key
byte, per unit of an entry, per unit that is put], a unit has 8 octets, and "call" is at most what the way there takes beyond that. Pieces are [bytes,
most cycles], large ones first. `record`: the pieces in which a chain zeroes its header record and its output; `clear`: cycles more where a container
needs more of the output than those before it; `more`: cycles around each container but the first, where `module` has those inside only; `deparses`, `cuts`: where the last container deparses, and for each that cuts the
packet off. All is measured with the verdict that takes longest.
Translated code has a table without instructions: theirs are known themselves.
An interpreter that goes by a plan has "handlers": what it does at once, by name (AtOnce): "NAME", or "NAME 2 taken" where its second instruction
is a jump that is taken.
"""
from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Protocol

from ..compiler.isa import Instruction
from .lookups import Together, entry_costs, field_cost, looked_at

FOLDER = Path(__file__).parent / "costs"
MAX_ACTION_DATA = 256                                 # octets (lpn.h)
UNIT = 8                                              # octets of a buffer's entry that have a bit in its maps (buffers.c)


@dataclass(frozen=True)
class Cost:
    """Cycles, at least and at most."""
    fewest: int
    most: int

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.fewest + other.fewest, self.most + other.most)


@dataclass(frozen=True)
class TableSize:
    """What a lookup's time depends on, and that of a buffer's helper. `kinds`: each field's kind of match and bytes, where known; `data`:
    octets of action data; `room`: octets that the caller gives for them; `together`: of constant entries, which of them a key can match at once; `octets`: of a
    buffer's entry; `piece`: octets that are put at most."""
    entries: int
    key_bytes: int
    fields: int = 1
    octets: int = 0
    kinds: tuple[tuple[str, int], ...] = ()
    data: int = MAX_ACTION_DATA
    room: int = MAX_ACTION_DATA
    piece: int = 1 << 16
    together: Together = ()


@dataclass(frozen=True)
class AtOnce:
    """What an engine does as one: several instructions of a slot each, or one of which the opcode does not say what it costs. `ways`: by which of them,
    counted from 1, is a jump that is taken, 0 where none is."""
    name: str
    slots: int
    ways: Mapping[int, Cost]

    def way(self, taken: int) -> Cost:
        if taken not in self.ways:
            raise CostError(f"what {self.name} costs is not known, instruction {taken} of it taken")
        return self.ways[taken]


class CostError(ValueError):
    """The table does not say what an instruction costs. `slot`: which it is, where that is known."""

    def __init__(self, why: str, slot: int | None = None):
        super().__init__(why)
        self.slot = slot


class Costs(Protocol):
    """What executing a container costs; raises CostError for what it does not know. See CostTable."""
    @property
    def module(self) -> Cost:
        """Entering and leaving the container."""

    def insn(self, slot: int, insn: Instruction, regions: Collection[str], taken: bool, aligned: int = 1) -> Cost:
        """The instruction at a slot; of a helper call without the helper. Of a memory access, `regions`: what it may touch; `aligned`: what
        its address is a multiple of."""

    def at_once(self, slot: int) -> AtOnce | None:
        """What is done as one from this slot on, where that is not told by `insn`."""

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
    record: tuple[tuple[int, int], ...] = ()          # (bytes, cycles)
    clear: int = 0                                    # to begin to clear the record, or output
    more: int = 0                                     # around each further container
    calls: int = 0                                    # where one of them calls helpers
    deparses: int = 0                                 # where its last container deparses
    cuts: int = 0                                     # for each that cuts the packet off
    upper: int = 0                                    # more for a helper's call of a container that is not 32-bit clean
    handlers: Mapping[str, Mapping[int, Cost]] = field(default_factory=dict)      # by name, what its ways cost, as of AtOnce

    def insn(self, slot: int, insn: Instruction, regions: Collection[str], taken: bool, aligned: int = 1) -> Cost:
        """The cost of one instruction; accesses are taken as not aligned. Raises CostError."""
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

    def at_once(self, slot: int) -> None:
        """A table knows no container."""

    def helper(self, name: str, declared: int, tables: Collection[TableSize]) -> Cost:
        """The cost of calling a helper; `declared`: of one of the node's own, `tables`: those it may search. Raises CostError."""
        row = self.helpers.get(name)
        fewest, most = (row or self.helpers["own"])["call"]
        if row is None:
            return Cost(fewest, most + declared)
        if not tables and ("entry" in row or "ways" in row):
            raise CostError(f"{name}: the size of its table or buffer is not known")
        return Cost(fewest, most + max((_grown(row, table) for table in tables), default=0))

    def chain_of(self, record_size: int, outputs: Iterable[int], containers: int = 1, calls: bool = True, deparses: bool = True, cuts: int = 0) -> Cost:
        """A chain's own cost, with so many octets of the header record to clear, and of the output for each container. `calls`: whether one
        of them may call what the engine has for them; `deparses`: whether the last one does; `cuts`: how many may cut the packet off."""
        most = self.chain.most + self.more * (containers - 1) + self.calls * calls + self.deparses * deparses + self.cuts * cuts
        clear = 0
        if record_size:
            most += self.clear + in_pieces(self.record, record_size)
        for output in outputs:
            if output > clear:
                most, clear = most + self.clear + in_pieces(self.record, output - clear), output
        return Cost(self.chain.fewest, most)


def in_pieces(pieces: Iterable[Sequence[int]], size: int) -> int:
    """Cycles of so many octets: as many of each piece as fit."""
    cycles = 0
    for octets, each in pieces:
        cycles, size = cycles + size // octets * each, size % octets
    return cycles


def buffer_way(growth: Sequence[int], buffer: TableSize) -> int:
    """Cycles of a buffer's call that goes this way."""
    fixed, per_key, per_entry, per_byte, per_unit, per_put = growth
    return (fixed + per_key * buffer.key_bytes + buffer.entries * (per_entry + per_byte * buffer.key_bytes) + per_unit * -(-buffer.octets // UNIT)
            + per_put * -(-min(buffer.piece, buffer.octets) // UNIT))


def _grown(row: Mapping[str, list], table: TableSize) -> int:
    """Cycles that a lookup takes for the size of its table, a buffer's call for that of its buffer."""
    if "ways" in row:
        return max(buffer_way(growth, table) for growth in row["ways"])
    if "match" not in row:
        return 0
    copy, zero = row.get("copy", ()), row.get("zero", ())
    written = max(in_pieces(zero, table.room), in_pieces(copy, table.data) + in_pieces(zero, max(0, table.room - table.data)))
    if "bisect" in row and table.kinds and all(kind == "exact" for kind, _ in table.kinds):
        step, byte = row["bisect"]
        return written + (table.entries.bit_length() + 1) * (step + byte * table.key_bytes)     # and the entry found once more
    kinds = table.kinds or [("", table.key_bytes)] * table.fields
    costs = entry_costs(row["entry"][0], [field_cost(row["match"], kind, size) for kind, size in kinds])
    return written + (looked_at(table.together, costs) if table.together else table.entries * sum(costs))


@cache
def load(name: str) -> CostTable:
    """The table of that name. Raises CostError."""
    try:
        raw = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    except OSError:
        raise CostError(f"there is no cost table {name}") from None
    return CostTable(name, raw["mhz"], raw["how"], Cost(*raw["module"]), Cost(*raw["chain"]),
                     {key: Cost(*cost) for key, cost in raw["insns"].items()}, raw["helpers"],
                     tuple((size, cycles) for size, cycles in raw.get("record", ())), raw.get("clear", 0), raw.get("more", 0),
                     raw.get("calls", 0), raw.get("deparses", 0), raw.get("cuts", 0), raw.get("upper", 0), _handlers(raw.get("handlers", {})))


def _handlers(rows: Mapping[str, list[int]]) -> dict[str, dict[int, Cost]]:
    ways: dict[str, dict[int, Cost]] = {}
    for key, cost in rows.items():
        name, *taken = key.split()
        ways.setdefault(name, {})[int(taken[0]) if taken else 0] = Cost(*cost)
    return ways


def available() -> list[str]:
    """The names of all tables."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))
