"""The engine's host border (runtime/engine/host.h) on an emulated core: the same calls, the core's memory."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import cffi

from lpn.compiler.bundle import Bundle, Entry, Table
from lpn.compiler.bundle_parts import MATCH_KINDS
from lpn.compiler.image import Image
from lpn.runtime.engine.build import declarations
from lpn.runtime.engines import MAX_COMPLETIONS, MAX_PACKET, EngineError, EngineFull, Externs, bound, entry_bytes

from lpn.runtime.outside import BadArgument, Outside

from .core import Core

MAX_IMAGE = 1 << 16
MAX_TRACES = 256
MAX_ERROR = 64                  #: more than lpn.h has
SCRATCH = 1024
OUR_HEAP = 0xC0000              #: bytes for calloc: tables, containers, a packet
WINDOW = "lpn_chain_run"        #: what a node does with a packet; copying frames to and fro is the host's


@functools.cache
def structs() -> cffi.FFI:
    """The structs of host.h. Their fields have fixed widths and their natural alignment, the same on both sides."""
    ffi = cffi.FFI()
    ffi.cdef(declarations())
    return ffi


class M3Host:
    """An engine instance on a core of its own, which does not count before it is told to."""

    def __init__(self, record_size: int, state_size: int, fuel: int, core: Core | None = None) -> None:
        self.core = core or Core(window=WINDOW, counting=False)
        self.ffi = structs()
        self._room = {name: self.core.allocate(size) for name, size in (
            ("image", MAX_IMAGE), ("frame", MAX_PACKET), ("packet", MAX_PACKET), ("traces", 16 * MAX_TRACES),
            ("meta", SCRATCH), ("result", SCRATCH), ("a", SCRATCH), ("b", SCRATCH), ("c", SCRATCH))}
        self.core.give_heap(OUR_HEAP)
        self.raised: Exception | None = None
        self._outside: list[tuple[Callable[..., int | None], int]] = []
        self.handle = self.core.call("lpn_host_new", record_size, state_size, fuel)
        if self.handle == 0:
            raise EngineError("out of memory")

    # ------------------------------------------------------------------------------------ bytes and structs
    def put(self, room: str, content: bytes) -> int:
        """Write bytes where calls expect them; returns the address."""
        self.core.write(self._room[room], content)
        return self._room[room]

    def put_struct(self, room: str, value: Any) -> int:
        return self.put(room, bytes(self.ffi.buffer(value)))

    def room(self, name: str) -> int:
        return self._room[name]

    def run(self, frame: bytes, meta: Any = None) -> None:
        """One packet through the chain that is selected. `meta`: an lpn_host_meta, all zeros without. What comes out is in the rooms
        `packet`, `c` (its size) and `result`."""
        given = self.put("meta", bytes(SCRATCH)) if meta is None else self.put_struct("meta", meta)
        self.core.call("lpn_host_run", self.handle, self.put("frame", frame[:MAX_PACKET]), len(frame), given,
                       self.room("packet"), self.room("c"), self.room("result"))

    def get_struct(self, room: str, name: str) -> Any:
        """What a call wrote, as a cffi struct."""
        value = self.ffi.new(f"{name} *")
        size = self.ffi.sizeof(name)
        self.ffi.buffer(value)[:] = self.core.read(self._room[room], size)
        return value

    # ------------------------------------------------------------------------------------ errors
    def error_name(self, error: int) -> str:
        at = self.core.call("lpn_error_name", error)
        return self.core.read(at, 64).split(b"\0")[0].decode()

    def check(self, error: int, what: str) -> None:
        """EngineError unless `error` is 0."""
        if error:
            raise EngineError(f"{what}: {self.error_name(error)}")

    # ------------------------------------------------------------------------------------ containers and tables
    def add(self, image: bytes, name: str) -> None:
        """Append a container."""
        if len(image) > MAX_IMAGE:
            raise EngineFull(f"module {name}: {len(image)} bytes, the emulated core takes {MAX_IMAGE}")
        error = self.core.call("lpn_host_add", self.handle, self.put("image", image), len(image), self._room["c"])
        pc = int.from_bytes(self.core.read(self._room["c"], 4), "little")
        self.check(error, f"module {name}, instruction {pc}")

    def add_chain(self, modules: Iterable[Image]) -> None:
        """Containers that run one after the other."""
        for image in modules:
            self.add(image.to_bytes(), image.name)
        self.check(self.core.call("lpn_host_check", self.handle), "chain")

    def add_buffers(self, bundle: Bundle) -> None:
        for b in bundle.buffers:
            self.check(self.core.call("lpn_host_buffer", self.handle, b.size, b.entries, b.key_bytes, b.timeout), f"buffer {b.name}")

    def completions(self) -> Iterator[tuple[int, bytes]]:
        """What the last run completed, as NativeHost has it."""
        for left in range(MAX_COMPLETIONS, -1, -1):
            buffer, size, entry = (self._room["c"] + at for at in (0, 4, 8))
            if not self.core.call("lpn_host_completed", self.handle, buffer, self._room["packet"], size, entry):
                return
            number, octets, kept = (int.from_bytes(self.core.read(at, 4), "little") for at in (buffer, size, entry))
            self.core.call("lpn_host_taken", self.handle)
            if left:
                yield number, self.core.read(self._room["packet"], octets)
            self.core.call("lpn_host_release", self.handle, kept)

    def add_table(self, table: Table) -> None:
        """Make a table with its entries; tables are numbered in the order they are added."""
        bits = b"".join(f.width_bits.to_bytes(2, "little") for f in table.key)
        match = bytes(MATCH_KINDS.index(f.kind) for f in table.key)
        self.check(self.core.call("lpn_host_table", self.handle, len(table.key), self.put("a", bits), self.put("b", match),
                                  table.action_data_bytes, table.size), f"table {table.name}")
        self.set_entries(table, table.entries)

    def set_entries(self, table: Table, entries: Iterable[Entry]) -> None:
        """Swap in a new set; the old one stays when an entry is refused."""
        call = self.core.call
        call("lpn_host_begin", self.handle, table.index, 0)
        for entry in entries:
            a, b = entry_bytes(table, entry)
            error = call("lpn_host_entry", self.handle, table.index, self.put("a", a), self.put("b", b), entry.action,
                         self.put("c", entry.data), entry.priority)
            self.check(error, f"table {table.name}, entry {entry.match}")
        call("lpn_host_commit", self.handle, table.index)

    def bind(self, bundle: Bundle, externs: Externs | None) -> None:
        """Give the node's own functions to the bundle's externs, by name."""
        functions = bound([e.name for e in bundle.externs], externs)
        symbols = self.core.firmware.symbols
        for i, (extern, function) in enumerate(zip(bundle.externs, functions)):
            name, count = extern.name.encode(), len(extern.params)
            at = self.core.allocate(len(name) + 1, name)
            self._outside.append((function, count))
            for error in (self.core.call("lpn_host_offer", self.handle, at, count, "isr" in extern.contexts, symbols["lpn_outside"] | 1, i),
                          self.core.call("lpn_host_bind", self.handle, at, len(name), count)):
                self.check(error, f"extern {extern.name}")
        if functions:
            self.core.watch("lpn_outside", self._call_outside)

    def _call_outside(self, index: int, args: int) -> None:
        """A program calls a function of the node's own. An exception waits until the run is over."""
        function, count = self._outside[index]
        words = self.core.read(args, 4 * count)
        value = 0
        try:
            value = int(function(*(int.from_bytes(words[i:i + 4], "little") for i in range(0, 4 * count, 4))) or 0)
        except Exception as e:                  # noqa: BLE001
            self.raised = self.raised or e
        self.core.write(self.core.firmware.symbols["lpn_outside_value"], (value & 0xFFFFFFFF).to_bytes(4, "little"))

    def outside(self, outside: Outside) -> None:
        """Let `outside` do the helpers that reach beyond the chain's memory."""
        symbols = self.core.firmware.symbols
        numbers = {self.error_name(number): number for number in range(MAX_ERROR)}
        wrong, missing = numbers["bad helper argument"], numbers["unknown helper"]

        def seen(helper: int, r: int) -> None:
            words, value, error = self.core.read(r, 40), 0, 0
            try:
                value = outside.call(helper, [int.from_bytes(words[i:i + 8], "little") for i in range(0, 40, 8)])
            except BadArgument:
                error = wrong
            except KeyError:
                error = missing
            except Exception as e:              # noqa: BLE001
                self.raised = self.raised or e
            self.core.write(symbols["lpn_effect_value"], (value & 0xFFFFFFFF).to_bytes(4, "little"))
            self.core.write(symbols["lpn_effect_error"], error.to_bytes(4, "little"))
        self.core.call("lpn_host_outside", self.handle, symbols["lpn_effect"] | 1)
        self.core.watch("lpn_effect_seen", seen)

    def reraise(self) -> None:
        """The first exception of a function of the node's own since the last time."""
        raised, self.raised = self.raised, None
        if raised is not None:
            raise raised

    def traces(self) -> tuple[tuple[int, int], ...]:
        count = self.core.call("lpn_host_traces", self.handle, self._room["traces"], MAX_TRACES)
        raw = self.core.read(self._room["traces"], 16 * count)
        words = [int.from_bytes(raw[i:i + 8], "little") for i in range(0, len(raw), 8)]
        return tuple(zip(words[::2], words[1::2]))
