"""The C engine on the host: the same code a node runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lpn.compiler.bundle import MATCH_KINDS, Bundle, BundleError, Entry, Table
from lpn.runtime.engine.build import BuildError, library
from lpn.runtime.engines import (DEFAULT_FUEL, MAX_PACKET, VERDICTS, Engine, EngineError, EngineUnavailable,
                                 Program, Result, check_meta, entry_bytes)

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

    def check(self, error: int, what: str) -> None:
        """EngineError unless `error` is 0."""
        if error:
            raise EngineError(f"{what}: {self.error_name(error)}")

    def error_name(self, error: int) -> str:
        return self.ffi.string(self.lib.lpn_error_name(error)).decode()

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

    def __init__(self, bundle: Bundle, fuel: int) -> None:
        self.bundle = bundle
        self.host = host = NativeHost(bundle.record_size, bundle.state_size, fuel)
        self.ffi, self.lib = host.ffi, host.lib
        pc = self.ffi.new("uint32_t *")
        for image in bundle.chained():
            raw = image.to_bytes()
            error = self.lib.lpn_host_add(host.handle, raw, len(raw), pc)
            host.check(error, f"module {image.name}, instruction {pc[0]}")
        host.check(self.lib.lpn_host_check(host.handle), "chain")
        for table in bundle.tables:
            host.add_table(table)
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

    def set_entries(self, table: str, entries: Iterable[Entry]) -> None:
        self.host.set_entries(self._table(table), entries)

    def run(self, frame: bytes, meta: Mapping[str, int] | None = None) -> Result:
        for key, value in check_meta(meta).items():
            signed = value - (1 << 32) if key == "rssi" and value >> 31 else value
            setattr(self._meta, key, signed)
        self.lib.lpn_host_run(self.host.handle, frame, len(frame), self._meta, self._packet, self._size,
                              self._result)
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
            fault=f"module {self.bundle.chain[r.module]}, instruction {r.pc}: {error}" if r.error else None,
            traces=tuple((self._traces[2 * i], self._traces[2 * i + 1]) for i in range(count)),
        )


class NativeEngine(Engine):
    """The portable C engine, compiled for this machine."""

    name = "engine"

    def __init__(self) -> None:
        open_engine()

    def load(self, bundle: Bundle | bytes, *, fuel: int = DEFAULT_FUEL) -> NativeProgram:
        return NativeProgram(as_bundle(bundle), fuel)
