"""The C engine on an emulated Cortex-M3: what a node executes, counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from lpn.compiler.bundle import Bundle, Entry, Hook
from lpn.compiler.kept import Migration
from lpn.runtime.engine.native import as_bundle
from lpn.runtime.engine.thumb2 import Translated
from lpn.runtime.engines import (DEFAULT_FUEL, OUT_SIZE, VERDICTS, Engine, EngineError, Externs, Program, Result,
                                 check_meta)
from lpn.runtime.outside import Outside

from .core import CODE, CODE_SIZE, Core, check_available
from .host import M3Host


class M3Program(Program):
    """A bundle on a core of its own. `core`: one that records, for the profile."""

    translated: Sequence[Translated] = ()       #: the containers' code, where they are translated: it counts no instructions

    def __init__(self, bundle: Bundle, fuel: int, externs: Externs | None = None, core: Core | None = None,
                 hook: Hook | None = None) -> None:
        self.bundle = bundle
        self.host = host = M3Host(bundle.record_size, bundle.state_size, fuel, core)
        self._modules = {0: bundle.chained(hook)}
        host.add_chain(self._modules[0])
        self._takers = {buffer: number for number, buffer in enumerate(bundle.completing(), 1)}
        for buffer, number in self._takers.items():
            self._modules[number] = bundle.chained(bundle.completing()[buffer])
            host.check(host.core.call("lpn_host_chain_begin", host.handle), "chains")
            host.add_chain(self._modules[number])
        host.add_buffers(bundle)
        for table in bundle.tables:
            host.add_table(table)
        host.bind(bundle, externs)
        self._state = host.core.call("lpn_host_state", host.handle)
        self._length, self._held = 0, host.core.call("lpn_host_packet", host.handle)
        self.outside = Outside(lambda: host.core.read(self._out, OUT_SIZE), lambda: host.core.read(self._held, self._length),
                               range(len(bundle.hooks)))
        host.outside(self.outside)
        host.core.start_counting()              # a large certificate takes millions of instructions to check

    def place_packet(self, octets: int) -> None:
        """From now on packets begin so many octets, 0 to 3, behind a word's boundary."""
        self._held = self.host.core.call("lpn_host_place", self.host.handle, octets)

    def state(self) -> bytes:
        return self.host.core.read(self._state, self.bundle.state_size)

    def set_state(self, state: bytes) -> None:
        if len(state) != self.bundle.state_size:
            raise EngineError(f"{len(state)} bytes of state, the bundle has {self.bundle.state_size}")
        self.host.core.write(self._state, state)

    def migrate(self, migration: Migration, old: Bundle, state: bytes) -> None:
        host, core = self.host, self.host.core
        image = self.bundle.module(migration.module).to_bytes()

        def put(content: bytes) -> int:
            at = core.allocate(len(content) + 1)
            core.write(at, content)
            return at

        mine, theirs = migration.needs, old.kept
        error = core.call("lpn_host_migrate", host.handle, put(image), len(image), put(mine.rows()), len(mine.entries), put(theirs.rows()),
                          len(theirs.entries), put(state), len(state), host.room("c"))
        host.check(error, f"{migration.module}, at {int.from_bytes(core.read(host.room('c'), 4), 'little')}")

    def set_entries(self, table: str, entries: Iterable[Entry]) -> None:
        self.host.set_entries(*self._filled(table, entries))

    def leave_completed(self) -> None:
        """From now on what a buffer put together is not run."""
        self._takers = {}

    def run(self, frame: bytes, meta: Mapping[str, int] | None = None) -> Result:
        self.outside.begin()
        result = self._run(frame, meta, 0)
        followed = tuple(replace(self._run(content, meta, self._takers[buffer]), buffer=buffer) for buffer, content in self.host.completions()
                         if buffer in self._takers)
        return replace(result, completed=followed) if followed else result

    def _run(self, frame: bytes, meta: Mapping[str, int] | None, chain: int) -> Result:
        """One packet through one chain."""
        self.host.core.call("lpn_host_select", self.host.handle, chain)
        host, core = self.host, self.host.core
        given = host.ffi.new("lpn_host_meta *")
        for key, value in check_meta(meta).items():
            setattr(given, key, value - (1 << 32) if key == "rssi" and value >> 31 else value)
        self._length, self._out = len(frame), core.call("lpn_host_out", host.handle)
        before = len(self.outside.effects)
        self.outside.answer = self.answer
        core.forget()
        host.run(frame, given)
        host.reraise()
        count = core.count()
        r = host.get_struct("result", "lpn_host_result")
        size = int.from_bytes(core.read(host.room("c"), 4), "little")
        packet = core.read(host.room("packet"), size)
        error = host.error_name(r.error)
        verdict = VERDICTS[r.verdict]
        return Result(
            verdict=verdict,
            reason=self._reason(r.arg, error) if verdict == "DROP" else None,
            port=r.arg if verdict == "DELIVER" else None,
            out=packet if r.rebuilt else None,
            insns=None if self.translated else r.insns,
            packet=packet,
            fault=f"module {self._modules[chain][r.module].name}, instruction {r.pc}: {error}" if r.error else None,
            traces=host.traces(),
            thumb=count.thumb, cycles=count.cycles, flash_cycles=count.flash_cycles, most_cycles=count.most_cycles,
            effects=tuple(self.outside.effects[before:]),
        )


