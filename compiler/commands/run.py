"""`lpnc run`: a capture's frames through a program; a node that events happen to is run_events.py's."""
from __future__ import annotations

from pathlib import Path

import click

from lpn.lang import ast, tables as control
from lpn.runtime import linktype as links
from lpn.runtime.capture import FCS_MODES, Writer
from lpn.runtime.engines import EngineError, Result

from ..bundle import Bundle
from ..externs import manifest
from ..forms import Level
from ..output import STDOUT, Failure, Table, check_target, counted, put_json, say
from ..runner import BYTECODE, Runner
from .externs import Answers, extern_option
from .frames import Outcome, Totals, bundle_runner, chosen, hook_option, known, outcomes, runner, takes_frames, taken_by
from .inputs import STDIN, asked, compile_options, json_option, need_source, read_input, shown, tables_of, warnings
from .judge import made_to_run
from .packets import Describer, describe_datagram, linktype_of
from .run_events import Options, run_events
from .state import Ending

STYLES = {"DROP": "red", "DELIVER": "green", "TRANSMIT": "cyan", "CONSUMED": "blue"}


class Number(click.ParamType):
    """An address as a number: hexadecimal with 0x, decimal, or octets with colons or dashes."""

    def __init__(self, bits: int):
        self.bits, self.name = bits, "NUMBER" if bits < 64 else "EUI64"

    def convert(self, value, param, ctx):
        text = str(value)
        octets = text.replace("-", ":").split(":")
        try:
            number = int("".join(octets), 16) if len(octets) == self.bits // 8 > 1 and all(len(o) == 2 for o in octets) \
                else int(text, 0)
        except ValueError:
            self.fail(f"{text!r} is not an address of {self.bits} bits", param, ctx)
        if not 0 <= number < 1 << self.bits:
            self.fail(f"{text} does not fit {self.bits} bits", param, ctx)
        return number


@click.command()
@click.argument("file")
@click.option("--in", "capture", metavar="X.pcap", help="The frames: pcap or pcapng (`-`: standard input).")
@click.option("--events", metavar="EVENTS", help="Instead of --in: what happens to a node, and when (docs/events.md).")
@click.option("--out", "target", metavar="Y.pcap", help="Write the rebuilt packets here (`-`: standard output, and nothing else there).")
@click.option("--out-linktype", type=click.IntRange(0, 0xFFFF), metavar="N",
              help="Link type of --out. Default: 229 (raw IPv6) if every packet is a whole IPv6 datagram, else 230 (802.15.4).")
@click.option("--tables", "tables_file", metavar="T.json", help="Register cells and table entries (`-`: standard input).")
@click.option("--engine", default=None, metavar="NAME", help="engine (default), reference, rbpf, m3, thumb2, kernel: see lpnc engines.")
@click.option("--compare", metavar="A,B,...", help="Run in several engines; exit status 1 if they differ.")
@extern_option
@hook_option
@click.option("--fcs", type=click.Choice(FCS_MODES), default="auto", show_default=True,
              help="What ends the frames of link types 195 and 215.")
@click.option("--node-short", type=Number(16), help="The node's short address.")
@click.option("--node-ext", type=Number(64), help="The node's EUI-64.")
@click.option("--node-pan", type=Number(16), help="The node's PAN.")
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Only the first so many frames.")
@click.option("--then", "successor", metavar="FILE", help="Another version that takes FILE's place, with what that keeps (see --at).")
@click.option("--at", type=click.IntRange(min=1), metavar="N", help="The first frame that --then runs.")
@click.option("--out-net", metavar="Z.pcap", help="Write what net.send gave to the network stack here (`-`: standard output).")
@click.option("--brief", is_flag=True, help="With --events: leave out of the time line each run that did the same as the last one of its hook, and sent and delivered nothing. "
              "How many is said.")
