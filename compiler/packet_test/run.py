"""Runs tests: each on fresh runners, every packet through every engine; the first step that is not as written ends a test."""
from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import NoReturn, Optional

from lpn.lang import ast, tables as control
from lpn.lang.check import check
from lpn.lang.diagnostics import Diagnostics
from lpn.lang.loader import load, read_file
from lpn.lang.reference import NotSupported
from lpn.lang.source import Source, Span
from lpn.lang.types import Bits, Type
from lpn.runtime.engines import EngineError, EngineUnavailable, Externs, Result
from lpn.runtime.node import Node, NodeError
from lpn.runtime.timeline import Record, clock, shown

from ..build import Compiled
from ..contents import differing, value_text
from ..externs import own
from ..forms import MOST, Level
from ..judge import made_to_run
from ..output import percent
from ..runner import BYTECODE, ENGINES, Cells, Runner, make_runner
from . import model
from .make import build, combined
from .match import Comparison, Difference, compare_fields, compare_octets, pattern_text
from .names import Scribe
from .parse import parse
from .resolve import Resolver
from .show import Failure
from .timeline import NODES, cells_of, difference, given, line, live, of_kind, records, told

WORD = 0xFFFF_FFFF
SHOWN = 127                                     # octets of what was sent: a whole frame
COMPARE: dict[str, Callable[[int, int], bool]] = {
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b}


@dataclass
class Outcome:
    """What became of a test; `failure` None: it passed."""

    test: model.Test
    failure: Optional[Failure]
    seconds: float


