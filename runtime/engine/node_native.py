"""`runtime/engine/node.c` from Python: the C node on the host, its platform in Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lpn.compiler.bundle import Bundle, Entry
from lpn.compiler.helpers import BY_NAME
from lpn.compiler.image import Kind
from lpn.lang.hooks import CONTEXTS, EVENTS
from lpn.lang.persist import Plan, StateError, plan
from lpn.runtime.dispatch import ENGINE_REASON, WORD, Counts, Dispatch, Event, Platform, Run, Stats, hook_names
from lpn.runtime.engine.native import NativeHost
from lpn.runtime.engines import DEFAULT_FUEL, Externs, REASON_ENGINE, VERDICTS, EngineError

_EVENTS = tuple(EVENTS)
_COMMANDS = {BY_NAME[f"radio_{command}"].number: command for command in ("on", "off", "cca", "channel", "power")}
_TARGETS = ("radio", "net")


class NativeDispatch(Dispatch):
    """A bundle on a C node. EngineError when a container or a hook is refused.

    `address`: node_ext, node_short, node_pan. `state`: the state region before the first run. `entries`: of tables, by name;
    `externs`: the node's own functions; `load`: what `every` and `slot` may take (runtime/load.py), 0: anything."""

    def __init__(self, bundle: Bundle, platform: Platform, address: Mapping[str, int] | None = None, *, state: bytes | None = None,
                 entries: Mapping[str, Iterable[Entry]] | None = None, externs: Externs | None = None, fuel: int = DEFAULT_FUEL, load: int = 0) -> None:
        self.platform, self.fuel = platform, fuel
        self._error: BaseException | None = None
        self._memory: NativeHost | None = None
        probe = NativeHost(0, 0, fuel)
        self.ffi, self.lib = probe.ffi, probe.lib
        self._calls = self._platform()
        raw = self.lib.lpn_node_host_new(self._calls, fuel)
        if raw == self.ffi.NULL:
            raise EngineError("out of memory")
        self.handle = self.ffi.gc(raw, self.lib.lpn_node_host_free)
        node = address or {}
        self.lib.lpn_node_host_address(self.handle, node.get("node_ext", 0), node.get("node_short", 0), node.get("node_pan", 0))
        self.lib.lpn_node_host_load(self.handle, load)
        self.swap(bundle, state=state, entries=entries, externs=externs)

    def swap(self, bundle: Bundle, *, state: bytes | None = None, entries: Mapping[str, Iterable[Entry]] | None = None,
             externs: Externs | None = None) -> Plan:
        """Replace hooks and containers between two events; what is refused changes nothing. Persistent registers and
        migrations are as lang/persist.py has them; `state` is what the rest begins with."""
        old, chosen = getattr(self, "bundle", None), Plan((), (), ())
        if old is not None:
            try:
                chosen = plan(old.kept.layout(), old.version, bundle.kept.layout(), bundle.version, [m.block() for m in bundle.migrations])
            except StateError as e:
                raise EngineError(str(e)) from None
        memory = NativeHost(bundle.record_size, bundle.state_size, self.fuel)
        region = self.ffi.buffer(self.lib.lpn_host_state(memory.handle), bundle.state_size)
        if state is not None:
            region[:] = state
        for table in bundle.tables:
            memory.add_table(table)
            if entries and table.name in entries:
                memory.set_entries(table, entries[table.name])
        memory.add_buffers(bundle)
        memory.bind(bundle, externs)
        memory.check(self.lib.lpn_node_host_begin(self.handle, memory.handle), "node")
        pc = self.ffi.new("uint32_t *")
        numbers = {}
        for image in bundle.modules:
            raw = image.to_bytes()
            error = self.lib.lpn_node_host_container(self.handle, raw, len(raw), pc)
            memory.check(error, f"module {image.name}, instruction {pc[0]}")
            numbers[image.name] = len(numbers)
        for i, hook in enumerate(bundle.hooks):
            chain = [numbers[name] for name in hook.chain]
            error = self.lib.lpn_node_host_hook(
                self.handle, _EVENTS.index(hook.event), CONTEXTS.index(hook.context), list(hook.selector), len(hook.selector),
                chain, len(chain), hook.within, hook.period, hook.offset, hook.jitter)
            memory.check(error, f"hook {i} ({hook.event})")
        memory.check(self.lib.lpn_node_host_kept(self.handle, bundle.version & WORD, bundle.kept.rows(), len(bundle.kept.entries)), "node")
        for m in bundle.migrations:
            error = self.lib.lpn_node_host_migration(self.handle, m.version, numbers[m.module], m.needs.rows(), len(m.needs.entries), m.needs.size)
            memory.check(error, m.module)
        before = getattr(self, "hooks", ()), getattr(self, "names", ())
        self.hooks = bundle.hooks
        self.names = hook_names(bundle.hooks, lambda name: bundle.module(name).kind == Kind.TIMING)
        error = self.lib.lpn_node_host_commit(self.handle, len(bundle.reasons) + 1, pc)
        if error:
            self.hooks, self.names = before
            where = f"hook {pc[0]} ({bundle.hooks[pc[0]].event})" if pc[0] < len(bundle.hooks) else "node"
            raise EngineError(f"{where}: {memory.error_name(error)}")
        self.bundle, self._memory, self._state = bundle, memory, region
        self._raise()
        return chosen

    # ------------------------------------------------------------ the platform

    def _platform(self) -> Any:
        """The table of callbacks; what one raises comes out of the call into C."""
        def failed(_kind: type, error: BaseException, _trace: object) -> None:
            self._error = self._error or error

        def callback(signature: str, function: Callable) -> Any:
            return self.ffi.callback(signature, function, onerror=failed)

        platform = self.platform
        self._keep = {
            "now": callback("uint32_t(void *)", lambda _: platform.now()),
            "set_timer": callback("void(void *, uint32_t, uint32_t)", lambda _, on, at: platform.set_timer(at if on else None)),
            "radio": callback("uint32_t(void *, uint32_t, uint32_t)",
                              lambda _, helper, argument: platform.radio(_COMMANDS[helper], argument)),
            "send": callback("uint32_t(void *, uint32_t, const uint8_t *, uint32_t)",
                             lambda _, to, frame, size: platform.send(_TARGETS[to], self.ffi.buffer(frame, size)[:])),
            "ran": callback("void(void *, const lpn_node_host_run *, const uint8_t *, uint32_t)", self._ran),
            "overrun": callback("void(void *, uint32_t)", lambda _, hook: platform.overrun(hook)),
            "timer": callback("void(void *, uint32_t, uint32_t)", lambda _, hook, delay: platform.timer(hook, delay)),
            "trace": callback("void(void *, uint64_t, uint64_t)", lambda _, a, b: platform.trace(a, b)),
        }
        calls = self.ffi.new("lpn_node_host_platform *")
        for name, function in self._keep.items():
            setattr(calls, name, function)
        return calls

    def _ran(self, _user: Any, r: Any, packet: Any, size: int) -> None:
        verdict = VERDICTS[r.verdict]
        error = self.ffi.string(self.lib.lpn_error_name(r.error)).decode()
        hook = self.hooks[r.hook]
        self.platform.ran(Run(
            r.hook, r.time, r.start, r.end, verdict,
            reason=self._reason(r.arg, error) if verdict == "DROP" else None,
            port=r.arg if verdict == "DELIVER" else None,
            insns=r.insns, packet=self.ffi.buffer(packet, size)[:], payload=r.payload, rebuilt=bool(r.rebuilt),
            unsent=bool(r.unsent), fault=f"module {hook.chain[r.module]}, instruction {r.pc}: {error}" if r.error else None))

    def _reason(self, number: int, error: str) -> str:
        if number >= REASON_ENGINE:
            return f"engine: {error}"
        return self.bundle.reasons[number] if number < len(self.bundle.reasons) else f"reason {number}"

    def _raise(self) -> None:
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        if self._memory is not None:
            self._memory.reraise()

    # ------------------------------------------------------------ Dispatch

    def event(self, event: Event) -> bool:
        first, second = (*event.selector, 0, 0)[:2]
        packet = event.packet if event.packet is not None else self.ffi.NULL
        bits = self.lib.lpn_node_host_event(self.handle, _EVENTS.index(event.event), first, second, event.time, event.rssi,
                                            event.lqi, event.iface, packet, len(event.packet or b""))
        self._raise()
        return bool(bits & 1)

    def settle(self) -> None:
        self.lib.lpn_node_host_settle(self.handle)
        self._raise()

    def poll(self) -> bool:
        more = self.lib.lpn_node_host_poll(self.handle)
        self._raise()
        return bool(more)

    def insns(self) -> int:
        return self.lib.lpn_node_host_insns(self.handle)

    def _stats(self, hook: int) -> Any:
        raw = self.ffi.new("lpn_node_host_stats *")
        self.lib.lpn_node_host_stats_of(self.handle, hook, raw)
        return raw

    def timers(self) -> list[tuple[int, int]]:
        found = [(i, self._stats(i)) for i in range(len(self.hooks))]
        return [(i, raw.due) for i, raw in found if raw.armed]

    def stats(self, hook: int) -> Stats:
        raw = self._stats(hook)
        return Stats(**{name: getattr(raw, name) for name in Stats.__dataclass_fields__})

    def counts(self) -> Counts:
        raw = self.ffi.new("uint32_t[4]")
        self.lib.lpn_node_host_counts(self.handle, raw)
        return Counts(*raw)

    def drops(self) -> Counter[str]:
        count = self.lib.lpn_node_host_drop
        by_reason = Counter({name: count(self.handle, i) for i, name in enumerate((*self.bundle.reasons, ENGINE_REASON))})
        return +by_reason

    def state(self) -> bytes:
        """The state region."""
        return self._state[:]
