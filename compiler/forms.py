"""The forms in which chains and modules can be compiled, and which of them is taken: the one asked for, unless it needs more stack
than there is, is too long, the verifier refuses it, or another one has a certificate that it has not.

All forms mean the same. A chain that does not fit as one container may fit as its modules, and what LLVM keeps at hand to save
instructions may be more than the stack holds.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NoReturn, TypeVar

from lpn.lang.diagnostics import DiagnosticError

from .image import STACK_SIZE

if TYPE_CHECKING:
    from lpn.verifier.verify import Report

MOST = 2                                        # LLVM's levels begin at 0
SMALL: Literal["s"] = "s"                       # the level of code that is to be short: MOST, and little is lowered twice
Level = int | Literal["s"]
LEVELS: dict[str, Level] = {str(level): level for level in (*range(MOST + 1), SMALL)}             # by what users call them
FAR_TOO_LONG = 1.25                             # times: a container's length, beyond which optimising it less is not tried
MOST_NAMED = 5                                  # lines that a container too long is made of
TOO_LONG = 34                                   # the rule that counts the turns of loops
TOO_MANY_JUMPS = 35                             # the same of target femto, whose engine counts jumps: some forms take fewer
Made = TypeVar("Made")


class BuildError(Exception):
    """The program is right, yet no container can be made from it for this target; one line."""


class Unfit(BuildError):
    """A container cannot be made in this form; in another it may be. `what` is wrong with it."""

    def __init__(self, name: str, what: str):
        super().__init__(f"{name} {what}")
        self.name, self.what = name, what


class StackError(Unfit):
    """It needs more stack than there is."""

    def __init__(self, name: str, used: int):
        super().__init__(name, f"needs {used} bytes of stack, and there are {STACK_SIZE}")
        self.used = used


class SizeError(Unfit):
    """It is longer than a jump reaches, or than an image may be. `made_of`: its instructions by source line, (file, line); `times`: as long as it may be."""

    def __init__(self, name: str, what: str, made_of: Mapping[tuple[str, int], int] | None = None, times: float = 1.0):
        super().__init__(name, what)
        self.times = times
        largest = sorted(((n, file, line) for (file, line), n in (made_of or {}).items() if line), reverse=True)[:MOST_NAMED]
        if largest:
            self.args = (f"{self}; most are made of {', '.join(f'{file}:{line} ({n})' for n, file, line in largest)}",)


class UncertifiedError(Unfit):
    """It has no certificate. `line`: (file, line) of the instruction that this is about, where it is known."""

    def __init__(self, name: str, why: str, line: object = None):
        super().__init__(name, f"has no certificate: {why}" + (f" ({line[0]}:{line[1]})" if isinstance(line, tuple) else ""))


class RefusedError(Unfit):
    """The verifier does not take it; `rule` is violated, or not shown to be kept."""

    def __init__(self, name: str, report: Report):
        super().__init__(name, f"is refused by {report.message.removesuffix(f'; {report.help}')}")
        self.rule = report.rule


@dataclass(frozen=True)
class Form:
    """Of one container: `fused`: it is a whole chain, `in_memory` with its headers' values on the stack; `near`: of a parser that
    reads less far ahead of what it has compared with the packet's end than it could, for a verifier that knows less of how far that is;
    `counts_turns`: its parser counts the turns of all circles, for a checker that follows no cursor."""

    level: Level
    fused: bool = False
    in_memory: bool = False
    near: bool = False
    counts_turns: bool = False

    @property
    def optimised(self) -> int:
        """LLVM's level."""
        return MOST if self.level == SMALL else self.level

    @property
    def small(self) -> bool:
        return self.level == SMALL