class Failed(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass
class Suite:
    """A test file with its program, ready to run."""

    file: model.File
    program: ast.Program
    engines: Sequence[str] = ("engine", "reference")
    fuse: bool = False
    level: Level = MOST
    compiled: Optional[Compiled] = field(default=None, init=False)

    @classmethod
    def load(cls, path: Path, engines: Sequence[str] = ("engine", "reference"), fuse: bool = False, level: Level = MOST) -> "Suite":
        """Raises DiagnosticError with everything that is wrong in the file, or in its program; Unreadable."""
        return cls.read(read_file(path, str(path)), engines, fuse, level)

    @classmethod
    def read(cls, source: Source, engines: Sequence[str] = ("engine", "reference"), fuse: bool = False, level: Level = MOST) -> "Suite":
        diagnostics = Diagnostics()
        path = source.path or Path(source.name)
        file = parse(source, diagnostics)
        program_path = path.parent / file.program if file.program else path.with_suffix(".lpn")
        try:
            found = program_path.is_file()
        except (OSError, ValueError):
            found = False
        if not found:
            at, named = file.program_span or Span(source, 1, 1, 1, 1), 'write program "file.lpn"; in it'
            if file.program or source.path is not None:
                diagnostics.error(f"there is no program {program_path}", at, f"a test stands beside its program, as x.test beside x.lpn; or {named}")
            else:                               # read from a pipe
                diagnostics.error("no program stands beside this test", at, named)
        diagnostics.raise_errors()
        program = check(load(program_path))
        Resolver(file, program, path.parent, diagnostics).resolve()
        diagnostics.raise_errors()
        return cls(file, program, engines, fuse, level)

    def run(self, test: model.Test) -> Outcome:
        """Raises DiagnosticError where a packet cannot be made or the program cannot be compiled, EngineUnavailable."""
        start = time.monotonic()
        failure = None
        try:
            Run(self, test).run()
        except Failed as e:
            failure = e.failure
        return Outcome(test, failure, time.monotonic() - start)

    def runners(self, scribe: Scribe, externs: Externs) -> dict[str, Runner]:
        """Fresh ones; the scribe is the reference's."""
        if self.compiled is None and set(self.engines) & set(BYTECODE):
            self.compiled = made_to_run(self.program, self.engines, self.fuse, self.level)
        if not self.program.chain and self.first is None:
            return {name: NoChain() for name in self.engines}
        return {name: scribe if name == "reference" else make_runner(name, self.program, None, compiled=self.compiled, externs=externs, hook=self.first)
                for name in self.engines}

    @property
    def first(self) -> Optional[int]:
        """The first hook that takes packets, of a program without a chain for received frames."""
        return None if self.program.chain else next(iter(self.program.takers), None)


class NoChain(Runner):
    """Stands for a program that takes no packets: it can only live through events."""

    def run(self, frame: bytes, meta: Mapping[str, int] | None = None, hook: int | None = None) -> Result:
        raise EngineError("no chain of the program takes packets: use events { ... }")

    def cells(self) -> Cells:
        raise EngineError("no chain of the program takes packets: its state is there behind events { ... }")

    def set_cell(self, cell: control.Cell) -> None:
        pass                                    # its nodes begin with it

    def set_entries(self, table: ast.Table, entries: list[control.Entry]) -> None:
        pass


class Run:
    """One test. `now`: the clock in microseconds."""

    def __init__(self, suite: Suite, test: model.Test) -> None:
        self.suite, self.test, self.program = suite, test, suite.program
        self.answers: dict[str, int] = {}       # of the node's own functions, where they were said
        self.externs = {decl.name: partial(self.answer, decl.name) for decl in own(suite.program)}
        self.scribe = Scribe(suite.program, "reference" in suite.engines, self.externs, suite.first)
        self.runners = suite.runners(self.scribe, self.externs)
        self.meta: dict[str, int] = {}
        self.now = 0
        self.sent, self.hook = b"", suite.first
        self.used: dict[str, int] = {}          # the meta of the packet that was sent last
        self.result: Optional[Result] = None
        self.given = control.Tables()           # what was set so far
        self.nodes: dict[str, Node] = {}        # behind an `events` step: what went through them

    def run(self) -> None:
        at = self.test.span
        try:
            for step in [*self.suite.file.setup, *self.test.steps]:
                at = step.span
                self.step(step)
            at = self.test.span
            self.agree_on_state()
        except EngineUnavailable:
            raise
        except (EngineError, NotSupported) as e:
            self.fail(str(e), at)

    def answer(self, name: str, *given: int) -> int:
        """What a function of the node's own answers now."""
        return self.answers.get(name, 0)

    def fail(self, message: str, span: Span, **more) -> NoReturn:
        raise Failed(Failure(f"{self.test.name}: {message}", span, **more))

    def all(self) -> list[Runner]:
        """The engines, and the scribe if it is none of them."""
        return [*self.runners.values(), *([self.scribe] if self.scribe not in self.runners.values() else [])]

    # ------------------------------------------------------------ steps

    def step(self, step: model.Step) -> None:
        if isinstance(step, model.Send):
            self.send(step)
        elif isinstance(step, model.Expect):
            self.expect(step)
        elif isinstance(step, model.Check):
            self.check(step)
        elif isinstance(step, model.Events):
            self.events(step)
        elif isinstance(step, model.ExpectRecord):
            self.record(step)
        elif isinstance(step, model.ExpectRadio):
            self.radio(step)
        elif isinstance(step, model.Settings):
            self.meta.update(step.meta)
        elif isinstance(step, model.Answer):
            self.answers[step.name] = step.number
        elif isinstance(step, model.Wait):
            self.now += step.time
        elif isinstance(step, model.SetCell) and step.cell is not None:
            self.set_cell(step.cell)
        elif isinstance(step, model.Entries) and step.table is not None:
            self.set_entries(step.table, step.entries)
        elif isinstance(step, model.TablesFile) and step.tables is not None:
            for cell in step.tables.cells:
                self.set_cell(cell)
            for table, entries in step.tables.entries.items():
                self.set_entries(table, entries)

    def set_cell(self, cell: control.Cell) -> None:
        self.given.cells.append(cell)
        for runner in self.all():
            runner.set_cell(cell)

    def set_entries(self, table: ast.Table, entries: list[control.Entry]) -> None:
        self.given.entries[table] = entries
        for runner in self.all():
            runner.set_entries(table, entries)

    def send(self, step: model.Send) -> None:
        now = self.now & WORD
        packet = step.packet
        if packet.kind == "named":
            packet = combined(packet, self.suite.file.packets)
        self.hook = step.hook
        self.used = {**packet.meta, **self.meta, "time": now, "clock": now}
        self.sent = build(packet, self.program, self.scribe.state, self.used, self.suite.file.packets)
        results = {name: runner.run(self.sent, self.used, step.hook) for name, runner in self.runners.items()}
        if self.scribe not in self.runners.values():
            self.scribe.run(self.sent, self.used, step.hook)
        first, self.result = next(iter(results.items()))
        for name, other in results.items():
            self.agree(step, first, self.result, name, other)

    def agree(self, step: model.Send, first: str, one: Result, name: str, other: Result) -> None:
        found = [Difference(what, None, str(a), str(b)) for what, a, b in (
            ("verdict", one.verdict, other.verdict), ("reason", one.reason, other.reason), ("port", one.port, other.port),
            ("effects", one.effects, other.effects)) if a != b]
        comparison = Comparison(b"")
        if one.out is not None and other.out is not None and one.out != other.out:
            pairs = [(octet, 0xFF) for octet in one.out]
            comparison = compare_octets(model.Octets(step.span, pairs), other.out, self.scribe.labels)
        elif one.out != other.out:
            found.append(Difference("packet", None, "none" if one.out is None else one.out.hex(), "none" if other.out is None else other.out.hex()))
        if found or comparison.differences:
            self.fail(f"{first} and {name} differ", step.span, differences=found + comparison.differences, heads=(first, name),
                      expected=comparison.expected, got=comparison.got if comparison.differences else None, marks=comparison.marks,
                      notes=self.about_sent())

    # ------------------------------------------------------------ a node and its time line

    def events(self, step: model.Events) -> None:
        assert step.script is not None
        names = [name for name in self.runners if name in NODES]
        if not names:
            self.fail(f"a node runs in {' and '.join(NODES)} only", step.span)
        try:
            self.nodes = live(self.program, self.suite.compiled, step.script, names, self.given, self.meta, self.externs)
        except NodeError as e:
            self.fail(str(e), step.span)
        found = difference(self.nodes)
        if found is not None:
            number, told_by = found
            self.fail(f"{' and '.join(told_by)} differ in record {number}", step.span, notes=[f"{name}: {text}" for name, text in told_by.items()])

    def record(self, step: model.ExpectRecord) -> None:
        if not self.nodes:
            self.sends(step)
            return
        happened = records(next(iter(self.nodes.values())))
        alike = [each for each in happened if of_kind(step, each)]
        fitting = [each for each in alike if step.at is None or step.at[0] <= each.time <= step.at[1]]
        fitting = [each for each in fitting if step.packet is None or not self.compare(step.packet, each.frame).differences]    # type: ignore[attr-defined]
        if not (step.times.holds(len(fitting)) if step.times is not None else fitting):
            nearly = alike or [each for each in happened if of_kind(replace(step, word=""), each)]
            lines = list(map(line, nearly))
            when, found = (None if fitting else self.nearest(step, alike)) or (None, Comparison(b""))
            there = f"there {'is 1' if len(fitting) == 1 else f'are {len(fitting)}'}" + ("" if when is None else f", and that of {clock(when)} differs")
            self.fail(f"expected {told(step)}: {there}", step.span,
                      differences=found.differences, expected=found.expected, got=None if when is None else found.got, marks=found.marks,
                      notes=(["on the time line:", *lines[:20], *["..."] * (len(lines) > 20)] if lines else ["the time line has none at any time"]))

    def sends(self, step: model.ExpectRecord) -> None:
        """What the packet that was sent last made the program send."""
        assert self.result is not None
        frames = given(step.what, self.result)
        fitting = [each for each in frames if step.packet is None or not self.compare(step.packet, each).differences]
        if step.times.holds(len(fitting)) if step.times is not None else fitting:
            return
        found = [self.compare(step.packet, each) for each in frames] if step.packet is not None and not fitting else []
        near = min(found, key=lambda one: len(one.differences), default=Comparison(b""))
        taker = "radio" if step.what == "sent" else "network stack"
        self.fail(f"expected {told(step)}: there {'is 1' if len(fitting) == 1 else f'are {len(fitting)}'}", step.span,
                  differences=near.differences, expected=near.expected, got=near.got or None, marks=near.marks,
                  notes=[*self.about_sent(), f"which became {outcome(self.result)}", *(f"and gave the {taker} {shown(each)}" for each in frames[:20])])

    def nearest(self, step: model.ExpectRecord, alike: Sequence[Record]) -> tuple[int, Comparison] | None:
        """The time of the frame that differs least from the one that is expected, of those at its time if there are any, and how."""
        if step.packet is None:
            return None
        timely = [each for each in alike if step.at is None or step.at[0] <= each.time <= step.at[1]]
        found = [(each.time, self.compare(step.packet, each.frame)) for each in timely or alike]     # type: ignore[attr-defined]
        return min((one for one in found if one[1].differences), key=lambda one: len(one[1].differences), default=None)

    def radio(self, step: model.ExpectRadio) -> None:
        node = next(iter(self.nodes.values()))
        share = 100 * node.radio_state.on_time(0, node.time) / max(node.time, 1)
        if not COMPARE[step.op](share, step.percent):
            self.fail(f"the radio is on for {percent(share)} of the time, not {step.op} {step.percent:g} %", step.span)

    def cells(self, name: str) -> Cells:
        """The state in an engine now: the node's, if there is one."""
        return cells_of(self.nodes[name], self.suite.compiled) if name in self.nodes else self.runners[name].cells()

    def agree_on_state(self) -> None:
        if len(self.runners) < 2 or not (self.nodes or self.program.chain or self.suite.first is not None):
            return
        (first, mine), *others = ((name, self.cells(name)) for name in self.nodes or self.runners)
        for name, cells in others:
            found = [Difference(place, None, str(a), str(b)) for place, a, b in differing(self.program, mine, cells)]
            if found:
                self.fail(f"the state differs in {first} and {name} in the end", self.test.span, differences=found, heads=(first, name))

    # ------------------------------------------------------------ what is expected

    def expect(self, step: model.Expect) -> None:
        r = self.result
        assert r is not None                    # the resolver wants a packet to be sent first
        if step.verdict is not None and step.verdict != r.verdict:
            self.fail(f"expected {wanted(step)}, got {outcome(r)}", step.span, notes=[*self.about_sent(), *self.as_parsed()])
        if step.reason and step.reason != r.reason:
            self.fail(f"expected {wanted(step)}, got {outcome(r)}", step.span, notes=[*self.about_sent(), *self.as_parsed()])
        if step.ports is not None and (r.port is None or not step.ports.holds(r.port)):
            self.fail(f"expected {wanted(step)}, got {outcome(r)}", step.span, notes=self.about_sent())
        if step.no_packet and r.out is not None:
            self.fail("expected no packet, and there is one", step.span, got=r.out, notes=self.about_sent())
        if step.packet is not None:
            if r.out is None:
                self.fail(f"expected a packet, and there is none: {outcome(r)}", step.span, notes=[*self.about_sent(), *self.as_parsed()])
            found = self.compare(step.packet, r.out)
            if found.differences:
                self.fail("the packet is not as expected", step.span, differences=found.differences, expected=found.expected,
                          got=found.got, marks=found.marks, notes=self.about_sent())

    def compare(self, packet: model.Packet, got: bytes) -> Comparison:
        if packet.kind == "fields":
            return compare_fields(packet, got, self.program, self.scribe.state, self.used)
        if packet.kind == "octets":
            octets = packet.pieces[0]
            assert isinstance(octets, model.Octets)
        else:
            data = self.sent if packet.kind == "unchanged" else build(packet, self.program, self.scribe.state, self.used, self.suite.file.packets)
            octets = model.Octets(packet.span, [(octet, 0xFF) for octet in data])
        return compare_octets(octets, got, self.scribe.labels if len(self.scribe.labels) == len(got) else [])

    def check(self, step: model.Check) -> None:
        place = step.place
        for part in step.parts:
            self.check(part)
        if step.wanted is None:
            return
        type_ = place.type if isinstance(place.type, Type) else None
        numbers = {name: self.cells(name)[place.decl][place.index or 0][place.path] for name in self.nodes or self.runners}
        for name, number in numbers.items():
            if isinstance(type_, Bits) and type_.signed and number >> type_.width - 1:
                number -= 1 << type_.width
            right = COMPARE[step.op](number, step.wanted.value) if step.op in COMPARE else step.wanted.holds(number) == (step.op == "==")
            if not right:
                where = f" in {name}" if len(set(numbers.values())) > 1 else ""
                is_not = f"not {pattern_text(step.wanted, type_)}" if step.op == "==" else f"not {step.op} {pattern_text(step.wanted, type_)}"
                became = [f"which became {outcome(self.result)}"] if self.result is not None else []
                self.fail(f"{place.text} is {value_text(number, type_)}{where}, {is_not}", step.span, notes=[*self.about_sent(), *became] if became else [])

    # ------------------------------------------------------------ notes

    def about_sent(self) -> list[str]:
        return [f"sent {len(self.sent)} octets: {self.sent[:SHOWN].hex()}{'...' if self.sent[SHOWN:] else ''}"]

    def as_parsed(self) -> list[str]:
        """The packet as the parser sees it; how a verdict came about is mostly there."""
        try:
            drawn = self.scribe.reference.explain(self.sent, self.used, self.scribe.state, self.program.hook(self.hook)).splitlines()
        except NotSupported:
            return []
        return drawn if len(drawn) <= 60 else [*drawn[:20], "...", *drawn[-40:]]


def wanted(step: model.Expect) -> str:
    port = f" {pattern_text(step.ports, None if step.ports.high else Bits(64, True))}" if step.ports is not None else ""
    return f"{step.verdict}{' ' + step.reason if step.reason else ''}{port}"


def outcome(r: Result) -> str:
    return f"{r.verdict} {r.reason}" if r.reason else f"{r.verdict} {r.port}" if r.port is not None else r.verdict


__all__ = ["ENGINES", "Outcome", "Suite"]
