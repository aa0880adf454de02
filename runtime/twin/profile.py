"""Where a board's time goes: instructions and cycles by function and by layer, and of each packet apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import unicorn

from .board import Board
from .layers import LAYERS, OUTSIDE, TRANSLATED, layer_of
from .memory import FLASH, FLASH_SIZE, RAM, RAM_SIZE

UNNAMED = "code without a symbol"          #: in flash
_NUMBER = {layer: i for i, layer in enumerate(LAYERS)}


@dataclass(frozen=True)
class Spent:
    insns: int = 0
    cycles: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.insns + other.insns, self.cycles + other.cycles)

    def __sub__(self, other: Spent) -> Spent:
        return Spent(self.insns - other.insns, self.cycles - other.cycles)


@dataclass(frozen=True)
class Snapshot:
    """Counters of a board at a time (ticks)."""

    time: int
    total: Spent
    layers: dict[str, Spent] = field(default_factory=dict)

    def since(self, before: Snapshot) -> Snapshot:
        return Snapshot(self.time - before.time, self.total - before.total,
                        {layer: spent - before.layers[layer] for layer, spent in self.layers.items()})


class Profile:
    """Counts by layer from here on. Before the board has run."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self._layers: dict[str, int] = {}
        board.cpu.layer_of = self._layer

    def _layer(self, address: int) -> int:
        if address >= RAM:
            return _NUMBER[TRANSLATED]
        function = self.board.program.function_at(address)
        source = function.source if function else ""
        if source not in self._layers:
            self._layers[source] = _NUMBER.get(layer_of(source), _NUMBER[OUTSIDE])
        return self._layers[source]

    def snapshot(self) -> Snapshot:
        clock = self.board.cpu.clock
        layers = {layer: Spent(clock.layers[i].insns, clock.layers[i].cycles) for i, layer in enumerate(LAYERS)}
        return Snapshot(clock.now, Spent(clock.insns, clock.cycles), layers)

    def forget_firsts(self) -> None:
        """From here on `firsts` are counted anew."""
        for i in range(len(LAYERS)):
            self.board.cpu.clock.first[i] = 0

    def firsts(self) -> dict[str, int]:
        """Layer -> when it was entered first since then (ticks)."""
        first = self.board.cpu.clock.first
        return {layer: first[i] for i, layer in enumerate(LAYERS) if first[i]}

    def functions(self) -> dict[str, tuple[int, Spent]]:
        """Name -> (times that it was entered, what it spent itself)."""
        clock, program = self.board.cpu.clock, self.board.program
        out: dict[str, tuple[int, Spent]] = {}
        for base, size, counts in ((FLASH, FLASH_SIZE, clock.in_flash), (RAM, RAM_SIZE, clock.in_ram)):
            for i in range(size // 2):
                if not counts[i].runs:
                    continue
                function = program.function_at(base + 2 * i) if base == FLASH else None
                name = function.name if function else UNNAMED if base == FLASH else TRANSLATED
                entered, spent = out.get(name, (0, Spent()))
                entered += counts[i].runs if function and function.start == base + 2 * i else 0
                out[name] = entered, spent + Spent(counts[i].insns, counts[i].cycles)
        return out


def watch(board: Board, function: str, entered: Callable[[], None]) -> None:
    """Call `entered` whenever this function is. KeyError when the firmware has none of that name."""
    at = board.program.symbols[function]
    board.cpu.uc.hook_add(unicorn.UC_HOOK_CODE, lambda uc, address, size, data: entered(), None, at, at)
