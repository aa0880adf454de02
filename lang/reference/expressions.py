"""Expressions: one method a node. The types come from the checker; the arithmetic is in `values`."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .. import ast
from ..tables import lookup
from ..types import Array, Varbit
from .headers import ChoiceValue, Instance
from .scope import Scope
from .values import (NotSupported, StackValue, Struct, arithmetic, cast, copy, inet_sum, unsigned, width_of, wrap, zero)

if TYPE_CHECKING:
    from .run import Run

COMPARE = {"==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b,
           "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b}


class Expressions:
    """Evaluates checked expressions for one packet's run."""

    def __init__(self, run: "Run") -> None:
        self.run = run
        self.methods: dict[type, Callable[..., object]] = {}

    def evaluate(self, expr: ast.Expr, scope: Scope) -> object:
        if expr.const is not None:
            return wrap(expr.const, expr.type)
        kind = type(expr)
        method = self.methods.get(kind)
        if method is None:
            method = self.methods[kind] = getattr(self, "eval_" + kind.__name__)
        return method(expr, scope)

    def number(self, expr: ast.Expr, scope: Scope) -> int:
        return int(self.evaluate(expr, scope))          # type: ignore[call-overload]

    # ------------------------------------------------------------ names

    def eval_Int(self, expr: ast.Int, scope: Scope) -> object:
        return wrap(expr.value, expr.type)

    def eval_BoolLit(self, expr: ast.BoolLit, scope: Scope) -> object:
        return expr.value

    def eval_Name(self, expr: ast.Name, scope: Scope) -> object:
        return self.named(expr.decl, expr, scope)

    def named(self, decl: object, expr: ast.Expr, scope: Scope) -> object:
        """The value of a declaration as seen from `scope`."""
        holder = scope.holder(decl)
        if holder is not None:
            return holder.values[decl]
        if isinstance(decl, ast.Field):
            assert scope.this is not None
            return scope.this.read(decl)
        if isinstance(decl, ast.ChoiceField):
            assert scope.this is not None
            return ChoiceValue(scope.this, decl)
        if isinstance(decl, (ast.Const, ast.ConstDecl)):
            return self.evaluate(decl.value, scope)
        if isinstance(decl, (ast.Register, ast.Counter)):
            return self.run.state.cells[decl]
        if isinstance(decl, (ast.EnumMember, ast.ErrorMember)):
            return decl.number
        if decl == "payload":
            return self.run.packet.rest
        if isinstance(decl, str):
            return self.run.builtin(decl)
        raise NotSupported(f"{expr.span}: the reference cannot read {type(decl).__name__} {getattr(decl, 'name', decl)!r}")

    def eval_Member(self, expr: ast.Member, scope: Scope) -> object:
        decl = expr.decl
        if isinstance(decl, (ast.EnumMember, ast.ErrorMember)):
            return decl.number
        base = self.evaluate(expr.base, scope)
        if isinstance(base, Struct):
            return base.fields[expr.name]
        if isinstance(base, Instance):
            return ChoiceValue(base, decl) if isinstance(decl, ast.ChoiceField) else base.read(decl)    # type: ignore[arg-type]
        if isinstance(base, ChoiceValue):
            return base.read(decl)                      # type: ignore[arg-type]
        if isinstance(base, StackValue):
            return self.stack_member(base, expr.name)
        if isinstance(base, dict):                      # meta, node, the result of a table
            return base[expr.name]
        raise NotSupported(f"{expr.span}: the reference cannot read .{expr.name}")

    def stack_member(self, stack: StackValue, name: str) -> object:
        if name == "next":
            return self.run.next_of(stack)
        if name == "last":                              # before the first extraction: an invalid header
            return stack.elements[max(stack.next - 1, 0)]
        if name == "lastIndex":
            return max(stack.next - 1, 0)
        return len(stack.elements)

    def eval_Index(self, expr: ast.Index, scope: Scope) -> object:
        base = self.evaluate(expr.base, scope)
        index = self.number(expr.index, scope)
        if isinstance(base, StackValue):
            return base.elements[index]
        if isinstance(base, bytes):                     # payload[i]
            return base[index] if index < len(base) else 0
        assert isinstance(base, list)
        if index < len(base):
            return base[index]
        assert isinstance(expr.base.type, Array)
        return zero(expr.base.type.cell)

    # ------------------------------------------------------------ operators

    def eval_Slice(self, expr: ast.Slice, scope: Scope) -> object:
        hi, lo = self.number(expr.hi, scope), self.number(expr.lo, scope)
        value = self.number(expr.base, scope)
        return (unsigned(value, width_of(expr.base.type)) >> lo) & ((1 << (hi - lo + 1)) - 1)

    def eval_Unary(self, expr: ast.Unary, scope: Scope) -> object:
        return self.unary(expr, self.evaluate(expr.operand, scope))

    def unary(self, expr: ast.Unary, value: object) -> object:
        """What an operator makes of its operand."""
        if expr.op == "!":
            return not value
        return wrap(-int(value) if expr.op == "-" else ~int(value), expr.type)     # type: ignore[call-overload]

    def eval_Binary(self, expr: ast.Binary, scope: Scope) -> object:
        left = self.evaluate(expr.left, scope)
        if expr.op == "&&":
            return bool(left) and bool(self.evaluate(expr.right, scope))
        if expr.op == "||":
            return bool(left) or bool(self.evaluate(expr.right, scope))
        return self.binary(expr, left, self.evaluate(expr.right, scope))

    def binary(self, expr: ast.Binary, left: object, right: object) -> object:
        """What an operator makes of its operands, both of which it asks for."""
        if expr.op in COMPARE:
            return COMPARE[expr.op](left, right)
        if expr.op == "++":
            width = width_of(expr.right.type)
            return unsigned(left, width_of(expr.left.type)) << width | unsigned(right, width)   # type: ignore[arg-type]
        return arithmetic(expr.op, int(left), int(right), expr.type)    # type: ignore[call-overload]

    def eval_Conditional(self, expr: ast.Conditional, scope: Scope) -> object:
        return self.evaluate(expr.then if self.evaluate(expr.cond, scope) else expr.otherwise, scope)

    def eval_Cast(self, expr: ast.Cast, scope: Scope) -> object:
        return cast(self.evaluate(expr.operand, scope), expr.operand.type, expr.type)

    def eval_ListExpr(self, expr: ast.ListExpr, scope: Scope) -> object:
        value = zero(expr.type)
        assert isinstance(value, Struct), "a list is a struct's value here"
        for name, element in zip(value.fields, expr.elements, strict=True):
            value.fields[name] = copy(self.evaluate(element, scope))
        return value

    # ------------------------------------------------------------ sizes, sums, codecs

    def eval_Sizeof(self, expr: ast.Sizeof, scope: Scope) -> object:
        operand = expr.operand
        if operand is None:
            assert scope.this is not None
            return wrap(scope.this.size(), expr.type)
        if isinstance(operand, ast.Name) and operand.decl == "payload":
            return wrap(self.run.size_of_payload(scope.this), expr.type)
        if isinstance(operand.type, Varbit):
            return wrap(len(self.evaluate(operand, scope)), expr.type)             # type: ignore[arg-type]
        value = self.evaluate(operand, scope)
        if isinstance(value, StackValue):
            return wrap(sum(each.size() for each in value.elements if each.valid), expr.type)
        if isinstance(value, Instance):
            return wrap(value.size() if value.valid else 0, expr.type)
        return wrap(width_of(operand.type) // 8, expr.type)

    def sum_of(self, args: list[ast.Expr], scope: Scope) -> int:
        """`inet_sum(a, b, ..., payload)`."""
        data = b""
        for arg in args:
            summed = isinstance(arg, ast.Name) and arg.decl == "payload"
            value = self.run.payload_of(scope.this) if summed else self.evaluate(arg, scope)
            width = 0 if isinstance(value, bytes) else width_of(arg.type)
            data += value if isinstance(value, bytes) else unsigned(int(value), width).to_bytes(width // 8, "big")  # type: ignore[call-overload]
        return inet_sum(data)

    def eval_InlinePiece(self, expr: ast.InlinePiece, scope: Scope) -> object:
        assert scope.codec is not None
        return scope.codec.inline(expr, scope)

    def eval_Following(self, expr: ast.Following, scope: Scope) -> object:
        assert scope.codec is not None
        return scope.codec.following(self.number(expr.width, scope))

    def eval_Call(self, expr: ast.Call, scope: Scope) -> object:
        return self.run.calls.call(expr, scope)

    # ------------------------------------------------------------ sets

    def matches(self, value: object, key: ast.Expr, scope: Scope) -> bool:
        """One element of a keyset, `in {...}` or `switch`."""
        if isinstance(key, ast.DontCare):
            return True
        if isinstance(key, ast.RangeSet):
            return self.number(key.low, scope) <= value <= self.number(key.high, scope)     # type: ignore[operator]
        if isinstance(key, ast.Binary) and key.op == "&&&":
            mask = self.number(key.right, scope)
            return int(value) & mask == self.number(key.left, scope) & mask                 # type: ignore[call-overload]
        if isinstance(key, ast.Name) and isinstance(key.decl, ast.ValueSet):
            assert key.decl.table is not None
            bits = unsigned(int(value), width_of(key.type))                                 # type: ignore[call-overload]
            return lookup(key.decl.table, self.run.state.entries[key.decl.table], [bits]) is not None
        if isinstance(key, ast.ListExpr):
            return any(self.matches(value, each, scope) for each in key.elements)
        return value == self.evaluate(key, scope)

    def match_keys(self, values: list[object], keys: list[ast.Expr], scope: Scope) -> bool:
        """A select's case: one key for each value; `default` or `_` alone, or a tuple, for all of them."""
        if len(keys) == 1 and isinstance(keys[0], ast.DontCare):
            return True
        if len(keys) == 1 and isinstance(keys[0], ast.Tuple):
            keys = keys[0].elements
        return all(self.matches(value, key, scope) for value, key in zip(values, keys, strict=True))
