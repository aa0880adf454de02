"""The rbpf crate as an engine: other people's interpreter, and the chain's rules written a second time.

What it cannot do, against the C engine: it does not count instructions (`Result.insns` is None), does not end
endless loops, ignores access rights (the window is writable, for one), and checks no helper pointers. Run programs
that the verifier or the C engine has passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from lpn.compiler.bundle import Bundle, Entry, Hook
from lpn.compiler.image import Flag, Image, Kind
from lpn.compiler.kept import Migration
from lpn.runtime.engine.build import BuildError
from lpn.runtime.engine.native import NativeHost, as_bundle
from lpn.runtime.engines import (DEFAULT_FUEL, MAX_PACKET, OUT_SIZE, REASON_ENGINE, VERDICTS, WINDOW, Engine,
                                 EngineError, EngineUnavailable, Externs, Program, Result, check_meta)
from lpn.runtime.outside import Outside
from lpn.runtime.memory import CONTEXT, CONTEXT_SIZE, Buffer, Regions, context
from lpn.runtime.raw import RawResult, raw_result
from lpn.runtime.rbpf.build import library
from lpn.runtime.rbpf.translate import translate
from lpn.runtime.replace import CARRY_ALL, carried

_MESSAGE = 600
_MAX_TRACES = 256


class RbpfFault(Exception):
    """rbpf stopped a program."""


def open_rbpf() -> tuple[Any, Any]:
    """(ffi, lib), or EngineUnavailable."""
    try:
        return library()
    except (BuildError, OSError) as e:
        raise EngineUnavailable(str(e)) from None


class RbpfVm:
    """One program in rbpf. `host`: who does the helpers."""

    def __init__(self, text: bytes, rodata: Buffer, data: Buffer, allowed: Iterable[Buffer],
                 host: NativeHost | None) -> None:
        self.ffi, self.lib = open_rbpf()
        self._message = self.ffi.new("char[]", _MESSAGE)
        self._r0 = self.ffi.new("uint64_t *")
        self._keep = (rodata, data, *allowed)
        self.host = host
        code = translate(text, rodata.address, data.address)
        vm = self.lib.lpn_rbpf_new(code, len(code), self._message, _MESSAGE)
        if vm == self.ffi.NULL:
            raise EngineError(f"rbpf: {self._text()}")
        self.vm = self.ffi.gc(vm, self.lib.lpn_rbpf_free)
        for buffer in self._keep:
            self.lib.lpn_rbpf_allow(self.vm, buffer.address, buffer.size)

    def run(self, ctx: int, ctx_size: int, memory: int, memory_size: int) -> int:
        """r0, or RbpfFault; the environment must be set."""
        error = self.lib.lpn_rbpf_run(self.vm, self._pointer(ctx), ctx_size, self._pointer(memory), memory_size,
                                      self._r0, self._message, _MESSAGE)
        if self.host:
            self.host.reraise()
        if error > 0 and self.host:
            raise RbpfFault(self.host.error_name(error))
        if error:
            raise RbpfFault(self._text().split("\\n")[0].removeprefix("Error: "))
        return self._r0[0]

    def environment(self, now: int) -> None:
        """What helpers use from now on; forgets traces."""
        if self.host:
            call = self.host.ffi.addressof(self.host.lib, "lpn_host_call")
            address = int(self.host.ffi.cast("uintptr_t", call))
            handle = int(self.host.ffi.cast("uintptr_t", self.host.handle))
        else:
            address = handle = 0
        self.lib.lpn_rbpf_environment(self.ffi.cast("void *", address), self._pointer(handle), now)

    def traces(self) -> tuple[tuple[int, int], ...]:
        out = self.ffi.new("uint64_t[]", 2 * _MAX_TRACES)
        n = self.lib.lpn_rbpf_traces(out, 2 * _MAX_TRACES)
        return tuple((out[i], out[i + 1]) for i in range(0, n, 2))

    def _pointer(self, address: int) -> Any:
        return self.ffi.cast("uint8_t *", address)

    def _text(self) -> str:
        return self.ffi.string(self._message).decode(errors="replace")


Chain = list[tuple[Image, RbpfVm]]


class RbpfProgram(Program):
    """A bundle in rbpf; memory and chain are kept in Python. `low`: memory below 4 GiB, for interpreters that need it."""

    low = False

    def __init__(self, bundle: Bundle, externs: Externs | None = None, hook: Hook | None = None) -> None:
        self.bundle = bundle
        self.host = NativeHost(0, 0, 0)         # for its helpers only
        self.host.bind(bundle, externs)
        for table in bundle.tables:
            self.host.add_table(table)
        self._packet, self._record, self._state, self._out, self._ctx = (
            Buffer(size, low=self.low) for size in (MAX_PACKET + WINDOW, bundle.record_size, bundle.state_size, OUT_SIZE, CONTEXT_SIZE))
        self._length = 0
        self.outside = Outside(self._out.bytes, lambda: self._packet.view[:self._length], range(len(bundle.hooks)))
        self.host.outside(self.outside)
        self.host.add_buffers(bundle)
        self._chain = self._make_chain(bundle.chained(hook))
        self._takers = {number: self._make_chain(bundle.chained(taker)) for number, taker in bundle.completing().items()}

    def _make_chain(self, modules: tuple[Image, ...]) -> Chain:
        chain: Chain = []
        for image in modules:
            if image.kind == Kind.TIMING and len(modules) > 1:
                raise EngineError("chain: bad chain")
            chain.append((image, self.vm(image)))
        if not chain:
            raise EngineError("chain: bad chain")
        return chain

    def vm(self, image: Image) -> RbpfVm:
        """What interprets a container."""
        return RbpfVm(image.text, Buffer(len(image.rodata), image.rodata), Buffer(len(image.data), image.data),
                      (self._record, self._state, self._out), self.host)

    def state(self) -> bytes:
        return self._state.bytes()

    def set_state(self, state: bytes) -> None:
        if len(state) != self.bundle.state_size:
            raise EngineError(f"{len(state)} bytes of state, the bundle has {self.bundle.state_size}")
        self._state.view[:len(state)] = state

    def migrate(self, migration: Migration, old: Bundle, state: bytes) -> None:
        image = self.bundle.module(migration.module)
        record, ctx, out = Buffer(image.record_size), Buffer(CONTEXT_SIZE), Buffer(OUT_SIZE)
        record.view[:image.record_size] = carried(bytes(image.record_size), migration.needs, state, old.kept, CARRY_ALL)
        ctx.view[:] = context(ctx.address, 0, record.address, self._state.address, out.address, {})
        vm = RbpfVm(image.text, Buffer(len(image.rodata), image.rodata), Buffer(len(image.data), image.data),
                    (record, self._state, out), self.host)
        vm.environment(0)
        try:
            vm.run(ctx.address, CONTEXT_SIZE, ctx.address, CONTEXT_SIZE)
        except RbpfFault as e:
            raise EngineError(f"{migration.module}: {e}") from None

    def set_entries(self, table: str, entries: Iterable[Entry]) -> None:
        self.host.set_entries(*self._filled(table, entries))

    def run(self, frame: bytes, meta: Mapping[str, int] | None = None) -> Result:
        self.outside.begin()
        result = self._run(frame, meta, self._chain)
        followed = tuple(replace(self._run(content, meta, self._takers[buffer]), buffer=buffer) for buffer, content in self.host.completions()
                         if buffer in self._takers)
        return replace(result, completed=followed) if followed else result

    def _run(self, frame: bytes, meta: Mapping[str, int] | None, chain: Chain) -> Result:
        """One packet through one chain."""
        values = check_meta(meta)
        self._before = len(self.outside.effects)
        if len(frame) > MAX_PACKET:
            return self._result(1, REASON_ENGINE, None, frame, "packet too long")
        self._length = len(frame)
        self.outside.answer = self.answer
        self._packet.view[:len(frame) + WINDOW] = frame + bytes(WINDOW)
        for region in (self._record, self._out):
            region.view[:region.size] = bytes(region.size)
        self._ctx.view[:] = context(self._packet.address, len(frame), self._record.address, self._state.address,
                                    self._out.address, values)
        self.host.view(self._packet.address, len(frame), self._out.address, values["clock"])
        chain[0][1].environment(values["clock"])
        verdict, arg, out, size = 0, 0, None, len(frame)
        for image, vm in chain:
            try:
                r0 = vm.run(self._ctx.address, CONTEXT_SIZE, self._packet.address, len(frame) + WINDOW)
                said = r0 & 0xFFFF
                if said >= len(VERDICTS):
                    raise RbpfFault("unknown verdict")
                size = self._cut(size)
                if said:
                    verdict, arg = said, r0 >> 16 & 0xFFFF
                if VERDICTS[said] in ("DROP", "DELIVER", "CONSUMED"):
                    out = None
                    break
                if image.kind == Kind.DEPARSER or image.flags & Flag.DEPARSES:
                    out = self._rebuild(size)
            except RbpfFault as e:
                return self._result(1, REASON_ENGINE, None, self._packet.view[:len(frame)], str(e), image.name)
        return self._result(verdict, arg, out, self._packet.view[:size])

    def _slot(self, name: str) -> int:
        at, width = CONTEXT[name]
        return int.from_bytes(self._ctx.view[at:at + width], "little")

    def _cut(self, size: int) -> int:
        """The packet's size without what the container has cut off."""
        octets = self._slot("cut")
        if octets:
            if self._slot("payload") > size or octets > size - self._slot("payload"):
                raise RbpfFault("rebuilt packet out of bounds")
            self._set("cut", 0)
            self._set("pkt_end", self._slot("pkt_end") - octets)
        return size - octets

    def _set(self, name: str, value: int) -> None:
        at, width = CONTEXT[name]
        self._ctx.view[at:at + width] = value.to_bytes(width, "little")

    def _rebuild(self, size: int) -> bytes:
        length, payload = self._slot("out_len"), self._slot("payload")
        if length > OUT_SIZE or payload > size or length + size - payload > MAX_PACKET:
            raise RbpfFault("rebuilt packet out of bounds")
        return self._out.view[:length] + self._packet.view[payload:size]

    def _result(self, verdict: int, arg: int, out: bytes | None, packet: bytes, error: str = "",
                module: str = "") -> Result:
        word = VERDICTS[verdict]
        return Result(word, self._reason(arg, error) if word == "DROP" else None,
                      arg if word == "DELIVER" else None, out, None, out if out is not None else packet,
                      f"module {module}: {error}" if error and module else error or None,
                      self._chain[0][1].traces(), tuple(self.outside.effects[self._before:]))


