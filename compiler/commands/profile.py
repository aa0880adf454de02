"""`lpnc profile`: where a program's time goes on an emulated Cortex-M3."""
from __future__ import annotations

from typing import Any

import click

from lpn.lang import ast, tables as control
from lpn.runtime.capture import FCS_MODES
from lpn.runtime.engines import EngineError, EngineUnavailable, Externs
from lpn.runtime.node import NodeError

from ..build import Compiled
from ..externs import manifest
from ..forms import Level
from ..output import Failure, counted, say, waiting
from ..replay import HookRun, happened
from ..runner import Runner
from .externs import Answers, extern_option
from .frames import Totals, chosen, outcomes
from .inputs import asked, compile_options, json_option, read_source, shown, tables_of, warnings
from .judge import compiled_and_sealed
from .run import Number
from .run_events import read_script


@click.command()
@click.argument("file")
@click.option("--in", "capture", metavar="X.pcap", help="The frames: pcap or pcapng (`-`: standard input).")
@click.option("--events", metavar="EVENTS", help="Instead of --in: what happens to a node (docs/events.md); each hook's runs "
              "there are profiled, handlers of timing blocks too.")
@click.option("--tables", "tables_file", metavar="T.json", help="Register cells and table entries (`-`: standard input).")
@extern_option
@click.option("--hook", metavar="HOOK", help="Whose chain takes the frames, as net.tx.41 or app.tx.5683. Default: radio.rx_done. "
              "With --events the only one to profile, called as there, such as Duty.every_125ms.")
@click.option("--fcs", type=click.Choice(FCS_MODES), default="auto", show_default=True, help="What ends the frames of link types 195 and 215.")
@click.option("--node-short", type=Number(16), help="The node's short address.")
@click.option("--node-ext", type=Number(64), help="The node's EUI-64.")
@click.option("--node-pan", type=Number(16), help="The node's PAN.")
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Only the first so many frames, or runs of a hook.")
@click.option("--top", type=click.IntRange(min=0), default=20, show_default=True, metavar="N", help="So many source lines, the costliest first.")
@click.option("--listing", is_flag=True, help="Every instruction with its cost, under its source line.")
@click.option("--engine", type=click.Choice(("m3", "thumb2")), default="m3", show_default=True,
              help="The interpreter, or translated code; its listing has the Thumb code, too.")
@compile_options
@json_option
def command(file: str, capture: str | None, events: str | None, tables_file: str | None, answers: Answers, hook: str | None, fcs: str, node_short: int | None,
            node_ext: int | None, node_pan: int | None, limit: int | None, top: int, listing: bool, engine: str, fuse: bool, without: tuple[str, ...], level: Level,
            as_json: bool) -> int:
    """Thumb instructions and cycles of FILE (.lpn) on a capture's frames, or in the runs
    of its hooks: by part of the engine, by module, by source line, by eBPF instruction.

    \b
      lpnc profile examples/udp/udp.lpn --in examples/udp/captures/riot_udp.pcap
      lpnc profile x.lpn --in x.pcap --listing | less
      lpnc profile x.lpn --in x.pcap --engine thumb2 --listing | less
      lpnc profile examples/duty/duty.lpn --events examples/duty/duty.events

    The engine's own code runs on an emulated Cortex-M3; what it executes from the
    fetch of an eBPF instruction to the next fetch, or till the container is left,
    is that instruction's; several that it does at once count as the first of them,
    so "eBPF" (with --json: executed) is less than what `lpnc run` counts. With
    --engine thumb2 it is what was written for the instruction, and the helper it
    calls; where two became one the code stands with the last. Cycles are those of
    Arm's manual, without wait states of the flash. What the radio takes is not in
    them.

    With --events each hook that ran has tables of its own, and with --json an object
    with its name as `hook`; `frames` is how many packets, or runs.
    """
    from lpn.runtime.m3.core import check_available
    try:
        check_available()
    except EngineUnavailable as e:
        raise Failure(str(e)) from None
    from lpn.runtime.m3.profile import Profiled, ProfiledCode
    from .profile_report import Report
    if (capture is None) == (events is None):
        wrong = "what is to run? give --in X.pcap or --events EVENTS" if events is None else "--in and --events exclude each other"
        raise click.UsageError(wrong, click.get_current_context())
    if events is not None and asked("--fcs"):
        raise click.UsageError("--fcs belongs to --in", click.get_current_context())
    given = read_source(file)
    program = given.program(without)
    warnings(program)
    number = chosen(file, hook, program) if events is None else None
    tables = tables_of(tables_file, program, program=file, capture=capture, events=events)
    externs = answers.of(manifest(program))
    answers.all_known()
    made = compiled_and_sealed(program, "lpn", fuse, level).compiled
    node = {name: value for name, value in (("node_short", node_short), ("node_ext", node_ext), ("node_pan", node_pan)) if value is not None}

    def loaded(number: int | None) -> Any:
        with waiting("loading"):
            kind = Profiled if engine == "m3" else ProfiledCode
            profiled = kind(made.bundle, externs=externs, hook=None if number is None else made.bundle.hooks[number])
            profiled.set_state(made.initial_state(tables))
            for table, entries in made.entries(tables).items():
                profiled.set_entries(table, entries)
        return profiled
    report = Report(made, top, listing)
    if events is None:
        profiled, totals = loaded(number), Totals(received=number is None)
        for outcome in counted(outcomes(str(capture), [Frames(profiled)], node, fcs, limit), "frames"):
            totals.add(outcome)
        if not profiled.profile.frames:
            raise Failure("; ".join(["no frame reached the program", *totals.lines()[1:]]))
        report.put(profiled, None) if as_json else report.show(profiled, "packet")
        return 0
    status = 0
    for name, runs in hook_runs(file, events, hook, limit, program, made, tables, node, externs).items():
        profiled = loaded(runs[0].hook)
        try:
            for run in counted(iter(runs), "runs"):
                run.once_more(profiled)
        except EngineError as e:
            say(f"lpnc: {name}: {e}", err=True)
            status = 1
            continue
        if as_json:
            report.put(profiled, name)
        else:
            say(f"{name}\n", style="bold")
            report.show(profiled, "run")
    return status


def hook_runs(file: str, events: str, hook: str | None, limit: int | None, program: ast.Program, made: Compiled, tables: control.Tables | None,
              node: dict[str, int], externs: Externs) -> dict[str, list[HookRun]]:
    """By the name of each hook that is asked for, its first `limit` runs, at least one."""
    if limit == 0:
        raise Failure("--limit 0 leaves no run to profile")
    script = read_script(events)
    if script.replacements:
        raise Failure(f"{shown(events)}: a profile is of one version of the program, and here {script.replacements[0][1]} takes over")
    with waiting("running"):
        try:
            names, runs = happened(program, made, script, tables, script.node | node, externs)
        except NodeError as e:
            raise Failure(f"{shown(file)}: {e}", 1) from None
    if hook is not None and hook not in names:
        raise Failure(f"{shown(file)}: there is no hook {hook}: there are {', '.join(names)}")
    found = {name: mine for i, name in enumerate(names) if hook in (None, name) and (mine := [run for run in runs if run.hook == i][:limit])}
    if not found:
        raise Failure(f"{shown(events)}: {'no hook ran' if hook is None else f'{hook} never ran'}", 1)
    return found


class Frames(Runner):
    """The profiled program as what `outcomes` runs."""

    def __init__(self, program: Any):
        self.program = program

    def run(self, frame: bytes, meta: Any = None, hook: int | None = None):
        return self.program.run(frame, meta)
