"""`lpnc profile`: where a program's time goes on an emulated Cortex-M3."""
from __future__ import annotations

from bisect import bisect_right
from typing import Any

import click

from lpn.lang import tables as control
from lpn.runtime.capture import FCS_MODES

from ..disasm import format_instruction
from ..externs import manifest
from ..forms import Level
from ..isa import decode, slot_indices
from ..judge import Lines, Unit, of_compiled
from ..output import Failure, Table, count, counted, put_json, say, waiting
from ..runner import Runner
from .externs import Answers, extern_option
from .frames import chosen, hook_option, outcomes
from .inputs import compile_options, json_option, read_source, warnings
from .judge import compiled_and_sealed
from .run import Number


@click.command()
@click.argument("file")
@click.option("--in", "capture", required=True, metavar="X.pcap", help="The frames: pcap or pcapng (`-`: standard input).")
@click.option("--tables", "tables_file", metavar="T.json", help="Register cells and table entries.")
@extern_option
@hook_option
@click.option("--fcs", type=click.Choice(FCS_MODES), default="auto", show_default=True, help="What ends the frames of link types 195 and 215.")
@click.option("--node-short", type=Number(16), default=0, help="The node's short address.")
@click.option("--node-ext", type=Number(64), default=0, help="The node's EUI-64.")
@click.option("--node-pan", type=Number(16), default=0, help="The node's PAN.")
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Only the first so many frames.")
@click.option("--top", type=click.IntRange(min=0), default=20, show_default=True, metavar="N", help="So many source lines, the costliest first.")
@click.option("--listing", is_flag=True, help="Every instruction with its cost, under its source line.")
@click.option("--engine", type=click.Choice(("m3", "thumb2")), default="m3", show_default=True,
              help="The interpreter, or translated code; its listing has the Thumb code, too.")
@compile_options
@json_option
def command(file: str, capture: str, tables_file: str | None, answers: Answers, hook: str | None, fcs: str, node_short: int, node_ext: int,
            node_pan: int, limit: int | None, top: int, listing: bool, engine: str, fuse: bool, without: tuple[str, ...], level: Level, as_json: bool) -> int:
    """Thumb instructions and cycles of FILE (.lpn) on a capture's frames: by part of
    the engine, by module, by source line, by eBPF instruction.

    \b
      lpnc profile examples/udp/udp.lpn --in examples/udp/captures/riot_udp.pcap
      lpnc profile x.lpn --in x.pcap --listing | less
      lpnc profile x.lpn --in x.pcap --engine thumb2 --listing | less

    The engine's own code runs on an emulated Cortex-M3; what it executes from the
    fetch of an eBPF instruction to the next fetch is that instruction's; with
    --engine thumb2 what was written for it, and the helper it calls. Where two
    became one the code stands with the last. Cycles are those of Arm's manual,
    without wait states of the flash.
    """
    from lpn.runtime.engines import EngineUnavailable
    from lpn.runtime.m3.core import check_available
    try:
        check_available()
    except EngineUnavailable as e:
        raise Failure(str(e)) from None
    from lpn.runtime.m3.profile import NOWHERE, Profiled, ProfiledCode, by
    given = read_source(file)
    program = given.program(without)
    warnings(program)
    number = chosen(file, hook, program)
    tables = control.load(tables_file, program) if tables_file else None
    externs = answers.of(manifest(program))
    answers.all_known()
    made = compiled_and_sealed(program, "lpn", fuse, level).compiled
    with waiting("loading"):
        profiled = (Profiled if engine == "m3" else ProfiledCode)(made.bundle, externs=externs, hook=None if number is None else made.bundle.hooks[number])
        profiled.set_state(made.initial_state(tables))
        for table, entries in made.entries(tables).items():
            profiled.set_entries(table, entries)
    node = {"node_short": node_short, "node_ext": node_ext, "node_pan": node_pan}
    for _ in counted(outcomes(capture, [Frames(profiled)], node, fcs, limit), "frames"):
        pass
    found, units = profiled.profile, of_compiled(made)
    code = profiled.listing if isinstance(profiled, ProfiledCode) else {}
    if not found.frames:
        raise Failure("no frame reached the program")
    where = {unit.name: Places(unit, units.sources) for unit in units.items}
    modules = by({k: v for k, v in found.slots.items() if k != NOWHERE}, lambda module, slot: module)
    lines = by({k: v for k, v in found.slots.items() if k != NOWHERE}, lambda module, slot: where[module].line(slot))
    if as_json:
        put_json({
            "frames": found.frames, "thumb": found.total.thumb, "cycles": found.total.cycles,
            "parts": [{"part": name, **cost(c)} for name, c in ranked(found.parts)],
            "outside": cost(found.slots[NOWHERE]),
            "modules": [{"module": name, "executed": c.times, **cost(c)} for name, c in ranked(modules)],
            "lines": [{"file": at[0], "line": at[1], "executed": c.times, **cost(c)} for at, c in ranked(lines)],
            "instructions": [{"module": module, "slot": slot, "text": where[module].text[slot], "executed": c.times, **cost(c),
                              **({"code": [insn.text for insn in code.get((module, slot), ())]} if code else {})}
                             for (module, slot), c in sorted(found.slots.items()) if module]})
        return 0
    everything = found.total.cycles
    say(f"{count(found.frames, 'packet')}: {found.total.cycles / found.frames:,.0f} cycles and {found.total.thumb / found.frames:,.0f} "
        f"Thumb instructions each, of the mean\n")
    show("part of the engine", {name: c for name, c in found.parts.items()}, found.frames, everything)
    show("module", {**modules, "(between modules)": found.slots[NOWHERE]}, found.frames, everything, executed=True)
    first = dict(ranked(lines)[:top])
    show("source line", {called(at): c for at, c in first.items()}, found.frames, everything, executed=True,
         quote={called(at): quoted(units.sources, *at) for at in first})
    if listing:
        for unit in units.items:
            annotated(unit, where[unit.name], found, code, everything)
    return 0


