"""Runs a program on any engine through one interface: what `lpnc run`, the tests and the fuzzer use."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping

from lpn.lang import ast, tables as control
from lpn.lang.persist import Plan, StateError
from lpn.lang.reference import Reference, Result as ReferenceResult, State
from lpn.lang.reference.values import Struct, unsigned
from lpn.lang.types import Array, StructType, Type
from lpn.runtime.engines import MAX_PACKET, EngineError, Externs, Program, Result, bound, get_engine
from lpn.runtime.replace import replace

from .build import Compiled, bundle_entry, compile_program
from .chains import Chains
from .externs import own
from .forms import LEVELS, MOST, Level
from .judge import PROVED, sealed
from .lower.const_entries import compared
from .state import scalar_width

#: The state as unsigned numbers: by object its cells, each by field (`outer.inner` in a struct in a struct), "" if plain.
Cells = dict[object, list[dict[str, int]]]

ENGINES = ("engine", "reference", "rbpf", "m3", "thumb2", "kernel")
BYTECODE = ("engine", "rbpf", "m3", "thumb2")   # of these, what runs images of target lpn
ONE_CHAIN = "the kernel runs the chain of radio.rx_done, and no other one"
NO_CHAIN = "the protocol has no chain for radio.rx_done, which is what frames of a capture take"


class Runner(ABC):
    """A program loaded into an engine, its state kept from frame to frame."""

    @abstractmethod
    def run(self, frame: bytes, meta: Mapping[str, int] | None = None, hook: int | None = None) -> Result:
        """One frame through the chain of `program.hooks[hook]`, by default the runner's own; state changes stay."""

    def cells(self) -> Cells:
        """Registers and counters as they are."""
        raise EngineError(f"{type(self).__name__} does not show its state")

    def set_cell(self, cell: control.Cell) -> None:
        """Sets a register's cell, or some of its fields."""
        raise EngineError(f"{type(self).__name__} has no state to set")

    def set_entries(self, table: ast.Table, entries: list[control.Entry]) -> None:
        """From now on, all entries of a table, its constant ones too."""
        raise EngineError(f"{type(self).__name__} has no tables to fill")

    def replace(self, old: Runner) -> Plan:
        """Go on where `old`, a runner of the same engine, stands: take over what its program keeps. Nothing happens to `old`.
        Raises EngineError."""
        raise EngineError("this engine replaces no program while it runs")


def as_result(r: ReferenceResult) -> Result:
    return Result(r.verdict, r.reason, r.port, r.out, None, effects=r.effects, completed=tuple(map(as_result, r.completed)), buffer=r.buffer)


class ReferenceRunner(Runner):
    """The reference interpreter: the typed program itself."""

    def __init__(self, program: ast.Program, given: control.Tables | None, externs: Externs | None = None, hook: int | None = None):
        bound([decl.name for decl in own(program)], externs)
        self.reference, self.given, self.hook = Reference(program, externs), given, hook
        self.state = self.reference.state(given)

    def run(self, frame: bytes, meta: Mapping[str, int] | None = None, hook: int | None = None) -> Result:
        if len(frame) > MAX_PACKET:             # no engine takes it
            return Result("DROP", "engine: packet too long", None, None, None)
        hook = self.hook if hook is None else hook
        r = self.reference.run(frame, dict(meta or {}), self.state, self.reference.program.hook(hook))
        return as_result(r)

    def cells(self) -> Cells:
        return reference_cells(self.state)

    def set_cell(self, cell: control.Cell) -> None:
        self.state.load_cell(cell)

    def set_entries(self, table: ast.Table, entries: list[control.Entry]) -> None:
        self.state.entries[table] = list(entries)

    def replace(self, old: Runner) -> Plan:
        assert isinstance(old, ReferenceRunner)
        try:
            self.state, chosen = self.reference.replace(old.state, self.given)
        except StateError as e:
            raise EngineError(str(e)) from None
        return chosen


class LoadedRunner(Runner):
    """A bundle loaded into an engine."""

    program: Program                            # what has the state

    def run(self, frame: bytes, meta: Mapping[str, int] | None = None, hook: int | None = None) -> Result:
        assert hook is None, "a bundle that is loaded has one chain"
        return self.program.run(frame, meta)

    def replace(self, old: Runner) -> Plan:
        assert isinstance(old, LoadedRunner)
        return replace(old.program, self.program)


