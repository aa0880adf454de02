"""What numbers expressions can be, as far as their types, the values of fields, and what is assigned say it; for warnings alone: it does not
look at what is compared."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import ast
from ..instances import walk
from ..types import Bits, EnumType, Type

Range = tuple[int, int]
DEEP = 12                                       # variables and functions that are made of each other: what lies behind them can be anything


class Ranges:
    """Of a program; `given`: the numbers that its variables are assigned."""

    def __init__(self, found: Mapping[type, list[Any]], given: Mapping[object, list[ast.Expr]]) -> None:
        self.given = given
        self.active: set[object] = set()
        self.known: dict[tuple[object, ...], Range] = {}        # of a variable or a function, with the arguments of the one that is looked into
        self.arguments: dict[object, Range] = {}        # of the function that is looked into
        # Those of which bits are assigned, or that others may write, can be anything.
        self.others = {getattr(one.target.base, "decl", None) for one in found[ast.Assign] if isinstance(one.target, ast.Slice)}
        self.others |= {arg.decl for call in found[ast.Call] if isinstance(call.target, (ast.Function, ast.Action))
                        for arg, param in zip(call.args, call.target.params) if isinstance(arg, ast.Name) and param.direction in ("out", "inout")}
        for what, values in given.items():              # mostly in an order in which those that it is made of are known
            if isinstance(what, ast.VarDecl):
                self.variable(what, values)

    def meant(self, e: ast.Expr) -> Range:
        """The least and the greatest number that an unsigned expression means. A difference may be below 0: what it wraps to is far above any
        length. What wraps otherwise can be anything of its type."""
        most = greatest(e.type)
        low, high = self.within(e)
        return (low, high) if -most // 2 <= low and high <= most else (0, most)

    def within(self, e: ast.Expr) -> Range:
        """The same, were its type as wide as need be."""
        if e.const is not None:
            return int(e.const), int(e.const)
        match e:
            case ast.Name() | ast.Member() if isinstance(e.decl, ast.Field) and e.decl.values:
                ends = [(one.low.const, one.high.const) if isinstance(one, ast.RangeSet) else (one.const, one.const) for one in e.decl.values]
                if all(low is not None and high is not None for low, high in ends):
                    return min(int(low or 0) for low, _ in ends), max(int(high or 0) for _, high in ends)
            case ast.Name() if e.decl in self.arguments and e.decl not in self.given and e.decl not in self.others:
                return self.arguments[e.decl]
            case ast.Name() if e.decl in self.given and e.decl not in self.others:
                return self.variable(e.decl, self.given[e.decl])
            case ast.Cast() if isinstance(e.operand.type, EnumType) or isinstance(e.operand.type, Bits) and not e.operand.type.signed:
                low, high = self.meant(e.operand)
                return (low, high) if low >= 0 else (0, greatest(e.operand.type))
            case ast.Conditional():
                return around([self.meant(e.then), self.meant(e.otherwise)])
            case ast.Binary() if isinstance(e.type, Bits) and not e.type.signed and e.op in OF_TWO:
                return OF_TWO[e.op](*self.meant(e.left), *self.meant(e.right))
            case ast.Call() if isinstance(e.target, ast.Function):
                before = self.arguments
                self.arguments = {param: self.meant(arg) for param, arg in zip(e.target.params, e.args)}
                found = self.once(e.target, returned(e.target), greatest(e.type))
                self.arguments = before
                return found
        return 0, greatest(e.type)

    def variable(self, decl: object, values: list[ast.Expr]) -> Range:
        return self.once(decl, [value for value in values if not less(value, decl)], greatest(getattr(decl, "type", None)))

    def once(self, what: object, values: list[ast.Expr], most: int) -> Range:
        """Around the values that a variable or a function has; where they are made of itself, anything."""
        if what in self.active or not values or len(self.active) > DEEP:
            return 0, most
        key = what, *self.arguments.values()
        if key not in self.known:
            self.active.add(what)
            self.known[key] = around([self.meant(value) for value in values])
            self.active.discard(what)
        return self.known[key]


def returned(function: ast.Function) -> list[ast.Expr]:
    """The values that a function returns."""
    return [one.value for one in walk(function.body) if isinstance(one, ast.Return) and one.value is not None]


def less(value: ast.Expr, variable: object) -> bool:
    """Whether a value is the variable's own less something: `left - 2 - n`."""
    while isinstance(value, ast.Binary) and value.op == "-":
        value = value.left
        if isinstance(value, ast.Name) and value.decl is variable:
            return True
    return False


def around(ranges: list[Range]) -> Range:
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def greatest(type_: Type | None) -> int:
    """The greatest number that fits into a type: of an enum, of what it is made of, as a packet can hold numbers without a name."""
    of = type_.decl.base.type if isinstance(type_, EnumType) else type_
    return (1 << of.width) - 1 if isinstance(of, Bits) else 0


ANY = (0, 1 << 64)
#: The least and the greatest of two numbers: a to b, and c to d. What is below 0 is large where it divides, shifts or is shifted by.
OF_TWO = {
    "+": lambda a, b, c, d: (a + c, b + d),
    "-": lambda a, b, c, d: (a - d, b - c),
    "*": lambda a, b, c, d: (min(a * c, a * d, b * c, b * d), max(a * c, a * d, b * c, b * d)),
    "/": lambda a, b, c, d: (a // max(d, 1) if c >= 0 else 0, b // max(c, 1)) if a >= 0 else ANY,
    "%": lambda a, b, c, d: (0, min(b, d - 1) if c >= 0 else b) if a >= 0 and d else ANY,
    "<<": lambda a, b, c, d: (min(a, 0) << shift(d), max(b, 0) << shift(d)),
    ">>": lambda a, b, c, d: (0, b >> shift(c)) if a >= 0 else ANY,
    "&": lambda a, b, c, d: (0, min(b, d)) if a >= 0 and c >= 0 else ANY,
}


def shift(n: int) -> int:
    """A count that shifts no less, or no more, than a whole number."""
    return min(max(n, 0), 64)
