"""The reference interpreter: the meaning of LPN, executed directly on bytes with Python integers.

It walks the checked program and shares nothing with the compiler: what the two do not agree on is a bug in one.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Optional

from .. import ast
from ..buffers import buffers
from ..hooks import BUFFER_COMPLETE, Hook
from ..outside import Answer, Effect, all_clear
from ..derive import derived
from ..persist import Plan, layout, migrations, plan, version
from ..tables import Tables, stateful
from .entries import Entry
from .draw import draw
from .outside import Outside
from .modules import ACCEPT, TRANSMIT, run_module
from .run import Run
from .scope import Scope
from .state import State, retyped
from .values import NotSupported, zero

__all__ = ["NotSupported", "Reference", "Result", "State"]


@dataclass(frozen=True)
class Result:
    """What became of a packet. `out`: the packet as rebuilt; `insns` is None, the reference has no instructions;
    `effects`: what the run did beyond the node's memory, in order (lang/outside.py)."""

    verdict: str
    reason: Optional[str] = None
    port: Optional[int] = None
    out: Optional[bytes] = None
    insns: Optional[int] = None
    effects: tuple[Effect, ...] = ()
    completed: tuple["Result", ...] = ()        # of the chains that buffers started, in order
    buffer: Optional[int] = None                # of such a chain: the number of the buffer


#: Runs that one run can start through buffers.
MAX_COMPLETIONS = 8


class Reference:
    """A checked program, ready to run packets through its chain."""

    name = "reference"

    def __init__(self, program: ast.Program, externs: Optional[Mapping[str, Callable[..., Optional[int]]]] = None) -> None:
        """`externs`: the node's own functions that the program declares, by name."""
        self.program, self.externs = program, externs
        self.derived = derived(program)

    def state(self, tables: Optional[Tables] = None) -> State:
        """Fresh state, with what a tables file says."""
        state = State(self.program)
        return state.load(tables) if tables is not None else state

    def run(self, frame: bytes, meta: Optional[dict] = None, state: Optional[State] = None,
            hook: Optional[Hook] = None, answer: Answer = all_clear) -> Result:
        """One packet through the chain of `hook`, one of `program.hooks`; without it, of `radio.rx_done`. `state` is read and
        changed. `meta`: iface, rssi, lqi, time, of `radio.tx_done` event, and of the node node_short, node_ext, node_pan,
        clock; what is missing is 0. `answer`: what the radio and the stack answer."""
        state = state if state is not None else self.state()
        result, completed = self.run_chain(self.program.chain_of(hook), frame, meta, state, answer)
        followed: list[Result] = []
        while completed is not None:
            decl, entry = completed
            taker, completed = self.taker(decl), None
            if taker is not None and len(followed) < MAX_COMPLETIONS:
                before = len(result.effects) + sum(len(one.effects) for one in followed)
                one, completed = self.run_chain(taker.chain, entry.content(), meta, state, answer, before)
                followed.append(replace(one, buffer=taker.selector[0]))
            state.buffers[decl].release(entry)
        return replace(result, completed=tuple(followed))

    def taker(self, decl: ast.BufferDecl) -> Optional[Hook]:
        """The hook that runs over what a buffer completes."""
        number = [each for _, each in buffers(self.program)].index(decl)
        return next((hook for hook in self.program.hooks if hook.event == BUFFER_COMPLETE and hook.selector == (number,)), None)

    def run_chain(self, chain: list[ast.Module], frame: bytes, meta: Optional[dict], state: State, answer: Answer = all_clear, before: int = 0,
                  outside: Optional[Callable[[Run], Outside]] = None) -> tuple[Result, Optional[tuple[ast.BufferDecl, Entry]]]:
        """One packet through one chain, and the buffer's entry that it completed. `before`: effects of this frame so far;
        `outside` makes another outside world than one that records."""
        run = self.prepare(frame, meta, state)
        if outside is not None:
            run.outside = outside(run)
        run.outside.answer = lambda name, mine: answer(name, before + mine)
        verdict, reason, port, out = ACCEPT, None, None, None
        for module in chain:
            if isinstance(module, ast.Deparser) and verdict not in (ACCEPT, TRANSMIT):
                continue
            outcome = run_module(run, module)
            out = outcome.out if outcome.out is not None else out
            if outcome.verdict != ACCEPT:
                verdict, reason, port = outcome.verdict, outcome.reason, outcome.port
            if outcome.verdict not in (ACCEPT, TRANSMIT):
                return Result(verdict, reason, port, effects=tuple(run.outside.effects)), run.completed
        whole = out + run.packet.rest if out is not None else None
        return Result(verdict, None, port, whole, effects=tuple(run.outside.effects)), run.completed

    def replace(self, old: State, tables: Optional[Tables] = None) -> tuple[State, Plan]:
        """The state with which this program goes on where another one ran: persistent registers are kept, its migrations run.
        Raises StateError when that cannot be."""
        chosen = plan(layout(old.program), version(old.program), layout(self.program), version(self.program), migrations(self.program))
        state = self.state(tables)
        state.keep(old, chosen.kept)
        names = dict(stateful(old.program))
        for migration in chosen.migrations:
            run = self.prepare(b"", {}, state)
            assert migration.decl is not None
            run.old = {register.name: retyped(old.cells[names[name]], zero(register.type))
                       for name, register in zip(migration.needs, migration.decl.old, strict=True)}
            run.statements.body(migration.decl.body.statements, Scope())
        return state, chosen

    def explain(self, frame: bytes, meta: Optional[dict] = None, state: Optional[State] = None, hook: Optional[Hook] = None) -> str:
        """The packet drawn in text, as the parser of the hook's chain sees it: each header's fields with place and value. Nothing changes."""
        run = self.prepare(frame, meta, state)
        reason = None
        for module in self.program.chain_of(hook):
            if isinstance(module, ast.Parser) and reason is None:
                reason = run_module(run, module).reason
        return draw(run, reason)

    def prepare(self, frame: bytes, meta: Optional[dict], state: Optional[State]) -> Run:
        return Run(self.program, self.derived, frame, meta or {}, state if state is not None else self.state(), self.externs)