class Thumb2Program(M3Program):
    """A bundle whose containers the core translates before the first frame. `loading`: what that took,
    each in turn.

    Nothing is checked while it runs. The core's checker accepted the images' certificates; for those without one whoever
    loads them answers: `vouched` has their names. Their stack and being 32-bit clean are as the verifier left them.
    """

    def __init__(self, bundle: Bundle, fuel: int, externs: Externs | None = None, core: Core | None = None,
                 hook: Hook | None = None) -> None:
        super().__init__(bundle, fuel, externs, core, hook)
        host, core = self.host, self.host.core
        at, translated, self.loading = CODE, [], []
        self.vouched: list[str] = []
        for index, image in enumerate(image for modules in self._modules.values() for image in modules):
            slots = len(image.text) // 8
            if not core.call("lpn_host_certified", host.handle, index):
                self.vouched.append(image.name)
                core.call("lpn_host_vouch", host.handle, index)
            code_map = host.put("image", bytes(2 * slots + 2))
            core.forget()
            error = core.call("lpn_host_translate", host.handle, index, at, CODE + CODE_SIZE - at, code_map, host.room("c"))
            used = int.from_bytes(core.read(host.room("c"), 4), "little")
            host.check(error, f"module {image.name}, instruction {used}")
            self.loading.append(core.count())
            translated.append(Translated(core.read(at, used), at, tuple(
                2 * int.from_bytes(core.read(code_map + 2 * i, 2), "little") for i in range(slots + 1))))
            core.learn(at, used)
            at += used + 7 & ~7
        self.translated = tuple(translated)


class M3Engine(Engine):
    """The portable C engine, compiled for the Cortex-M3 and emulated."""

    name = "m3"

    def __init__(self) -> None:
        check_available()

    def load(self, bundle: Bundle | bytes, *, fuel: int = DEFAULT_FUEL, externs: Externs | None = None,
             hook: Hook | None = None) -> M3Program:
        return M3Program(as_bundle(bundle), fuel, externs, hook=hook)


class Thumb2Engine(M3Engine):
    """Containers translated to Thumb-2, on the emulated Cortex-M3."""

    name = "thumb2"

    def load(self, bundle: Bundle | bytes, *, fuel: int = DEFAULT_FUEL, externs: Externs | None = None,
             hook: Hook | None = None) -> Thumb2Program:
        return Thumb2Program(as_bundle(bundle), fuel, externs, hook=hook)
