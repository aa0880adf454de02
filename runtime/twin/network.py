"""Several boards on one air, in one virtual time.

No transmission begins earlier than `LEAD` after the instruction that asks for it, so a board may run that far ahead of the
others; one that sleeps does nothing before its next event. The order is a matter of time and number alone: a run is
repeatable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .air import LEAD, Air, Transmission
from .board import Board
from .clock import NEVER, US
from .program import Program
from .station import Station

SLICE = 10_000 * US             #: ticks a lone board runs at once
PROMPT = b"> "


class Network:
    """`programs`: one a board. `said`: told (board, byte) of each console. `stations`: more radios, to be added before it runs."""

    def __init__(self, programs: Sequence[Program], seed: int = 0, loss: float = 0.0,
                 said: Callable[[Board, int], None] = lambda board, byte: None) -> None:
        self.air = Air(seed, loss)
        self.boards: list[Board] = []
        for number, program in enumerate(programs):
            board = Board(program, self.air, number, seed)
            board.heard = lambda byte, board=board: said(board, byte)
            self.boards.append(board)
        self.stations: list[Station] = []
        self._running: Board | Station | None = None
        self.air.told.append(self._sent)

    @property
    def now(self) -> int:
        return min(board.now for board in self.boards)

    def run(self, until: int) -> None:
        """All boards until then, in ticks. Raises CpuFault."""
        boards: list[Board | Station] = [*self.boards, *self.stations]
        while True:
            board = min(boards, key=lambda b: b.now)
            if board.now >= until:
                return
            others = min((b.wakes for b in boards if b is not board), default=NEVER)
            self._running = board
            board.run(max(board.now + 1, min(others + LEAD, board.now + SLICE, until)))

    def _sent(self, transmission: Transmission) -> None:
        """Whoever hears it may answer from then on."""
        if self._running is not None:
            self._running.shorten(transmission.start + LEAD)


class Shell:
    """Types commands into a board's console, each when the prompt of the one before is there."""

    def __init__(self, board: Board, commands: Sequence[str], wait: int = 0) -> None:
        self.board = board
        self.commands = list(commands)
        self.wait = wait                        # ticks between prompt and command
        self._seen = 0
        before = board.heard

        def heard(byte: int) -> None:
            before(byte)
            self._look()
        board.heard = heard

    def _look(self) -> None:
        console = self.board.console
        if self.commands and console.endswith(PROMPT) and (len(console) == len(PROMPT) or console[-3:-2] == b"\n"):
            command = self.commands.pop(0)
            self.board.at(self.board.now + self.wait, lambda: self.board.type(command + "\n"))
