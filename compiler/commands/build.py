"""`lpnc build`: from a program to files."""
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from lpn.runtime.variants import TRANSLATED
from lpn.verifier.verify import Analysis, Report

from ..build import Compiled, Container
from ..compact import pack
from ..forms import Level
from ..judge import Unit, Units, of_image
from ..output import STDOUT, Failure, Table, count, put_json, say, write_files
from .inputs import asked, compile_options, json_option, listed, on_option, read_source, show_diagnostics, warnings
from .judge import as_json as report_json, compiled_and_sealed, show_rejection, show_uncertified

FORMS = ("ir", "asm", "obj", "image", "bundle")
DEFAULT_FORM = {"lpn": "bundle", "femto": "image", "xdp": "obj"}


@click.command()
@click.argument("file")
@click.option("-o", "folder", default=".", metavar="DIR", help="Where the files go; made if need be. `-`: standard output.")
@click.option("--target", type=click.Choice(["lpn", "femto", "xdp"]), default="lpn", show_default=True,
              help="What will run the containers: LPN's engine, a stock Femto-Container engine, Linux.")
@click.option("--emit", multiple=True, callback=listed(FORMS), metavar="FORM",
              help=f"What to write: {', '.join(FORMS)} (repeatable, or with commas). Default: bundle; femto image; xdp obj.")
@click.option("--compact", is_flag=True, help="Images and bundle in the form for the air, about half the size; target lpn only.")
@on_option
@compile_options
@json_option
def command(file: str, folder: str, target: str, emit: tuple[str, ...], compact: bool, way: str, fuse: bool, without: tuple[str, ...],
            level: Level, as_json: bool) -> int:
    """Compile a program, verify its containers, write them.

    \b
      lpnc build examples/udp/udp.lpn -o build/udp
      lpnc build examples/udp/udp.lpn --fuse --emit image,asm -o build/udp
      lpnc build examples/udp/udp.lpn --without Checksum

    FILE.lpn makes the bundle FILE.lpnb and the source map FILE.map.json; of a
    container called NAME: NAME.lpnc (image; NAME.rbpf for a stock Femto-Container
    engine), NAME.o, NAME.s, NAME.ll. Nothing is written when the verifier refuses
    a container, or a hook may miss its deadline on a node that translates; of one
    that interprets, --on m3.
    A chain that does not fit one container, or that the verifier does not take as
    one, is not fused, and a module may need another -O: a note says so, and why;
    so does a line for each container that has no certificate. Targets femto and
    xdp have no timing blocks, xdp one chain only: what is left out is noted, too.
    """
    if compact and target != "lpn":
        raise click.UsageError(f"--compact is a form of LPN's images; target {target} has its own")
    if target == "xdp" and (wrong := [form for form in emit if form in ("image", "bundle")]):
        raise click.UsageError(f"target xdp has no {' and no '.join(wrong)}: those are for nodes, Linux takes the object (--emit obj)")
    if target != "lpn" and asked("--on"):
        raise click.UsageError(f"--on is about worst-case times, and for target {target} none are computed")
    if not folder:
        raise click.UsageError("-o takes a folder's name: . is the working folder, - standard output")
    if as_json and folder == STDOUT:
        raise click.UsageError("-o - leaves no room for --json on standard output")
    given = read_source(file)
    program = given.program(without)
    warnings(program, target != "xdp")
    done = compiled_and_sealed(program, target, fuse, level)
    result, units, found = done.compiled, done.units, done.found
    judgements = [(c, report) for c, (_, report, _) in zip(result.containers, found)]
    rejected = [(c, report) for c, report in judgements if not report.accepted]
    unproved = not rejected and target == "lpn" and missed(units, found, way, result)
    files = {} if rejected or unproved else files_of(result, emit or (DEFAULT_FORM[target],), given.stem, compact)
    if files and folder == STDOUT:
        one = [data for name, data in files.items() if not name.endswith(".map.json")]
        if len(one) > 1:
            raise Failure(f"standard output takes one file, these are {len(one)}: use -o DIR, --fuse, or one --emit")
        write_files({Path(STDOUT): one[0]})
        return 0
    write_files({Path(folder) / name: data for name, data in files.items()})
    if as_json:
        for (c, report), judged in zip(judgements, units.items):
            unit = replace(of_image(c.image, c.code.lines, target), note=result.note(c.name), uncertified=judged.uncertified)
            sizes = {"image_bytes": len(c.stored)} | ({"compact_bytes": len(pack(c.stored))} if compact else {})
            if target == "femto":               # nothing in its image says so
                sizes |= {"record_bytes": result.record_size, "state_bytes": result.state.size}
            put_json(report_json(unit, report) | {"kind": unit.kind, **sizes,
                                                  "files": sorted(str(Path(folder) / name) for name in files)})
    else:
        table_of(judgements, compact).show()
        if not rejected:
            show_uncertified(units)
        for e in result.bundle.energy if not unproved else ():
            say(f"{e.block}: the radio is on for at most {e.share / 10_000:g} % of the time, {e.promised / 10_000:g} % is promised")
    if refused(found, units.sources) or unproved:
        return 1
    if not as_json:
        if target == "femto":
            say(f"they share {count(result.record_size, 'byte')} of record and {count(result.state.size, 'byte')} of state, which their host gives them")
        say("wrote " + ", ".join(str(Path(folder) / name) for name in files))
    return 0


