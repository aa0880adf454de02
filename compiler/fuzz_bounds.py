"""What runs of random programs take on the emulated Cortex-M3, beside the times that are proved for their hooks."""
from __future__ import annotations

from collections import Counter
from dataclasses import replace

from lpn.runtime.engines import Result

from .build import Compiled
from .deadlines import HookTime, times
from .judge import PROVED, analysed, of_compiled, seal


class Bounds:
    """The times of a program's hooks. `way`: how its containers are executed; `certified`: they bring certificates, which are written into their
    images; `tight`: chains are followed as a whole."""

    def __init__(self, compiled: Compiled, way: str, certified: bool, tight: bool) -> None:
        if certified:
            units, found = seal(compiled)
        else:
            units = of_compiled(compiled)
            units.items = [replace(unit, fresh=False) for unit in units.items]
            found = analysed(units)
        timed = times(units, found, way, tight)
        self.bundle, self.unknown, self.hooks = compiled.bundle, timed.unknown, timed.hooks

    def of(self, number: int | None) -> HookTime | None:
        """Of a hook by its number; None: of the chain for received frames."""
        if number is not None:
            return self.hooks[number]
        return next((each for each in self.hooks if each.hook.event == "radio.rx_done"), None)

    def broken(self, number: int | None, frame: bytes, got: Result, tally: Counter) -> str | None:
        """What is wrong, if this run was too long or too short. Packets that the hook never gets are nobody's promise."""
        time = self.of(number)
        if self.unknown:
            return f"of {', '.join(f'{name} no time is known: {why}' for name, why in self.unknown.items())}"
        if time is None or time.cost is None or got.cycles is None or got.flash_cycles is None or len(frame) > self.bundle.longest(time.hook):
            return None
        tally["bounded"] += 1
        if got.flash_cycles > time.cost.most:
            return f"{time.name} takes {got.flash_cycles:,} cycles, and at most {time.cost.most:,} are proved"
        if got.cycles < time.cost.fewest:
            return f"{time.name} takes {got.cycles:,} cycles, and at least {time.cost.fewest:,} are proved"
        return None


def bounds_of(compiled: Compiled, engine: str, number: int) -> Bounds | None:
    """None for engines whose time nobody proves. `number`: decides what is tried of certificates and of whole chains."""
    return Bounds(compiled, engine, number % 2 == 0, number % 5 == 0) if engine in PROVED else None
