"""A parser's run that knows of which fields its numbers are made, and what it has asked of them on its way.

A number that comes from a field goes through the reference as any other; beside its value it has the function that gives it for other values
of its fields. So what a variable counts, what a cast, a sum or a slice make of a length, is known as far as a condition, however many turns of
a loop lie between. `solve.py` looks for the values with which a run takes another way.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lpn.lang import ast
from lpn.lang.reference.calls import Calls
from lpn.lang.reference.expressions import COMPARE, Expressions
from lpn.lang.reference.headers import Instance, Located
from lpn.lang.reference.run import Run, Taken
from lpn.lang.reference.scope import Scope
from lpn.lang.reference.statements import Left, Statements
from lpn.lang.reference.values import Rejected, cast, unsigned, width_of, wrap
from lpn.lang.types import Bool, Meta, Varbit

MOST = 400                                      # parts of a number: what is made of more is a number as any other
LONGEST = 300                                   # octets of a packet


@dataclass(eq=False)
class Origin:
    """Where numbers come from: a field or an arm of a header that was taken, octets that were looked at ahead (`taken` None), or the packet's length (no
    `located` either). `low`, `high`: between which its values are."""

    value: int
    low: int
    high: int
    number: int = 0                             # of those of its run
    taken: Taken | None = None
    located: Located | None = None

    @property
    def start(self) -> int:
        """The octet where its header begins; the packet's length lies behind them all."""
        return self.taken.start if self.taken is not None else LONGEST

    @property
    def order(self) -> tuple[int, int]:
        """Sets have none."""
        return self.start, self.number


Given = Mapping[Origin, int]


class Followed(int):
    """A number with where it comes from. `under`: what it is for other values of its origins; `turns`: pairs of numbers, of a comparison both sides,
    where it changes if they become equal or cease to be."""

    origins: frozenset[Origin]
    parts: int
    turns: tuple[tuple[int, int], ...]
    how: Callable[[Given], int]

    def under(self, given: Given) -> int:
        return int(self) if self.origins.isdisjoint(given) else self.how(given)


def under(number: int, given: Given) -> int:
    return number.under(given) if isinstance(number, Followed) else number


def first(origin: Origin) -> Followed:
    """The origin's own value."""
    number = Followed(origin.value)
    number.origins, number.parts, number.turns = frozenset([origin]), 1, ()
    number.how = lambda given: given[origin]
    return number


def made(what: Callable[..., Any], *parts: Any, turns: tuple[tuple[int, int], ...] = ()) -> Any:
    """What a function makes of numbers; followed if one of them is."""
    value = what(*parts)
    followed = [part for part in parts if type(part) is Followed]
    if not followed:
        return value
    count = sum([part.parts for part in followed]) + 1
    if count > MOST:
        return value
    number = Followed(value)
    number.origins = followed[0].origins if len(followed) == 1 else frozenset().union(*[part.origins for part in followed])
    number.parts, number.turns = count, turns
    number.how = lambda given: what(*(under(part, given) for part in parts))
    return number


def turns_of(*numbers: Any) -> tuple[tuple[int, int], ...]:
    return tuple(turn for number in numbers if isinstance(number, Followed) for turn in number.turns)


@dataclass
class Asked:
    """What a run asked, and what it has to be for the run to go as it went, or as it should go."""

    found: Followed
    wanted: bool

    def holds(self, given: Given) -> bool:
        return bool(self.found.under(given)) == self.wanted


@dataclass
class Matched:
    """Values that were compared with the keys of a case or a row; how much had been asked before."""

    before: int
    values: list[object]
    keys: list[ast.Expr]
    found: object


