"""A `select` that goes on to one state and rejects everything else, for one reason, is a `verify` in front of that: of the header that was extracted last
it requires as much (required.py)."""
from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from lpn.lang import ast
from lpn.lang.instances import walk, written_alike
from lpn.lang.types import Bits, Bool, EnumType, Type


def as_verify(t: ast.Transition) -> tuple[ast.ExprStmt, ast.Transition] | None:
    """The verify, and the transition behind it."""
    leads = [case for case in t.cases if case.target != "reject"]
    if t.select is None or not leads or any((case.target, case.state) != (leads[0].target, leads[0].state) for case in leads):
        return None
    if any(isinstance(n, ast.Call) and n.target == "lookahead" for n in walk(t.select)):
        return None                             # a select looks at all that it selects by, a condition no further than it has to
    falls = not any(matches(case.keys, t.select) is True for case in t.cases)
    reasons: list[ast.Expr | None] = [*(case.reason for case in t.cases if case.target == "reject"), *([None] if falls else [])]
    if not reasons or not all(alike(reasons[0], other) for other in reasons[1:]):
        return None
    holds: ast.Expr | bool = False
    for case in reversed(t.cases):
        hit = matches(case.keys, t.select)
        if hit is None:
            return None
        holds = either(hit, holds) if case in leads else both(opposite(hit), holds)
    if isinstance(holds, bool):
        return None
    verify = ast.Call(t.span, ast.Name(t.span, "verify"), [holds, reasons[0] or "NoMatch"], target="verify")
    return ast.ExprStmt(t.span, verify), ast.Transition(t.span, None, leads[:1])


def alike(one: ast.Expr | None, other: ast.Expr | None) -> bool:
    return one is other or one is not None and other is not None and one.const is not None and written_alike(one, other)


def matches(keys: Sequence[ast.Expr], select: Sequence[ast.Expr]) -> ast.Expr | bool | None:
    """Whether all that is selected by is in its key's set, as an expression; None if that has none."""
    if len(keys) == 1 and isinstance(keys[0], ast.DontCare):
        return True
    parts = keys[0].elements if len(keys) == 1 and isinstance(keys[0], ast.Tuple) else keys
    holds: ast.Expr | bool = True
    for e, key in zip(select, parts):
        one = in_key(e, key)
        if one is None:
            return None
        holds = both(holds, one)
    return holds


def in_key(e: ast.Expr, key: ast.Expr) -> ast.Expr | bool | None:
    if isinstance(key, ast.DontCare):
        return True
    if not isinstance(e.type, (Bits, Bool, EnumType)) or getattr(e.type, "signed", False):
        return None
    if isinstance(key, ast.Binary) and key.op == "&&&" and isinstance(e.type, Bits) and key.left.const is not None and key.right.const is not None:
        mask = int(key.right.const)
        return binary("==", binary("&", e, constant(mask, e), e.type), constant(int(key.left.const) & mask, e))
    if isinstance(key, ast.RangeSet) and key.low.const is not None and key.high.const is not None:
        return both(binary(">=", e, constant(int(key.low.const), e)), binary("<=", e, constant(int(key.high.const), e)))
    return binary("==", e, constant(int(key.const), e)) if key.const is not None else None


def constant(number: int, like: ast.Expr) -> ast.Expr:
    out = ast.Name(like.span, "")
    out.type, out.const = like.type, number
    return out


def binary(op: str, left: ast.Expr, right: ast.Expr, type_: Type | None = None) -> ast.Expr:
    out = ast.Binary(left.span, op, left, right)
    out.type = type_ or Bool()
    return out


def opposite(e: ast.Expr | bool) -> ast.Expr | bool:
    if isinstance(e, bool):
        return not e
    out = ast.Unary(e.span, "!", e)
    out.type = Bool()
    return out


def both(one: ast.Expr | bool, other: ast.Expr | bool) -> ast.Expr | bool:
    if isinstance(one, bool):
        return other if one else False
    return binary("&&", one, other) if not isinstance(other, bool) else one if other else False


def either(one: ast.Expr | bool, other: ast.Expr | bool) -> ast.Expr | bool:
    if isinstance(one, bool):
        return True if one else other
    return binary("||", one, other) if not isinstance(other, bool) else True if other else one


def conjunction(parts: Sequence[ast.Expr]) -> ast.Expr:
    return reduce(lambda one, other: binary("&&", one, other), parts)
