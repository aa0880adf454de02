"""`--extern NAME=N`: what functions of the node's own answer where there is no node."""
from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import click

from lpn.runtime.engines import Externs

from ..bundle import Extern
from ..output import Failure


class Answers:
    """`given`: numbers by the names of functions. It remembers which functions the programs have that asked."""

    def __init__(self, given: Iterable[tuple[str, int]] = ()):
        self.given, self.declared = dict(given), set[str]()

    def of(self, declared: Iterable[Extern]) -> Externs:
        """A program's functions, each with its answer, a negative one as its two's complement. Raises Failure where one has none, or one that does not fit."""
        out = {}
        declared = list(declared)
        self.declared |= {extern.name for extern in declared}
        for extern in declared:
            number = self.given.get(extern.name, None if extern.result else 0)
            if number is None:
                others = [f"it declares no {name}()" for name in self.given if name not in self.declared]
                raise Failure("; ".join([f"{extern.name}() is a function of the node's own: say what it answers, as in --extern {extern.name}=1", *others]))
            if not -(1 << extern.result >> 1) <= number < 1 << extern.result:
                raise Failure(f"--extern {extern.name}={number}: the answer has {extern.result} bits")
            out[extern.name] = partial(constant, number & (1 << extern.result) - 1)
        return out

    def all_known(self) -> None:
        """Failure where an answer is for a function that none of the programs declares."""
        for name in self.given:
            if name not in self.declared:
                raise Failure(f"--extern: the program declares no function {name!r} of the node's own; there is {', '.join(sorted(self.declared)) or 'none'}")


def constant(number: int, *given: int) -> int:
    """What a function does that answers the same to everything."""
    return number


class Answer(click.ParamType):
    """A function's name and a number."""

    name = "NAME=N"

    def convert(self, value, param, ctx):
        function, _, number = str(value).partition("=")
        try:
            return function.strip(), int(number, 0)
        except ValueError:
            self.fail(f"{value!r} is no function and what it answers, as battery=2900", param, ctx)


extern_option = click.option("--extern", "answers", multiple=True, type=Answer(), callback=lambda ctx, param, given: Answers(given),
                             help="What a function of the node's own answers (repeatable). -5: as the answer's bits have it.")
