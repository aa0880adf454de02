"""Values of fields with which a run of a parser goes another way: all that it asked before comes out as it did, and one thing as it should.

Where a comparison turns is found by its slopes: numbers of a parser are sums of fields, mostly, or parts of one, and what is no sum is tried all the same.
One origin is changed if that suffices; else one, and others for what that breaks. The last condition is looked at together with all before it.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

from lpn.lang import ast
from lpn.lang.reference.headers import ChoiceValue, Instance
from lpn.lang.types import EnumType, Varbit

from .followed import Asked, FollowedRun, Given, Origin, under

TRIES = 400                                     # values that are looked at
DEEP = 3                                        # origins that are changed together
FEW = 6                                         # values of one origin that are gone on with
NEAR = 8                                        # how far around a turn values are tried
FAR = 64                                        # and where none of them will do


def solve(run: FollowedRun, asked: Sequence[Asked], pick: Callable[[Sequence[int]], int], old: bool = True) -> dict[Origin, int] | None:
    """New values for origins, with which everything holds that is asked. `pick` chooses among values that will do, of which the first is the one next to a turn;
    `old`: origins whose header comes first are changed rather than those behind. None if nothing is found."""
    return Search(run, asked, pick, old).mended({}, DEEP)


class Search:
    def __init__(self, run: FollowedRun, asked: Sequence[Asked], pick: Callable[[Sequence[int]], int], old: bool) -> None:
        self.run, self.asked, self.pick, self.old = run, asked, pick, old
        self.tries = TRIES

    def mended(self, given: Given, deep: int) -> dict[Origin, int] | None:
        broken = next((one for one in self.asked if not one.holds(given)), None)
        if broken is None:
            return dict(given)
        begun: list[tuple[Origin, list[int]]] = []
        for origin in sorted(broken.found.origins, key=lambda origin: origin.order, reverse=not self.old):
            if origin in given:
                continue
            fitting, nearly = self.values(broken, origin, given)
            if fitting:
                return {**given, origin: self.pick(fitting)}
            begun.append((origin, nearly))
        for origin, values in begun if deep > 1 else []:
            for value in values[:FEW]:
                if self.tries > 0 and (found := self.mended({**given, origin: value}, deep - 1)) is not None:
                    return found
        return None

    def values(self, broken: Asked, origin: Origin, given: Given) -> tuple[list[int], list[int]]:
        """Values with which everything holds, and those with which this does."""
        fitting: list[int] = []
        nearly: list[int] = []
        others = [one for one in self.asked if one is not broken and origin in one.found.origins]
        for values in (self.turning(broken, others, origin, given), around([given.get(origin, origin.value)], FAR)):
            for value in dict.fromkeys(values):
                if len(fitting) == FEW or self.tries <= 0:
                    break
                if not origin.low <= value <= origin.high:
                    continue
                self.tries -= 1
                now = {**given, origin: value}
                if broken.holds(now) and self.suits(now):
                    (fitting if all(one.holds(now) for one in self.asked) else nearly).append(value)
            if fitting:
                break
        return fitting, nearly

    def turning(self, broken: Asked, others: list[Asked], origin: Origin, given: Given) -> list[int]:
        """Where what is asked turns, and what lies around that."""
        mine = [value for turn in broken.found.turns for value in self.meeting(turn, origin, given)]
        theirs = [value for one in others for turn in one.found.turns for value in self.meeting(turn, origin, given)]
        return [*around(mine or [given.get(origin, origin.value)], 1), *around(mine[:2], NEAR), *around(theirs, 1)]

    def meeting(self, turn: tuple[int, int], origin: Origin, given: Given) -> list[int]:
        """The values with which both sides are equal."""
        def apart(value: int) -> int:
            now = {**given, origin: value}
            return int(under(turn[0], now)) - int(under(turn[1], now))

        here = given.get(origin, origin.value)
        gap, step = apart(here), 1
        if not gap:
            return [here]
        while step <= origin.high:
            for way in (step, -step):
                if origin.low <= here + way <= origin.high and (slope := apart(here + way) - gap):
                    value = here - gap * way // slope
                    if origin.low <= value <= origin.high and apart(value) == 0:
                        return [value]
            step *= 2
        return []

    def suits(self, given: Given) -> bool:
        """Whether headers take these values, and keep their shape."""
        if given.get(self.run.end, self.run.packet.payload) < self.run.packet.payload:
            return False
        instances = dict.fromkeys(origin.taken.instance for origin in given if origin.taken is not None)
        return all(fits(instance, {origin: value for origin, value in given.items() if origin.taken is not None and origin.taken.instance is instance})
                   for instance in instances)


def around(values: Sequence[int], far: int) -> list[int]:
    """Values, those next to them, and so on."""
    return list(chain(values, *([value + by, value - by] for by in range(1, far + 1) for value in values)))


def fits(instance: Instance, given: Given) -> bool:
    """Whether a header has the same shape with these values, and its own checks allow them."""
    stored, arms, valid = dict(instance.stored), dict(instance.arms), instance.open
    instance.open = True
    try:
        before = shape(instance)
        for origin, value in given.items():
            item = origin.located.field                                     # type: ignore[union-attr]
            if isinstance(item, ast.ChoiceArm):
                instance.arms[item.choice] = (item, value)                  # type: ignore[index]
            else:
                instance.stored[item] = value
        return shape(instance) == before and allowed(instance, given)
    finally:
        instance.stored, instance.arms, instance.open = stored, arms, valid


def shape(instance: Instance) -> list[object]:
    """Which of its fields are there, and how long they are."""
    out: list[object] = []
    for item in instance.header.items:
        if isinstance(item, ast.ChoiceField):
            out.append(ChoiceValue(instance, item).arm())
        elif isinstance(item, ast.Field):
            sized = item.sized if isinstance(item.type, Varbit) and instance.present(item) else None
            out.append(int(instance.evaluate(sized)) if sized is not None else instance.present(item))      # type: ignore[call-overload]
    return out


def allowed(instance: Instance, given: Given) -> bool:
    scope = instance.run.header_scope(instance)
    for origin, value in given.items():
        item = origin.located.field                                         # type: ignore[union-attr]
        if isinstance(item.type, EnumType) and all(value != member.number for member in item.type.decl.members):
            return False
        if isinstance(item, ast.Field) and item.values is not None and not any(instance.run.matches(value, each, scope) for each in item.values):
            return False
    return all(instance.evaluate(item.cond) for item in instance.header.items if isinstance(item, ast.Where))
