"""A program on a node without its bytecode: the reference interpreter runs its hooks, `ModelDispatch` starts them."""

from __future__ import annotations

from collections.abc import Mapping

from lpn.lang import ast, tables as control
from lpn.lang.outside import SENDS
from lpn.lang.buffers import buffers
from lpn.lang.hooks import BUFFER_COMPLETE
from lpn.lang.reference import Reference
from lpn.lang.reference.entries import Entry
from lpn.lang.reference.outside import Outside
from lpn.lang.reference.run import Run
from lpn.lang.reference.state import State
from lpn.runtime.dispatch import Event, ModelDispatch, Outcome, Platform, hook_names
from lpn.runtime.engines import Externs
from lpn.compiler.bundle import Hook
from lpn.runtime.node import Node


class _World(Outside):
    """What a run does beyond its memory is done at once, to the node's platform."""

    def __init__(self, run: Run, dispatch: ModelDispatch) -> None:
        super().__init__(run)
        self.dispatch = dispatch

    def ask(self, name: str, *given: object) -> int:
        if name in SENDS:
            frame, = given
            assert isinstance(frame, bytes)
            return self.dispatch.send(name.removesuffix("_send"), frame)
        return self.dispatch.platform.radio(name.removeprefix("radio_"), 0)

    def do(self, name: str, *given: object) -> None:
        numbers = [int(each) for each in given]                             # type: ignore[call-overload]
        if name == "timer_start":
            self.dispatch.start_timer(*numbers)
        else:
            self.dispatch.platform.radio(name.removeprefix("radio_"), numbers[0] & 0xFFFF_FFFF if numbers else 0)

    def clock(self) -> object:
        return self.dispatch.platform.now()

    def trace(self, *numbers: int) -> None:
        self.dispatch.platform.trace(*numbers)


class ReferenceExecutor:
    """Runs a program's hooks; `state` is kept from run to run."""

    def __init__(self, reference: Reference, state: State, address: Mapping[str, int]) -> None:
        self.reference, self.state, self.address = reference, state, address
        self.running: tuple[ast.BufferDecl, Entry] | None = None            # whose chain runs next

    def run(self, hook: int, event: Event, clock: int, dispatch: ModelDispatch) -> Outcome:
        worlds: list[_World] = []

        def outside(run: Run) -> Outside:
            worlds.append(_World(run, dispatch))
            return worlds[0]

        first = event.selector[0] if event.selector else 0
        meta = {"iface": event.iface, "rssi": event.rssi, "lqi": event.lqi, "time": event.time, "clock": clock,
                "port": first if event.event == "app.tx" else 0, "event": first if event.event == "radio.tx_done" else 0,
                **self.address}
        if self.running is not None and event.event != BUFFER_COMPLETE:
            self.release(self.running)          # one too many in a row: its chain was left out
            self.running = None
        before, self.running = self.running, None
        chain = self.reference.program.hooks[hook].chain
        result, completed = self.reference.run_chain(chain, event.packet or b"", meta, self.state, outside=outside)
        if before is not None:
            self.release(before)
        if completed is not None:
            number = [decl for _, decl in buffers(self.reference.program)].index(completed[0])
            dispatch.complete(number, completed[1].content(), event)
            self.running = completed
        packet = worlds[0].run.packet
        return Outcome(result.verdict, result.reason, result.port, packet.data if result.out is None else result.out, packet.payload,
                       result.out is not None)

    def release(self, entry: tuple[ast.BufferDecl, Entry]) -> None:
        """Its chain has run."""
        self.state.buffers[entry[0]].release(entry[1])


def reference_node(program: ast.Program, given: control.Tables | None = None, address: Mapping[str, int] | None = None,
                   externs: Externs | None = None, **options) -> Node:
    """A checked program on a node that the reference interpreter drives; `options` are `Node`'s."""
    reference = Reference(program, externs)
    executor = ReferenceExecutor(reference, reference.state(given), address or {})
    hooks = [Hook(h.event, tuple(m.name for m in h.chain), h.context, h.selector, h.within, h.period, h.offset, h.jitter) for h in program.hooks]
    timed = {m.name for h in program.hooks if h.timed for m in h.chain}

    def make(platform: Platform) -> ModelDispatch:
        return ModelDispatch(hooks, [h.timed for h in program.hooks], hook_names(hooks, timed.__contains__), executor, platform)
    return Node(make, **options)
