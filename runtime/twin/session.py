"""A run with everything that can be given to it: commands for the consoles, frames for the air, a capture of it, counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from lpn.runtime.capture import Frame, Writer
from lpn.runtime.linktype import IEEE802154_WITHFCS

from . import mac
from .air import LEAD, Transmission
from .board import Board
from .clock import SECOND, US
from .network import Network, Shell
from .profile import Profile
from .rf231_table import CURRENT

OUTSIDE = "outside"
#: Milliamperes of the controller at 72 MHz, its peripherals mostly off (DS5792, 5.3.5, typical): running, asleep.
CORE_RUNS, CORE_SLEEPS = 30.5, 6.4


@dataclass(frozen=True)
class Sent:
    """A frame that was on the air, with its FCS. `time`: microseconds since the start, of its first symbol."""

    time: float
    sender: str
    psdu: bytes


@dataclass
class Session:
    """`commands`: by board. `frames`: put on the air by nobody of the boards, from `frames_at` on, as far apart as recorded."""

    network: Network
    commands: dict[int, list[str]] = field(default_factory=dict)
    frames: Sequence[Frame] = ()
    frames_at: float = 1.0
    profiled: bool = False
    sent: list[Sent] = field(default_factory=list)
    unsent: int = 0                             #: of `frames`: no whole frame, a wrong FCS, or recorded before the first
    profiles: list[Profile] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.network.air.told.append(self._note)
        if self.profiled:
            self.profiles = [Profile(board) for board in self.network.boards]
        self._shells = [Shell(self.network.boards[number], commands, wait=SECOND // 100) for number, commands in self.commands.items()]
        self._put_on_air(self.frames)

    def untyped(self) -> list[tuple[str, str]]:
        """Commands that wait for a prompt still: (name of the board, command)."""
        return [(shell.board.name, command) for shell in self._shells for command in shell.commands]

    def to_come(self) -> int:
        """How many of `frames` have not been on the air yet."""
        return len(self.frames) - self.unsent - sum(sent.sender == OUTSIDE for sent in self.sent)

    def _note(self, t: Transmission) -> None:
        self.sent.append(Sent(t.start / US, t.name, t.psdu))

    def _put_on_air(self, frames: Iterable[Frame]) -> None:
        first = None
        for frame in frames:
            first = frame.time_us if first is None else first
            if not frame.whole or frame.time_us < first:
                self.unsent += 1
                continue
            time = round(self.frames_at * SECOND) + (frame.time_us - first) * US
            inject(self.network, frame.data, time)

    def run(self, seconds: float) -> None:
        """Raises CpuFault."""
        self.network.run(round(seconds * SECOND))

    def capture(self, path: str) -> int:
        """Write what was on the air, with FCS; returns how many frames."""
        with Writer(path, IEEE802154_WITHFCS) as writer:
            for sent in sorted(self.sent, key=lambda s: s.time):
                writer.add_verbatim(sent.psdu, round(sent.time))
        return len(self.sent)

    def summary(self, board: Board) -> dict[str, Any]:
        """What a board did."""
        cpu, radio = board.cpu, board.radio
        radio.settle()
        own = mac.Own.of(dict(enumerate(radio.registers)))
        states = {state.name: round(ticks / US) for state, ticks in sorted(radio.spent.items()) if ticks}
        return {
            "name": board.name, "elf": str(board.program.path), "eui64": f"{own.long:016x}", "short": f"{own.short:04x}",
            "pan": f"{own.pan:04x}", "seconds": board.now / SECOND, "insns": cpu.clock.insns, "cycles": cpu.clock.cycles,
            "asleep": cpu.slept / max(1, board.now), "frames": dict(sorted(radio.counts.items())), "radio_us": states,
            "millijoule": millijoule(board), "resets": board.resets,
            "unmodelled": [f"{base:#x}" for base in sorted(board.bus.unmodelled)], "console": board.console.decode(errors="replace"),
        }


def inject(network: Network, frame: bytes, time: int, name: str = OUTSIDE) -> None:
    """A frame (without FCS) of somebody who is no board, at `time` (ticks) on the first board's channel."""
    board = network.boards[0]

    def send() -> None:
        network.air.send(Transmission(None, name, board.radio.channel, mac.with_fcs(frame), board.now + LEAD))
    board.at(max(board.now, time - LEAD), send)


def millijoule(board: Board, volts: float = 3.3) -> dict[str, float]:
    """An estimate from the time in each state and the data sheets' typical currents."""
    board.radio.settle()
    radio = sum(CURRENT[state] * ticks for state, ticks in board.radio.spent.items()) / SECOND * volts
    awake = board.now - board.cpu.slept
    return {"core awake": CORE_RUNS * awake / SECOND * volts, "core asleep": CORE_SLEEPS * board.cpu.slept / SECOND * volts, "radio": radio}
