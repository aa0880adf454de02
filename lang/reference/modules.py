"""The modules of a chain: parser, processor, deparser. Each returns its verdict."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional

from .. import ast
from ..deep import deep
from ..types import Frame, Meta, Packet as PacketType, StructType
from .scope import Scope
from .statements import Exited
from .values import NotSupported, Rejected

if TYPE_CHECKING:
    from .run import Run

ACCEPT, DROP, DELIVER, TRANSMIT, CONSUMED = VERDICTS = ("ACCEPT", "DROP", "DELIVER", "TRANSMIT", "CONSUMED")


@dataclass(frozen=True)
class Outcome:
    """What a module says of the packet. `out`: a deparser's header bytes."""

    verdict: str
    reason: Optional[str] = None
    port: Optional[int] = None
    out: Optional[bytes] = None


def run_module(run: "Run", module: ast.Module) -> Outcome:
    """Raises NotSupported for what is too deep to be walked."""
    try:
        with deep():
            return outcome(run, module)
    except RecursionError:
        raise NotSupported(f"calls and expressions of {module.name} are nested too deeply, with what they call: split it") from None


def outcome(run: "Run", module: ast.Module) -> Outcome:
    try:
        if isinstance(module, ast.Parser):
            return run_parser(run, module)
        if isinstance(module, ast.Processor):
            return run_processor(run, module)
        if isinstance(module, ast.Handler):
            return run_handler(run, module)
        assert isinstance(module, ast.Deparser), f"{module.name} is no module of a chain"
        return run_deparser(run, module)
    except Rejected as rejected:
        return Outcome(DROP, rejected.reason)


def run_body(run: "Run", body: ast.Block, scope: Scope) -> None:
    try:
        run.statements.execute(body, scope)
    except Exited:
        pass


def module_scope(run: "Run", params: list[ast.Param], locals_: list) -> Scope:
    """The module's parameters and variables; registers, tables and actions are found by their declaration."""
    scope = Scope()
    for param in params:
        if isinstance(param.type, StructType):
            scope.values[param] = run.headers
        elif isinstance(param.type, Meta):
            scope.values[param] = run.meta
        else:
            assert isinstance(param.type, PacketType), f"{param.span}: a module has no such parameter"
            scope.values[param] = run.packet
    for local in locals_:
        if isinstance(local, (ast.VarDecl, ast.ConstDecl)):
            run.statements.execute(local, scope)
    return scope


# ---------------------------------------------------------------- parser

def run_parser(run: "Run", parser: ast.Parser) -> Outcome:
    """From state `start` to `accept`, or to a rejection. The packet's payload begins where the cursor stops."""
    scope = module_scope(run, parser.params, parser.locals)
    states = {state.name: state for state in parser.states}
    entered = dict.fromkeys(states, 0)
    state: Optional[ast.State] = states["start"]
    while state is not None:
        entered[state.name] += 1
        if state.max is not None and entered[state.name] > run.number(state.max, scope):
            raise Rejected(state.reason or f"{parser.name}.{state.name}")
        run.statements.body(state.statements, scope)
        state = next_state(run, states, state.transition, scope)
    return Outcome(ACCEPT)


def next_state(run: "Run", states: dict[str, ast.State], transition: Optional[ast.Transition],
               scope: Scope) -> Optional[ast.State]:
    """The state to go to; None for `accept`."""
    case: Optional[ast.SelectCase] = None
    if transition is None:
        raise Rejected("NoMatch")
    if transition.select is None:
        case = transition.cases[0]
    else:
        values = [run.evaluate(each, scope) for each in transition.select]
        case = next((each for each in transition.cases if run.expressions.match_keys(values, each.keys, scope)), None)
    if case is None or case.target == "reject":
        raise Rejected(run.reason(case.reason if case else None, "NoMatch", scope))
    return None if case.target == "accept" else states[case.target]


# ---------------------------------------------------------------- processor

def run_processor(run: "Run", processor: ast.Processor) -> Outcome:
    run.meta.update(verdict=0, reason=0, port=0)
    scope = module_scope(run, processor.params, processor.locals)
    run_body(run, processor.apply, scope)
    chosen = int(run.meta["verdict"])                                       # type: ignore[call-overload]
    if chosen >= len(VERDICTS):
        return Outcome(DROP, "engine: unknown verdict")
    verdict = VERDICTS[chosen]
    if verdict == DROP:
        number = int(run.meta["reason"])                                    # type: ignore[call-overload]
        return Outcome(DROP, run.program.reasons[number] if number else f"{processor.name}.drop")
    return Outcome(verdict, port=int(run.meta["port"]) if verdict == DELIVER else None)     # type: ignore[call-overload]


# ---------------------------------------------------------------- deparser

def run_deparser(run: "Run", deparser: ast.Deparser) -> Outcome:
    """The headers that are emitted, in order."""
    scope = module_scope(run, deparser.params, [])
    run.emitting = []
    try:
        run_body(run, deparser.body, scope)
        return Outcome(ACCEPT, out=b"".join(run.emitting))
    finally:
        run.emitting = None


# ---------------------------------------------------------------- handler

def run_handler(run: "Run", handler: ast.Handler) -> Outcome:
    """A handler of a timing block; its packet has no payload, whatever the event brings."""
    frame = {"length": len(run.packet.data), **{name: run.meta[name] for name in ("time", "rssi", "lqi")}}
    run.packet.payload = len(run.packet.data)
    scope = Scope().bind(handler.params, [frame if isinstance(param.type, Frame) else run.event & 0xFF for param in handler.params])
    run_body(run, handler.body, scope)
    return Outcome(ACCEPT)
