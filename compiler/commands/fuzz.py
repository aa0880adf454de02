"""`lpnc fuzz`: random programs and packets, every engine against the reference interpreter; with --bytecode the verifier on trial."""
from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from ..fuzz_bytecode.writers import WRITERS
from ..output import Failure, NoProgram, Table, console, count, folder, put_json, say, waiting
from .frames import amounts
from .inputs import Real, as_objects, listed, read_source, shown, tables_of, tables_text

if TYPE_CHECKING:
    from rich.status import Status

    from ..fuzz.changes import Originals
    from ..judge import Units
    from ..slowest.path import Row
    from ..slowest.search import Slowest


LINE_EVERY = 60.0                               # seconds: where standard error is no terminal
ENGINES = ("engine", "rbpf", "kernel", "m3", "thumb2", "femto")
#: What is fuzzed: generated programs, those given and their changes, one for its slowest run, the verifier.
PROGRAMS, FILE, SLOWEST, BYTECODE = "", "FILE", "--slowest", "--bytecode"
#: Options that not all of these take.
TAKEN_BY = {
    "changes": (FILE,), "tables": (FILE,), "captures": (FILE, SLOWEST), "kept": (SLOWEST,), "show_path": (SLOWEST,),
    "runs": (BYTECODE,), "mutants": (BYTECODE,), "writer": (BYTECODE,),
    "packets": (PROGRAMS, FILE), "engines": (PROGRAMS, FILE), "programs": (PROGRAMS, FILE, BYTECODE), "corpus": (PROGRAMS, FILE, BYTECODE),
    "no_reduce": (PROGRAMS, FILE, BYTECODE),
}


@click.command("fuzz")
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--seed", type=int, help="The first program's number (default: where the corpus stopped, else 0); the same number gives the same program.")
@click.option("--seconds", type=Real(min=0), help="Stop after this time; without it and --programs: never.")
@click.option("--programs", type=click.IntRange(min=0), help="Stop after this many programs.")
@click.option("--packets", type=click.IntRange(min=0), default=20, show_default=True, help="Packets for each program.")
@click.option("--changes", type=click.IntRange(min=0), default=3, show_default=True,
              help="With FILE: at most so many changes of a program; 0: the program as it is, with new packets.")
@click.option("--tables", metavar="T.json", help="With FILE: register cells and table entries (`-`: standard input).")
@click.option("--engine", "engines", multiple=True, metavar="NAME", callback=listed(ENGINES),
              help=f"Engines to compare, of {', '.join(ENGINES)} (repeatable, or with commas); default: engine, rbpf, and the kernel where it may be asked. "
              "femto: what is built for the stock Femto-Container engine, in ours.")
@click.option("--corpus", type=click.Path(file_okay=False, path_type=Path),
              help="A folder: failures are saved in it, made small, and programs that show something new; the next run goes on from there.")
@click.option("--no-reduce", is_flag=True, help="Save failures as they are.")
@click.option("--bytecode", is_flag=True, help="Random bytecode instead of programs: what the verifier accepts runs in an interpreter that "
              "checks every claim of the proof.")
@click.option("--runs", type=click.IntRange(min=1), default=100, show_default=True, help="With --bytecode: runs of each accepted program, over random packets.")
@click.option("--mutants", type=click.IntRange(min=0), default=1, show_default=True, help="With --bytecode: small changes of each program that are tried too.")
@click.option("--writer", type=click.Choice(list(WRITERS)), metavar="NAME",
              help="With --bytecode: programs of one kind alone; default: all in turn. "
              f"{'; '.join(f'{name}: {what}' for name, what in WRITERS.items())}.")
@click.option("--slowest", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
              help="Search the slowest run of each hook of FILE (.lpn) on the emulated Cortex-M3, translated and interpreted, and compare it with the bound; "
              "--seconds for each hook; 0: no more than it begins with.")
@click.option("--in", "captures", multiple=True, type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="With FILE or --slowest: a capture; packets are its frames too, as they are or damaged; the search begins with them.")
@click.option("--from", "kept", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
              help="With --slowest: what it printed with --json before; the search begins with the inputs found then.")
