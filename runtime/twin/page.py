"""docs/evaluation.md, measured anew: the page's firmwares are built, run on the emulated board, and the page's tables and pictures written.

    RIOTBASE=/path/to/RIOT python -m lpn.runtime.twin.page

A quarter of an hour. What the page says around its tables is not touched.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from lpn.compiler.output import Failure, say, waiting
from lpn.compiler.pages import rewrite
from lpn.runtime.drawing import pyplot

from . import evaluate, latency, sizes
from .cpu import CpuFault
from .program import ProgramError, read

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "evaluation.md"
UDP, TIMING = ROOT / "examples/udp/udp.lpn", ROOT / "runtime/riot/measure/timing.lpn"


@dataclass(frozen=True)
class Firmware:
    """A firmware of runtime/riot/measure: what `lpnc pack` is asked for (nothing: no pack), and the Makefile's variables, in which PACK is what that wrote."""

    options: Sequence[str] = ()
    pack: str = ""
    variables: Sequence[str] = ()


#: The page's columns.
FIRMWARES = {
    "gnrc": Firmware(),
    "containers": Firmware(("--trusted",), "udp.lpnn", ("LPN_ROM=PACK", "LPN_MEMORY=5120")),
    "translated": Firmware(("--trusted",), "udp.lpnn", ("LPN_ROM=PACK", "LPN_TRANSLATE=1")),
    "in flash": Firmware(("--code",), "code.lpnn", ("LPN_ROM=PACK", "LPN_TRANSLATE=code")),
    "linked": Firmware(("--linked",), "udp.c", ("LPN_LINKED=PACK",)),
}
#: The order in which parts are compared: what is smallest beside GNRC's.
BY_SIZE = ("gnrc", "linked", "in flash", "translated", "containers")
LATENCY = Firmware((), "timing.lpnn", ("LPN_ROM=PACK", "LPN_MEMORY=4096"))
#: Those of runtime/riot/node: the board, the Makefile's variables, how the page calls it.
NODES = (("iotlab-m3", (), "with GNRC and CoAP"), ("iotlab-m3", ("GNRC=0",), "`GNRC=0`"),
         ("native64", (), "with GNRC and CoAP"), ("native64", ("GNRC=0",), "`GNRC=0`"))


def built(application: str, where: Path, board: str, variables: Sequence[str], riot: str) -> Path:
    """The ELF of an application below runtime/riot. Raises Failure with what `make` complained of."""
    done = subprocess.run(["make", "-C", str(ROOT / "runtime/riot" / application), "-j2", "all", f"BOARD={board}", f"BINDIRBASE={where}",
                           f"RIOTBASE={riot}", *variables], capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["make failed"]
        raise Failure(f"{application} for {board} does not build: " + "; ".join([line for line in said if "rror" in line][:3] or said[-1:]))
    return where / board / f"lpn_{application}.elf"


def measured(firmware: Firmware, source: Path, where: Path, riot: str) -> Path:
    """The ELF of runtime/riot/measure for the IoT-LAB M3 with this program in it."""
    pack = where / firmware.pack
    if firmware.pack:
        lpnc("pack", str(source), *firmware.options, "-o", str(pack))
    return built("measure", where, "iotlab-m3", [v.replace("PACK", str(pack)) for v in firmware.variables], riot)


def lpnc(*arguments: str) -> str:
    """What the command prints. Raises Failure with what it says against it."""
    done = subprocess.run([sys.executable, "-m", "lpn.compiler.cli", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failure(f"lpnc {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def nodes(elves: Sequence[Path]) -> str:
    """What `make` says of the nodes' sizes."""
    rows = ["| what `make` says of [runtime/riot/node](../runtime/riot/node) | text | data | bss |", "| --- | ---: | ---: | ---: |"]
    for (board, _, name), elf in zip(NODES, elves):
        size = subprocess.run(["size", str(elf)], capture_output=True, text=True, check=True).stdout.splitlines()[1].split()
        rows.append(f"| `{board}`, {name} | " + " | ".join(f"{int(n):,}" for n in size[:3]) + " |")
    return "\n".join(rows) + "\n"


@click.command()
@click.option("--packets", type=click.IntRange(min=1), default=1000, show_default=True)
@click.option("--riot", envvar="RIOTBASE", type=click.Path(exists=True, file_okay=False, resolve_path=True), required=True, metavar="FOLDER",
              help="A checkout of RIOT. Default: RIOTBASE of the environment.")
@click.option("--page", type=click.Path(dir_okay=False, path_type=Path), default=PAGE, help="The page; its pictures lie beside it. Default: docs/evaluation.md.")
def main(packets: int, riot: str, page: Path) -> None:
    """Measure docs/evaluation.md anew: build its firmwares with RIOT, run them on the emulated IoT-LAB M3, write tables and pictures."""
    drawing = pyplot()
    where = ROOT / "build" / "evaluation"
    try:
        with waiting("building firmware"):
            elves = {name: measured(f, UDP, where / name.replace(" ", "_"), riot) for name, f in FIRMWARES.items()}
            clocks = measured(LATENCY, TIMING, where / "timing", riot)
            loaders = [built("node", where / f"node{i}", board, variables, riot) for i, (board, variables, _) in enumerate(NODES)]
        found = {}
        for name, elf in elves.items():
            with waiting(f"{name}: sending packets"):
                program = read(elf)
                found[name] = evaluate.result(program, evaluate.measure(program, packets, evaluate.RECEIVE_PORT),
                                              evaluate.measure(program, packets, evaluate.ANSWER_PORT))
        with waiting("timing hooks"):
            bounds = where / "bounds.json"
            bounds.write_text(lpnc("verify", "--on", "m3", "--json", str(TIMING)), "utf-8")
            late = latency.result(latency.measure(read(clocks), packets), latency.bounds_of(bounds))
        parts = {name: sizes.sizes(elves[name]) for name in BY_SIZE}
        of_nodes = {"GNRC=0": sizes.sizes(loaders[1]), "with GNRC": sizes.sizes(loaders[0])}
        rewrite(page, {"times": evaluate.tables(found), "parts": sizes.table(parts), "nodes": nodes(loaders), "node_parts": sizes.table(of_nodes),
                       "hooks": latency.table(late)})
    except (ProgramError, OSError, CpuFault, Failure) as e:
        raise click.ClickException(str(e)) from None
    evaluate.plot(found, drawing, page.with_name("evaluation.png"))
    drawing.close("all")
    sizes.plot(parts, drawing, page.with_name("sizes.png"))
    latency.plot(late, drawing, page.with_name("latency.png"))
    say(f"{page}: read what it says around its tables")


if __name__ == "__main__":
    main()
