"""`--state`: what a program's registers, counters and meters hold in the end, in one engine or in several."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lpn.lang import ast

from ..contents import as_json, as_rows, differing
from ..output import Table, say
from ..runner import Cells


@dataclass(frozen=True)
class Ending:
    """`cells`: by engine; the first one's are shown."""

    program: ast.Program
    cells: Mapping[str, Cells]

    @property
    def first(self) -> str:
        return next(iter(self.cells))

    def others(self) -> dict[str, list[tuple[str, int, int]]]:
        """What the other engines have instead: (name, the first one's number, theirs)."""
        return {engine: list(differing(self.program, self.cells[self.first], cells))
                for engine, cells in self.cells.items() if engine != self.first}

    @property
    def agreed(self) -> bool:
        return not any(self.others().values())

    def json(self) -> dict:
        alone = {"state": as_json(self.program, self.cells[self.first])}
        return alone if len(self.cells) == 1 else alone | {
            "agree": self.agreed, "engines": {engine: as_json(self.program, cells) for engine, cells in self.cells.items()}}

    def show(self) -> None:
        table = Table(["state", "of a", ">value"])
        for kind, name, value in as_rows(self.program, self.cells[self.first]):
            table.add(name, kind, value)
        if table.rows:
            table.show()
        else:
            say("the program keeps no state")
        for engine, found in self.others().items():
            for name, mine, theirs in found:
                say(f"{name}: {mine:,} in {self.first}, {theirs:,} in {engine}", style="yellow")
            say(f"{self.first} and {engine} {'differ' if found else 'agree'} in the state", style="bold red" if found else "green")
