"""Parser, processor and deparser."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Union

from ..types import Type
from .declarations import Decl, Param
from .expressions import Expr, Node, TypeRef
from .objects import Table
from .statements import Block, ConstDecl, Stmt, VarDecl


@dataclass(eq=False)
class SelectCase(Node):
    """keys: one element, or several for a tuple select. target: a state name, "accept" or "reject"; reason for `reject(X)`."""

    keys: list[Expr]
    target: str
    reason: Optional[Expr] = None
    state: Optional["State"] = None             # checked


@dataclass(eq=False)
class Transition(Node):
    """`transition accept;`, `transition next;`, `transition reject(X);` (cases has one with keys []) or a select."""

    select: Optional[list[Expr]]
    cases: list[SelectCase]
    inner: bool = False                         # checked: between parts of what was written as one state


@dataclass(eq=False)
class ValueSet(Decl):
    """P4's `value_set<bit<16>>[8] ports;` in a parser: values that the control plane gives, a key of a select."""

    cell: TypeRef
    size: Optional[Expr]
    type: Optional[Type] = None                 # checked
    table: Optional[Table] = None               # checked: one exact key, a hit says that the value is in the set


@dataclass(eq=False)
class State(Decl):
    """`state s [max n] { statements; transition ... }`; max bounds how often it is entered for one packet."""

    statements: list[Stmt]
    transition: Optional[Transition]
    max: Optional[Expr] = None
    reason: str = ""                            # checked: of what was copied from an applied parser, what it rejects with


@dataclass(eq=False)
class Parser(Decl):
    params: list[Param]
    locals: list[Union[VarDecl, ConstDecl, ValueSet]]
    states: list[State]


@dataclass(eq=False)
class Processor(Decl):
    """P4's `control`. locals: Register, Counter, Meter, BufferDecl, Action, Table, VarDecl, ConstDecl, instances."""

    params: list[Param]
    locals: list[Node]
    apply: Block


@dataclass(eq=False)
class Deparser(Decl):
    params: list[Param]
    body: Block
