"""`lpnc run --events`: a node on a virtual clock, what happens to it, and the time line of what it does."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypeVar

import click

from lpn.lang import ast
from lpn.lang.hooks import Occasion, Promise, name_of
from lpn.lang.loader import decode
from lpn.lang.persist import Plan
from lpn.runtime import linktype as links
from lpn.runtime.capture import Writer
from lpn.runtime.engine.node_native import NativeDispatch
from lpn.runtime.engines import EngineError
from lpn.runtime.events import Script, read_events
from lpn.runtime.node import INSN_NS, Costs, Node, NodeError, native_node
from lpn.runtime.node_reference import ReferenceDispatch, reference_node
from lpn.runtime.perfetto import trace_json
from lpn.runtime.radio import Radio
from lpn.runtime.timeline import Overrun, Ran, Record, Replaced, Sent, clock, length, meaning, plain, row

from ..budgets import proved
from ..build import Compiled, protocol_name
from ..bundle import Bundle
from ..bundle_parts import Energy
from ..deadlines import declared
from ..externs import manifest
from ..forms import MOST, Level
from ..image import Kind
from ..output import STDOUT, Failure, NoProgram, Table, check_target, count, percent, put_json, say, waiting, write_files
from ..packet_test.timeline import cells_of
from ..runner import Cells
from .externs import Answers
from .frames import amounts
from .inputs import STDIN, Input, need_source, read_bytes, read_input, show_diagnostics, shown, tables_of, warnings
from .judge import compiled_and_sealed, made_to_run
from .packets import linktype_of
from .state import Ending

ENGINES = ("engine", "reference")
STYLES = {"DROP": "red", "DELIVER": "green", "TRANSMIT": "cyan", "CONSUMED": "blue"}


@dataclass(frozen=True)
class Options:
    """What the command line says beside FILE and --events. `node`: the addresses that are given there."""

    engines: list[str]
    node: dict[str, int]
    tables: str | None = None
    out: str | None = None
    trace: str | None = None
    seed: int = 0
    insn_ns: int | None = None
    fuse: bool = False
    without: tuple[str, ...] = ()
    level: Level = MOST
    as_json: bool = False
    answers: Answers = field(default_factory=Answers)
    out_net: str | None = None
    brief: bool = False
    state: bool = False
    declared: bool = False

    @property
    def files(self) -> dict[str, str | None]:
        """What is written beside the time line, by option."""
        return {"--out": self.out, "--out-net": self.out_net, "--trace": self.trace}

    @property
    def quiet(self) -> bool:
        """Standard output is a file's."""
        return STDOUT in self.files.values()


def run_events(file: str, events: str, options: Options) -> int:
    """The exit status: 1 where engines differ."""
    check_usage(file, events, options)
    program = read_input(file)
    script = read_script(events)
    if script.warnings:
        show_diagnostics(script.warnings)
    first = loaded(program, options)
    successors = [(time, path, loaded(read_input(str(path)), options)) for time, path in script.replacements]
    options.answers.all_known()
    nodes = []
    with waiting("running"):
        for i, version in enumerate(first.versions):
            node = version.node(script)
            script.apply(node)
            for time, path, following in successors:
                node.replace(time, takes_over(node, following.versions[i], path), str(path))
            try:
                node.run(script.until)
            except NodeError as e:
                raise Failure(f"{shown(file)}: {e}", 1) from None
            nodes.append(node)
    node = nodes[0]
    versions = [first, *(each for _, _, each in successors)]
    ending = versions[len(node.retired)].ending(options, nodes)
    if not options.quiet:
        show(node, script, intervals(node, versions), ending, options)
    status = compared(nodes, options) or int(ending is not None and not ending.agreed)
    if options.trace is not None:
        write_files({Path(options.trace): trace_json(node, first.name)})
    if options.out is not None:
        write_packets(options.out, sent(node), links.IEEE802154_NOFCS, quiet=options.as_json or options.quiet)
    if options.out_net is not None:
        given = given_to_stack(node)
        write_packets(options.out_net, given, linktype_of(data for _, data in given), quiet=options.as_json or options.quiet)
    return status


def check_usage(file: str, events: str, options: Options) -> None:
    context = click.get_current_context()
    if file == STDIN and events == STDIN:
        raise click.UsageError("the program and the events cannot both be on standard input", context)
    if options.tables == STDIN and events == STDIN:
        raise click.UsageError("the events and the tables cannot both be on standard input", context)
    for name in options.engines:
        if name not in ENGINES:
            raise click.UsageError(f"engine {name} runs no node: there are {', '.join(ENGINES)}", context)
    printed = [name for name, target in options.files.items() if target == STDOUT]
    if printed and (options.as_json or options.state or len(printed) > 1):
        other = "--json" if options.as_json else "--state" if options.state else "anything else"
        raise click.UsageError(f"{printed[0]} - leaves no room for {other} on standard output", context)
    for name, target in options.files.items():
        check_target(target, ("program", file), ("events file", events), ("tables file", options.tables), makes_folder=name == "--trace")