class FollowedExpressions(Expressions):
    run: "FollowedRun"

    def eval_Binary(self, expr: ast.Binary, scope: Scope) -> object:
        if expr.op not in ("&&", "||"):
            return super().eval_Binary(expr, scope)
        left = self.evaluate(expr.left, scope)
        if bool(left) != (expr.op == "&&"):
            return left                         # what is right of it is not asked
        right = self.evaluate(expr.right, scope)
        both = expr.op == "&&"
        return made(lambda one, other: bool(one and other if both else one or other), left, right, turns=turns_of(left, right))

    def binary(self, expr: ast.Binary, left: object, right: object) -> object:
        plain = super().binary
        if not isinstance(left, Followed) and not isinstance(right, Followed):
            return plain(expr, left, right)
        return made(lambda one, other: plain(expr, one, other), left, right, turns=((left, right),) if expr.op in COMPARE else ())   # type: ignore[arg-type]

    def unary(self, expr: ast.Unary, value: object) -> object:
        plain = super().unary
        return made(lambda number: plain(expr, number), value, turns=turns_of(value))

    def eval_Cast(self, expr: ast.Cast, scope: Scope) -> object:
        return made(lambda number: cast(number, expr.operand.type, expr.type), self.evaluate(expr.operand, scope))

    def eval_Slice(self, expr: ast.Slice, scope: Scope) -> object:
        low, width, mask = self.number(expr.lo, scope), width_of(expr.base.type), (1 << width_of(expr.type)) - 1
        return made(lambda number: unsigned(number, width) >> low & mask, self.evaluate(expr.base, scope))

    def eval_Conditional(self, expr: ast.Conditional, scope: Scope) -> object:
        cond = self.evaluate(expr.cond, scope)
        self.run.asked(cond)
        return self.evaluate(expr.then if cond else expr.otherwise, scope)

    def eval_Sizeof(self, expr: ast.Sizeof, scope: Scope) -> object:
        size = super().eval_Sizeof(expr, scope)
        if (scope.this is not None and not self.run.describing) or getattr(expr.operand, "decl", None) != "payload":
            return size
        before = self.run.end.value - int(size)         # type: ignore[call-overload]
        return made(lambda end: wrap(max(end - before, 0), expr.type), first(self.run.end))

    def match_keys(self, values: list[object], keys: list[ast.Expr], scope: Scope) -> bool:
        found = self.matching(values, keys, scope)
        if scope.codec is None:
            self.run.place = keys[0]
        self.run.matched.append(Matched(len(self.run.path), values, keys, found))
        self.run.asked(found)
        return bool(found)

    def matching(self, values: list[object], keys: list[ast.Expr], scope: Scope) -> object:
        """Whether a case's keys are those of the values, without having asked."""
        plain = super().match_keys
        if len(keys) == 1 and isinstance(keys[0], ast.Tuple):
            keys = keys[0].elements
        if not any(isinstance(value, Followed) for value in values):
            return plain(values, keys, scope)
        turns = [(value, number) for value, key in zip(values, keys) for number in self.ends(key, scope)]
        return made(lambda *numbers: plain(list(numbers), keys, scope), *values, turns=tuple(turns))    # type: ignore[arg-type]

    def ends(self, key: ast.Expr, scope: Scope) -> list[int]:
        """The numbers where a set begins or ends."""
        if isinstance(key, ast.RangeSet):
            return [self.number(key.low, scope), self.number(key.high, scope)]
        if isinstance(key, ast.Binary) and key.op == "&&&":
            return [self.number(key.left, scope)]
        if isinstance(key, ast.Name) and isinstance(key.decl, ast.ValueSet):
            return [entry.matches[0].value for entry in self.run.state.entries[key.decl.table]]         # type: ignore[index]
        return [] if isinstance(key, (ast.DontCare, ast.ListExpr)) else [self.number(key, scope)]


class FollowedStatements(Statements):
    run: "FollowedRun"

    def exec_If(self, stmt: ast.If, scope: Scope) -> Left | None:
        cond = self.run.evaluate(stmt.cond, scope)
        self.run.asked(cond)
        taken = stmt.then if cond else stmt.otherwise
        return self.execute(taken, scope) if taken is not None else None

    def exec_Assign(self, stmt: ast.Assign, scope: Scope) -> None:
        if isinstance(stmt.target, ast.Member) and isinstance(stmt.target.base.type, Meta) and stmt.target.name in ("verdict", "reason"):
            self.run.place = stmt
        super().exec_Assign(stmt, scope)

    def kept(self, value: object, type_: Any) -> object:
        return made(lambda number: wrap(number, type_), value) if isinstance(value, Followed) else super().kept(value, type_)