@click.option("--path", "show_path", is_flag=True, help="With --slowest: for each hook, by source line, what the bound's longest path has there beside "
              "what the slowest run found takes there, the largest difference first.")
@click.option("--json", "as_json", is_flag=True, callback=as_objects, help="One JSON object at the end instead of text.")
def command(files: tuple[str, ...], seed: int | None, seconds: float | None, programs: int | None, packets: int, changes: int, tables: str | None,
            engines: tuple[str, ...], corpus: Path | None, no_reduce: bool, bytecode: bool, runs: int, mutants: int, writer: str | None,
            slowest: Path | None, captures: tuple[Path, ...], kept: Path | None, show_path: bool, as_json: bool) -> None:
    """Random programs and packets: every engine against the reference interpreter, and the verifier on every container. On m3 and thumb2 no run may take
    longer than the verifier says.

    \b
      lpnc fuzz --seconds 60
      lpnc fuzz examples/udp/udp.lpn --changes 0 --in examples/udp/captures/riot_udp.pcap --seconds 60
      lpnc fuzz examples/*/*.lpn --corpus build/fuzz

    With FILE, a program's source, the programs are that one as it is, and then with random
    changes: expressions, operators and numbers are other ones, statements, rows and fields
    are dropped, doubled or change places, in what it imports as well. Of several they are
    taken in turn. A case that was saved (NAME.lpn, NAME.json beside it) comes with its
    packets.

    Runs until it is interrupted or a limit is reached. Status 1: something failed."""
    kinds = [name for name, asked in ((FILE, files), (SLOWEST, slowest is not None), (BYTECODE, bytecode)) if asked]
    if len(kinds) > 1:
        raise click.UsageError("FILE, --slowest and --bytecode exclude each other")
    _refuse_idle(kinds[0] if kinds else PROGRAMS)
    if slowest is not None:
        _slowest(slowest, captures, kept, seed or 0, 60.0 if seconds is None else seconds, show_path, as_json)
    if corpus is not None:                      # now, not after hours of which it would keep the results
        folder(corpus)
        if not os.access(corpus, os.W_OK):
            raise Failure(f"cannot write into {corpus}: Permission denied")
    if bytecode:
        _bytecode(seed, seconds, programs, runs, mutants, writer, corpus, not no_reduce, as_json)
    from ..fuzz.loop import DEFAULT_ENGINES, Corpus, Loop
    try:
        known = Corpus.open(corpus)
    except ValueError as error:
        raise Failure(str(error)) from None
    out = console(err=True)
    status = out.status("beginning ...") if out.is_terminal else None
    shown_at = time.monotonic()

    def progress(line: str) -> None:
        nonlocal shown_at
        if status is not None:
            status.update(line)
        elif time.monotonic() - shown_at >= LINE_EVERY:
            shown_at = time.monotonic()
            say(line, err=True)

    originals = _originals(files, tables, captures, changes) if files else None
    loop = Loop(known, engines or DEFAULT_ENGINES, packets, not no_reduce, progress, lambda line: say(line, err=as_json),
                **({"new": originals, "called": originals.called, "file": originals.file} if originals is not None else {}))
    interrupted = _interrupted(status, lambda: loop.run(seed, seconds, programs))
    if as_json:
        put_json({"programs": loop.programs, "packets": loop.compared, "failures": [one.as_json() for one in loop.found],
                  "next_seed": known.next_seed, "tally": dict(sorted(loop.tally.items())),
                  **({"became": {name: one.as_json() for name, one in loop.became.items()}} if files else {}),
                  "all": {"programs": known.totals.programs, "packets": known.totals.packets, "seconds": round(known.totals.seconds, 1)}})
    else:
        for name, number in sorted(loop.tally.items()):
            say(f"{number:8}  {name}")
        for name, one in loop.became.items():
            ran = f"; {count(one.handlers, 'run')} of handlers" if one.handlers else ""
            say(f"{name}: {count(one.total(), 'packet')}: {amounts(one.verdicts) or 'none'}{ran}")
            if one.reasons:
                say(f"dropped: {amounts(one.reasons)}")
    for name, one in loop.became.items():
        for hook, reasons in one.all_dropped().items():
            most = amounts(Counter(dict(reasons.most_common(3)))) + ", ..." * (len(reasons) > 3)
            say(f"warning: {name}: all {count(reasons.total(), 'packet')} for {hook} were dropped: {most}: what the program does behind that was not compared",
                style="yellow", err=as_json)
            for line in _refusing(next(file for file in files if shown(file) == name), tables, hook, one.lost[hook]):
                say(f"  {line}", err=as_json)
            say("  help: give frames that get through with --in, and what its registers and tables hold with --tables", err=as_json)
    if not as_json:
        say(f"{loop.programs} programs, {loop.compared} packets compared, {len(loop.found)} failures kept")
    raise SystemExit(130 if interrupted else 1 if loop.found else 0)


