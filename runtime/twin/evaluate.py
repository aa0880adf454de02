"""What UDP costs on a node: cycles of each of many packets, by layer, and where the time goes from the radio's interrupt to delivery.

    python -m lpn.runtime.twin.evaluate gnrc=a/lpn_measure.elf containers=b/lpn_measure.elf -o evaluation.json --plot evaluation.png

Firmware: runtime/riot/measure, or any that has its mark `measure_delivered`, delivers port 8808 and answers port 7. Packets come from a radio
without a controller, one every 20 ms, when the node is idle.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from lpn.runtime.drawing import pyplot

from . import mac
from .clock import SECOND, US
from .cpu import CpuFault
from .network import Network
from .profile import Profile, Snapshot, watch
from .program import Program, ProgramError, read
from .rf231_table import State
from .session import CORE_RUNS, CURRENT
from .station import Station

DELIVERED = "measure_delivered"
RECEIVE_PORT, ANSWER_PORT = 8808, 7
EUI64 = 0x0200_0000_1234_0001   #: of the radio that sends
START, PERIOD = SECOND, SECOND // 50
EXTI4 = 16 + 10                 #: the radio's interrupt
VOLTS = 3.3
MHZ = 72


@dataclass
class Packet:
    """One packet: what the node spent until the next one, in the parts it can be cut into. Cycles and ticks."""

    whole: Snapshot
    to_delivery: Snapshot | None = None     #: from the interrupt behind the frame's last octet
    to_answer: Snapshot | None = None       #: from that interrupt to the command that starts the answer's transmission
    entered: dict[str, int] = field(default_factory=dict)   #: layer -> ticks behind that interrupt
    interrupt: int = 0                      #: ticks from the frame's end to the interrupt's handler
    radio: dict[State, int] = field(default_factory=dict)   #: ticks in each state


class Meter:
    """Watches a board while packets come. `packets`: complete ones."""

    def __init__(self, network: Network, station: Station) -> None:
        self.board, self.station = network.boards[0], station
        self.profile = Profile(self.board)
        self.packets: list[Packet] = []
        self._open: dict[str, Any] = {}
        self._frame_end = 0
        board = self.board
        board.cpu.taken.append(self._taken)
        board.radio.told.append(self._state)
        network.air.told.append(self._air)
        if DELIVERED not in board.program.symbols:
            raise ProgramError(f"{board.program.path}: has no function {DELIVERED}; runtime/riot/measure has")
        watch(board, DELIVERED, self._delivered)

    def begin(self) -> None:
        """A packet is about to be sent to the board; the one before is over."""
        self.end()
        self.board.radio.settle()
        self._open = {"start": self.profile.snapshot(), "radio": dict(self.board.radio.spent)}

    def end(self) -> None:
        found = self._open
        if found:
            self.board.radio.settle()
            spent = {s: t - found["radio"].get(s, 0) for s, t in self.board.radio.spent.items()}
            self.packets.append(Packet(self.profile.snapshot().since(found["start"]), found.get("delivery"), found.get("out"),
                                       found.get("entered", {}), found.get("latency", 0), spent))
        self._open = {}

    def _air(self, t: Any) -> None:
        if t.sender is self.station.radio and len(t.psdu) > 5:
            self._frame_end = t.end

    def _taken(self, exception: int) -> None:
        found = self._open
        if exception == EXTI4 and found and "irq" not in found and self.board.now >= self._frame_end > 0 and "delivery" not in found:
            found["irq"] = self.profile.snapshot()
            found["latency"] = self.board.now - self._frame_end
            self.profile.forget_firsts()

    def _delivered(self) -> None:
        found = self._open
        if "irq" in found and "delivery" not in found:
            found["delivery"] = self.profile.snapshot().since(found["irq"])
            found["entered"] = {layer: at - found["irq"].time for layer, at in self.profile.firsts().items()}

    def _state(self, state: State) -> None:
        found = self._open
        if state == State.BUSY_TX_ARET and "irq" in found and "out" not in found:
            found["out"] = self.profile.snapshot().since(found["irq"])


def frame(to: int, port: int, sequence: int, payload: bytes) -> bytes:
    """UDP from the station to a node, link-local, as RIOT compresses it (RFC 6282: IPHC without NHC), without FCS."""
    def address(eui: int) -> bytes:
        return bytes.fromhex("fe80000000000000") + (eui ^ 2 << 56).to_bytes(8, "big")
    udp = port.to_bytes(2, "big") * 2 + (8 + len(payload)).to_bytes(2, "big")
    pseudo = address(EUI64) + address(to) + (8 + len(payload)).to_bytes(4, "big") + bytes((0, 0, 0, 17)) + udp + b"\0\0" + payload
    total = sum(int.from_bytes(pseudo[i:i + 2].ljust(2, b"\0"), "big") for i in range(0, len(pseudo), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    checksum = ~total & 0xFFFF or 0xFFFF
    header = bytes.fromhex("61dc") + bytes((sequence & 0xFF,)) + (0x23).to_bytes(2, "little")
    return header + to.to_bytes(8, "little") + EUI64.to_bytes(8, "little") + b"\x7a\x33\x11" + udp + checksum.to_bytes(2, "big") + payload


def measure(program: Program, packets: int, port: int, size: int = 12, seed: int = 0, shell: Sequence[str] = (),
            step: Callable[[], None] = lambda: None) -> list[Packet]:
    """Send so many packets of `size` octets of payload to a port. Raises CpuFault, ProgramError."""
    from .network import Shell
    network = Network([program], seed)
    station = Station(network.air, EUI64)
    network.stations.append(station)
    meter = Meter(network, station)
    board = network.boards[0]
    if shell:
        Shell(board, shell, wait=SECOND // 100)
    network.run(START)
    to = mac.Own.of(dict(enumerate(board.radio.registers))).long
    for i in range(packets):
        patience = network.now + PERIOD
        while not board.cpu.asleep:             # something of its own, such as a timer's work
            if network.now > patience:
                raise CpuFault(f"the node is still busy when packet {i + 1} is to come, {2 * PERIOD / US / 1000:.0f} ms behind the one before")
            network.run(network.now + US)
        meter.begin()
        payload = (f"{i:06}".encode() + bytes(size))[:size]
        station.send(frame(to, port, i, payload))
        network.run(network.now + PERIOD)
        step()
    meter.end()
    return meter.packets


# ---------------------------------------------------------------- figures

def distribution(values: Sequence[float]) -> dict[str, float]:
    """Of cycles, or anything."""
    ordered = sorted(values)
    if not ordered:
        return {}
    return {"least": ordered[0], "median": statistics.median(ordered), "mean": statistics.fmean(ordered),
            "p99": ordered[min(len(ordered) - 1, round(0.99 * len(ordered)))], "most": ordered[-1]}


def of_parts(parts: Sequence[Snapshot]) -> dict[str, Any]:
    """Cycles, instructions, time and layers of the same part of many packets."""
    if not parts:
        return {}
    layers = {layer: statistics.fmean(p.layers[layer].cycles for p in parts) for layer in parts[0].layers}
    return {"cycles": distribution([p.total.cycles for p in parts]), "insns": distribution([p.total.insns for p in parts]),
            "us": distribution([p.time / US for p in parts]),
            "layers": {layer: mean for layer, mean in sorted(layers.items(), key=lambda item: -item[1]) if mean}}


def millijoule(packet: Packet, idle: float) -> float:
    """Of a packet's active time: the core while it runs, and what the radio takes more than while it listens."""
    radio = sum((CURRENT[s] - CURRENT[State.RX_AACK_ON]) * t for s, t in packet.radio.items()) / SECOND
    return ((CORE_RUNS - idle) * packet.whole.total.cycles / (MHZ * 1e6) + max(0.0, radio)) * VOLTS


