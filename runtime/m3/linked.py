"""Cycles of code whose functions may be linked at any even address: how long each waits for its flash depends on that.

Runs are compared place by place, and only what is left is taken at its worst: a difference of two maxima would say less than what one
turn more costs, where the one run is slowest in one place and the other in another.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from .flash import LINE

PLACES = range(0, LINE, 2)                      #: bytes a function may lie on from where it is

Waits = tuple[float, ...]                       #: cycles at each of PLACES


@dataclass(frozen=True)
class Linked:
    """`fixed`: cycles anywhere; `functions`: by address those that depend on the function's place."""

    fixed: float = 0
    functions: dict[int, Waits] = field(default_factory=dict)

    def _with(self, other: Linked, of: Callable[[float, float], float]) -> Linked:
        none = (0.0,) * len(PLACES)
        return Linked(of(self.fixed, other.fixed), {f: tuple(map(of, self.functions.get(f, none), other.functions.get(f, none)))
                                                    for f in self.functions.keys() | other.functions.keys()})

    def __add__(self, other: Linked) -> Linked:
        return self._with(other, lambda a, b: a + b)

    def __sub__(self, other: Linked) -> Linked:
        return self._with(other, lambda a, b: a - b)

    def __truediv__(self, n: float) -> Linked:
        return Linked(self.fixed / n, {f: tuple(each / n for each in waits) for f, waits in self.functions.items()})

    @property
    def most(self) -> float:
        """With each function where it waits most."""
        return self.fixed + sum(max(waits) for waits in self.functions.values())