def _refuse_idle(kind: str) -> None:
    """Options that would do nothing."""
    context = click.get_current_context()
    for option in context.command.params:
        takers = TAKEN_BY.get(str(option.name), (kind,))
        if kind not in takers and context.get_parameter_source(str(option.name)) == ParameterSource.COMMANDLINE:
            name, those = option.opts[-1], " or ".join(takers)
            raise click.UsageError(f"{name} means nothing with {kind}" if PROGRAMS in takers else
                                   f"{name} means nothing with {kind}: it is for {those}{' alone' * (takers == (FILE,))}" if kind else f"{name} needs {those}")


def _originals(files: tuple[str, ...], tables: str | None, captures: tuple[Path, ...], changes: int) -> Originals:
    """The programs to begin with. Raises DiagnosticError, TablesError, CaptureError and Failure."""
    from lpn.runtime import capture

    from ..build import NOTHING
    from ..fuzz.changes import Originals, written
    from ..fuzz.differential import Case, is_case, load_case
    from ..generate.base import Program
    frames: list[tuple[bytes, dict[str, int]]] = [(frame.data, {}) for each in captures for frame in capture.read(each) if frame.data]
    cases = []
    for file in files:
        program = read_source(file).program()
        if not program.hooks:
            raise NoProgram(f"{shown(file)}: {NOTHING}", file, 1)
        try:
            case = load_case(Path(file)) if is_case(Path(file)) else Case(Program(""))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Failure(f"{Path(file).with_suffix('.json')}: not the packets of a saved case") from None
        if tables is not None:
            tables_of(tables, program, program=file)        # says what is wrong
            case.program.tables = json.loads(tables_text(tables))
        case.program.text = written(program)
        case.packets += frames
        cases.append((shown(file), case))
    return Originals(cases, changes)


def _refusing(file: str, tables: str | None, hook: str, frames: list[bytes]) -> list[str]:
    """Where a program drops frames, a line each place."""
    from ..fuzz.differential import refusing
    program = read_source(file).program()
    return refusing(program, tables_of(tables, program), hook, frames)


def _interrupted(status: Status | None, run: Callable[[], None]) -> bool:
    """Run, with the status shown. True: somebody pressed Ctrl-C."""
    if status is not None:
        status.start()
    try:
        run()
    except KeyboardInterrupt:
        return True
    finally:
        if status is not None:
            status.stop()
    return False


