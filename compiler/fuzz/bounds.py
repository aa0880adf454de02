"""What runs of random programs take on the emulated Cortex-M3, beside the times that are proved for their hooks."""
from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, replace

from lpn.lang.hooks import BUFFER_COMPLETE
from lpn.runtime.engines import Result
from lpn.verifier.verify import Analysis, Report

from ..build import Compiled
from ..deadlines import HookTime, times
from ..generate.base import Choose
from ..judge import Unit, Units, analysed, of_compiled, seal
from .analysed import once


@dataclass(frozen=True)
class Way:
    """Which bounds a case's runs are compared with. `certified`: its containers bring certificates, which are written into their images; `whole`: chains are
    followed as a whole, else their modules' times are added up."""

    certified: bool = True
    whole: bool = True

    def as_json(self) -> dict[str, bool]:
        return asdict(self)


def drawn(choose: Choose) -> Way:
    return Way(choose.chance(1, 2), choose.chance(1, 5))


Proofs = tuple[Units, list[tuple[Unit, Report, Analysis | None]]]


def proofs_of(compiled: Compiled, way: Way) -> Proofs:
    """What the times rest on, in every engine; certificates are written into the images where they are asked for."""
    if way.certified:
        return seal(compiled, once)
    units = of_compiled(compiled)
    units.items = [replace(unit, fresh=False) for unit in units.items]
    return units, analysed(units, analyse=once)


class Bounds:
    """The times of a program's hooks in `engine`; `proofs` where they are known already."""

    def __init__(self, compiled: Compiled, engine: str, way: Way, proofs: Proofs | None = None) -> None:
        timed = times(*(proofs or proofs_of(compiled, way)), engine, way.whole)
        self.bundle, self.unknown, self.hooks = compiled.bundle, timed.unknown, timed.hooks

    def of(self, number: int | None) -> HookTime | None:
        """Of a hook by its number; None: of the chain for received frames."""
        if number is not None:
            return self.hooks[number]
        return next((each for each in self.hooks if each.hook.event == "radio.rx_done"), None)

    def of_buffer(self, number: int) -> HookTime:
        """Of the chain for what a buffer puts together."""
        return next(each for each in self.hooks if each.hook.event == BUFFER_COMPLETE and each.hook.selector == (number,))

    def broken(self, number: int | None, frame: bytes, got: Result, tally: Counter) -> str | None:
        """What is wrong, if this run was too long or too short, or one that a buffer started behind it. Packets that the hook never gets are nobody's
        promise."""
        if self.unknown:
            return f"of {', '.join(f'{name} no time is known: {why}' for name, why in self.unknown.items())}"
        time = self.of(number)
        runs = [(time, got)] if time is not None and len(frame) <= self.bundle.longest(time.hook) else []
        runs += [(self.of_buffer(one.buffer), one) for one in got.completed if one.buffer is not None]
        return next((said for time, one in runs if one.fault is None and (said := self.outside(time, one, tally)) is not None), None)

    @staticmethod
    def outside(time: HookTime, got: Result, tally: Counter) -> str | None:
        """What a run took that was too long or too short for its hook."""
        if time.cost is None or got.cycles is None or got.most_cycles is None:
            return None
        tally["bounded" if got.buffer is None else "bounded behind a buffer"] += 1
        if got.most_cycles > time.cost.most:
            return f"{time.name} takes {got.most_cycles:,} cycles, and at most {time.cost.most:,} are proved"
        if got.cycles < time.cost.fewest:
            return f"{time.name} takes {got.cycles:,} cycles, and at least {time.cost.fewest:,} are proved"
        return None
