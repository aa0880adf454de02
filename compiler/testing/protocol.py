"""A program as tests use it: packets drawn for it, engines that run it, properties that hold of it."""
from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from hypothesis import note, strategies as st

from lpn.compiler.build import Compiled
from lpn.compiler.contents import as_json
from lpn.compiler.externs import own
from lpn.compiler.generate.followed import FollowedRun
from lpn.compiler.generate.looked_for import Interest, interest
from lpn.compiler.generate.refused import Refusal, refusal
from lpn.compiler.judge import made_to_run, unit_of
from lpn.compiler.packet_test.timeline import cells_of, difference, live
from lpn.compiler.runner import Runner, make_runner
from lpn.lang import ast, tables as control
from lpn.lang.check import check
from lpn.lang.derive import derived
from lpn.lang.hooks import NoTaker, called
from lpn.lang.loader import load
from lpn.lang.reference import Reference, State
from lpn.lang.reference.draw import values
from lpn.lang.reference.modules import run_module
from lpn.lang.reference.run import Run
from lpn.lang.source import Source
from lpn.runtime.engines import META_BITS, Result
from lpn.runtime.events import read_events
from lpn.runtime.node import Node

from lpn.testing import packets
from .entries import entries, given_tables
from .events import scripts
from .headers import fill, fresh
from .nothing import Judged
from .numbers import Draw, circumstances
from .walk import Subject

Packets = bytes | Sequence[bytes]
DEFAULT_ENGINES = ("engine", "reference")


def protocol(program: str | Path | Source | ast.Program, tables: Mapping[str, Any] | None = None,
             node: Mapping[str, int] | None = None, externs: Mapping[str, int | Callable[..., int | None]] | None = None,
             hook: str | None = None) -> "Protocol":
    """A program under test.

    `program`: the path of a `.lpn` file, seen from the calling file's folder or else from the current one; or a Source, or a
    checked program. `tables`: the content of a tables file, given before each run. `node`: node_short, node_ext, node_pan.
    `externs`: of functions of the node's own, what they answer, or a function of their arguments that does; 0 where nothing is said.
    `hook`: whose chain takes the packets, as `net.tx.41`; by default that of `radio.rx_done`, or where there is none the first that takes packets.
    Raises DiagnosticError where the program is none, ValueError where there is no such hook.
    """
    if isinstance(program, (str, Path)):
        caller = Path(sys._getframe(1).f_globals.get("__file__", "")).parent
        beside = caller / program
        program = beside if beside.is_file() else Path(program)
    return Protocol(program if isinstance(program, ast.Program) else checked(program), tables, node, externs, hook)


def checked(program: Source | Path) -> ast.Program:
    if isinstance(program, Source):
        return check(load(program))
    return _checked_file(program, program.stat().st_mtime_ns if program.exists() else 0)


@lru_cache(maxsize=32)
def _checked_file(path: Path, changed: int) -> ast.Program:
    return check(load(path))


def taker(program: ast.Program, hook: str | None) -> int | None:
    """The number of the hook whose chain takes packets; None: that of `radio.rx_done`. Raises ValueError where there is none of that name."""
    if hook is None:
        return None if program.chain else next(iter(program.takers), None)
    try:
        number = called(program.takers, hook)
    except NoTaker as error:
        raise ValueError(str(error)) from None
    return None if program.hooks[number].chain is program.chain else number


def known(beside: Mapping[str, int]) -> dict[str, int]:
    """What is given beside a packet. Raises ValueError for a name that nothing has: it would be left out in silence."""
    for name in beside:
        if name not in META_BITS:
            raise ValueError(f"there is no '{name}' beside a packet: there are {', '.join(META_BITS)}")
    return dict(beside)


def answering(program: ast.Program, externs: Mapping[str, int | Callable[..., int | None]]) -> dict[str, Callable[..., int | None]]:
    """The node's own functions that a program declares. Raises ValueError for an answer of one that it does not."""
    names = [decl.name for decl in own(program)]
    for name in externs:
        if name not in names:
            raise ValueError(f"the program has no function '{name}' of the node's own: there {'are ' + ', '.join(names) if names else 'is none'}")
    return {name: given if callable(given := externs.get(name, 0)) else lambda *_, answer=given: answer for name in names}


