"""Statements."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional

from ..types import Type
from .expressions import Call, Expr, Node, TypeRef

if TYPE_CHECKING:
    from .program import Handler


@dataclass(eq=False)
class Stmt(Node):
    pass


@dataclass(eq=False)
class Block(Stmt):
    statements: list[Stmt]


@dataclass(eq=False)
class VarDecl(Stmt):
    """`bit<8> x = e;`, also `Link l;` and, in a parser, a local header `Ie ie;`. A variable without initial value is zero
    (a header: invalid)."""

    type_ref: TypeRef
    name: str
    init: Optional[Expr]
    type: Optional[Type] = None                 # checked


@dataclass(eq=False)
class ConstDecl(Stmt):
    """`const bit<16> PORT = 7;` (also at top level)."""

    type_ref: TypeRef
    name: str
    value: Expr
    type: Optional[Type] = None


@dataclass(eq=False)
class Assign(Stmt):
    target: Expr
    value: Expr


@dataclass(eq=False)
class If(Stmt):
    cond: Expr
    then: Stmt
    otherwise: Optional[Stmt]


@dataclass(eq=False)
class For(Stmt):
    """`for (i in low..high) body`: i from low to high - 1, both constant."""

    name: str
    low: Expr
    high: Expr
    body: Stmt
    var: Optional["VarDecl"] = None             # checked: the loop variable, bit<32>
    written: bool = False                       # checked: one turn, whose body holds what were all turns, with a constant of the variable's name in each


@dataclass(eq=False)
class Switch(Stmt):
    """P4's `switch (e) { v: {...} default: {...} }`; also over `t.apply().action_run`."""

    value: Expr
    cases: list[tuple[list[Expr], Optional[Block]]]


@dataclass(eq=False)
class Return(Stmt):
    value: Optional[Expr]


@dataclass(eq=False)
class Exit(Stmt):
    pass


@dataclass(eq=False)
class ExprStmt(Stmt):
    """A call as a statement."""

    call: Call


@dataclass(eq=False)
class Applied(Stmt):
    """checked: an applied module's body, written out; `return` ends it."""

    body: Block


@dataclass(eq=False)
class After(Stmt):
    """In a handler: `after 10 ms { ... }`, `after wait max 10 ms { ... }`. handler (checked): the body as a handler of its own."""

    delay: Expr
    most: Expr | None
    body: Block
    handler: Optional["Handler"] = None
