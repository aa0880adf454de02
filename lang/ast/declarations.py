"""Declarations of constants, types, errors and functions."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional

from ..types import Type
from .expressions import Expr, Node, TypeRef
from .statements import Block


@dataclass(eq=False)
class Decl(Node):
    name: str


@dataclass(eq=False)
class Import(Node):
    """`import std.udp;`"""

    path: list[str]
    module: Optional[Imported] = None             # loaded


@dataclass(eq=False)
class Imported:
    """A file that is imported, with its own declarations."""

    imports: list[Import]
    decls: list[Node]


@dataclass(eq=False)
class Const(Decl):
    type_ref: TypeRef
    value: Expr
    type: Optional[Type] = None


@dataclass(eq=False)
class Typedef(Decl):
    type_ref: TypeRef


@dataclass(eq=False)
class EnumMember(Decl):
    value: Optional[Expr]
    number: int = 0                             # checked


@dataclass(eq=False)
class Enum(Decl):
    """`enum bit<2> E { a = 0, b }`. A value not named is rejected when a header with such a field is parsed."""

    base: TypeRef
    members: list[EnumMember]


@dataclass(eq=False)
class ErrorMember(Decl):
    number: int = 0                             # checked: reason number in this program


@dataclass(eq=False)
class ErrorDecl(Node):
    """`error { A, B }`, as in P4; the reasons a parser or action may give."""

    members: list[ErrorMember]


@dataclass(eq=False)
class StructField(Decl):
    type_ref: TypeRef
    type: Optional[Type] = None                 # checked
    args: list["StructField"] = field(default_factory=list)   # checked: `Udp(ip) udp` -> [field ip]
    init: Optional[Expr] = None


@dataclass(eq=False)
class Struct(Decl):
    fields: list[StructField]


@dataclass(eq=False)
class Param(Decl):
    """direction: "", "in", "out", "inout"."""

    direction: str
    type_ref: TypeRef
    type: Optional[Type] = None


@dataclass(eq=False)
class Function(Decl):
    return_type: TypeRef
    params: list[Param]
    body: Block


@dataclass(eq=False)
class Extern(Decl):
    """`extern bit<32> f(bit<32> x) cost 100 in { net, radio };`"""

    return_type: TypeRef
    params: list[Param]
    cost: Optional[Expr]
    contexts: list[str]
