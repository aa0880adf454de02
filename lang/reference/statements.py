"""Statements and assignments."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import ast
from ..instances import is_headers
from ..types import Array, HeaderType, Stack, Type
from .headers import ChoiceValue, Instance
from .scope import Scope
from .values import NotSupported, StackValue, Struct, copy, unsigned, width_of, wrap, zero

if TYPE_CHECKING:
    from .run import Run


class Exited(Exception):
    """`exit`: the module ends, wherever it stands."""


@dataclass
class Left:
    """The body was left by `return`, with a value or without."""

    value: object = None


class Statements:
    """Executes checked statements for one packet's run. `execute` returns None when the body goes on."""

    def __init__(self, run: "Run") -> None:
        self.run = run

    def body(self, statements: list[ast.Stmt], scope: Scope) -> Left | None:
        for statement in statements:
            left = self.execute(statement, scope)
            if left is not None:
                return left
        return None

    def execute(self, stmt: ast.Stmt, scope: Scope) -> Left | None:
        return getattr(self, "exec_" + type(stmt).__name__)(stmt, scope)

    def exec_Block(self, stmt: ast.Block, scope: Scope) -> Left | None:
        return self.body(stmt.statements, scope)

    def exec_VarDecl(self, stmt: ast.VarDecl, scope: Scope) -> None:
        scope.values[stmt] = self.initial(stmt, scope)

    def initial(self, decl: ast.VarDecl, scope: Scope) -> object:
        """A variable's first value; each time its declaration is reached, a fresh one."""
        if decl.init is not None:
            return copy(self.run.evaluate(decl.init, scope))
        if isinstance(decl.type, (HeaderType, Stack)):
            return self.run.new_header(decl, decl.type, decl.name, [])
        if is_headers(decl.type):                           # of a handler: those of its packet, none of them valid
            return self.run.headers
        return zero(decl.type)

    def exec_ConstDecl(self, stmt: ast.ConstDecl, scope: Scope) -> None:
        scope.values[stmt] = self.run.evaluate(stmt.value, scope)

    def exec_Assign(self, stmt: ast.Assign, scope: Scope) -> None:
        self.assign(stmt.target, self.run.evaluate(stmt.value, scope), scope)

    def exec_If(self, stmt: ast.If, scope: Scope) -> Left | None:
        if self.run.evaluate(stmt.cond, scope):
            return self.execute(stmt.then, scope)
        return self.execute(stmt.otherwise, scope) if stmt.otherwise is not None else None

    def exec_For(self, stmt: ast.For, scope: Scope) -> Left | None:
        for number in range(self.run.number(stmt.low, scope), self.run.number(stmt.high, scope)):
            scope.values[stmt.var] = number
            left = self.execute(stmt.body, scope)
            if left is not None:
                return left
        return None

    def exec_Switch(self, stmt: ast.Switch, scope: Scope) -> Left | None:
        """P4: a label without a block shares the next block."""
        value = self.run.evaluate(stmt.value, scope)
        chosen = False
        for labels, block in stmt.cases:
            chosen = chosen or any(self.label(value, label, scope) for label in labels)
            if chosen and block is not None:
                return self.execute(block, scope)
        return None

    def label(self, value: object, label: ast.Expr, scope: Scope) -> bool:
        decl = getattr(label, "decl", None)
        if isinstance(decl, ast.Action):
            return value is decl
        return self.run.matches(value, label, scope)

    def exec_Return(self, stmt: ast.Return, scope: Scope) -> Left:
        return Left(copy(self.run.evaluate(stmt.value, scope)) if stmt.value is not None else None)

    def exec_Exit(self, stmt: ast.Exit, scope: Scope) -> None:
        raise Exited

    def exec_ExprStmt(self, stmt: ast.ExprStmt, scope: Scope) -> None:
        self.run.calls.call(stmt.call, scope)

    def exec_Applied(self, stmt: ast.Applied, scope: Scope) -> None:
        """`return` has left the applied module."""
        self.execute(stmt.body, scope)

    def exec_After(self, stmt: ast.After, scope: Scope) -> None:
        self.run.outside.timer(stmt, scope)

    # ------------------------------------------------------------ assignment

    def assign(self, target: ast.Expr, value: object, scope: Scope) -> None:
        """Store `value` where `target` says. A register's cell out of range takes nothing."""
        value = self.kept(value, target.type)
        match target:
            case ast.Name():
                self.assign_name(target, value, scope)
            case ast.Member():
                self.assign_member(target, value, scope)
            case ast.Index():
                base = self.run.evaluate(target.base, scope)
                index = self.run.number(target.index, scope)
                if isinstance(base, StackValue):
                    base.elements[index].assign(value)                      # type: ignore[arg-type]
                elif isinstance(base, list) and index < len(base):
                    base[index] = value
            case ast.Slice():
                hi, lo = self.run.number(target.hi, scope), self.run.number(target.lo, scope)
                mask = (1 << (hi - lo + 1)) - 1
                whole = unsigned(self.run.number(target.base, scope), width_of(target.base.type))
                part = unsigned(value, hi - lo + 1) << lo                   # type: ignore[arg-type]
                self.assign(target.base, whole & ~(mask << lo) | part, scope)
            case _:
                raise NotSupported(f"{target.span}: not a place to assign to")

    def kept(self, value: object, type_: Type | None) -> object:
        """A value as a place of this type has it."""
        return wrap(value, type_) if isinstance(value, int) else copy(value)

    def assign_name(self, target: ast.Name, value: object, scope: Scope) -> None:
        decl = target.decl
        holder = scope.holder(decl)
        if holder is not None:
            old = holder.values[decl]
            if isinstance(old, Instance):
                old.assign(value)                                           # type: ignore[arg-type]
            else:
                holder.values[decl] = value
        elif isinstance(decl, ast.Field):
            assert scope.this is not None
            scope.this.write(decl, value)
        elif isinstance(decl, ast.Register):
            assert not isinstance(decl.type, Array)
            self.run.state.cells[decl] = value
        else:
            raise NotSupported(f"{target.span}: the reference cannot assign {target.name!r}")

    def assign_member(self, target: ast.Member, value: object, scope: Scope) -> None:
        base = self.run.evaluate(target.base, scope)
        if isinstance(base, Instance):
            base.write(target.decl, value)                                  # type: ignore[arg-type]
        elif isinstance(base, ChoiceValue):
            base.write(target.decl, value)                                  # type: ignore[arg-type]
        elif isinstance(base, Struct):
            old = base.fields[target.name]
            if isinstance(old, Instance):
                old.assign(value)                                           # type: ignore[arg-type]
            else:
                base.fields[target.name] = value
        elif isinstance(base, dict):                                        # meta
            base[target.name] = value
        else:
            raise NotSupported(f"{target.span}: the reference cannot assign .{target.name}")
