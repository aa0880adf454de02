"""How late hooks begin on a node, and how long their chains take, against what the verifier promised.

    lpnc verify --on m3 --json timing.lpn > bounds.json
    python -m lpn.runtime.twin.latency lpn_measure.elf --bounds bounds.json --packets 200

Firmware: any that runs LPN's node (runtime/riot/lpn) with a pack. Frames come from a radio without a controller, every 20 ms and a bit,
so that they meet periodic hooks at all phases. A hook's latency counts from what it is about: `radio.rx_start` from the end of the
frame's length octet, `radio.rx_done` from its last octet, timers from when they were due. A chain's time is what the core spends in
`lpn_chain_run` and what that calls, without interrupts and other threads that come in between.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import unicorn
from unicorn import arm_const as reg

from lpn.lang.hooks import EVENTS
from lpn.runtime.drawing import pyplot

from .clock import SECOND, US
from .cpu import STACKING, CpuFault
from .evaluate import EUI64, MHZ, RECEIVE_PORT, distribution, frame
from . import mac
from .members import offsets
from .network import Network
from .profile import Profile, Snapshot, watch
from .program import Program, ProgramError, read
from .rf231_table import PHR, SHR
from .station import Station

RUN, NODE = "lpn_chain_run", "lpn_the_node"
LAYOUT = {"lpn_node": ("running",), "lpn_hook": ("event",), "lpn_meta": ("time", "clock")}
NAMES = tuple(EVENTS)           #: `enum lpn_event_code` is in the same order
OWN = ("containers", "library", "code in RAM", "code in flash")      #: layers that a chain's time is spent in
START, PERIOD = SECOND, SECOND // 50 + 137 * US


@dataclass(frozen=True)
class Ran:
    """A run of a hook's chain. `late`: ticks; None when no frame of the station's was there. `cycles`: of the chain's own layers."""

    event: str
    late: int | None
    cycles: int


def own(spent: Snapshot) -> int:
    return sum(spent.layers[layer].cycles for layer in OWN)


class Hooks:
    """Watches the chains of a board."""

    def __init__(self, network: Network, station: Station) -> None:
        self.board = board = network.boards[0]
        self.station = station
        self.profile = Profile(board)
        self.ran: list[Ran] = []
        program = board.program
        for name in (RUN, NODE):
            if name not in program.symbols:
                raise ProgramError(f"{program.path}: has no {name}; firmware with runtime/riot/lpn has")
        self._at = offsets(program.path, "engine/node.c", LAYOUT)
        self._back = 0
        self._open: tuple[str, int | None, int] | None = None
        self._outside = self._since = 0         # what interrupts spent in the same layers: in all, and before the one that runs
        self._frame = (0, 0)                    # start and end of the station's last one
        network.air.told.append(self._air)
        watch(board, RUN, self._begins)
        board.cpu.taken.append(self._interrupted)
        board.cpu.left.append(self._goes_on)

    def _air(self, t: Any) -> None:
        if t.sender is self.station.radio and len(t.psdu) > 5:
            self._frame = t.start, t.end

    def _word(self, address: int) -> int:
        return int.from_bytes(self.board.cpu.uc.mem_read(address, 4), "little")

    def _begins(self) -> None:
        uc = self.board.cpu.uc
        hook = self._word(self.board.program.symbols[NODE] + self._at["lpn_node"]["running"])
        code = self._word(hook + self._at["lpn_hook"]["event"]) & 0xFF
        event = NAMES[code] if code < len(NAMES) else f"event {code}"
        self._open = event, self._late(event, uc.reg_read(reg.UC_ARM_REG_R3)), self._spent()
        back = uc.reg_read(reg.UC_ARM_REG_LR) & ~1
        if back != self._back:
            self._back = back
            uc.hook_add(unicorn.UC_HOOK_CODE, self._ends, None, back, back)
            uc.ctl_remove_cache(back, back + 4)

    def _interrupted(self, exception: int) -> None:
        if len(self.board.cpu.nvic.active) == 1:
            self._since = own(self.profile.snapshot()) - STACKING       # that is the interrupted layer's

    def _goes_on(self, exception: int) -> None:
        if not self.board.cpu.nvic.active:
            self._outside += own(self.profile.snapshot()) - self._since

    def _spent(self) -> int:
        return own(self.profile.snapshot()) - self._outside

    def _late(self, event: str, meta: int) -> int | None:
        start, end = self._frame
        if event == "radio.rx_start":
            return self.board.now - start - (SHR + PHR) * US if start else None
        if event == "radio.rx_done":
            return self.board.now - end if end else None
        if event in ("every", "slot", "after"):
            clock, time = (self._word(meta + self._at["lpn_meta"][m]) for m in ("clock", "time"))
            return (clock - time & 0xFFFFFFFF) * US
        return None

    def _ends(self, uc: Any, address: int, size: int, data: Any) -> None:
        if self._open:
            event, late, before = self._open
            self._open = None
            self.ran.append(Ran(event, late, self._spent() - before))


