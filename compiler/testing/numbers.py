"""Numbers, octets, circumstances; and the numbers that a program looks for."""
from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from hypothesis import strategies as st

from lpn.lang import ast
from lpn.lang.builtins import META, NODE
from lpn.lang.instances import walk
from lpn.lang.types import Bits

Draw = Callable[[st.SearchStrategy], Any]
Place = ast.Field | ast.ChoiceArm | ast.Param | ast.VarDecl | ast.CodecVar
SMALL = 12                                      # a number of octets, bits, options: mostly at most so many


class Interest(dict[object, list[int]]):
    """By field, arm, parameter or variable, the numbers that somebody looks for. `sizes`: what says how much follows."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: set[object] = set()

    def strategy(self, place: object, width: int) -> st.SearchStrategy[int]:
        """Numbers for a place of this width."""
        if place in self.sizes:
            return sizes(width)
        return likely(width, tuple(self.get(place, ())))


payloads = st.one_of(st.just(b""), st.binary(max_size=4), st.binary(max_size=40))

# Strategies are made once: Hypothesis looks into each new one before it draws from it.


@lru_cache(maxsize=None)
def numbers(width: int) -> st.SearchStrategy[int]:
    """Numbers of a width; the ends more often than chance gives them."""
    top = (1 << width) - 1
    return st.one_of(st.integers(0, top), st.sampled_from(sorted({0, 1 & top, top, top ^ (top >> 1)})))


@lru_cache(maxsize=None)
def likely(width: int, wanted: tuple[int, ...]) -> st.SearchStrategy[int]:
    """Numbers of a width, half of them those that somebody looks for."""
    fit = sorted({number for number in wanted if 0 <= number < 1 << width})
    return st.one_of(st.sampled_from(fit), numbers(width)) if fit else numbers(width)


@lru_cache(maxsize=None)
def sizes(width: int) -> st.SearchStrategy[int]:
    """Numbers of a width, nearly all of them small."""
    small = st.integers(0, min(SMALL, (1 << width) - 1))
    return st.one_of(*[small] * 19, numbers(width))


@lru_cache(maxsize=4096)
def one_of(values: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


def circumstances() -> st.SearchStrategy[dict[str, int]]:
    """What a program can know beside the packet: `meta` and `node`, each by the engines' names, mostly absent."""
    bits = {name: META[name] for name in ("iface", "rssi", "lqi", "time")} | {
        ("clock" if name == "clock" else f"node_{name}"): type_ for name, type_ in NODE.items()}
    each = {name: numbers(type_.width if isinstance(type_, Bits) else 8) for name, type_ in bits.items()}
    return st.fixed_dictionaries({}, optional=each)


# ---------------------------------------------------------------- constants

def interest(decls: list[Any]) -> Interest:
    """By field, arm, parameter or variable, the constants that it is compared with, and those next to them where the order
    matters; what a `select` or a table's constant entry looks for counts too."""
    found = Interest()

    def note(expr: Any, *values: int | None) -> None:
        decl = place_of(expr)
        if decl is not None:
            found.setdefault(decl, []).extend(int(value) for value in values if value is not None)

    for node in walk(decls):
        if isinstance(node, ast.Field) and node.sized is not None:
            found.sizes |= places_in(node.sized)
        elif isinstance(node, ast.InlineTarget) and node.bits is not None:
            found.sizes |= places_in(node.bits)
        elif isinstance(node, ast.Call) and node.target == "advance":
            found.sizes |= places_in(node.args)
        elif isinstance(node, ast.Binary) and node.op in ("==", "!=", "<", "<=", ">", ">="):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                if other.const is not None:
                    near = [int(other.const) - 1, int(other.const) + 1] if node.op not in ("==", "!=") else []
                    note(one, int(other.const), *near)
        elif isinstance(node, ast.Transition) and node.select:
            for case in node.cases:
                for expr, key in zip(node.select, case.keys):
                    note(expr, *set_of(key))
        elif isinstance(node, ast.Switch):
            for labels, _ in node.cases:
                for label in labels:
                    note(node.value, *set_of(label))
        elif isinstance(node, ast.Table):
            for entry in node.entries:
                for key, value in zip(node.keys, entry.keys):
                    note(key.expr, *set_of(value))
        elif isinstance(node, ast.Codec):
            for group in node.groups:
                for row in group.rows:
                    for item in row.items:
                        if isinstance(item, ast.RowAssign):
                            note(item.target, item.value.const)
    return found


def places_in(expr: Any) -> set[object]:
    return {place for node in walk(expr) if isinstance(node, ast.Expr) and (place := place_of(node)) is not None}


def place_of(expr: Any) -> object | None:
    """The declaration whose value an expression is, as it is or sliced or cast."""
    while isinstance(expr, (ast.Slice, ast.Cast)):
        if isinstance(expr, ast.Slice):
            return None                         # a constant of another width
        expr = expr.operand
    decl = getattr(expr, "decl", None) if isinstance(expr, (ast.Name, ast.Member)) else None
    return decl if isinstance(decl, (ast.Field, ast.ChoiceArm, ast.Param, ast.VarDecl, ast.CodecVar)) else None


def set_of(key: Any) -> list[int]:
    """Numbers of a set: the ends of a range, the value of a mask."""
    if isinstance(key, ast.RangeSet):
        return [int(each.const) for each in (key.low, key.high) if each.const is not None]
    if isinstance(key, ast.Binary) and key.op == "&&&":
        return [int(key.left.const)] if key.left.const is not None else []
    return [int(key.const)] if getattr(key, "const", None) is not None else []