class NotingCalls(Calls):
    """`seen`: where the cursor was when somebody looked ahead, by the lookahead."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.seen: dict[ast.Node, int] = {}

    def do_lookahead(self, expr: ast.Call, scope: Scope) -> object:
        self.seen[expr] = self.run.packet.payload
        return super().do_lookahead(expr, scope)


class FollowedCalls(NotingCalls):
    run: "FollowedRun"

    def do_lookahead(self, expr: ast.Call, scope: Scope) -> object:
        self.run.place = expr
        return self.run.ahead(super().do_lookahead(expr, scope), expr)

    def do_verify(self, expr: ast.Call, scope: Scope) -> None:
        found = self.run.evaluate(expr.args[0], scope)
        self.run.place = expr
        if found:
            self.run.asked(found)
        else:
            self.refuse(found, expr, scope)

    def refuse(self, found: object, expr: ast.Call, scope: Scope) -> None:
        self.run.refusing = found
        raise Rejected(self.run.reason(expr.args[1], "", scope))

    def do_extract(self, expr: ast.Call, scope: Scope) -> None:
        self.run.place = expr
        super().do_extract(expr, scope)

    def do_advance(self, expr: ast.Call, scope: Scope) -> None:
        self.run.place = expr
        bits = self.run.evaluate(expr.args[0], scope)
        if isinstance(bits, Followed):
            self.run.moved.append((self.run.packet.payload, bits.origins))
        self.run.packet.advance(int(bits) >> 3)         # type: ignore[call-overload]


class FollowedRun(Run):
    """`path`: what was asked so far, and came out as it did; `matched`: the cases among that; `refusing`: the condition of the `verify`, or of a
    header's `where`, that refused the packet; `place`: what asked the packet last, or said what becomes of it; `moved`: from where the cursor was moved by
    how much fields say."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.expressions, self.statements, self.calls = FollowedExpressions(self), FollowedStatements(self), FollowedCalls(self)
        self.evaluate, self.number = self.expressions.evaluate, self.expressions.number
        self.matches, self.assign = self.expressions.matches, self.statements.assign
        self.path: list[Asked] = []
        self.matched: list[Matched] = []
        self.refusing: object = None
        self.place: ast.Node | None = None
        self.moved: list[tuple[int, frozenset[Origin]]] = []
        self.numbered = 0
        self.describing = False                 # a header's own description is followed, and what it says of the payload
        self.end = Origin(self.length, 0, LONGEST)

    @property
    def length(self) -> int:
        """Octets of the packet."""
        return len(self.packet.data)

    def asked(self, found: object) -> None:
        if isinstance(found, Followed):
            self.path.append(Asked(found, bool(found)))

    def extract(self, instance: Instance, codec: ast.Codec | None, args: list[object]):
        try:
            result = super().extract(instance, codec, args)
        except Rejected as rejected:
            if codec is None:
                self.described(instance, rejected.reason)
            raise
        taken = self.taken[-1]
        for located in instance.located if codec is None else taken.said:
            self.follow(taken, located)
        return result

    def described(self, instance: Instance, reason: str) -> None:
        """Which `where` of the header refused it, of what its fields say and how much follows it."""
        scope, name = self.header_scope(instance), f"{instance.header.name}.where"
        found = [one for one in instance.header.items if isinstance(one, ast.Where) and self.reason(one.reason, name, scope) == reason]
        if not found:
            return
        for located in instance.located:
            self.follow(self.taken[-1], located)
        instance.open = instance.taken = self.describing = True
        try:
            self.refusing = next((held for one in found if not (held := self.evaluate(one.cond, scope))), None)
        finally:
            instance.open = instance.taken = self.describing = False

    def ahead(self, value: object, expr: ast.Call) -> object:
        """What a lookahead has found."""
        position, width = 8 * self.packet.payload, width_of(expr.type)
        self.numbered += 1
        located = Located(expr, position, width)                            # type: ignore[arg-type]
        return first(Origin(int(value), *ends(expr.type), self.numbered, None, located))        # type: ignore[call-overload]

    def follow(self, taken: Taken, located: Located) -> None:
        """From now on the field's value tells that it is. One that is computed at the end is not looked for."""
        item, instance = located.field, taken.instance
        if isinstance(item.type, (Varbit, Bool)) or located.position < 0:
            return
        self.numbered += 1
        low, high = ends(item.type)
        if isinstance(item, ast.ChoiceArm):
            arm, value = instance.arms.get(item.choice, (None, 0))          # type: ignore[arg-type]
            if arm is item:
                instance.arms[item.choice] = (arm, first(Origin(int(value), low, high, self.numbered, taken, located)))     # type: ignore[index,call-overload]
        elif item.equation is None and item in instance.stored:
            instance.stored[item] = first(Origin(int(instance.stored[item]), low, high, self.numbered, taken, located))     # type: ignore[call-overload]


def ends(type_: Any) -> tuple[int, int]:
    """The least and the greatest number of a type."""
    width = width_of(type_)
    return (-(1 << width - 1), (1 << width - 1) - 1) if getattr(type_, "signed", False) else (0, (1 << width) - 1)
