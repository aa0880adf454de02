"""Headers: fields, words, choices, conditions."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Union

from ..types import Type
from .declarations import Decl, Param
from .expressions import Expr, Name, Node, TypeRef


@dataclass(eq=False)
class Field(Decl):
    """A field. name "_" is anonymous. `equation`: `= e`; `deferred`: checked only by `h.holds()`; `values`: `in {...}`;
    `when`: presence condition; `sized`: bits of a varbit. little: `le<N>` outside a word."""

    type_ref: TypeRef
    when: Optional[Expr] = None
    equation: Optional[Expr] = None
    deferred: bool = False
    values: Optional[list[Expr]] = None
    sized: Optional[Expr] = None
    type: Optional[Type] = None                 # checked: Bits, Bool, EnumType or Varbit
    little: bool = False
    header: Optional["Header"] = None           # checked: the header it belongs to


@dataclass(eq=False)
class Word(Node):
    """`word le<16> { ... }`: fields from the least significant bit of a little-endian word of `width` bits
    (`word be<16>`/`word bit<16>`: from the least significant bit of a big-endian word)."""

    width: int
    little: bool
    fields: list[Field]


@dataclass(eq=False)
class ChoiceArm(Decl):
    """`short: le<16>;` name is an enum member's name of the tag's type."""

    type_ref: TypeRef
    type: Optional[Type] = None
    little: bool = False
    number: int = 0                             # checked: the tag's value
    choice: Optional["ChoiceField"] = None


@dataclass(eq=False)
class ChoiceField(Decl):
    """`choice (dst_mode) { short: le<16>; ext: le<64>; } dst;` a tag value without an arm takes no bytes."""

    tag: Name
    arms: list[ChoiceArm]
    header: Optional["Header"] = None


@dataclass(eq=False)
class Where(Node):
    """`where (cond);` or `where (cond, error.X);` in a header: checked when parsed; default reason `Header.where`."""

    cond: Expr
    reason: Optional[Expr] = None


HeaderItem = Union[Field, Word, ChoiceField, Where]


@dataclass(eq=False)
class Header(Decl):
    params: list[Param]
    items: list[HeaderItem]

    def fields(self) -> list[Field]:
        """All fields in wire order of their items (the fields of a word from its least significant bit)."""
        out: list[Field] = []
        for item in self.items:
            if isinstance(item, Field):
                out.append(item)
            elif isinstance(item, Word):
                out.extend(item.fields)
        return out