@click.option("--trace", metavar="OUT.json", help="With --events: write the time line for Perfetto (ui.perfetto.dev).")
@click.option("--seed", type=int, default=0, help="With --events: of the timers' jitter.")
@click.option("--insn-time", type=click.IntRange(0, 1_000_000), metavar="NS", help="With --events: nanoseconds of an eBPF instruction. Default: 1000.")
@click.option("--declared", is_flag=True, help="With --events: commands to the radio, and net.send, take as long as the verifier counts for them. Default: "
              "no time, and radio.cca() 128 us.")
@click.option("--state", "with_state", is_flag=True, help="Show what registers, counters and meters hold in the end (needs the source).")
@click.option("-v", "--verbose", is_flag=True, help="Draw each packet as the parser sees it (needs the source).")
@compile_options
@json_option
def command(file: str, capture: str | None, events: str | None, target: str | None, out_linktype: int | None, tables_file: str | None, engine: str | None,
            compare: str | None, answers: Answers, hook: str | None, fcs: str, node_short: int | None, node_ext: int | None, node_pan: int | None, limit: int | None,
            successor: str | None, at: int | None, out_net: str | None, brief: bool, trace: str | None, seed: int, insn_time: int | None,
            declared: bool, with_state: bool, verbose: bool, fuse: bool, without: tuple[str, ...], level: Level, as_json: bool) -> int:
    """Run the frames of a capture through FILE, a source (.lpn) or a bundle (.lpnb); or events on a node.

    \b
      lpnc run examples/udp/udp.lpn --in examples/udp/captures/riot_udp.pcap
      lpnc run udp.lpn --in x.pcap --json --limit 10
      lpnc run udp.lpn --in x.pcap --compare engine,reference,rbpf
      lpnc run decompress.lpn --tables contexts.json --in x.pcap --out y.pcap
      lpnc run v1.lpn --in x.pcap --then v2.lpn --at 100
      lpnc run sender.lpn --in datagrams.pcap --hook app.tx.5683
      lpnc run node.lpn --events day.events --trace day.json

    With --json one object per frame: frame (from 1), verdict, reason, port,
    out (hex of the rebuilt packet, or null), insns (eBPF instructions executed;
    null where the engine does not count); with engine m3 thumb (instructions of
    the emulated Cortex-M3), cycles (without wait states) and flash_cycles (with
    those of an STM32F103 at 72 MHz); with --compare also agree and engines;
    effects where the frame made the program do more: a list of the name of a
    helper, its arguments and its answer, such as ["radio_send", "6188..", 0];
    completed where the frame completed what a buffer kept: a list of what became
    of that, with the same members.

    With --state, behind the frames what registers, counters and meters hold then:
    an object with `state`, of it `registers` as --tables takes them, `counters`,
    `meters`; with --compare also agree and engines; with --events all that is in
    the summary.

    Frames that never reach the program are dropped with a reason of their own:
    Fcs (the frame check sequence is wrong) and NotFrame (the record holds no
    whole frame).

    --out has the packets that chains rebuilt, --out-net those that net.send gave to
    the network stack.

    With --then, the program is replaced between two frames and none is lost: persistent
    registers of the same name and type keep their content, and what
    `migrate version N { ... }` says is done.

    With --events a node runs on a virtual clock: its hooks, timers and radio. Shown
    is what ran when, and what it did. Only the options for it, --out (the frames that
    the radio sent), --out-net, --tables, --state, --extern, --engine and --compare
    (engine, reference), --node-* and --json may stand beside it; with --compare
    instructions take no time.
    """
    engines = names(engine, compare)
    node = {name: value for name, value in (("node_short", node_short), ("node_ext", node_ext), ("node_pan", node_pan)) if value is not None}
    if events is not None or capture is None:
        return on_a_node(file, events, Options(
            engines, node, tables_file, target, trace, seed, insn_time, fuse, without, level, as_json, answers, out_net, brief, with_state, declared))
    usage("--brief", "--trace", "--seed", "--insn-time", "--declared", needs="--events")
    if target is None:
        usage("--out-linktype", needs="--out")
    check_usage(file, successor, capture, tables_file, {"--out": target, "--out-net": out_net}, as_json, verbose, with_state)
    if (successor is None) != (at is None):
        raise click.UsageError("--then and --at belong together", click.get_current_context())
    program, tables, number, runners = prepared(file, engines, tables_file, hook, fuse, without, level, verbose, answers)
    following = prepared(successor, engines, tables_file, hook, fuse, without, level, verbose, answers) if successor is not None else None
    answers.all_known()
    view = Json() if as_json else Silent() if STDOUT in (target, out_net) else Drawn(program, tables, number) if verbose else Rows(program, tables, number)
    view.engines = engines
    totals = Totals(received=number is None, framed=takes_frames(program))
    rebuilt: list[tuple[int, bytes]] = []
    given: list[tuple[int, bytes]] = []         # to the network stack
    try:
        if following is not None and at == 1:
            take_over(runners, following, view, successor, 1)
            program, following = following[0], None
        for outcome in counted(outcomes(capture, runners, node, fcs, limit), "frames"):
            totals.add(outcome)
            view.add(outcome)
            made = (outcome.result, *outcome.result.completed)
            if target is not None:
                rebuilt += [(outcome.frame.time_us, r.out) for r in made if r.out is not None]
            if out_net is not None:
                given += [(outcome.frame.time_us, effect[1]) for r in made for effect in r.effects if effect[0] == "net_send"]
            if following is not None and outcome.frame.number + 1 == at:
                take_over(runners, following, view, successor, at)
                program, following = following[0], None
    finally:
        view.end()
    view.summary(totals)
    ending = Ending(program, {name: each.cells() for name, each in zip(engines, runners)}) if with_state and program is not None else None
    if ending is not None:
        view.ending(ending)
    if target is not None:
        write_packets(target, out_linktype, rebuilt, view)
    if out_net is not None:
        write_packets(out_net, None, given, view)
    if following is not None:
        raise Failure(f"--at {at}: there is no such frame, {shown(str(successor))} never took over", 1)
    return int(totals.differing > 0 or ending is not None and not ending.agreed)