class RbpfEngine(Engine):
    """The Rust crate `rbpf` 0.3.0, its interpreter."""

    name = "rbpf"

    def __init__(self) -> None:
        open_rbpf()

    def load(self, bundle: Bundle | bytes, *, fuel: int = DEFAULT_FUEL, externs: Externs | None = None,
             hook: Hook | None = None) -> RbpfProgram:
        return RbpfProgram(as_bundle(bundle), externs, hook)


def run_raw_rbpf(text: bytes, *, layout: str = "mem", ctx: bytes = b"", packet: bytes = b"", record_size: int = 0,
                 state: bytes = b"", rodata: bytes = b"", data: bytes = b"", meta: Mapping[str, int] | None = None,
                 host: NativeHost | None = None) -> RawResult:
    """As `lpn.runtime.raw.run_raw`, in rbpf: r2 is 0, nothing is counted, a fault's text is rbpf's own."""
    values = check_meta(meta)
    regions = Regions(layout, ctx, packet, record_size, state, rodata, data, values)
    window = WINDOW if layout == "lpn" else 0
    shared = (regions.record, regions.state, regions.out)
    vm = RbpfVm(text, regions.rodata, regions.data, shared, host)
    vm.environment(values["clock"])
    try:
        r0 = vm.run(regions.ctx.address, regions.ctx.size, regions.packet.address, len(packet) + window)
        return raw_result(regions, "ok", r0, None, None)
    except RbpfFault as e:
        return raw_result(regions, str(e), 0, None, None)