class Frames(Runner):
    """The profiled program as what `outcomes` runs."""

    def __init__(self, program: Any):
        self.program = program

    def run(self, frame: bytes, meta: Any = None, hook: int | None = None):
        return self.program.run(frame, meta)


class Places:
    """A module's instructions by slot, and the source lines they come from."""

    def __init__(self, unit: Unit, sources: dict[str, list[str]]):
        program = decode(unit.text)
        self.text = dict(zip(slot_indices(program), map(format_instruction, program)))
        rows: Lines = sorted(unit.lines)
        self.slots, self.rows = [row[0] for row in rows], rows

    def line(self, slot: int) -> tuple[str, int]:
        at = bisect_right(self.slots, slot) - 1
        return self.rows[at][1:] if at >= 0 else ("", 0)


def called(line: tuple[str, int]) -> str:
    return f"{line[0]}:{line[1]}" if line[1] else "(no line)"        # a container's first instructions


def cost(c: Any) -> dict[str, int]:
    return {"thumb": c.thumb, "cycles": c.cycles}


def ranked(costs: dict) -> list:
    return sorted(costs.items(), key=lambda item: (-item[1].cycles, str(item[0])))


def quoted(sources: dict[str, list[str]], file: str, line: int) -> str:
    lines = sources.get(file, ())
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def show(what: str, costs: dict, frames: int, everything: int, executed: bool = False, quote: dict[str, str] | None = None) -> None:
    """A table, the costliest first; numbers are of a packet in the mean."""
    table = Table([what, *([">eBPF"] if executed else []), ">Thumb", ">cycles", ">%", *([">cycles/eBPF"] if executed else []),
                   *(["source"] if quote else [])])
    for name, c in ranked(costs):
        more = [f"{c.cycles / c.times:.1f}" if c.times else ""] if executed else []
        table.add(name, *([f"{c.times / frames:,.1f}"] if executed else []), f"{c.thumb / frames:,.1f}", f"{c.cycles / frames:,.1f}",
                  f"{100 * c.cycles / everything:.1f}", *more, *([quote[name]] if quote else []))
    table.show()
    say()


def annotated(unit: Unit, places: Places, found: Any, code: dict, everything: int) -> None:
    """Every instruction: executed, cycles, share; under it the Thumb code, where there is some."""
    def figures(c: Any) -> str:
        return f"{c.times:8,} {c.cycles:10,} {100 * c.cycles / everything:5.1f} %" if c else " " * 27

    def thumb(slot: int) -> None:
        for insn in code.get((unit.name, slot), ()):
            say(f"{figures(found.code.get(insn.address))}            {insn.address & 0xFFFFF:05x}  {insn.text}")

    say(f"; {unit.name}")
    thumb(-1)                                   # the way in
    before = None
    for slot, text in places.text.items():
        line = places.line(slot)
        if line != before:
            say(f"; {called(line)}")
            before = line
        say(f"{figures(found.slots.get((unit.name, slot)))} {slot:6}:  {text}")
        thumb(slot)
    say()