def refused(found: list[tuple[Unit, Report, Analysis | None]], sources: dict[str, list[str]]) -> bool:
    """Whether the verifier refuses a container, so that nothing is written; that is said to the user."""
    rejected = [(unit.name, report) for unit, report, _ in found if not report.accepted]
    for name, report in rejected:
        show_rejection(report, name, sources, err=True)
    if rejected:
        say(f"lpnc: the verifier refuses {count(len(rejected), 'container')}: nothing is written", err=True)
    return bool(rejected)


def missed(units: Units, found: list[tuple[Unit, Report, Analysis | None]], way: str, compiled: Compiled | None = None) -> bool:
    """Whether anything is not proved of its times on a node that executes it `way`, so that nothing is written; that, and what may begin late, is said to the user. Of a bundle without its program
    energy budgets are taken as they stand in it."""
    promised = compiled is not None and compiled.program.promises
    if not promised and not any(hook.within or hook.jitter for hook in (units.bundle.hooks if units.bundle else ())):
        return False
    from ..budgets import settle
    from ..deadlines import times
    timed = times(units, found, way)
    for text in timed.warnings:
        say(text, style="yellow", err=True)
    for each in timed.violations:
        say(each.violation(), style="red", err=True)
    wrong = settle(compiled, timed).items if compiled is not None else []
    if wrong:
        show_diagnostics(wrong)
    unproved = " and ".join(count(len(each), what) for each, what in ((timed.violations, "deadline"), (wrong, "energy budget")) if each)
    if unproved:
        say(f"lpnc: {unproved} not proved: nothing is written; lpnc verify --path{'' if way == TRANSLATED else f' --on {way}'} shows where the time goes", err=True)
    return bool(unproved)


#: Files of images, by target; `lpnc` otherwise.
IMAGES = {"femto": "rbpf"}
SUFFIX = {"ir": "ll", "asm": "s", "obj": "o"}


def content(c: Container, form: str, compact: bool) -> bytes:
    """Of a file with one container."""
    if form == "image":
        return pack(c.stored) if compact else c.stored
    return {"ir": lambda: c.ir.encode(), "asm": lambda: c.assembly.encode(), "obj": lambda: c.object}[form]()


def files_of(result: Compiled, forms: tuple[str, ...], stem: str, compact: bool) -> dict[str, bytes]:
    """File names and contents."""
    import json
    files: dict[str, bytes] = {}
    for c in result.containers:
        for form in ("ir", "asm", "obj", "image"):
            if form in forms:
                suffix = SUFFIX.get(form) or IMAGES.get(result.target.name, "lpnc")
                files[f"{c.name}.{suffix}"] = content(c, form, compact)
        if "image" in forms:
            files[f"{c.name}.map.json"] = json.dumps({"lpn": 1, "modules": {c.name: c.code.lines}}).encode() + b"\n"
    if "bundle" in forms:
        files[f"{stem}.lpnb"] = result.bundle.to_bytes(compact)
        files[f"{stem}.map.json"] = result.source_map().encode() + b"\n"
    return files


def table_of(judgements: list[tuple[Container, Report]], compact: bool = False) -> Table:
    """Module, kind, instructions, stack, size, and the sum."""
    table = Table(["module", "kind", ">instructions", ">stack", ">image bytes", *([">compact"] if compact else [])])
    for c, report in judgements:
        table.add(c.name, c.image.kind.name.lower(), report.insns or c.instructions, report.stack, *bytes_of([c], compact),
                  style="" if report.accepted else "red")
    if len(judgements) > 1:
        table.add("all", "", sum(r.insns or c.instructions for c, r in judgements), max(r.stack for _, r in judgements),
                  *bytes_of([c for c, _ in judgements], compact), style="bold")
    return table


def bytes_of(containers: list[Container], compact: bool) -> list[int]:
    """How large they are as stored and, when asked, in the compact form."""
    return [sum(len(c.stored) for c in containers), *([sum(len(pack(c.stored)) for c in containers)] if compact else [])]
