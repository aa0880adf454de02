"""What a firmware's flash and RAM go to, part by part: from the map that the linker wrote beside the ELF.

    python -m lpn.runtime.twin.sizes gnrc=a/lpn_measure.elf linked=b/lpn_measure.elf --plot sizes.png

A part is a set of RIOT's modules, or files of the engine: one table below. What is in `.data` counts twice, as it does on the board: the
first content is in flash. Rest: alignment, and what the linker's script adds.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from lpn.runtime.drawing import pyplot

from .memory import FLASH, FLASH_SIZE, RAM, RAM_SIZE
from .program import ProgramError, read

REST = "rest"

#: (pattern of `module/file.o:section`, part). The first that is found counts.
TABLE: tuple[tuple[str, str], ...] = tuple((re.compile(pattern), part) for pattern, part in (
    (r":\.flash_writable", "slot in flash"),
    (r":\.text\.lpn_code_|:\.rodata\.lpn_rom|^application_\w+/containers\.o:\.(rodata|data|bss)", "containers"),
    (r"^lpn/(vm32\w*|vm|env)\.o", "engine: interpreter, helpers"),
    (r"^lpn/certificate(_names|_thumb2)?\.o", "engine: checker"),
    (r"^lpn/thumb2(_clean)?\.o", "engine: translator"),
    (r"^lpn/(pack|pack_build|pack_compact|expand|image|load|load_thumb2|names)\.o", "engine: reading packs"),
    (r"^lpn/(node|node_call|node_check|node_swap|chain|native|state|tables|buffers)\.o", "engine: running chains"),
    (r"^lpn/lpn_(store|linked)\.o", "module: store"),
    (r"^lpn/lpn_(shell|coap|words)\.o", "module: shell, CoAP"),
    (r"^lpn/", "module: radio, thread"),
    (r"^gnrc_netif_init_devs/", "interface's thread"),
    (r"^gnrc_(ipv6|ndp|icmpv6)|^(ipv6_|icmpv6|evtimer|random|inet_csum)", "IPv6, neighbours"),
    (r"^(gnrc_)?sixlowpan", "6LoWPAN"),
    (r"^(gnrc_udp|udp|gnrc_sock|sock_util)", "UDP"),
    (r"^gnrc_(pktbuf_static|pktbuf|pkt|netapi|netreg)/", "packet buffer, dispatch"),
    (r"^(gnrc_netif|netdev|ieee802154|l2util|netif)", "MAC"),
    (r"^(at86rf2xx|eui_provider|luid)", "radio's driver"),
    (r"^(shell|shell_cmds|ps|fmt|stdio\w*|gcoap|nanocoap|od)", "RIOT's shell, CoAP"),
    (r"\.a:|^(libc|mpaland-printf|div|frac)", "libraries"),
    (r"^application_", "application"),
    (r"^\w", "kernel, board")))


@dataclass(frozen=True)
class Piece:
    """What an object file has in one section. `name`: module/file.o:section."""

    name: str
    address: int
    size: int
    copied: bool                #: from flash to RAM at start


def pieces(text: str) -> Iterator[Piece]:
    """Of a map that GNU ld wrote. ProgramError when it is none."""
    begin = text.find("\nLinker script and memory map")
    if begin < 0:
        raise ProgramError("not a map of GNU ld")
    section = name = ""
    for line in text[begin:].splitlines():
        if line and not line[0].isspace():
            section = line.split()[0]
            continue
        found = re.match(r"^ (\S+)?\s+0x([0-9a-f]+)\s+0x([0-9a-f]+) (\S.*\.(?:o|a\(.*\)))$", line)
        if found:
            yield Piece(f"{_object(found[4])}:{found[1] or name}", int(found[2], 16), int(found[3], 16), section in (".relocate", ".data"))
        elif re.match(r"^ \S+$", line):
            name = line.strip()                 # a long one: its numbers are in the next line


def _object(path: str) -> str:
    """module/file.o, or library.a:file.o."""
    library = re.search(r"([^/]+\.a)\((.*)\)$", path)
    return f"{library[1]}:{library[2]}" if library else "/".join(path.split("/")[-2:])


def part_of(name: str) -> str:
    return next((part for pattern, part in TABLE if pattern.search(name)), REST)


def sizes(elf: Path) -> dict[str, dict[str, int]]:
    """{"rom": {part: bytes}, "ram": {part: bytes}}; the sums are what `size` says. Raises ProgramError, OSError."""
    program = read(elf)
    rom, ram = Counter[str](), Counter[str]()
    for piece in pieces(elf.with_suffix(".map").read_text(encoding="utf-8", errors="replace")):
        in_ram = RAM <= piece.address < RAM + RAM_SIZE
        if in_ram:
            ram[part_of(piece.name)] += piece.size
        if (in_ram and piece.copied) or FLASH <= piece.address < FLASH + FLASH_SIZE:
            rom[part_of(piece.name)] += piece.size
    sections = program.sections
    rom[REST] += sections["text"] + sections["data"] - rom.total()
    ram[REST] += sections["data"] + sections["bss"] - ram.total()
    return {"rom": dict(rom), "ram": dict(ram)}


def parts(found: dict[str, dict[str, dict[str, int]]], kind: str) -> list[str]:
    """Those that any firmware has, in the table's order."""
    order = list(dict.fromkeys((*(part for _, part in TABLE), REST)))
    return [part for part in order if any(f[kind].get(part) for f in found.values())]


