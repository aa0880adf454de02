"""What every engine offers: load a bundle, run frames through its chain.

The reference interpreter executes the typed program instead (`lpn.lang.reference`); the engines here execute
the same bytes a node would.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from lpn.compiler.bundle import Bundle, Entry, Hook, KeyField, Table
from lpn.compiler.kept import Migration
from lpn.lang.outside import Answer, Effect, all_clear

VERDICTS = ("ACCEPT", "DROP", "DELIVER", "TRANSMIT", "CONSUMED")
REASON_ENGINE = 0xFF00      #: drop reasons from here on are an engine's own
MAX_PACKET = 2048
WINDOW = 64
OUT_SIZE = 256
DEFAULT_FUEL = 1_000_000    #: instructions per frame

#: What is known of a packet beside its bytes: unsigned words, but for `rssi`; 0 when not given.
META_BITS = {"port": 32, "iface": 32, "rssi": 32, "lqi": 32, "time": 32, "node_short": 16, "node_ext": 64,
             "node_pan": 16, "clock": 32, "event": 32}


#: Functions of the node's own, by name: they get numbers without sign, and return one, or None.
Externs = Mapping[str, Callable[..., "int | None"]]


class EngineError(Exception):
    """The engine refuses: a bad program, a bad table entry, an instruction it does not have."""


class EngineUnavailable(EngineError):
    """The engine cannot be used on this machine; the message says what is missing."""


class EngineFull(EngineError):
    """The engine has no room for a program that is right."""


@dataclass(frozen=True)
class Result:
    """The end of a packet's way through the chain."""

    verdict: str                #: one of VERDICTS
    reason: str | None          #: DROP: its name; "engine: ..." when the engine itself dropped
    port: int | None            #: DELIVER: the port
    out: bytes | None           #: the packet as rebuilt, when a deparser ran
    insns: int | None           #: eBPF instructions executed; None when the engine cannot count
    packet: bytes = b""         #: the frame's bytes as the chain left them
    fault: str | None = None    #: where the engine stopped the program, when it did
    traces: tuple[tuple[int, int], ...] = ()    #: what helper `trace` was given
    effects: tuple[Effect, ...] = ()            #: what it did beyond the node's memory, in order
    thumb: int | None = None    #: engine m3: Thumb instructions executed by the whole chain
    cycles: int | None = None   #: engine m3: their time on a Cortex-M3, memory without wait states
    flash_cycles: int | None = None     #: engine m3: the same with the wait states of an STM32F103 at 72 MHz
    most_cycles: int | None = None      #: engine m3: the same, each of the engine's functions linked where it waits most
    completed: tuple[Result, ...] = ()          #: of the chains that buffers started, in order
    buffer: int | None = None   #: of such a chain: the number of the buffer


#: Runs that one run can start through buffers (LPN_MAX_CHAIN).
MAX_COMPLETIONS = 8


class Program(ABC):
    """A loaded bundle and its state, with one chain that runs. Not thread-safe.

    `answer`: what the radio and the stack answer to helpers; by default the channel is clear, and what is sent is taken."""

    bundle: Bundle
    answer: Answer = staticmethod(all_clear)

    @abstractmethod
    def run(self, frame: bytes, meta: Mapping[str, int] | None = None) -> Result:
        """Run the chain over one frame (without FCS)."""

    @abstractmethod
    def state(self) -> bytes:
        """The state region, `bundle.state_size` bytes."""

    @abstractmethod
    def set_state(self, state: bytes) -> None:
        """Replace the state region; EngineError when the size differs."""

    def migrate(self, migration: Migration, old: Bundle, state: bytes) -> None:
        """Run a migration once: from the old bundle's state to this program's. EngineError when it fails."""
        raise EngineError(f"{migration.module}: this engine runs no migrations")

    @abstractmethod
    def set_entries(self, table: str, entries: Iterable[Entry]) -> None:
        """Replace a table's entries in one step: a lookup sees the old ones or the new ones."""

    def _table(self, name: str) -> Table:
        for table in self.bundle.tables:
            if table.name == name:
                return table
        raise EngineError(f"there is no table {name!r}; tables: {_names(self.bundle)}")

    def _filled(self, name: str, entries: Iterable[Entry]) -> tuple[Table, list[Entry]]:
        """A table and what it is to have. Raises EngineError."""
        table, entries = self._table(name), list(entries)
        if table.constant and not set(entries) <= set(table.entries):
            raise EngineError(f"the entries of table {name!r} are constant")
        return table, entries

    def _reason(self, number: int, error: str) -> str:
        if number >= REASON_ENGINE:
            return f"engine: {error}"
        return self.bundle.reasons[number] if number < len(self.bundle.reasons) else f"reason {number}"


