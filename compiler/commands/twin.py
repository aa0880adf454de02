"""`lpnc twin`: firmware of real nodes on emulated boards that share one air."""
from __future__ import annotations

import re
import sys
from contextlib import nullcontext
from typing import Any

import click

from ..output import STDOUT, Failure, Table, check_target, count, put_json, say, waiting
from .inputs import Real, json_option, shown

SELECTED = re.compile(r"(\d+):(.*)", re.DOTALL)


@click.command()
@click.argument("elfs", metavar="ELF...", nargs=-1, required=True)
@click.option("--boards", type=click.IntRange(1, 64), metavar="N", help="So many boards; the last ELF is used again.")
@click.option("--seconds", type=Real(min=0, min_open=True), default=3.0, show_default=True, help="Virtual time to run for.")
@click.option("--shell", "shell", multiple=True, metavar="[N:]COMMAND",
              help="Type this into board N's console (1, unless said) at its next prompt; may be given again.")
@click.option("--frames", "capture", metavar="X.pcap", help="Put a capture's frames on the air, as far apart as recorded (`-`: standard input); "
              "records that are no whole frame, or have a wrong FCS, are left out, and told.")
@click.option("--frames-at", type=Real(min=0), default=1.0, show_default=True, metavar="S", help="The first of them, in seconds.")
@click.option("--out", metavar="Y.pcap", help="Write what was on the air, with FCS (`-`: standard output).")
@click.option("--loss", type=Real(0, 1), default=0.0, show_default=True, help="Of frames on every link, 0 to 1.")
@click.option("--seed", type=int, default=0, show_default=True, help="For losses and for the radios' random numbers.")
@click.option("--profile", is_flag=True, help="Instructions and cycles by layer and by function.")
@click.option("--top", type=click.IntRange(min=0), default=20, show_default=True, metavar="N", help="So many functions, the costliest first.")
@click.option("--quiet", is_flag=True, help="Do not show what the boards print.")
@json_option
def command(elfs: tuple[str, ...], boards: int | None, seconds: float, shell: tuple[str, ...], capture: str | None, frames_at: float,
            out: str | None, loss: float, seed: int, profile: bool, top: int, quiet: bool, as_json: bool) -> int:
    """Run firmware built for RIOT's iotlab-m3 on emulated IoT-LAB M3 boards, one ELF a board,
    all in one virtual time and on one air.

    \b
      lpnc twin node.elf --shell help
      lpnc twin node.elf --boards 2 --shell 'ping ff02::1' --out air.pcap
      lpnc twin a.elf b.elf --loss 0.1 --seed 7 --seconds 10 --profile

    Modelled: the STM32F103's core, clocks, timers, serial port, SPI and interrupts; the
    AT86RF231 with CSMA-CA, acknowledgements, retries and address filter, in the times of its
    data sheet. docs/twin.md says what is not. The same call gives the same run.
    """
    if out == STDOUT and as_json:
        raise click.UsageError("--json and --out - both want standard output")
    check_target(out, ("capture", capture), *(("firmware", elf) for elf in elfs))
    show = not (quiet or as_json or out == STDOUT)
    with waiting("loading"):
        session = prepared(elfs, boards, seed, loss, shell, capture, frames_at, profile, show)
    from lpn.runtime.twin.cpu import CpuFault
    fault = ""
    try:
        with nullcontext() if show else waiting("running"):
            session.run(seconds)
    except CpuFault as e:
        fault = str(e)
    finally:
        sys.stdout.flush()
    frames = session.capture(out) if out else len(session.sent)
    found = [session.summary(board) for board in session.network.boards]
    if as_json:
        put_json({"seconds": seconds, "frames": [{"time_us": s.time, "sender": s.sender, "psdu": s.psdu.hex()} for s in session.sent],
                  "boards": found, **({"fault": fault} if fault else {}),
                  **({"left_out": session.unsent, "to_come": session.to_come()} if capture else {}),
                  **({"profile": [profile_of(p) for p in session.profiles]} if profile else {})})
    elif out != STDOUT:
        report(found, frames)
        for board, text in session.untyped():
            say(f"note: {board} has shown no prompt for {text!r}", err=True)
        if session.unsent:
            say(f"note: {count(session.unsent, 'record')} of {shown(str(capture))} not put on the air, no whole frame or a wrong FCS", err=True)
        if not fault and session.to_come():
            say(f"note: {count(session.to_come(), 'frame')} of {shown(str(capture))} would come later than --seconds {seconds:g}", err=True)
        for each in session.profiles:
            show_profile(each, top)
    if fault:
        raise Failure(fault, 1)
    return 0