def result(program: Program, received: Sequence[Packet], answered: Sequence[Packet]) -> dict[str, Any]:
    """For the page, and for scripts."""
    from .session import CORE_SLEEPS
    deliveries = [p.to_delivery for p in received if p.to_delivery]
    return {
        "elf": program.path.name, "sections": program.sections, "rom": program.sections["text"] + program.sections["data"],
        "ram": program.sections["data"] + program.sections["bss"],
        "packets": {"received": len(received), "delivered": len(deliveries), "answered": sum(p.to_answer is not None for p in answered)},
        "receive": of_parts([p.whole for p in received]), "to_delivery": of_parts(deliveries),
        "to_answer": of_parts([p.to_answer for p in answered if p.to_answer]), "receive_and_answer": of_parts([p.whole for p in answered]),
        "entered_us": {layer: distribution([p.entered[layer] / US for p in received if layer in p.entered])
                       for layer in sorted({layer for p in received for layer in p.entered})},
        "interrupt_us": distribution([p.interrupt / US for p in received if p.to_delivery]),
        "millijoule": distribution([millijoule(p, CORE_SLEEPS) for p in received]),
        "each": {"receive": [p.whole.total.cycles for p in received], "to_delivery": [d.total.cycles for d in deliveries],
                 "to_answer": [p.to_answer.total.cycles for p in answered if p.to_answer]},
    }