class Engine(ABC):
    """Something that executes bundles."""

    name: ClassVar[str]

    @abstractmethod
    def load(self, bundle: Bundle | bytes, *, fuel: int = DEFAULT_FUEL, externs: Externs | None = None,
             hook: Hook | None = None) -> Program:
        """Check and load a bundle; EngineError when it is refused. `hook`: whose chain runs, by default that of
        `radio.rx_done`. `externs`: what it may declare of the node's own."""


def get_engine(name: str) -> Engine:
    """The engine of that name: engine (C), m3, thumb2 or rbpf. EngineUnavailable when this machine lacks what it needs."""
    if name == "engine":
        from lpn.runtime.engine.native import NativeEngine

        return NativeEngine()
    if name == "m3":
        from lpn.runtime.m3.engine import M3Engine

        return M3Engine()
    if name == "thumb2":
        from lpn.runtime.m3.engine import Thumb2Engine

        return Thumb2Engine()
    if name == "rbpf":
        from lpn.runtime.rbpf.engine import RbpfEngine

        return RbpfEngine()
    raise EngineError(f"there is no engine {name!r}; engines: engine, m3, rbpf, thumb2")


def bound(asked: Iterable[str], given: Externs | None) -> list[Callable[..., "int | None"]]:
    """The functions that a program asks for, in order. EngineError names the first that is missing."""
    offered = given or {}
    for name in asked:
        if name not in offered:
            raise EngineError(f"the program needs the function {name!r} of the node; there is {', '.join(sorted(offered)) or 'none'}")
    return [offered[name] for name in asked]


def check_meta(meta: Mapping[str, int] | None) -> dict[str, int]:
    """`meta` complete and in range; `rssi` in two's complement."""
    values = dict.fromkeys(META_BITS, 0)
    for key, value in (meta or {}).items():
        if key not in META_BITS:
            raise EngineError(f"unknown meta field {key!r}; fields: {', '.join(META_BITS)}")
        low = -(1 << 31) if key == "rssi" else 0
        if not isinstance(value, int) or not low <= value < 1 << META_BITS[key]:
            raise EngineError(f"meta field {key}: {value!r} does not fit {META_BITS[key]} bits")
        values[key] = value & 0xFFFFFFFF if key == "rssi" else value
    return values


def entry_bytes(table: Table, entry: Entry) -> tuple[bytes, bytes]:
    """An entry's match as the engines store it: (values or lows, masks or highs), key bytes each."""
    if len(entry.match) != len(table.key):
        raise EngineError(f"table {table.name}: {len(entry.match)} match fields, the key has {len(table.key)}")
    if len(entry.data) != table.action_data_bytes:
        raise EngineError(f"table {table.name}: {len(entry.data)} bytes of action data, "
                          f"{table.action_data_bytes} are stored")
    a = b = b""
    for field, match in zip(table.key, entry.match):
        first, second = _field_values(table, field, match)
        a += first.to_bytes(field.bytes, "big")
        b += second.to_bytes(field.bytes, "big")
    return a, b


def _field_values(table: Table, field: KeyField, match: tuple[int, ...]) -> tuple[int, int]:
    values = match if field.kind != "exact" else (*match, 0)
    limit = 1 << field.width_bits
    if field.kind == "lpm" and len(match) == 2 and 0 <= match[1] <= field.width_bits:
        length = match[1]
        values = (match[0], ((1 << length) - 1) << (field.width_bits - length))
    if len(values) != 2 or not all(0 <= v < limit for v in values):
        raise EngineError(f"table {table.name}: {match} is no {field.kind} match of {field.width_bits} bits")
    return values[0], values[1]


def _names(bundle: Bundle) -> str:
    return ", ".join(t.name for t in bundle.tables) or "none"