def on_a_node(file: str, events: str | None, options: Options) -> int:
    if events is None:
        raise click.UsageError("what is to happen? give --in X.pcap or --events EVENTS", click.get_current_context())
    usage("--in", "--out-linktype", "--hook", "--fcs", "--limit", "--then", "--at", "--verbose", needs="--in, not --events")
    return run_events(file, events, options)


def usage(*options: str, needs: str) -> None:
    """UsageError if one of these was given on the command line."""
    for option in asked(*options):
        raise click.UsageError(f"{option} belongs to {needs}" if option != "--in" else "--in and --events exclude each other", click.get_current_context())


#: A source's program and tables; the number of the hook whose chain runs, None: radio.rx_done; and its runners.
Prepared = tuple[ast.Program | None, control.Tables | None, int | None, list[Runner]]


def prepared(file: str, engines: list[str], tables_file: str | None, hook: str | None, fuse: bool, without: tuple[str, ...], level: Level,
             verbose: bool, answers: Answers) -> Prepared:
    """A source or bundle in each engine. `hook`: whose chain runs; None: that of radio.rx_done."""
    given = read_input(file)
    if given.kind != "source":
        return None, None, None, bundle_runners(given, engines, hook, answers)
    program = given.program(without)
    warnings(program, engines != ["kernel"])
    number = chosen(file, hook, program)
    tables = tables_of(tables_file, program, program=file)
    externs = answers.of(manifest(program))
    made = made_to_run(program, engines, fuse, level) if set(BYTECODE) & set(engines) else None
    return program, tables, number, [runner(name, program, tables, made, level, number, externs) for name in engines]


def take_over(runners: list[Runner], following: Prepared, view: Silent, file: str | None, at: int) -> None:
    """From the next frame on, the other program runs: `runners` becomes its."""
    program, tables, number, successors = following
    try:
        plans = [new.replace(old) for new, old in zip(successors, runners, strict=True)]
    except EngineError as e:
        raise Failure(f"{shown(str(file))} cannot take over at frame {at}: {e}", 1) from None
    runners[:] = successors
    view.replaced(program, tables, number)
    done = [" ".join(one) for one in plans[0].told()] or ["keeps nothing"]
    say(f"frame {at}: {shown(str(file))} takes over, {', '.join(done)}", err=True)