class Protocol:
    """Strategies (packets, tables, circumstances), runs, and properties of one program."""

    def __init__(self, program: ast.Program, tables: Mapping[str, Any] | None = None, node: Mapping[str, int] | None = None,
                 externs: Mapping[str, int | Callable[..., int | None]] | None = None, hook: str | None = None) -> None:
        self.program, self.node = program, known(node or {})
        self.hook = taker(program, hook)
        self.chain = program.chain_of(program.hook(self.hook))
        self.externs = answering(program, externs or {})
        self.tables = control.from_json(dict(tables), program) if tables else None
        self.reference = Reference(program, self.externs)
        self._compiled: dict[bool, Compiled] = {}
        self._bounds: dict[bool, int] = {}
        self._judged = Judged(repr(self))

    def __repr__(self) -> str:
        return f"protocol({self.program.sources[-1].name!r})"

    # ------------------------------------------------------------ strategies

    @cached_property
    def interest(self) -> Interest:
        """What the program looks for, with what its tables and its node are."""
        return interest(self.program.decls, self.state(), self.node)

    @cached_property
    def subject(self) -> Subject:
        parser = next((module for module in self.chain if isinstance(module, ast.Parser)), None)
        if parser is None:
            raise ValueError(f"{self!r} has no parser: there are no packets to draw for it")
        return Subject(self.program, parser, derived(self.program), self.interest)

    @cached_property
    def _walked(self) -> st.SearchStrategy[Any]:
        return packets.walked(self.subject, self.state, self.node)

    def packets(self) -> st.SearchStrategy[bytes]:
        """Valid, nearly valid and arbitrary packets."""
        return st.one_of(self._walked.map(lambda drawn: drawn.data), self.nearly_valid(), self.arbitrary())

    def valid(self) -> st.SearchStrategy[bytes]:
        """Packets that the parser accepts. Raises NothingValid where none is found: it says what refuses them."""
        return self._walked.map(lambda drawn: packets.accepted(drawn, self._judged, self.refused))

    def nearly_valid(self) -> st.SearchStrategy[bytes]:
        """Packets with one thing wrong: a field, a bit, an octet, the length."""
        return packets.nearly(self._walked)

    def arbitrary(self) -> st.SearchStrategy[bytes]:
        """Up to 127 octets."""
        return packets.anything()

    def values(self, header: str) -> st.SearchStrategy[dict[str, Any]]:
        """Values for the fields of a header that satisfy its checks, by name; `dst.short` for an arm of a choice."""
        @st.composite
        def make(draw: Draw) -> dict[str, Any]:
            run = fresh(self.program, b"", self.state(), self.node)
            assert run.headers is not None
            for value in run.headers.fields.values():
                for instance in getattr(value, "elements", [value]):
                    if instance.name == header:
                        for one in [*instance.args, instance]:
                            fill(draw, one, {}, self.interest)
                        return {name: found for name, _, found in values(instance)}
            raise ValueError(f"{self!r} has no header {header!r}")

        return make()

    def entries(self, table: str) -> st.SearchStrategy[list[dict[str, Any]]]:
        """Entries for a table, in the form of a tables file."""
        found = control.find(self.program, table)
        if not isinstance(found, ast.Table) or found.const_entries:
            raise ValueError(f"{table} takes no entries")
        return entries(found, self.interest)

    def given(self, registers: bool = False) -> st.SearchStrategy[dict[str, Any]]:
        """The content of a tables file: entries for all tables, with `registers` also cells."""
        return given_tables(self.program, self.interest, registers)

    def circumstances(self) -> st.SearchStrategy[dict[str, int]]:
        """What is known beside the packet: rssi, lqi, time, node_short, ..., each there or not."""
        return circumstances()

    def events(self, most: int = 12) -> st.SearchStrategy[str]:
        """The text of an event file (docs/events.md): frames on the air, drawn along the parser if there is one, a busy channel,
        results of sending, and the program's own events."""
        frames = self.packets() if any(isinstance(module, ast.Parser) for module in self.chain) else self.arbitrary()
        return scripts(self.program, frames, most)

    # ------------------------------------------------------------ runs

    def state(self, tables: Mapping[str, Any] | None = None) -> State:
        """The reference's state before the first packet."""
        return self.reference.state(control.from_json(dict(tables), self.program) if tables else self.tables)

    def accepts(self, packet: bytes) -> bool:
        """Whether the parser takes a packet."""
        return self.refused(packet) is None

    def refused(self, packet: bytes) -> Refusal | None:
        """For which reason, and where the parser refuses a packet; None where it takes it."""
        return refusal(FollowedRun(self.program, self.reference.derived, packet, dict(self.node), self.state(), self.externs), [self.subject.parser])

    def compiled(self, fuse: bool = False) -> Compiled:
        if fuse not in self._compiled:
            self._compiled[fuse] = made_to_run(self.program, (), fuse)
        return self._compiled[fuse]

    def runner(self, engine: str = "engine", fuse: bool = False, tables: Mapping[str, Any] | None = None) -> Runner:
        """A fresh runner: its state is kept from packet to packet."""
        given = control.from_json(dict(tables), self.program) if tables else self.tables
        compiled = self.compiled(fuse) if engine not in ("reference", "kernel") else None
        return make_runner(engine, self.program, given, fuse, compiled=compiled, externs=self.externs, hook=self.hook)

    def beside(self, meta: Mapping[str, int] | None) -> dict[str, int]:
        """What a packet comes with: the node's addresses, and what is given for it."""
        return known({**self.node, **(meta or {})})

    def run(self, packet: bytes, engine: str = "engine", meta: Mapping[str, int] | None = None, fuse: bool = False,
            tables: Mapping[str, Any] | None = None) -> Result:
        """One packet on fresh state."""
        return self.runner(engine, fuse, tables).run(packet, self.beside(meta))

    def live(self, events: str, engines: Sequence[str] = DEFAULT_ENGINES, tables: Mapping[str, Any] | None = None) -> dict[str, Node]:
        """A node on a virtual clock in each engine, behind the events; `sorted_records()` is its time line."""
        given = control.from_json(dict(tables), self.program) if tables else self.tables
        compiled = self.compiled() if "engine" in engines else None
        return live(self.program, compiled, read_events(events, "events"), engines, given, self.node, self.externs)

    def held(self, where: Runner | Node) -> dict[str, dict[str, Any]]:
        """What `registers`, `counters` and `meters` hold now, in a runner or a node: by name, as `lpnc run --state --json` has them."""
        return as_json(self.program, cells_of(where, self.compiled()) if isinstance(where, Node) else where.cells())

    # ------------------------------------------------------------ properties

    def nodes_agree(self, events: str, tables: Mapping[str, Any] | None = None) -> None:
        """The C node and the reference's have the same time line and the same state in the end."""
        nodes = self.live(events, tables=tables)
        found = difference(nodes)
        if found is not None:
            number, said = found
            raise AssertionError("\n".join([f"record {number} differs after", events, *(f"{name}: {text}" for name, text in said.items())]))
        compiled, names = self.compiled(), {decl: name for name, decl in control.declared(self.program)}
        (first, mine), (second, other) = ((name, cells_of(node, compiled)) for name, node in nodes.items())
        for decl, rows in mine.items():
            if other[decl] != rows:
                raise AssertionError(f"{names[decl]} after\n{events}\n{first}: {rows}\n{second}: {other[decl]}")

    def engines_agree(self, packet: Packets, meta: Mapping[str, int] | None = None, engines: Sequence[str] = DEFAULT_ENGINES,
                      fuse: bool = False, tables: Mapping[str, Any] | None = None) -> None:
        """One packet, or several in a row: the same verdict, reason, port, rebuilt packet, and state in the end."""
        runners = {name: self.runner(name, fuse, tables) for name in engines}
        first, *others = engines
        for one in several(packet):
            results = {name: meaning(runner.run(one, self.beside(meta))) for name, runner in runners.items()}
            for name in others:
                if results[name] != results[first]:
                    self.explain(one, meta, tables)
                    raise AssertionError(f"packet {one.hex()}\n{first}: {told(results[first])}\n{name}: {told(results[name])}")
        states = {name: runner.cells() for name, runner in runners.items()}
        names = {decl: name for name, decl in control.declared(self.program)}
        for name in others:
            for decl, rows in states[first].items():
                if states[name][decl] != rows:
                    raise AssertionError(f"{names[decl]} after {', '.join(one.hex() for one in several(packet))}\n"
                                         f"{first}: {rows}\n{name}: {states[name][decl]}")

    def never_drops(self, packet: bytes, reasons: Collection[str] = (), engine: str = "engine", meta: Mapping[str, int] | None = None,
                    tables: Mapping[str, Any] | None = None) -> Result:
        """The packet is not dropped, unless for one of these reasons."""
        result = self.run(packet, engine, meta, tables=tables)
        if result.verdict == "DROP" and result.reason not in reasons:
            self.explain(packet, meta, tables)
            raise AssertionError(f"packet {packet.hex()} is dropped: {result.reason}")
        return result

    def no_crash(self, packet: Packets, engine: str = "engine", meta: Mapping[str, int] | None = None,
                 tables: Mapping[str, Any] | None = None) -> None:
        """No fault of the engine: no access outside, no instruction budget used up, no bad verdict."""
        runner = self.runner(engine, tables=tables)
        for one in several(packet):
            result = runner.run(one, self.beside(meta))
            if result.fault or (result.reason or "").startswith("engine:"):
                raise AssertionError(f"packet {one.hex()}: {result.fault or result.reason}")

    def bounds_hold(self, packet: Packets, longest: int | None = None, state: Mapping[str, range] | None = None, fuse: bool = False,
                    meta: Mapping[str, int] | None = None, tables: Mapping[str, Any] | None = None) -> None:
        """No run takes more instructions than the verifier says; no rebuilt packet is longer than `longest` octets; registers
        and counters stay in their ranges (`state`: by name, each number of theirs)."""
        runner, bound = self.runner("engine", fuse, tables), self.most_instructions(fuse)
        for one in several(packet):
            result = runner.run(one, self.beside(meta))
            if result.insns is not None and result.insns > bound:
                raise AssertionError(f"packet {one.hex()} takes {result.insns:,} instructions, the verifier's bound is {bound:,}")
            if longest is not None and result.out is not None and len(result.out) > longest:
                raise AssertionError(f"packet {one.hex()} becomes {len(result.out)} octets, at most {longest} are allowed: {result.out.hex()}")
            cells = runner.cells()
            for name, allowed in (state or {}).items():
                for index, row in enumerate(cells[self.state().find(name)]):
                    for path, number in row.items():
                        if number not in allowed:
                            raise AssertionError(f"after packet {one.hex()}, {name}[{index}]{'.' * bool(path)}{path} is {number}, not in {allowed}")

    def most_instructions(self, fuse: bool = False) -> int:
        """The verifier's bound on the instructions of a whole chain."""
        if fuse not in self._bounds:
            self._bounds[fuse] = self._prove(fuse)
        return self._bounds[fuse]

    def _prove(self, fuse: bool) -> int:
        compiled, total = self.compiled(fuse), 0
        names = next(names for hook, names in compiled.hooks if hook.chain is self.chain)
        for container in compiled.containers:
            if container.name not in names:
                continue
            report = unit_of(compiled, container).judge()
            if not report.accepted or report.max_insns is None:
                raise AssertionError(f"the verifier does not accept {container.name}: {report.message}")
            total += report.max_insns
        return total

    def round_trip(self, packet: bytes, exact: bool = True) -> None:
        """Parser, then deparser, nothing between: what came in goes out again.

        `exact`: octet by octet. Else, as for a deparser that compresses further: the parser finds the same headers and payload
        in what goes out, and sending that round once more changes nothing. A packet that the parser rejects is passed over.
        """
        once = self.rebuilt(packet)
        if once is None:
            return
        if exact:
            if once != packet:
                self.explain(packet, None, None)
                raise AssertionError(f"packet {packet.hex()} comes back as {once.hex()}")
            return
        before, after = self.found(packet), self.found(once)
        if before != after:
            raise AssertionError(f"packet {packet.hex()} comes back as {once.hex()}, which is read differently:\n{changes(before, after)}")
        again = self.rebuilt(once)
        if again != once:
            raise AssertionError(f"packet {packet.hex()} comes back as {once.hex()}, and that as {again.hex() if again is not None else None}")

    def rebuilt(self, packet: bytes) -> bytes | None:
        """Parser and deparsers of the chain; None where the parser, or a codec of the deparser, rejects."""
        run = self.reference.prepare(packet, dict(self.node), self.state())
        out = None
        for module in self.chain:
            if isinstance(module, (ast.Parser, ast.Deparser)):
                outcome = run_module(run, module)
                if outcome.reason is not None:
                    return None
                out = outcome.out if outcome.out is not None else out
        if out is None:
            raise ValueError(f"{self!r} has no deparser: nothing comes back")
        return out + run.packet.rest

    def found(self, packet: bytes) -> dict[str, Any]:
        """The fields of every header that the parser finds, by `header.field`, and the payload; the reason where it rejects."""
        run: Run = self.reference.prepare(packet, dict(self.node), self.state())
        reason = run_module(run, self.subject.parser).reason
        if reason is not None:
            return {"rejected": reason}
        out: dict[str, Any] = {f"{instance.name}.{name}": value for instance in run.order if instance.valid
                               for name, item, value in values(instance)}
        return {**out, "payload": run.packet.rest}

    def explain(self, packet: bytes, meta: Mapping[str, int] | None, tables: Mapping[str, Any] | None) -> None:
        """Draws the packet into Hypothesis's report of a failure."""
        try:
            note(self.reference.explain(packet, self.beside(meta), self.state(tables), self.program.hook(self.hook)))
        except Exception:                       # noqa: BLE001  outside of a test, or nothing to draw: the failure itself is told
            pass


def several(packet: Packets) -> list[bytes]:
    return [bytes(packet)] if isinstance(packet, (bytes, bytearray)) else [bytes(one) for one in packet]


def meaning(r: Any) -> tuple[Any, ...]:
    return r.verdict, r.reason, r.port, r.out, r.effects


def told(result: tuple[Any, ...]) -> str:
    verdict, reason, port, out, effects = result
    return " ".join(str(part) for part in (verdict, reason, port, out.hex() if out is not None else None, effects or None) if part is not None)


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    return "\n".join(f"  {name}: {before.get(name)!r}, then {after.get(name)!r}"
                     for name in {**before, **after} if before.get(name) != after.get(name))
