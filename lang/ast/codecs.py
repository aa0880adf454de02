"""Codecs: the second representation of a header, row by row."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Union

from ..types import Type
from .declarations import Decl, Param
from .expressions import Expr, Name, Node, TypeRef
from .headers import Header
from .statements import VarDecl


@dataclass(eq=False)
class TagBits(Decl):
    """One piece of a codec's `tag`: a constant (`0b011`, name "") or a variable `tf:2`."""

    width: int
    value: Optional[int] = None
    type: Optional[Type] = None


@dataclass(eq=False)
class CodecVar(Decl):
    """`var bit<8> len = sizeof(data);` value on compress; rows assign it on expand.
    With `first`: `var bit<4> sci = first i in 0..16 where (cond);` the first i that satisfies cond, else low."""

    type_ref: TypeRef
    value: Optional[Expr]
    loop: Optional[VarDecl] = None
    low: Optional[Expr] = None
    high: Optional[Expr] = None
    cond: Optional[Expr] = None
    type: Optional[Type] = None


@dataclass(eq=False)
class RowInline(Node):
    """`inline(a, pad:2, b, data)`: each target in wire order. pad: zero on compress, ignored on expand.
    A varbit target takes `bits` from its `(data, 8 * len)` form: `inline(data : 8 * len)`."""

    targets: list["InlineTarget"]


@dataclass(eq=False)
class InlineTarget(Node):
    """target None: padding of `width` bits. bits: the run-time size of a varbit target, in bits."""

    target: Optional[Expr]
    width: Optional[int] = None
    bits: Optional[Expr] = None


@dataclass(eq=False)
class RowAssign(Node):
    """`src = LINK_LOCAL ++ inline:64`. On expand assigns; on compress the row holds only if the target equals the value
    (inline pieces taken from their source); a value with `following` holds always."""

    target: Expr
    value: Expr


@dataclass(eq=False)
class RowWhere(Node):
    """`where (cond)` or `where (cond, error.X)`: on expand a row whose cond is false rejects (default reason: the
    group's, `Codec.<last tag of the group>`); on compress the row does not hold."""

    cond: Expr
    reason: Optional[Expr] = None


RowItem = Union[RowInline, RowAssign, RowWhere]


@dataclass(eq=False)
class Row(Node):
    """`0, 3: items;` keys: one constant or DontCare per tag variable of the group."""

    keys: list[Expr]
    items: list[RowItem]


@dataclass(eq=False)
class Group(Node):
    """`sac, sam { rows }`; groups are on the wire in this order. A group without tag variables (`tags` empty) has one
    row without keys: unconditional items written directly in the codec's body."""

    tags: list[Name]
    rows: list[Row]


@dataclass(eq=False)
class Codec(Decl):
    """`codec C(params) <-> H { tag ...; var ...; groups }`: a second representation of header H."""

    params: list[Param]
    header_name: str
    tag: list[TagBits]
    vars: list[CodecVar]
    groups: list[Group]
    header: Optional[Header] = None             # checked
