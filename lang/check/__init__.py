"""The checker: names, types, widths, and the rules that every program keeps before it is compiled.

`check(program)` fills in what `lang/ast/` marks *checked* and raises DiagnosticError with everything it finds.
"""
from __future__ import annotations

from collections.abc import Callable

from .. import ast, builtins
from ..deep import deep
from ..diagnostics import Diagnostic, DiagnosticError, Diagnostics
from ..source import Span
from ..types import Void
from .applied import write_out
from .base import Base
from .buffers import Buffers
from .calls_in_line import calls_in_line
from .calls import NO_ACTION, Calls
from .codecs import Codecs
from .contexts import contexts
from .doubts import doubts
from .expressions import Expressions
from .energy import energy
from .externs import Externs
from .flow import Flow
from .headers import Headers
from .limits import limits
from .members import Members
from .migrations import Migrations, migrations
from .parsers import Parsers
from .ports import ports
from .processors import Processors
from .protocols import Protocols
from .purity import purity
from .recursion import recursion
from .reasons import reasons
from .statements import Statements
from .timing import Timings
from .sums import size_circles, summed_headers
from .unused import unused


class Checker(Expressions, Members, Calls, Headers, Codecs, Parsers, Processors, Protocols, Timings, Externs,
              Migrations, Buffers, Statements, Base):
    """All parts of the checker over one program."""

    def __init__(self, program: ast.Program):
        super().__init__(program)
        span = program.span
        self.no_action = ast.Action(span, NO_ACTION, [], ast.Block(span, []))

    def run(self) -> None:
        program = self.program
        program.headers_struct, program.hooks, program.applied, program.promises = None, [], [], []
        self.collect()
        for decl in program.decls:
            self.ensure(decl)
        for kind, visit in self.bodies():
            for decl in program.decls:
                if isinstance(decl, kind):
                    visit(decl)
        self.set_hooks()
        program.reasons = reasons(program)

    def collect(self) -> None:
        """Names of the whole program; errors are numbered after the built-in reasons."""
        for number, name in enumerate((builtins.NO_ERROR, *builtins.REASONS)):
            self.errors[name] = ast.ErrorMember(self.program.span, name, number)
        for decl in self.program.decls:
            if isinstance(decl, ast.Decl):
                self.declare(decl.name, decl)
            elif isinstance(decl, ast.ErrorDecl):
                for member in decl.members:
                    old = self.errors.get(member.name)
                    if old is not None:
                        notes: list[tuple[str, Span | None]] = [] if old.number <= len(builtins.REASONS) else [("the first one is here", old.span)]
                        hint = "every program has it: use it" if not notes else "remove one"
                        self.error(f"error '{member.name}' is declared twice", member, hint, notes=notes)
                        continue
                    member.number = len(self.errors)
                    self.errors[member.name] = member

    def bodies(self) -> list[tuple[type, Callable]]:
        return [(ast.Header, self.header_body), (ast.Function, self.function_body), (ast.Codec, self.codec_body),
                (ast.Parser, self.parser_body), (ast.Processor, self.processor_body), (ast.Deparser, self.deparser_body),
                (ast.Timing, self.timing_body), (ast.Protocol, self.protocol_body),
                (ast.Migrate, self.migrate_body),
                (ast.Action, lambda decl: self.body(decl, self.globals, Void()))]


def check(program: ast.Program) -> ast.Program:
    """Checks a loaded program and returns it, annotated. Raises DiagnosticError.

    Warnings are left in `program.warnings`.
    """
    with deep():
        return checked(program)


def checked(program: ast.Program) -> ast.Program:
    checker, idle = Checker(program), Diagnostics()
    try:
        checker.run()
        if not checker.diagnostics.errors:
            doubted = doubts(program, checker.diagnostics)
            unused(program, idle)
            ports(program, idle)
            recursion(program, checker.diagnostics)
            calls_in_line(program, checker.diagnostics)
        if not checker.diagnostics.errors:
            write_out(program, checker.diagnostics)
            for decl in program.decls:
                if isinstance(decl, ast.Deparser):          # now with what it applies
                    checker.order_of_emits(decl)
        if not checker.diagnostics.errors:
            purity(program, checker.diagnostics)
            summed_headers(program, checker.diagnostics)
            contexts(program, checker.diagnostics)
            migrations(program, checker.diagnostics)
            limits(program, checker.diagnostics)
        if not checker.diagnostics.errors:
            flow = Flow(program, checker.diagnostics)
            flow.run()
            checker.diagnostics.items += [one.warning for one in doubted if one.happens(flow.found)]
        if not checker.diagnostics.errors:
            size_circles(program, checker.diagnostics)
        if not checker.diagnostics.errors:
            energy(program, checker.diagnostics)
        if not checker.diagnostics.errors:
            checker.diagnostics.items += idle.items
    except RecursionError:
        where = checker.active[0].span if checker.active else program.span
        raise DiagnosticError([Diagnostic("error", "this program is nested too deeply", where,
                                          ["split it: name the parts"])]) from None
    order = {id(source): place for place, source in enumerate(program.sources)}
    checker.diagnostics.items.sort(
        key=lambda one: (order.get(id(one.span.source), 0), one.span.line, one.span.column) if one.span else (0, 0, 0))
    checker.diagnostics.raise_errors()
    program.warnings = checker.diagnostics.items
    return program


def check_chains(program: ast.Program) -> None:
    """Checks the chains of a checked program anew, of which modules were taken out: what these made sure of nobody does now. Raises DiagnosticError."""
    diagnostics = Diagnostics()
    program.unseen.clear()
    flow = Flow(program, diagnostics)
    for hook in program.hooks:
        flow.chain(hook.chain)
    diagnostics.raise_errors()
