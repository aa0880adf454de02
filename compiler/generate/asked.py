"""What a program asks of a packet: by the reason that refuses it, which number a field or the octets ahead should be for it to go on."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from lpn.lang import ast
from lpn.lang.instances import walk
from lpn.lang.reference.values import width_of
from lpn.lang.types import Bits, Bool


@dataclass(frozen=True)
class Wish:
    """A field, or a lookahead, should be this number."""

    what: ast.Expr
    number: int


def wishes(program: ast.Program) -> dict[str, list[Wish]]:
    """Of all `verify`, `where` and `select` of a checked program."""
    out: dict[str, list[Wish]] = defaultdict(list)
    for decl in program.decls:
        for node in walk(decl):
            if isinstance(node, ast.Call) and node.target == "verify":
                out[called(node.args[1])] += holds(node.args[0], True)
            elif isinstance(node, (ast.Where, ast.RowWhere)):
                out[called(node.reason) if node.reason is not None else f"{decl.name}.where"] += holds(node.cond, True)      # type: ignore[attr-defined]
            elif isinstance(node, ast.Transition) and node.select is not None:
                reasons = {called(case.reason) if case.reason is not None else "NoMatch" for case in node.cases if case.target == "reject"} | {"NoMatch"}
                found = [wish for case in node.cases if case.target != "reject" for wish in matches(node.select, case.keys)]
                for reason in reasons:
                    out[reason] += found
    return out


def ways(parser: ast.Parser) -> list[list[Wish]]:
    """What each case of its selects asks for, of those that go on: a packet need not be refused to go another way."""
    found = [list(matches(node.select, case.keys)) for node in walk(parser) if isinstance(node, ast.Transition) and node.select is not None
             for case in node.cases if case.target != "reject"]
    return [way for way in found if way]


def called(reason: ast.Expr) -> str:
    """The name of `error.X`; of what is computed, none that a packet is refused with."""
    return reason.name if isinstance(reason, ast.Member) else ""


def matches(select: list[ast.Expr], keys: list[ast.Expr]) -> Iterator[Wish]:
    """The first number of each key."""
    for what, one in zip(select, keys):
        low = one.low if isinstance(one, ast.RangeSet) else one.left if isinstance(one, ast.Binary) and one.op == "&&&" else one
        if low.const is not None:
            yield Wish(what, int(low.const))


def holds(cond: ast.Expr, true: bool) -> Iterator[Wish]:
    """What would make a condition hold, or help."""
    if isinstance(cond, ast.Unary):
        yield from holds(cond.operand, not true)
    elif isinstance(cond, ast.Binary) and cond.op in ("&&", "||"):
        yield from holds(cond.left, true)
        yield from holds(cond.right, true)
    elif isinstance(cond, ast.Binary):
        for what, other in ((cond.left, cond.right), (cond.right, cond.left)):
            if other.const is not None and what.const is None:
                number = int(other.const)
                alike = (cond.op == "==") == true if cond.op in ("==", "!=") else None
                yield from (Wish(what, one) for one in ([number, number + 1, max(number - 1, 0)] if alike is None else [number if alike else number ^ 1]))
    elif isinstance(cond.type, Bool):
        yield Wish(cond, int(true))


def place(what: ast.Expr) -> tuple[ast.Field | None, int]:
    """The field that an expression is of, None for the octets ahead; and how far its lowest bit is from that one's."""
    if isinstance(what, ast.Cast):
        return place(what.operand)
    if isinstance(what, ast.Slice):
        field, shift = place(what.base)
        return field, shift + int(what.lo.const or 0)
    decl = getattr(what, "decl", None)
    return (decl if isinstance(decl, ast.Field) else None), 0


def seen_ahead(expr: ast.Expr) -> list[int | None] | None:
    """Which bits of the octets ahead are the bits of an expression, its lowest one first: None for a bit that a mask or a cast
    makes 0. None for an expression that is something else."""
    if is_ahead(expr):
        assert isinstance(expr, ast.Call)
        width = width_of(expr.type)
        return [at ^ 7 if little(expr) else width - 1 - at for at in range(width)]
    if isinstance(expr, ast.Slice) and (places := seen_ahead(expr.base)) is not None:
        low = int(expr.lo.const or 0)
        return places[low:low + width_of(expr.type)]
    if isinstance(expr, ast.Cast) and isinstance(expr.type, Bits) and (places := seen_ahead(expr.operand)) is not None:
        more = places[-1] if getattr(expr.operand.type, "signed", False) else None
        return (places + [more] * expr.type.width)[:expr.type.width]
    if isinstance(expr, ast.Binary) and expr.op == "&":
        for side, other in ((expr.left, expr.right), (expr.right, expr.left)):
            if other.const is not None and (places := seen_ahead(side)) is not None:
                return [place if int(other.const) >> at & 1 else None for at, place in enumerate(places)]
    return None


def is_ahead(what: ast.Expr) -> bool:
    """Whether it is `lookahead`."""
    return isinstance(what, ast.Call) and what.target == "lookahead"


def little(ahead: ast.Call) -> bool:
    """Whether a lookahead is of octets whose last one counts most."""
    return ahead.type_args[0].name == "le"