def names(engine: str | None, compare: str | None) -> list[str]:
    """The engines to use, at least one."""
    if engine is not None and compare is not None:
        raise click.UsageError("--engine and --compare exclude each other", click.get_current_context())
    chosen = [name.strip() for name in compare.split(",")] if compare is not None else [engine if engine is not None else "engine"]
    for name in chosen:
        known(name)
    chosen = list(dict.fromkeys(chosen))
    if compare is not None and len(chosen) == 1:
        raise click.UsageError(f"--compare needs another engine beside {chosen[0]}", click.get_current_context())
    return chosen


def check_usage(file: str, successor: str | None, capture: str, tables_file: str | None, targets: dict[str, str | None], as_json: bool, verbose: bool,
                with_state: bool) -> None:
    """What can be known before anything runs."""
    context = click.get_current_context()
    if file == STDIN and capture == STDIN:
        raise click.UsageError("the program and the capture cannot both be on standard input", context)
    if tables_file == STDIN and capture == STDIN:
        raise click.UsageError("the capture and the tables cannot both be on standard input", context)
    for option, target in targets.items():
        if target == STDOUT and (as_json or verbose or with_state):
            raise click.UsageError(f"{option} - leaves no room for --json, --state or --verbose on standard output", context)
        check_target(target, ("capture", capture), ("program", file), ("program", successor), ("tables file", tables_file))
    if (target := targets["--out"]) is not None and target == targets["--out-net"]:
        raise click.UsageError("--out - leaves no room for anything else on standard output" if target == STDOUT else
                               f"--out and --out-net cannot both be {target}", context)


def bundle_runners(given, engines: list[str], hook: str | None, answers: Answers) -> list[Runner]:
    if given.kind != "bundle":
        raise Failure(f"{shown(given.path)}: an {given.kind} alone cannot run: give the bundle (.lpnb) or the source (.lpn)")
    need_source(given.path, "--tables", "--state", "--verbose")
    bundle = given.decode(Bundle.from_bytes)
    number = taken_by(given.path, hook, {i: one for i, one in enumerate(bundle.hooks) if bundle.parses(one)}, bool(bundle.chain))
    externs = answers.of(bundle.externs)
    return [bundle_runner(name, bundle, number, externs) for name in engines]


# ---------------------------------------------------------------- showing

class Silent:
    """Shows nothing; what the others have in common."""

    engines: list[str] = []

    def add(self, outcome: Outcome) -> None:
        pass

    def end(self) -> None:
        """No more frames, perhaps because of an error."""

    def summary(self, totals: Totals) -> None:
        pass

    def wrote(self, text: str) -> None:
        pass

    def ending(self, ending: Ending) -> None:
        """What registers hold when all frames have been."""

    def replaced(self, program: ast.Program | None, tables: control.Tables | None, hook: int | None) -> None:
        """Another program runs from the next frame on."""


class Json(Silent):
    def ending(self, ending: Ending) -> None:
        put_json(ending.json())

    def add(self, outcome: Outcome) -> None:
        item = {"frame": outcome.frame.number, **result_json(outcome.result)}
        if len(self.engines) > 1:
            item["agree"] = outcome.agreed
            item["engines"] = {name: result_json(r) for name, r in zip(self.engines, outcome.results)}
        put_json(item)


def result_json(r: Result) -> dict:
    done = [[one.hex() if isinstance(one, bytes) else one for one in effect] for effect in r.effects]
    return {"verdict": r.verdict, "reason": r.reason, "port": r.port, "out": None if r.out is None else r.out.hex(),
            "insns": r.insns, **({"thumb": r.thumb, "cycles": r.cycles, "flash_cycles": r.flash_cycles} if r.thumb is not None else {}),
            **({"effects": done} if done else {}),
            **({"completed": [result_json(one) for one in r.completed]} if r.completed else {})}


