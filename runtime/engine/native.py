"""The C engine on the host: the same code a node runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from lpn.compiler.bundle import Bundle, BundleError, Entry, Hook, Table
from lpn.compiler.bundle_parts import MATCH_KINDS
from lpn.compiler.image import Image
from lpn.compiler.kept import Migration
from lpn.runtime.engine.build import BuildError, library
from lpn.runtime.engines import (DEFAULT_FUEL, MAX_PACKET, OUT_SIZE, VERDICTS, Engine, EngineError, EngineUnavailable,
                                 Externs, MAX_COMPLETIONS, Program, Result, bound, check_meta, entry_bytes)
from lpn.runtime.outside import BadArgument, Outside

MAX_TRACES = 256


def open_engine() -> tuple[Any, Any]:
    """(ffi, lib), or EngineUnavailable."""
    try:
        return library()
    except (BuildError, OSError) as e:
        raise EngineUnavailable(str(e)) from None


def as_bundle(bundle: Bundle | bytes) -> Bundle:
    """A bundle from its bytes, if it is not one yet."""
    if isinstance(bundle, Bundle):
        return bundle
    try:
        return Bundle.from_bytes(bundle)
    except BundleError as e:
        raise EngineError(str(e)) from None


class NativeHost:
    """An engine instance: memory, tables and containers. Tables are of use to other engines as well."""

    def __init__(self, record_size: int, state_size: int, fuel: int) -> None:
        self.ffi, self.lib = open_engine()
        raw = self.lib.lpn_host_new(record_size, state_size, fuel)
        if raw == self.ffi.NULL:
            raise EngineError("out of memory")
        self.handle = self.ffi.gc(raw, self.lib.lpn_host_free)
        self.raised: BaseException | None = None
        self._keep: list[Any] = []              # what C holds a pointer to

    def check(self, error: int, what: str) -> None:
        """EngineError unless `error` is 0."""
        if error:
            raise EngineError(f"{what}: {self.error_name(error)}")

    def error_name(self, error: int) -> str:
        return self.ffi.string(self.lib.lpn_error_name(error)).decode()

    def bind(self, bundle: Bundle, externs: Externs | None) -> None:
        """Give the node's own functions to the bundle's externs, by name."""
        for extern, function in zip(bundle.externs, bound([e.name for e in bundle.externs], externs)):
            name = self.ffi.new("char[]", extern.name.encode())
            call = self.ffi.callback("uint32_t(void *, const uint32_t *)", self.caller(function, len(extern.params)), onerror=self._failed)
            self._keep += [name, call]
            self.check(self.lib.lpn_host_offer(self.handle, name, len(extern.params), "isr" in extern.contexts, call, self.ffi.NULL), f"extern {extern.name}")
            self.check(self.lib.lpn_host_bind(self.handle, name, len(name) - 1, len(extern.params)), f"extern {extern.name}")

    def caller(self, function: Callable[..., int | None], count: int) -> Callable[[Any, Any], int]:
        """What C calls."""
        def call(_: Any, args: Any) -> int:
            return int(function(*(args[i] for i in range(count))) or 0) & 0xFFFF_FFFF
        return call

    def _failed(self, _kind: type, error: BaseException, _trace: object) -> None:
        """What a function raised that C called, an interrupt too, waits until the run is over: nothing goes through C. C gets 0."""
        self.raised = self.raised or error

    def outside(self, outside: Outside) -> None:
        """Let `outside` do the helpers that reach beyond the chain's memory."""
        wrong, missing = (self.error_number(name) for name in ("bad helper argument", "unknown helper"))

        def call(_: Any, number: int, r: Any, value: Any) -> int:
            try:
                value[0] = outside.call(number, [r[i] for i in range(5)])
            except BadArgument:
                return wrong
            except KeyError:
                return missing
            return 0
        kept = self.ffi.callback("int(void *, uint32_t, const uint64_t *, uint32_t *)", call, onerror=self._failed)
        self._keep.append(kept)
        self.lib.lpn_host_outside(self.handle, kept)

    def error_number(self, name: str) -> int:
        """The number of an error, by its name in lpn.h."""
        return next(number for number in range(256) if self.error_name(number) == name)

    def reraise(self) -> None:
        """The first exception of a function of the node's own since the last time."""
        raised, self.raised = self.raised, None
        if raised is not None:
            raise raised

    def add_chain(self, modules: Iterable[Image]) -> None:
        """Containers that run one after the other."""
        pc = self.ffi.new("uint32_t *")
        for image in modules:
            raw = image.to_bytes()
            error = self.lib.lpn_host_add(self.handle, raw, len(raw), pc)
            self.check(error, f"module {image.name}, instruction {pc[0]}")
        self.check(self.lib.lpn_host_check(self.handle), "chain")

    def add_buffers(self, bundle: Bundle) -> None:
        for b in bundle.buffers:
            self.check(self.lib.lpn_host_buffer(self.handle, b.size, b.entries, b.key_bytes, b.timeout), f"buffer {b.name}")

    def view(self, packet: int, size: int, out: int, now: int) -> None:
        """For another engine's run: where helpers find the packet and the output buffer, and what time it is."""
        at = [self.ffi.cast("uint8_t *", address) for address in (packet, out)]
        self.lib.lpn_host_view(self.handle, at[0], size, at[1], now)

    def completions(self) -> Iterator[tuple[int, bytes]]:
        """What the last run completed, (buffer, content), and what the runs do that the caller makes over each: until nothing
        is completed, or there have been too many. An entry is free again when its run is over."""
        buffer, size = self.ffi.new("uint32_t *"), self.ffi.new("uint32_t *")
        content, entry = self.ffi.new("uint8_t[]", MAX_PACKET), self.ffi.new("uint8_t **")
        for left in range(MAX_COMPLETIONS, -1, -1):
            if not self.lib.lpn_host_completed(self.handle, buffer, content, size, entry):
                return
            kept = entry[0]
            self.lib.lpn_host_taken(self.handle)
            if left:
                yield buffer[0], self.ffi.buffer(content, size[0])[:]
            self.lib.lpn_host_release(self.handle, kept)

    def add_table(self, table: Table) -> None:
        """Make a table with its entries; tables are numbered in the order they are added."""
        bits = self.ffi.new("uint16_t[]", [f.width_bits for f in table.key])
        match = self.ffi.new("uint8_t[]", [MATCH_KINDS.index(f.kind) for f in table.key])
        self.check(self.lib.lpn_host_table(self.handle, len(table.key), bits, match, table.action_data_bytes,
                                           table.size), f"table {table.name}")
        self.set_entries(table, table.entries)

    def set_entries(self, table: Table, entries: Iterable[Entry]) -> None:
        """Swap in a new set; the old one stays when an entry is refused."""
        self.lib.lpn_host_begin(self.handle, table.index, 0)
        for entry in entries:
            a, b = entry_bytes(table, entry)
            error = self.lib.lpn_host_entry(self.handle, table.index, a, b, entry.action, entry.data,
                                            entry.priority)
            self.check(error, f"table {table.name}, entry {entry.match}")
        self.lib.lpn_host_commit(self.handle, table.index)