def measure(program: Program, packets: int, payload: int = 12, seed: int = 0) -> list[Ran]:
    """The runs while so many frames come. Raises CpuFault, ProgramError."""
    network = Network([program], seed)
    station = Station(network.air, EUI64)
    network.stations.append(station)
    hooks = Hooks(network, station)
    network.run(START)
    hooks.ran.clear()
    to = mac.Own.of(dict(enumerate(network.boards[0].radio.registers))).long
    for i in range(packets):
        station.send(frame(to, RECEIVE_PORT, i, bytes(payload)))
        network.run(START + (i + 1) * PERIOD)
    return hooks.ran


def bounds_of(path: Path) -> dict[str, int]:
    """Event -> cycles, of what `lpnc verify --on m3 --json` printed."""
    out: dict[str, int] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        for hook in json.loads(line).get("hooks", ()):
            if hook["wcet_cycles"] is not None:
                out[hook["event"].split("(")[0]] = max(hook["wcet_cycles"], out.get(hook["event"], 0))
    return out


def result(ran: list[Ran], bounds: dict[str, int]) -> dict[str, Any]:
    """By event: runs, latency in microseconds, cycles, the bound and how near the worst run came to it."""
    out: dict[str, Any] = {}
    for event in sorted({r.event for r in ran}):
        those = [r for r in ran if r.event == event]
        cycles = [r.cycles for r in those]
        bound = bounds.get(event)
        out[event] = {"runs": len(those), "late_us": distribution([r.late / US for r in those if r.late is not None]),
                      "cycles": distribution(cycles), "bound": bound, "exceeded": sum(c > bound for c in cycles) if bound else None,
                      "each": {"late_us": [r.late / US for r in those if r.late is not None], "cycles": cycles}}
    return out


def table(found: dict[str, Any]) -> str:
    """In Markdown."""
    lines = ["| hook | runs | late, us: least | median | most | chain, cycles: median | most | us | bound, cycles | exceeded |",
             "| --- |" + " ---: |" * 9]
    for event, f in found.items():
        late, cycles = f["late_us"], f["cycles"]
        lines.append(f"| {event} | {f['runs']:,} | " + " | ".join(f"{late[k]:.1f}" if late else "" for k in ("least", "median", "most"))
                     + f" | {cycles['median']:,.0f} | {cycles['most']:,} | {cycles['most'] / MHZ:.1f} | "
                     + (f"{f['bound']:,} | {f['exceeded']} |" if f["bound"] else " | |"))
    return "\n".join(lines) + "\n"


def plot(found: dict[str, Any], drawing: Any, path: Path) -> None:
    """Latencies, and chains' cycles beside their bounds."""
    figure, axes = drawing.subplots(2, len(found), figsize=(4 * len(found), 6), squeeze=False)
    for column, (event, f) in enumerate(found.items()):
        axes[0][column].hist(f["each"]["late_us"], bins=40)
        axes[0][column].set_title(f"{event}: late")
        axes[0][column].set_xlabel("us")
        axes[1][column].hist(f["each"]["cycles"], bins=40, range=(0, max([1, *f["each"]["cycles"], f["bound"] or 0])))     # one number is a bar, too
        if f["bound"]:
            axes[1][column].axvline(f["bound"], color="red", label="bound")
            axes[1][column].legend()
        axes[1][column].set_title(f"{event}: chain")
        axes[1][column].set_xlabel("cycles")
    figure.tight_layout()
    figure.savefig(path, dpi=110, metadata={"Software": None})


@click.command()
@click.argument("elf", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--bounds", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="What `lpnc verify --on m3 --json` printed for the pack.")
@click.option("--packets", type=click.IntRange(min=1), default=1000, show_default=True)
@click.option("-o", "out", type=click.Path(dir_okay=False, path_type=Path), help="Write everything as JSON.")
@click.option("--plot", "picture", type=click.Path(dir_okay=False, path_type=Path), help="Draw the distributions (needs matplotlib).")
def main(elf: Path, bounds: Path | None, packets: int, out: Path | None, picture: Path | None) -> None:
    """Latency and time of hooks of firmware on an emulated IoT-LAB M3. Exit status 1: a bound was exceeded."""
    drawing = pyplot() if picture else None
    try:
        found = result(measure(read(elf), packets), bounds_of(bounds) if bounds else {})
    except (ProgramError, OSError, ValueError) as e:
        raise click.UsageError(str(e)) from None
    except CpuFault as e:
        raise click.ClickException(str(e)) from None
    print(table(found), end="")
    if out:
        from lpn.compiler.output import write_files
        write_files({out: json.dumps(found, indent=1).encode()})
    if picture:
        plot(found, drawing, picture)
    if any(f["exceeded"] for f in found.values()):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