def read_script(path: str) -> Script:
    try:
        text = decode(read_bytes(path))
    except UnicodeDecodeError as e:
        raise Failure(f"cannot read {shown(path)}: it is not UTF-8 text (byte {e.start})") from None
    return read_events(text, "<stdin>" if path == STDIN else path, None if path == STDIN else Path(path).parent)


def takes_over(node: Node, version: Version, path: Path) -> Callable[[], Plan]:
    """What puts another version in the place of the one that runs."""
    def swap() -> Plan:
        try:
            return version.swap(node)
        except EngineError as e:
            raise Failure(f"{path} cannot take over at {clock(node.time)} s: {e}", 1) from None
    return swap


@dataclass(frozen=True)
class Version:
    """A program in one engine: a node that starts with it, or that goes on with it; and what such a node's state holds."""

    node: Callable[[Script], Node]
    swap: Callable[[Node], Plan]
    cells: Callable[[Node], Cells]


@dataclass(frozen=True)
class Budget:
    """What a timing block promises of the radio's on-time, and what is proved, None if nothing is; percent."""

    block: str
    promised: float
    proved: float | None


@dataclass(frozen=True)
class Loaded:
    """A program: its protocol's name, what it promises, what its chains are called, and its version in each engine."""

    name: str
    promised: list[Budget]
    chains: frozenset[str]
    versions: list[Version]
    program: ast.Program | None = None          # of a source

    def ending(self, options: Options, nodes: Sequence[Node]) -> Ending | None:
        """What it leaves in its registers; None where nobody asks."""
        if not options.state or self.program is None:
            return None
        return Ending(self.program, {engine: version.cells(node) for engine, version, node in zip(options.engines, self.versions, nodes)})


def budgets(found: Iterable[Promise | Energy], holds: bool = True) -> list[Budget]:
    return [Budget(each.block, each.promised / 10_000, each.share / 10_000 if holds else None) for each in found]


def loaded(given: Input, options: Options) -> Loaded:
    def settings(script: Script) -> dict:
        comparing = len(options.engines) > 1        # the reference counts no instructions
        insn_ns = 0 if comparing else INSN_NS if options.insn_ns is None else options.insn_ns
        costs = Costs(insn_ns, declared=declared() if options.declared else {})
        return {"radio": Radio(script.radio_on), "costs": costs, "seed": options.seed, "start": script.clock}

    def address(script: Script) -> dict[str, int]:
        return script.node | options.node

    if given.kind == "bundle":
        need_source(given.path, "--tables", "--state")
        if options.engines != ["engine"]:
            raise Failure(f"{shown(given.path)}: --compare and engine reference need the program's source (.lpn)")
        bundle = given.decode(Bundle.from_bytes)
        something(bundle.hooks, given)
        own = options.answers.of(bundle.externs)
        version = Version(lambda script: native_node(bundle, address(script), externs=own, **settings(script)),
                          lambda node: dispatch(node, NativeDispatch).swap(bundle, externs=own), lambda node: {})
        named = chains(bundle.hooks, lambda hook: bundle.module(hook.chain[0]).kind == Kind.TIMING)
        return Loaded(bundle.protocol, budgets(bundle.energy), named, [version])
    if given.kind != "source":
        raise Failure(f"{shown(given.path)}: an {given.kind} alone cannot run: give the bundle (.lpnb) or the source (.lpn)")
    program = given.program(options.without)
    warnings(program)
    something(program.hooks, given)
    tables = tables_of(options.tables, program, program=given.path)
    externs = options.answers.of(manifest(program))

    def native(made: Compiled) -> Version:
        given = {"state": made.initial_state(tables), "entries": made.entries(tables), "externs": externs}
        return Version(lambda script: native_node(made.bundle, address(script), **given, **settings(script)),
                       lambda node: dispatch(node, NativeDispatch).swap(made.bundle, **given), lambda node: cells_of(node, made))
    reference = Version(lambda script: reference_node(program, tables, address(script), externs, **settings(script)),
                        lambda node: dispatch(node, ReferenceDispatch).replace(program, tables, externs), lambda node: cells_of(node, None))
    made, promised = compiled(program, options)
    versions = [native(made) if engine == "engine" and made is not None else reference for engine in options.engines]
    return Loaded(protocol_name(program)[0], promised, chains(program.hooks, lambda hook: hook.timed), versions, program)