def prepared(elfs: tuple[str, ...], boards: int | None, seed: int, loss: float, shell: tuple[str, ...], capture: str | None,
             frames_at: float, profile: bool, show: bool) -> Any:
    """A session that is ready to run."""
    try:
        from lpn.runtime.engine.build import BuildError
        from lpn.runtime.twin.network import Network
        from lpn.runtime.twin.program import ProgramError, read
        from lpn.runtime.twin.session import Session
    except ImportError as e:
        raise Failure(f"emulated boards need the package unicorn: pip install 'lpn[m3]' ({e})") from None
    from lpn.runtime.capture import read as read_capture
    names = list(elfs) + [elfs[-1]] * ((boards or len(elfs)) - len(elfs))
    if boards is not None and boards < len(elfs):
        raise click.UsageError(f"{len(elfs)} ELF files for {boards} boards")
    commands: dict[int, list[str]] = {}
    for each in shell:
        match = SELECTED.fullmatch(each)
        number, text = (int(match[1]), match[2]) if match else (1, each)
        if not 1 <= number <= len(names):
            raise click.UsageError(f"--shell {each!r}: there is no board {number}")
        commands.setdefault(number - 1, []).append(text.strip())
    try:
        programs = {name: read(name) for name in dict.fromkeys(names)}
        network = Network([programs[name] for name in names], seed, loss)
    except (ProgramError, BuildError) as e:
        raise Failure(str(e)) from None
    if show:
        Consoles(network.boards)
    return Session(network, commands, list(read_capture(capture)) if capture else (), frames_at, profile)


class Consoles:
    """What the boards print, as it comes; with several boards a line at a time, with the board's name."""

    def __init__(self, boards: list[Any]) -> None:
        self.lines: dict[str, bytearray] = {}
        for board in boards:
            board.heard = self._byte if len(boards) == 1 else lambda byte, name=board.name: self._of(name, byte)

    def _byte(self, byte: int) -> None:
        sys.stdout.write(_printable(bytes((byte,))))
        if byte == 10:
            sys.stdout.flush()

    def _of(self, name: str, byte: int) -> None:
        line = self.lines.setdefault(name, bytearray())
        if byte == 10:
            sys.stdout.write(f"{name}| {_printable(bytes(line))}\n")
            sys.stdout.flush()
            line.clear()
        else:
            line.append(byte)


def _printable(content: bytes) -> str:
    return "".join(c if c.isprintable() or c in "\n\t" else "" for c in content.decode("latin-1"))


def report(found: list[dict[str, Any]], frames: int) -> None:
    say(f"\n{found[0]['seconds']:.3f} s of virtual time, {count(frames, 'frame')} on the air\n")
    table = Table(["board", "EUI-64", ">instructions", ">cycles", ">asleep %", ">sent", ">received", ">no ACK", ">core mJ", ">radio mJ"])
    for board in found:
        of, spent = board["frames"], board["millijoule"]
        table.add(board["name"], board["eui64"], board["insns"], board["cycles"], f"{100 * board['asleep']:.2f}", of.get("sent", 0),
                  of.get("received", 0), of.get("no acknowledgement", 0), f"{spent['core awake'] + spent['core asleep']:.2f}",
                  f"{spent['radio']:.2f}")
    table.show()
    for board in found:
        if board["unmodelled"]:
            say(f"note: {board['name']} uses peripherals that are not modelled: {', '.join(board['unmodelled'])}", err=True)


def profile_of(profile: Any) -> dict[str, Any]:
    """For scripts."""
    layers = {layer: spent for layer, spent in profile.snapshot().layers.items() if spent.cycles}
    functions = profile.functions()
    return {"board": profile.board.name,
            "layers": [{"layer": layer, "insns": s.insns, "cycles": s.cycles} for layer, s in _ranked(layers)],
            "functions": [{"function": name, "entered": entered, "insns": s.insns, "cycles": s.cycles}
                          for name, (entered, s) in sorted(functions.items(), key=lambda f: -f[1][1].cycles)]}


def _ranked(layers: dict[str, Any]) -> list[tuple[str, Any]]:
    return sorted(layers.items(), key=lambda item: -item[1].cycles)


def show_profile(profile: Any, top: int) -> None:
    found = profile_of(profile)
    everything = sum(layer["cycles"] for layer in found["layers"]) or 1
    say(f"\n{found['board']}")
    for what, rows in (("layer", found["layers"]), ("function", found["functions"][:top])):
        table = Table([what, *([">entered"] if what == "function" else []), ">instructions", ">cycles", ">%"])
        for row in rows:
            table.add(row[what], *([row["entered"]] if what == "function" else []), row["insns"], row["cycles"],
                      f"{100 * row['cycles'] / everything:.1f}")
        table.show()
        say()