def table(found: dict[str, dict[str, dict[str, int]]]) -> str:
    """In Markdown; the first firmware is what the others are compared with."""
    out = []
    for kind, title in (("rom", "ROM, bytes"), ("ram", "RAM, bytes")):
        sums = {name: sum(f[kind].values()) for name, f in found.items()}
        first = next(iter(sums.values()))
        out += [f"| {title} | " + " | ".join(found) + " |", "| --- |" + " ---: |" * len(found)]
        out += [f"| {part} | " + " | ".join(f"{f[kind].get(part, 0):,}" for f in found.values()) + " |" for part in parts(found, kind)]
        out += ["| all | " + " | ".join(f"{n:,}" for n in sums.values()) + " |",
                "| to the first | " + " | ".join(f"{100 * (n / first - 1):+.1f} %" for n in sums.values()) + " |", ""]
    return "\n".join(out)


def plot(found: dict[str, dict[str, dict[str, int]]], drawing: Any, path: Path) -> None:
    """Stacked bars."""
    every = list(dict.fromkeys([*parts(found, "rom"), *parts(found, "ram")]))
    colours: dict[str, Any] = {part: drawing.get_cmap("tab20")(i % 20) for i, part in enumerate(every)}
    figure, axes = drawing.subplots(1, 2, figsize=(12, 4.6))
    for axis, kind in zip(axes, ("rom", "ram")):
        bottom = [0.0] * len(found)
        for part in every:
            height = [f[kind].get(part, 0) / 1024 for f in found.values()]
            axis.bar(range(len(found)), height, bottom=bottom, color=colours[part], label=part)
            bottom = [a + b for a, b in zip(bottom, height)]
        axis.set_xticks(range(len(found)), list(found), fontsize=8)
        axis.set_title(kind.upper())
        axis.set_ylabel("KiB")
    axes[1].legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5), reverse=True)
    figure.tight_layout()
    figure.savefig(path, dpi=110, metadata={"Software": None})


@click.command()
@click.argument("firmware", nargs=-1, required=True, metavar="NAME=ELF...")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of tables.")
@click.option("--plot", "picture", type=click.Path(dir_okay=False, path_type=Path), help="Draw it (needs matplotlib).")
def main(firmware: tuple[str, ...], as_json: bool, picture: Path | None) -> None:
    """ROM and RAM of firmwares for the IoT-LAB M3, part by part. The linker's map lies beside each ELF."""
    drawing = pyplot() if picture else None
    found = {}
    try:
        for each in firmware:
            name, _, path = each.rpartition("=")
            found[name or Path(path).stem] = sizes(Path(path))
    except (ProgramError, OSError) as e:
        raise click.UsageError(str(e)) from None
    print(json.dumps(found, indent=1) if as_json else table(found))
    if picture:
        plot(found, drawing, picture)


if __name__ == "__main__":
    main()
