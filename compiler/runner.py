"""Runs a program on any engine through one interface: what `lpnc run`, the tests and the fuzzer use."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from lpn.lang import ast, tables as control
from lpn.lang.reference import Reference
from lpn.runtime.engines import Externs, Result, bound, get_engine

from .build import Compiled, compile_program
from .externs import own

ENGINES = ("engine", "reference", "rbpf", "kernel")


class Runner(ABC):
    """A program loaded into an engine, its state kept from frame to frame."""

    @abstractmethod
    def run(self, frame: bytes, meta: Mapping[str, int] | None = None) -> Result:
        """One frame through the chain; state changes stay."""


class ReferenceRunner(Runner):
    """The reference interpreter: the typed program itself."""

    def __init__(self, program: ast.Program, given: control.Tables | None, externs: Externs | None = None):
        bound([decl.name for decl in own(program)], externs)
        self.reference = Reference(program, externs)
        self.state = self.reference.state(given)

    def run(self, frame: bytes, meta: Mapping[str, int] | None = None) -> Result:
        r = self.reference.run(frame, dict(meta or {}), self.state)
        return Result(r.verdict, r.reason, r.port, r.out, None)


class BytecodeRunner(Runner):
    """An engine that executes the compiled containers."""

    def __init__(self, name: str, compiled: Compiled, given: control.Tables | None, externs: Externs | None = None):
        self.program = get_engine(name).load(compiled.bundle, externs=externs)
        self.program.set_state(compiled.initial_state(given))
        for table, entries in compiled.entries(given).items():
            self.program.set_entries(table, entries)

    def run(self, frame: bytes, meta: Mapping[str, int] | None = None) -> Result:
        return self.program.run(frame, meta)


def make_runner(name: str, program: ast.Program, given: control.Tables | None = None, fuse: bool = False,
                level: int = 2, compiled: Compiled | None = None, externs: Externs | None = None) -> Runner:
    """A runner on engine `name`. `externs`: functions for those that the program declares of the node. Raises EngineError, EngineUnavailable, DiagnosticError or BuildError."""
    if name == "reference":
        return ReferenceRunner(program, given, externs)
    if name == "kernel":
        from .kernel_runner import KernelRunner
        return KernelRunner(compile_program(program, "xdp", True, level), given)
    return BytecodeRunner(name, compiled or compile_program(program, "lpn", fuse, level), given, externs)