def _bytecode(seed: int | None, seconds: float | None, programs: int | None, runs: int, mutants: int, writer: str | None, corpus: Path | None,
              reduce: bool, as_json: bool) -> None:
    """The soundness run of the verifier; ends with the command's status."""
    from lpn.runtime.engine.build import BuildError

    from ..fuzz_bytecode.loop import Corpus, Loop
    out = console(err=True)
    status = out.status("beginning ...") if out.is_terminal else None
    try:
        kept = Corpus.open(corpus)
        loop = Loop(kept, runs, mutants, reduce, status.update if status is not None else lambda line: None, lambda line: say(line, err=as_json),
                    writer)
        again = kept.cases()
    except (ValueError, BuildError) as error:
        raise Failure(str(error)) from None
    interrupted = _interrupted(status, lambda: loop.run(seed, seconds, programs, again))
    if as_json:
        put_json({**loop.tally.as_json(), "failures": [one.as_json() for one in loop.found], "next_seed": kept.next_seed,
                  "all": kept.total(loop.tally).as_json()})
    else:
        for line in loop.tally.lines():
            say(line)
        say(loop.line())
    raise SystemExit(130 if interrupted else 1 if loop.found else 0)


def _slowest(path: Path, captures: tuple[Path, ...], kept: Path | None, seed: int, seconds: float, show_path: bool, as_json: bool) -> None:
    """The worst run found of each hook, beside its bound; ends with the command's status."""
    import random

    from lpn.lang.files import octets
    from lpn.runtime import capture
    from lpn.runtime.engines import EngineError, EngineUnavailable

    from lpn.runtime.variants import TRANSLATED, WAYS
    from ..slowest.path import compare
    from ..slowest.search import beginnings, from_found, of_alike, search, subjects
    from .judge import compiled_and_sealed
    rng = random.Random(seed)
    frames = [frame.data for each in captures for frame in capture.read(each) if frame.data]
    try:
        before = from_found(octets(kept).decode(errors="replace")) if kept is not None else {}
    except (OSError, ValueError) as error:
        raise Failure(f"{kept}: {error}") from None
    found: list[tuple[str, Slowest, list[Row]]] = []
    try:
        done = compiled_and_sealed(read_source(str(path)).program(()))
        made, proved = done.compiled, (done.units, done.found)
        lines = {unit.name: unit.lines for unit in proved[0].items}
        for pair in zip(*(subjects(made, rng, way, proved) for way in WAYS)):
            start = [*of_alike(pair[0].hook, pair[0].longest, before), *beginnings(made, pair[0].hook, frames, rng)]
            for way, subject in zip(WAYS, pair):
                with waiting(f"searching the slowest run of {'->'.join(subject.hook.chain)}, {WAYS[way]}"):
                    limit = {"seconds": seconds if way == TRANSLATED else seconds / 4} if seconds else {"runs": len(start)}
                    one = search(subject, start, rng, **limit)
                start = [one.input, *one.slow, *start]  # what is slow as code is slow to interpret
                rows = compare(subject, one, lines) if show_path and not one.exceeded else []
                found.append((way, one, rows))
                before.setdefault(one.hook, []).append(one.input)
                if not as_json:
                    say(f"{one.cycles:8,} of at most {one.bound:8,} cycles, bound / found {one.ratio:5.2f}, {one.runs:7,} runs  {way:6}  {one.hook}"
                        + ("  EXCEEDED" if one.exceeded else ""))
                    if rows:
                        _show_rows(rows, proved[0])
    except EngineUnavailable as e:
        raise Failure(str(e)) from None
    except EngineError as e:
        raise Failure(str(e), 1) from None
    if as_json:
        put_json({"hooks": [{"hook": one.hook, "on": way, "bound": one.bound, "cycles": one.cycles, "runs": one.runs, "input": one.input.as_json(),
                             **({"lines": [row.as_json() for row in rows]} if show_path else {})} for way, one, rows in found]})
    raise SystemExit(1 if any(one.exceeded for _, one, _ in found) else 0)


def _show_rows(rows: list[Row], units: Units) -> None:
    """The bound's longest path beside the slowest run."""
    from .judge import place, source_line
    table = Table(["module", "source line", ">bound", ">instructions", ">run", ">instructions", ">more", "source"])
    for row in rows:
        if row.module:
            table.add(row.module, *place(row.line), row.bound, row.insns, row.cycles, row.executed, row.more, source_line(row.line, units))
        else:
            table.add("(the engine around them, waiting for the flash)", "", row.bound, None, row.cycles, None, row.more, "")
    table.show()
    say()
