"""Runs of a program's hooks, as events on a node made them, and once more in an engine: each begins with what it began with there."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lpn.lang import ast, tables as control
from lpn.lang.outside import ASKS, Effect
from lpn.runtime.dispatch import Event, ModelDispatch, Outcome
from lpn.runtime.engines import EngineError, Externs, Program, Result
from lpn.runtime.events import Script
from lpn.runtime.node import Costs, Node
from lpn.runtime.node_reference import ReferenceDispatch, ReferenceExecutor
from lpn.runtime.radio import Radio

from .build import Compiled
from .runner import reference_cells


@dataclass(frozen=True)
class HookRun:
    """`state`, `left`: the region as the run found it, and as it left it; `effects`: what it did, with the answers that it was given."""

    hook: int
    frame: bytes
    meta: Mapping[str, int]
    state: bytes
    left: bytes
    verdict: str
    effects: tuple[Effect, ...]

    def once_more(self, program: Program) -> Result:
        """In an engine that has the hook's chain. EngineError where something else happens: buffers are not part of `state`."""
        program.set_state(self.state)
        program.answer = lambda name, before: self.effects[before][-1] if before < len(self.effects) and name in ASKS else 0
        result = program.run(self.frame, self.meta)
        if (result.verdict, result.effects, program.state()) != (self.verdict, self.effects, self.left):
            raise EngineError("a run of it does something else by itself than on the node: "
                              "it needs what others put into a buffer, or a clock that goes on")
        return result


class _Recording(ReferenceExecutor):
    compiled: Compiled
    runs: list[HookRun]

    def run(self, hook: int, event: Event, clock: int, dispatch: ModelDispatch) -> Outcome:
        before = self.region()
        outcome = super().run(hook, event, clock, dispatch)
        self.runs.append(HookRun(hook, event.packet or b"", self.meta(event, clock), before, self.region(), outcome.verdict, self.effects))
        return outcome

    def region(self) -> bytes:
        """The state as containers have it."""
        state = bytearray(self.compiled.state.size)
        for decl, cells in reference_cells(self.state).items():
            for index, values in enumerate(cells):
                self.compiled.state.write(state, decl, index, values)
        return bytes(state)


def happened(program: ast.Program, compiled: Compiled, script: Script, given: control.Tables | None, address: Mapping[str, int],
             externs: Externs | None) -> tuple[list[str], list[HookRun]]:
    """(what hooks are called, all their runs). Instructions take no time. Raises NodeError."""
    runs: list[HookRun] = []

    def dispatch(platform: Node) -> ReferenceDispatch:
        made = ReferenceDispatch(program, platform, given, address, externs)
        assert isinstance(made.executor, ReferenceExecutor)
        recording = _Recording(made.executor.reference, made.executor.state, made.executor.address)
        recording.compiled, recording.runs = compiled, runs
        made.executor = recording
        return made
    node = Node(dispatch, radio=Radio(script.radio_on), costs=Costs(0), start=script.clock)
    script.apply(node)
    node.run(script.until)
    return node.dispatch.names, runs