def forms_of(level: Level, fused: bool = False, parses: bool = False) -> list[Form]:
    """Of a module, or of a chain as one container: the one asked for first; more is optimised before less is. What is short needs less of everything than
    what is optimised most. `parses`: the module is a parser."""
    levels = list(LEVELS.values())
    at = levels.index(level)
    return [Form(each, fused, in_memory, near) for each in (*levels[at:], *reversed(levels[:at])) for in_memory in (False, True)[:1 + fused]
            for near in (False, True)[:1 + parses]]


def alike(form: Form, rule: int | None) -> list[Form]:
    """What the verifier would not take either: of a chain that was optimised, any form as one container."""
    if form.fused:
        return [replace(each, counts_turns=form.counts_turns) for each in forms_of(form.level, True)] if form.optimised else [form]
    return of_level(form) if rule == TOO_LONG else [form]


def of_level(form: Form) -> list[Form]:
    """What has the same loops: LLVM makes others of them where it optimises more or less."""
    return [replace(form, in_memory=in_memory, near=near) for in_memory in (False, True) for near in (False, True)]


@dataclass
class Forms:
    """By the names of containers: the forms that were refused and why, the one that was asked for, the one that was taken."""

    refused: dict[tuple[str, Form], Unfit] = field(default_factory=dict)
    asked: dict[str, Form] = field(default_factory=dict)
    taken: dict[str, Form] = field(default_factory=dict)
    counting: frozenset[str] = frozenset()      # the names of those that count the turns of their parser's circles

    def first(self, name: str, forms: Sequence[Form], make: Callable[[Form], Made]) -> Made | None:
        """Made in the first of these forms in which it can be; None: in none of them."""
        if name in self.counting:
            forms = [replace(form, counts_turns=True) for form in forms]
        self.asked[name] = forms[0]
        self.taken.pop(name, None)
        least = 0                               # level that is tried: LLVM takes long for what is long, above all where it does not optimise
        for form in forms:
            if (name, form) not in self.refused and form.optimised >= least:
                try:
                    made = make(form)
                except Unfit as why:
                    self.refused[name, form] = why
                    if isinstance(why, SizeError) and why.times > FAR_TOO_LONG:
                        least = max(least, form.optimised)
                else:
                    self.taken[name] = form
                    return made
        return None

    def without(self, wrong: Mapping[Unfit, Iterable[Form]]) -> Forms:
        """Those that are left, without what was asked of these."""
        return Forms(self.refused | {(why.name, form): why for why, forms in wrong.items() for form in forms}, counting=self.counting)

    def where_it_counts(self, name: str) -> Forms:
        """The same, where this container counts turns."""
        return Forms(self.refused, counting=self.counting | {name})

    def whys(self, name: str) -> list[Unfit]:
        """What is wrong with its forms, first with the one that was asked for."""
        return [self.refused[name, self.asked[name]], *(why for (other, form), why in self.refused.items() if other == name and form != self.asked[name])]

    def fail(self, name: str) -> NoReturn:
        raise self.whys(name)[0]

    def notes(self) -> Iterator[tuple[str, str]]:
        """What is not as it was asked for: a name, and a sentence."""
        for name, asked in self.asked.items():
            form = self.taken.get(name)
            if form is None:
                yield name, f"{name} is not fused: as one container it {self.whys(name)[0].what}"
            elif form.level != asked.level:
                yield name, f"{name} is compiled with -O{form.level}: with -O{asked.level} it {self.whys(name)[0].what}"
            elif form.counts_turns:
                yield name, f"{name} counts how often its states are entered again, as a `max` does: it would have no certificate else"


def accepted(make: Callable[[Forms], Made], refused: Callable[[Made], list[RefusedError]]) -> Made:
    """What `make` makes of the first forms of which none is refused; if there are no such, what was made first."""
    forms, first = Forms(), None
    while True:
        try:
            made = make(forms)
        except (Unfit, DiagnosticError):
            if first is None:
                raise
            return first
        wrong = refused(made)
        if not wrong:
            return made
        first = first or made
        forms = forms.without({why: alike(forms.taken[why.name], why.rule) for why in wrong})
