"""Where a program drops packets."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lpn.lang import ast
from lpn.lang.reference.modules import ACCEPT, DROP, run_module

from .followed import FollowedRun

SHOWN = 3                                       # places
WIDE = 100                                      # columns of a place's text


@dataclass(frozen=True)
class Refusal:
    """The reason, and what the program did when it dropped a packet: a `verify`, an `extract`, the case of a `select`, what it assigned to `m.reason`."""

    reason: str
    place: ast.Node | None

    def __str__(self) -> str:
        if self.place is None:
            return self.reason
        span = self.place.span
        said = span.text if isinstance(self.place, (ast.Call, ast.Assign)) else span.source.lines[span.line - 1]        # a case's key alone says little
        text = " ".join(said.split())
        return f"{span}: {self.reason}: {text if len(text) <= WIDE else text[:WIDE - 3] + '...'}"


def refusal(run: FollowedRun, modules: Sequence[ast.Module]) -> Refusal | None:
    """Where one of these modules drops the run's packet; None where it goes on behind them."""
    for module in modules:
        run.place = None
        outcome = run_module(run, module)
        if outcome.verdict != ACCEPT:
            return Refusal(outcome.reason or "", run.place) if outcome.verdict == DROP else None
    return None


def most_of(places: Iterable[Refusal]) -> list[str]:
    """Where most were dropped, a line each."""
    return [f"{number:,} at {place}" for place, number in Counter(places).most_common(SHOWN)]
