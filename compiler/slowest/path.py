"""The longest path of a bound beside a run, source line by source line: where the bound has more than the run takes, and where the search may look."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from lpn.runtime.engines import DEFAULT_FUEL
from lpn.runtime.m3.profile import NOWHERE, Profiled, ProfiledCode
from lpn.verifier.verify import lines_of
from lpn.verifier.wcet import Step

from .buffers import Buffers
from .search import Slowest
from .subject import Subject


@dataclass
class Row:
    """One line of a module, or what is outside of all ("", None). In the bound: at most `bound` cycles, `insns` instructions executed; in the run:
    `cycles`, without wait states of the flash, `executed` instructions."""

    module: str
    line: object                                    # as `lines_of` gives it
    bound: int = 0
    insns: int = 0
    cycles: int = 0
    executed: int = 0

    @property
    def more(self) -> int:
        """What the bound has more than the run."""
        return self.bound - self.cycles

    def as_json(self) -> dict:
        file, line = self.line if isinstance(self.line, tuple) else (None, self.line)
        return {"module": self.module, "file": file, "line": line, "bound": self.bound, "bound_executed": self.insns, "cycles": self.cycles,
                "executed": self.executed}


def beside(path: Sequence[tuple[str, Step]], slots: Mapping[tuple[str, int], tuple[int, int]], line_of: Mapping[str, Callable],
           bound: int, took: int) -> list[Row]:
    """Rows, those where the bound has most more first; they add up to `bound`, and to `took`. `slots`: of each module's instruction (cycles,
    executed) in the run."""
    rows: dict[tuple[str, object], Row] = {}

    def row(module: str, line: object) -> Row:
        return rows.setdefault((module, line), Row(module, line))
    for module, step in path:
        one = row(module, step.line)
        one.bound, one.insns = one.bound + step.cycles, one.insns + step.insns
    for (module, slot), (cycles, executed) in slots.items():
        if (module, slot) != NOWHERE:
            one = row(module, line_of[module](slot))
            one.cycles, one.executed = one.cycles + cycles, one.executed + executed
    rest = Row("", None, bound - sum(each.bound for each in rows.values()), 0, took - sum(each.cycles for each in rows.values()))
    return sorted([*rows.values(), rest], key=lambda each: (-each.more, each.module, str(each.line)))


def compare(subject: Subject, found: Slowest, lines: Mapping[str, list]) -> list[Row]:
    """The bound of a subject beside the slowest run found. `lines`: each module's line map."""
    program = (Profiled if subject.way == "m3" else ProfiledCode)(subject.compiled.bundle, DEFAULT_FUEL, hook=subject.hook)
    program.leave_completed()                       # of what is put together and then runs the bound has nothing
    buffers = Buffers(program.recorder, subject.compiled.bundle.buffers) if subject.buffers is not None else None
    for table, content in found.entries.items():
        program.set_entries(table, content)
    worst: tuple[int, dict[tuple[str, int], tuple[int, int]]] = -1, {}

    def once() -> int:
        nonlocal worst
        program.profile.slots.clear()
        subject.play(program, found.input)
        slots = {place: (cost.cycles, cost.times) for place, cost in program.profile.slots.items()}
        worst = max(worst, (sum(cycles for cycles, _ in slots.values()), slots), key=lambda each: each[0])
        return worst[0]
    for _ in buffers.fillings(once) if buffers is not None else [once()]:
        pass
    return beside(subject.steps, worst[1], {module: lines_of(each) for module, each in lines.items()}, found.bound, found.cycles)