class BytecodeRunner(LoadedRunner):
    """An engine that executes the compiled containers."""

    def __init__(self, name: str, compiled: Compiled, given: control.Tables | None, externs: Externs | None = None, hook: int | None = None):
        self.compiled, self.hook = compiled, hook
        self.chains = Chains(compiled, get_engine(name), given, externs, hook)

    @property
    def program(self) -> Program:               # type: ignore[override]
        return self.chains.holder

    def run(self, frame: bytes, meta: Mapping[str, int] | None = None, hook: int | None = None) -> Result:
        hook = self.hook if hook is None else hook
        if hook != self.hook and self.compiled.bundle.buffers:
            raise EngineError("what is kept in buffers would not reach another chain here: a node has them in common (events)")
        return self.chains.run(frame, meta, hook)

    def cells(self) -> Cells:
        return compiled_cells(self.compiled, self.program.state())

    def set_cell(self, cell: control.Cell) -> None:
        state = bytearray(self.program.state())
        self.compiled.state.write(state, cell.register, cell.index, cell.values)
        self.program.set_state(bytes(state))

    def set_entries(self, table: ast.Table, entries: list[control.Entry]) -> None:
        if not compared(table):                 # else they are those that the containers know
            self.chains.set_entries(table.name, [bundle_entry(table, entry) for entry in entries])


def reference_cells(state: State) -> Cells:
    out: Cells = {}
    for decl, value in state.cells.items():
        type_ = decl.type.cell if isinstance(decl.type, Array) else decl.type       # type: ignore[attr-defined]
        out[decl] = [dict(flat(each, type_)) for each in (value if isinstance(value, list) else [value])]
    return out


def flat(value: object, type_: Type, path: str = "") -> Iterator[tuple[str, int]]:
    """A cell's numbers, by field."""
    if isinstance(type_, StructType):
        assert isinstance(value, Struct)
        for field in type_.decl.fields:
            yield from flat(value.fields[field.name], field.type, f"{path}.{field.name}" if path else field.name)   # type: ignore[arg-type]
    else:
        yield path, unsigned(int(value), scalar_width(type_))               # type: ignore[call-overload]


def compiled_cells(compiled: Compiled, state: bytes) -> Cells:
    out: Cells = {}
    for each in compiled.state.objects:
        cells = [compiled.state.read(state, each.decl, index) for index in range(each.count)]
        out[each.decl] = [cell if isinstance(cell, dict) else {"": cell} for cell in cells]
    return out


def make_runner(name: str, program: ast.Program, given: control.Tables | None = None, fuse: bool = False,
                level: Level = MOST, compiled: Compiled | None = None, externs: Externs | None = None, hook: int | None = None) -> Runner:
    """A runner on engine `name`. `externs`: functions for those that the program declares of the node. `hook`: whose chain takes
    frames that are for no other one, by its number; by default that of radio.rx_done.

    Raises EngineError, EngineUnavailable, DiagnosticError or BuildError; ValueError for a level that there is not."""
    if level not in LEVELS.values():
        raise ValueError(f"there is no level {level!r}: there are {', '.join(map(repr, LEVELS.values()))}")
    if hook is None and program.hooks and not program.chain:
        raise EngineError(NO_CHAIN)
    if name == "reference":
        return ReferenceRunner(program, given, externs, hook)
    if name == "kernel":
        if hook is not None:
            raise EngineError(ONE_CHAIN)
        from .kernel_runner import KernelRunner
        return KernelRunner(compile_program(program, "xdp", True, level), given)
    compiled = compiled or compile_program(program, "lpn", fuse, level)
    if name in PROVED and not compiled.reports:       # what is proven 32-bit clean runs in 32-bit registers there
        sealed(compiled)
    for each, report in compiled.reports.items():
        if name == "thumb2" and not report.accepted:            # translated code checks nothing
            raise EngineError(f"{each} is refused by {report.message}; thumb2 runs nothing that is not proved")
    return BytecodeRunner(name, compiled, given, externs, hook)