def compiled(program: ast.Program, options: Options) -> tuple[Compiled | None, list[Budget]]:
    """The program for engine "engine", None if another one runs; and its budgets, with what `lpnc build` proves of them, which needs its containers."""
    if program.promises:
        done = compiled_and_sealed(program, "lpn", options.fuse, options.level)
        holds = proved(done)
        return done.compiled, budgets(done.compiled.bundle.energy, holds)
    return made_to_run(program, ["engine"], options.fuse, options.level) if "engine" in options.engines else None, []


H = TypeVar("H", bound=Occasion)


def chains(hooks: Sequence[H], timed: Callable[[H], bool]) -> frozenset[str]:
    """What records call the hooks that are no handlers."""
    return frozenset(name_of(hook) for hook in hooks if not timed(hook))


D = TypeVar("D")


def dispatch(node: Node, kind: type[D]) -> D:
    assert isinstance(node.dispatch, kind)
    return node.dispatch


def something(hooks: Sequence, given: Input) -> None:
    """NoProgram if nothing can run."""
    if not hooks:
        raise NoProgram(f"{shown(given.path)}: nothing runs: the program has no chain and no timing block", given.path, 1)


@dataclass(frozen=True)
class Interval:
    """The time in which one version ran, microseconds; what it promised, the share that the radio was on, percent; whether its chains sent anything."""

    start: int
    end: int
    promised: list[Budget]
    share: float
    chains_sent: bool


def intervals(node: Node, versions: list[Loaded]) -> list[Interval]:
    """`versions`: in the order in which they took over."""
    swaps = [record.time for record in node.records if isinstance(record, Replaced)]

    def by_chains(version: Loaded, start: int, end: int) -> bool:
        causes = [record.cause for record in node.records if isinstance(record, Sent) and start <= record.time < end]
        return any(isinstance(ran := node.records[cause], Ran) and ran.hook in version.chains for cause in causes if cause is not None)
    return [Interval(start, end, each.promised, share(node, start, end), by_chains(each, start, end))
            for start, end, each in zip([0, *swaps], [*swaps, node.time], versions)]


# ---------------------------------------------------------------- showing

def show(node: Node, script: Script, versions: list[Interval], ending: Ending | None, options: Options) -> None:
    everything = node.sorted_records()
    records = without_repeated(everything) if options.brief else everything
    left_out = len(everything) - len(records)
    if options.as_json:
        for record in records:
            put_json(plain(record))
        more = ({"left_out": left_out} if options.brief else {}) | (ending.json() if ending is not None else {})
        put_json(summary_json(node, script, versions) | more)
        return
    table = Table([">time", "what", "verdict", "effects"])
    for record in records:
        table.add(*row(record), style=style(record))
    if records:
        table.show()
        say()
    hooks = Table(["hook", "context", ">runs", ">overruns", ">drops", ">worst insns", ">worst time", ">within", ">missed", ">worst wait"])
    for s in [*(s for each in node.retired for s in each), *node.summaries()]:
        t = s.stats
        hooks.add(s.name, s.context, t.runs, t.overruns, t.drops, t.insns_worst or None, length(t.time_worst) if t.runs else None,
                  length(s.within) if s.within else None, t.misses if s.within else None, length(t.wait_worst) if t.runs else None,
                  style="red" if t.overruns or t.misses else "")
    hooks.show()
    say()
    if ending is not None:
        ending.show()
        say()
    if options.brief:
        say(f"left out: {count(left_out, 'run')} that did the same as the last one of their hook, and sent and delivered nothing")
    for line in notes(node, script, versions):
        say(line)


def without_repeated(records: Sequence[Record]) -> list[Record]:
    """Those that tell something: not the runs that did the same as the last one of their hook, without a packet in what they did, and as they should."""
    out: list[Record] = []
    last: dict[str, tuple[str, ...]] = {}
    for record in records:
        if isinstance(record, Ran):
            did = row(record)[1:]
            quiet = record.out is None and record.delivered is None and not record.late and record.fault is None and all(e.frame is None for e in record.effects)
            if quiet and last.get(record.hook) == did:
                continue
            last[record.hook] = did
        out.append(record)
    return out


def style(record: Record) -> str:
    if isinstance(record, Overrun):
        return "bold red"
    return STYLES.get(record.verdict, "") if isinstance(record, Ran) else "dim"


def share(node: Node, start: int, end: int) -> float:
    """Percent of the time that the radio was not off."""
    return 100 * node.radio_state.on_time(start, end) / (end - start) if end > start else 0.0


