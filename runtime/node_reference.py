"""A program on a node without its bytecode: the reference interpreter runs its hooks, `ModelDispatch` starts them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_

from lpn.compiler.bundle import Hook
from lpn.lang import ast, tables as control
from lpn.lang.buffers import buffers
from lpn.lang.check.energy import radio_part
from lpn.lang.hooks import RadioPart
from lpn.lang.outside import SENDS, Effect
from lpn.lang.persist import Plan, StateError
from lpn.lang.reference import Reference
from lpn.lang.reference.outside import Outside
from lpn.lang.reference.run import Run
from lpn.lang.reference.state import State
from lpn.runtime.dispatch import Event, ModelDispatch, Outcome, Platform, hook_names
from lpn.runtime.engines import EngineError, Externs
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
            answer = self.dispatch.send(name.removesuffix("_send"), frame)
        else:
            answer = self.dispatch.platform.radio(name.removeprefix("radio_"), 0)
        self.effects.append((name, *given, answer))
        return answer

    def do(self, name: str, *given: object) -> None:
        super().do(name, *given)
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
    """Runs a program's hooks; `state` is kept from run to run. `effects`: of the last run."""

    effects: tuple[Effect, ...] = ()

    def __init__(self, reference: Reference, state: State, address: Mapping[str, int]) -> None:
        self.reference, self.state, self.address = reference, state, address

    def run(self, hook: int, event: Event, clock: int, dispatch: ModelDispatch) -> Outcome:
        worlds: list[_World] = []

        def outside(run: Run) -> Outside:
            worlds.append(_World(run, dispatch))
            return worlds[0]

        chain = self.reference.program.hooks[hook].chain
        result, completed = self.reference.run_chain(chain, event.packet or b"", self.meta(event, clock), self.state, outside=outside)
        self.effects = result.effects
        if completed is not None:
            decl, entry = completed
            number = [each for _, each in buffers(self.reference.program)].index(decl)
            dispatch.complete(number, entry.content(), event, lambda: self.state.buffers[decl].release(entry))
        packet = worlds[0].run.packet
        return Outcome(result.verdict, result.reason, result.port, packet.data if result.out is None else result.out, packet.payload,
                       result.out is not None)

    def meta(self, event: Event, clock: int) -> dict[str, int]:
        """What a run that begins at `clock` knows of its event."""
        first = event.selector[0] if event.selector else 0
        return {"iface": event.iface, "rssi": event.rssi, "lqi": event.lqi, "time": event.time, "clock": clock,
                "port": first if event.event == "app.tx" else 0, "event": first if event.event == "radio.tx_done" else 0,
                **self.address}


class ReferenceDispatch(ModelDispatch):
    """A checked program whose hooks the reference interpreter runs."""

    def __init__(self, program: ast.Program, platform: Platform, given: control.Tables | None, address: Mapping[str, int],
                 externs: Externs | None) -> None:
        self.address = address
        reference = Reference(program, externs)
        super().__init__(*_hooks(program), ReferenceExecutor(reference, reference.state(given), address), platform)

    def replace(self, program: ast.Program, given: control.Tables | None = None, externs: Externs | None = None) -> Plan:
        """Another version takes over, with what that keeps. EngineError when it cannot."""
        reference = Reference(program, externs)
        assert isinstance(self.executor, ReferenceExecutor)
        try:
            state, chosen = reference.replace(self.executor.state, given)
        except StateError as e:
            raise EngineError(str(e)) from None
        self.swap(*_hooks(program), ReferenceExecutor(reference, state, self.address))
        return chosen


def _hooks(program: ast.Program) -> tuple[list[Hook], list[bool], list[RadioPart], list[str]]:
    """(hooks, which of them are handlers of timing blocks, the part of each in how long the radio is on, what they are called)."""
    hooks = [Hook(h.event, tuple(m.name for m in h.chain), h.context, h.selector, h.within, h.period, h.offset, h.jitter) for h in program.hooks]
    timed = [h.timed for h in program.hooks]
    handlers = {h.chain[0] for h, t in zip(hooks, timed) if t}
    radio = [reduce(or_, map(radio_part, h.chain)) for h in program.hooks]
    return hooks, timed, radio, hook_names(hooks, handlers.__contains__)


def reference_node(program: ast.Program, given: control.Tables | None = None, address: Mapping[str, int] | None = None,
                   externs: Externs | None = None, **options) -> Node:
    """A checked program on a node that the reference interpreter drives; `options` are `Node`'s."""
    return Node(lambda platform: ReferenceDispatch(program, platform, given, address or {}, externs), **options)
