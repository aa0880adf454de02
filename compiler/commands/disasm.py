"""`lpnc disasm`: the bytecode for people."""
from __future__ import annotations

import sys

import click

from ..disasm import disassemble, listing
from ..forms import Level
from ..isa import DecodeError
from ..judge import Unit
from ..output import Failure, count
from .inputs import compile_options, read_input
from .judge import of_input, show_unread


@click.command()
@click.argument("file")
@click.option("--target", type=click.Choice(["lpn", "femto", "xdp"]), help="For a source: what to compile for.")
@click.option("--no-source", is_flag=True, help="Without the source lines.")
@click.option("--module", metavar="NAME", help="Only this one.")
@compile_options
def command(file: str, target: str | None, no_source: bool, module: str | None, fuse: bool, without: tuple[str, ...],
            level: Level) -> int:
    """Show the instructions of FILE with the source lines they come from: a
    source (.lpn), a bundle (.lpnb), an image (.lpnc, .rbpf) or an eBPF object (.o).

    \b
      lpnc disasm examples/udp/udp.lpn --module Serve
      lpnc disasm build/udp/udp.lpnb --no-source

    Each instruction has its slot (8 bytes each, from 0), its bytes, its text.
    """
    units = of_input(read_input(file), target, fuse, without, level)
    chosen = [unit for unit in units.items if module in (None, unit.name)]
    if not chosen:
        raise Failure(f"there is no module {module}: there are {', '.join(unit.name for unit in units.items)}")
    for number, unit in enumerate(chosen):
        sys.stdout.write(("\n" if number else "") + f"; {unit.name}{f' ({unit.kind})' if unit.kind else ''}: "
                         f"{count(len(unit.text) // 8, 'slot')}\n")
        sys.stdout.write(text_of(unit, not no_source, units.sources))
    show_unread(units)
    return int(bool(units.unread))


def text_of(unit: Unit, with_source: bool, sources: dict[str, list[str]]) -> str:
    try:
        return listing(unit.text, unit.lines if with_source else (), sources)
    except DecodeError:                         # no program; still, its bytes can be seen
        return "".join(f"{slot:6}:  {line}\n" for slot, line in enumerate(disassemble(unit.text)))