def notes(node: Node, script: Script, versions: list[Interval]) -> Iterable[str]:
    """What is to say of the whole run."""
    for each in versions:
        text = f"radio on: {percent(each.share)} of {length(each.end - each.start)}" + (f" from {clock(each.start)} s on" if each.start else "")
        for budget in each.promised:
            text += f"; {budget.block} promises at most {budget.promised:g} % "
            text += "(not proved: lpnc build says why)" if budget.proved is None else f"(proved: {percent(budget.proved)})"
            text += "" if each.share <= budget.promised or budget.proved is None else f"; not part of that: {beyond(each, script)}"
        yield text
    counts, drops = node.dispatch.counts(), node.dispatch.drops()
    if results := results_of(node):
        yield f"sent: {count(results.total(), 'frame')}, {amounts(results)}"
    if node.waiting:
        yield f"not begun to be sent: {count(node.waiting, 'frame')}"
    if given := given_to_stack(node):
        yield f"given to the network stack: {count(len(given), 'packet')}"
    if counts.busy:
        yield f"not sent, the radio or the stack was busy: {count(counts.busy, 'packet')}"
    if drops:
        yield f"dropped: {amounts(drops)}"
    if script.skipped:
        yield f"not played: {count(script.skipped, 'record')} of captures, no whole frame or a wrong FCS"


def beyond(each: Interval, script: Script) -> str:
    """What no budget counts."""
    return ", ".join([*["what chains sent"] * each.chains_sent, *["what the events switched on"] * script.switches_on,
                         "how long handlers took and waited here"])


def summary_json(node: Node, script: Script, versions: list[Interval]) -> dict:
    counts = node.dispatch.counts()
    return {"kind": "summary", "time": node.time, "radio_on_us": node.radio_state.on_time(0, node.time), "radio_on_percent": round(share(node, 0, node.time), 4),
            "promises": [asdict(budget) | {"from": each.start, "radio_on_percent": round(each.share, 4), "kept": each.share <= budget.promised}
                         for each in versions for budget in each.promised],
            "hooks": [{"hook": s.name, "context": s.context, "within": s.within, **asdict(s.stats)} for s in node.summaries()],
            "replaced": [[{"hook": s.name, "context": s.context, "within": s.within, **asdict(s.stats)} for s in each] for each in node.retired],
            "sent": dict(results_of(node)), "waiting": node.waiting, "net_sent": len(given_to_stack(node)), "drops": dict(node.dispatch.drops()),
            "busy": counts.busy, "ignored": counts.ignored, "skipped": script.skipped}


def results_of(node: Node) -> Counter[str]:
    """What became of the frames that the radio was given, by result."""
    return Counter(record.result for record in node.records if isinstance(record, Sent))


def compared(nodes: list[Node], options: Options) -> int:
    """Tells the first difference between the time lines. 1 if there is one."""
    if len(nodes) < 2:
        return 0
    first = [meaning(r) for r in nodes[0].sorted_records()]
    for name, node in zip(options.engines[1:], nodes[1:]):
        other = [meaning(r) for r in node.sorted_records()]
        if first == other:
            continue
        at = next((i for i, (a, b) in enumerate(zip(first, other)) if a != b), min(len(first), len(other)))
        say(f"{options.engines[0]} and {name} differ in record {at + 1}:", style="bold red", err=options.as_json or options.quiet)
        for engine, each in ((options.engines[0], nodes[0]), (name, node)):
            records = each.sorted_records()
            say(f"  {engine}: {'  '.join(row(records[at])) if at < len(records) else 'nothing more'}", err=options.as_json or options.quiet)
        return 1
    say(f"{', '.join(options.engines)} agree in all {len(first):,} records", style="green", err=options.as_json or options.quiet)
    return 0


Packets = list[tuple[int, bytes]]               # time, octets


def sent(node: Node) -> Packets:
    """The frames that the radio sent."""
    return [(record.time, record.frame) for record in node.sorted_records()
            if isinstance(record, Sent) and record.result != "BUSY" and record.end <= node.time]


def given_to_stack(node: Node) -> Packets:
    """What `net.send` gave to the network stack."""
    return [(effect.time, effect.frame) for record in node.sorted_records() if isinstance(record, Ran)
            for effect in record.effects if effect.what == "net.send" and effect.frame is not None]


def write_packets(target: str, packets: Packets, linktype: int, quiet: bool) -> None:
    """A capture, whole or not at all."""
    with Writer(target if target == STDOUT else Path(target), linktype) as writer:
        for time, data in packets:
            writer.add(data, time)
    if target != STDOUT and not quiet:
        say(f"wrote {count(writer.count, 'packet')} to {target}, link type {links.name(linktype)}")