def tables(found: dict[str, dict[str, Any]]) -> str:
    """In Markdown."""
    out = ["| | " + " | ".join(found) + " |", "| --- |" + " ---: |" * len(found)]

    def row(name: str, value: Callable[[dict[str, Any]], str]) -> None:
        out.append(f"| {name} | " + " | ".join(value(f) for f in found.values()) + " |")
    row("ROM, bytes", lambda f: f"{f['rom']:,}")
    row("RAM, bytes", lambda f: f"{f['ram']:,}")
    for part, name in (("receive", "a packet received"), ("to_delivery", "interrupt to delivery"), ("to_answer", "interrupt to the answer's start"),
                       ("receive_and_answer", "a packet received and answered")):
        row(f"{name}: cycles, median (most)", lambda f, part=part: f"{f[part]['cycles']['median']:,.0f} ({f[part]['cycles']['most']:,.0f})" if f[part] else "")
        row(f"{name}: us", lambda f, part=part: f"{f[part]['cycles']['median'] / MHZ:,.0f}" if f[part] else "")
    row("of these above the MAC, cycles", lambda f: f"{above(f['to_delivery']):,.0f}")
    row("of these above the MAC, us", lambda f: f"{above(f['to_delivery']) / MHZ:.1f}")
    row("interrupt to the answer's start: above the MAC, us", lambda f: f"{above(f['to_answer']) / MHZ:.1f}")
    row("active energy of a packet received, mJ", lambda f: f"{f['millijoule']['median']:.3f}" if f["millijoule"] else "")
    for part, name in (("to_delivery", "from the interrupt to delivery"), ("to_answer", "from the interrupt to the start of the answer's transmission")):
        layers = list(dict.fromkeys(layer for f in found.values() for layer in f[part].get("layers", ())))
        out += ["", f"Mean cycles {name}:", "", "| layer | " + " | ".join(found) + " |", "| --- |" + " ---: |" * len(found)]
        for layer in layers:
            row(layer, lambda f, part=part, layer=layer: f"{f[part].get('layers', {}).get(layer, 0):,.0f}")
    out += ["", "Microseconds from the interrupt until a layer is entered first, median (most):", "",
            "| layer | " + " | ".join(found) + " |", "| --- |" + " ---: |" * len(found)]
    entered = {layer: f["entered_us"][layer]["median"] for f in found.values() for layer in f["entered_us"]}
    row("(from the frame's last octet to the interrupt)", lambda f: f"{f['interrupt_us']['median']:.1f} ({f['interrupt_us']['most']:.1f})")
    for layer in sorted(entered, key=lambda layer: entered[layer]):
        row(layer, lambda f, layer=layer: f"{f['entered_us'][layer]['median']:.1f} ({f['entered_us'][layer]['most']:.1f})" if layer in f["entered_us"] else "")
    return "\n".join(out) + "\n"


#: Layers that a container takes the place of, and the container; packets go from thread to thread in both.
ABOVE = ("6LoWPAN", "network", "transport", "packet buffer", "library", "containers", "code in RAM", "code in flash")