class NativeProgram(Program):
    """A bundle in the C engine."""

    def __init__(self, bundle: Bundle, fuel: int, externs: Externs | None = None, hook: Hook | None = None) -> None:
        self.bundle, self.modules = bundle, bundle.chained(hook)
        self.host = host = NativeHost(bundle.record_size, bundle.state_size, fuel)
        self.ffi, self.lib = host.ffi, host.lib
        host.add_chain(self.modules)
        self._takers: dict[int, tuple[int, tuple[Image, ...]]] = {}       # by buffer: the number of its chain
        for number, taker in bundle.completing().items():
            self._takers[number] = len(self._takers) + 1, bundle.chained(taker)
            host.check(self.lib.lpn_host_chain_begin(host.handle), "chains")
            host.add_chain(self._takers[number][1])
        for table in bundle.tables:
            host.add_table(table)
        host.add_buffers(bundle)
        host.bind(bundle, externs)
        self._length = 0
        self.outside = Outside(lambda: self.ffi.buffer(self.lib.lpn_host_out(host.handle), OUT_SIZE)[:],
                               lambda: self.ffi.buffer(self.lib.lpn_host_packet(host.handle), self._length)[:], range(len(bundle.hooks)))
        host.outside(self.outside)
        self._state = self.ffi.buffer(self.lib.lpn_host_state(host.handle), bundle.state_size)
        self._meta = self.ffi.new("lpn_host_meta *")
        self._result = self.ffi.new("lpn_host_result *")
        self._packet = self.ffi.new("uint8_t[]", MAX_PACKET)
        self._size = self.ffi.new("uint32_t *")
        self._traces = self.ffi.new("uint64_t[]", 2 * MAX_TRACES)

    def state(self) -> bytes:
        return self._state[:]

    def set_state(self, state: bytes) -> None:
        if len(state) != self.bundle.state_size:
            raise EngineError(f"{len(state)} bytes of state, the bundle has {self.bundle.state_size}")
        self._state[:] = state

    def migrate(self, migration: Migration, old: Bundle, state: bytes) -> None:
        image, at = self.bundle.module(migration.module).to_bytes(), self.ffi.new("uint32_t *")
        mine, theirs = migration.needs, old.kept
        error = self.lib.lpn_host_migrate(self.host.handle, image, len(image), mine.rows(), len(mine.entries), theirs.rows(),
                                          len(theirs.entries), state, len(state), at)
        self.host.check(error, f"{migration.module}, at {at[0]}")

    def set_entries(self, table: str, entries: Iterable[Entry]) -> None:
        self.host.set_entries(*self._filled(table, entries))

    def run(self, frame: bytes, meta: Mapping[str, int] | None = None) -> Result:
        self.outside.begin()
        self.lib.lpn_host_select(self.host.handle, 0)
        result = self._run(frame, meta, self.modules)
        followed = []
        for buffer, content in self.host.completions():
            if buffer in self._takers:
                chain, modules = self._takers[buffer]
                self.lib.lpn_host_select(self.host.handle, chain)
                followed.append(replace(self._run(content, meta, modules), buffer=buffer))
        return replace(result, completed=tuple(followed)) if followed else result

    def _run(self, frame: bytes, meta: Mapping[str, int] | None, modules: tuple[Image, ...]) -> Result:
        """One packet through the chain that is selected."""
        before = len(self.outside.effects)
        for key, value in check_meta(meta).items():
            signed = value - (1 << 32) if key == "rssi" and value >> 31 else value
            setattr(self._meta, key, signed)
        self._length = len(frame)
        self.outside.answer = self.answer
        self.lib.lpn_host_run(self.host.handle, frame, len(frame), self._meta, self._packet, self._size,
                              self._result)
        self.host.reraise()
        r = self._result
        packet = self.ffi.buffer(self._packet, self._size[0])[:]
        count = self.lib.lpn_host_traces(self.host.handle, self._traces, MAX_TRACES)
        error = self.host.error_name(r.error)
        verdict = VERDICTS[r.verdict]
        return Result(
            verdict=verdict,
            reason=self._reason(r.arg, error) if verdict == "DROP" else None,
            port=r.arg if verdict == "DELIVER" else None,
            out=packet if r.rebuilt else None,
            insns=r.insns,
            packet=packet,
            fault=f"module {modules[r.module].name}, instruction {r.pc}: {error}" if r.error else None,
            traces=tuple((self._traces[2 * i], self._traces[2 * i + 1]) for i in range(count)),
            effects=tuple(self.outside.effects[before:]),
        )


class NativeEngine(Engine):
    """The portable C engine, compiled for this machine."""

    name = "engine"

    def __init__(self) -> None:
        open_engine()

    def load(self, bundle: Bundle | bytes, *, fuel: int = DEFAULT_FUEL, externs: Externs | None = None,
             hook: Hook | None = None) -> NativeProgram:
        return NativeProgram(as_bundle(bundle), fuel, externs, hook)