class Rows(Silent):
    """A table with one row a frame, then the totals."""

    def __init__(self, program: ast.Program | None, tables: control.Tables | None, hook: int | None):
        self.replaced(program, tables, hook)
        self.table = Table([">frame", ">time", ">bytes", "verdict", "reason", ">port", ">insns", "packet"])
        self.first: int | None = None

    def replaced(self, program: ast.Program | None, tables: control.Tables | None, hook: int | None) -> None:
        self.describer = Describer(program, hook=hook) if program else None
        self.state = self.describer.reference.state(tables) if self.describer else None
        if self.describer:
            self.describer.state = self.state

    def about(self, outcome: Outcome) -> str:
        if not outcome.reached:
            return outcome.obstacle
        text = self.describer.describe(outcome.frame.data, outcome.meta) if self.describer else ""
        return text or describe_datagram(outcome.result.out)

    def add(self, outcome: Outcome) -> None:
        frame, r = outcome.frame, outcome.result
        self.first = frame.time_us if self.first is None else self.first
        self.table.add(frame.number, f"{(frame.time_us - self.first) / 1e6:.6f}", len(frame.data), r.verdict, r.reason,
                       None if r.port is None else str(r.port), r.insns if outcome.reached else None, self.about(outcome),
                       style=STYLES.get(r.verdict, ""))
        for one in r.completed:
            self.table.add(None, None, None, one.verdict, one.reason, None if one.port is None else str(one.port), one.insns,
                           f"completed {describe_datagram(one.packet or one.out)}".rstrip(), style=STYLES.get(one.verdict, ""))
        if not outcome.agreed:
            for name, other in zip(self.engines, outcome.results):
                self.table.add(None, None, None, other.verdict, other.reason, None if other.port is None else str(other.port),
                               other.insns, f"{name}: {'no packet' if other.out is None else other.out.hex()}", style="yellow")

    def end(self) -> None:
        if self.table.rows:
            self.table.show()
            say()

    def summary(self, totals: Totals) -> None:
        for line in totals.lines():
            say(line)
        if len(self.engines) > 1:
            names = ", ".join(self.engines)
            if totals.differing:
                say(f"{names} differ in {totals.differing:,} of {totals.frames:,} frames", style="bold red")
            else:
                say(f"{names} agree in all {totals.frames:,} frames", style="green")

    def wrote(self, text: str) -> None:
        say(text)

    def ending(self, ending: Ending) -> None:
        say()
        ending.show()


class Drawn(Rows):
    """Every packet drawn."""

    def add(self, outcome: Outcome) -> None:
        for name, r in list(zip(self.engines, outcome.results))[:1 if outcome.agreed else None]:
            what = r.reason if r.verdict == "DROP" else f"port {r.port}" if r.port is not None else ""
            count = f", {r.insns:,} instructions" if r.insns is not None and outcome.reached else ""
            say(f"frame {outcome.frame.number}{'' if outcome.agreed else f' in {name}'}: {r.verdict} {what}".rstrip() + count,
                style=f"bold {STYLES.get(r.verdict, '')}".strip())
            if r.out is not None:
                say(f"  rebuilt: {r.out.hex()}")
            for one in r.completed:
                say(f"  completed: {one.verdict} {one.reason or ''}".rstrip() + (f", rebuilt: {one.out.hex()}" if one.out is not None else ""))
        assert self.describer is not None       # --verbose needs a source
        explain = self.describer.reference.explain
        text = explain(outcome.frame.data, dict(outcome.meta), self.state, self.describer.hook) if outcome.reached else outcome.obstacle
        for line in text.splitlines():
            say(f"  {line}")
        say()


# ---------------------------------------------------------------- writing

def write_packets(target: str, linktype: int | None, packets: list[tuple[int, bytes]], view: Silent) -> None:
    """The capture of what was rebuilt, whole or not at all."""
    if linktype is None:
        linktype = linktype_of(data for _, data in packets)
    with Writer(target if target == STDOUT else Path(target), linktype) as writer:
        for time_us, data in packets:
            writer.add(data, time_us)
    if target != STDOUT:
        view.wrote(f"wrote {writer.count:,} packets to {target}, link type {links.name(linktype)}")