def above(part: dict[str, Any]) -> float:
    """Mean cycles above the MAC."""
    return sum(part.get("layers", {}).get(layer, 0) for layer in ABOVE)


def plot(found: dict[str, dict[str, Any]], drawing: Any, path: Path) -> None:
    """How many packets took how long, and layers as stacked bars."""
    figure, (times, parts) = drawing.subplots(1, 2, figsize=(13, 4.8), width_ratios=(2, 3))
    both = (("to_delivery", "delivery", "-"), ("to_answer", "answer", "--"))
    for i, (name, f) in enumerate(found.items()):
        for part, what, line in both:           # most packets of one firmware take the same time: a curve shows that, a histogram a needle
            each = sorted(c / MHZ for c in f["each"][part])
            if each:
                shares = [100 * n / len(each) for n in range(len(each) + 1)]
                times.step([each[0], *each], shares, line, where="post", color=f"C{i}", label=f"{name}, {what}")
    times.set_xlabel("us from the interrupt, at 72 MHz")
    times.set_ylabel("% of packets that took no longer")
    times.legend(fontsize=7, loc="center", bbox_to_anchor=(0.62, 0.5))
    layers = list(dict.fromkeys(layer for f in found.values() for part, _, _ in both for layer in f[part].get("layers", ())))
    bars = [(name, part, what) for part, what, _ in both for name in found]
    left = [0.0] * len(bars)
    for i, layer in enumerate(layers):
        width = [found[name][part].get("layers", {}).get(layer, 0) / MHZ for name, part, _ in bars]
        parts.barh(range(len(bars)), width, left=left, label=layer, color=drawing.get_cmap("tab20")(i % 20))
        left = [a + b for a, b in zip(left, width)]
    parts.set_yticks(range(len(bars)), [f"{name}, {what}" for name, _, what in bars])
    parts.invert_yaxis()
    parts.set_xlabel("us from the interrupt, mean, by layer")
    parts.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.tight_layout()
    figure.savefig(path, dpi=110, metadata={"Software": None})


@click.command()
@click.argument("firmware", nargs=-1, required=True, metavar="NAME=ELF...")
@click.option("--packets", type=click.IntRange(min=1), default=1000, show_default=True)
@click.option("--payload", type=click.IntRange(6, 64), default=12, show_default=True, help="Octets of each packet.")
@click.option("--shell", multiple=True, metavar="NAME:COMMAND", help="Typed into this firmware's console before the packets come.")
@click.option("-o", "out", type=click.Path(dir_okay=False, path_type=Path), help="Write everything as JSON.")
@click.option("--plot", "picture", type=click.Path(dir_okay=False, path_type=Path), help="Draw distributions and layers (needs matplotlib).")
def main(firmware: tuple[str, ...], packets: int, payload: int, shell: tuple[str, ...], out: Path | None, picture: Path | None) -> None:
    """Cycles of UDP packets received and answered by firmware on an emulated IoT-LAB M3."""
    found: dict[str, dict[str, Any]] = {}
    drawing = pyplot() if picture else None
    try:
        for each in firmware:
            name, _, path = each.rpartition("=")
            program = read(path)
            name = name or program.path.stem
            commands = [c.partition(":")[2] for c in shell if c.partition(":")[0] == name]
            done = [0]

            def step() -> None:
                done[0] += 1
                if sys.stderr.isatty() and done[0] % 20 == 0:
                    print(f"\r{name}: {done[0]} of {2 * packets} packets", end="", file=sys.stderr, flush=True)
            found[name] = result(program, measure(program, packets, RECEIVE_PORT, payload, shell=commands, step=step),
                                 measure(program, packets, ANSWER_PORT, payload, shell=commands, step=step))
    except (ProgramError, OSError) as e:
        raise click.UsageError(str(e)) from None
    except CpuFault as e:
        raise click.ClickException(str(e)) from None
    if sys.stderr.isatty():
        print(file=sys.stderr)
    print(tables(found), end="")
    if out:
        from lpn.compiler.output import write_files
        write_files({out: json.dumps(found, indent=1).encode()})
    if picture:
        plot(found, drawing, picture)


if __name__ == "__main__":
    main()
