"""The types of LPN: what the checker attaches to every expression (`expr.type`)."""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import ast


class Type:
    """Base of all types; two types are the same when they compare equal."""


@dataclass(frozen=True)
class Bits(Type):
    """`bit<width>` or, signed, `int<width>`; 1..128 bits. `le<N>` fields have type `bit<N>` when read."""

    width: int
    signed: bool = False

    def __str__(self) -> str:
        return f"{'int' if self.signed else 'bit'}<{self.width}>"


@dataclass(frozen=True)
class Integer(Type):
    """An integer constant without a width (P4's arbitrary-precision `int`); takes the width its use asks for."""

    def __str__(self) -> str:
        return "int"


@dataclass(frozen=True)
class Bool(Type):
    def __str__(self) -> str:
        return "bool"


@dataclass(frozen=True)
class Void(Type):
    def __str__(self) -> str:
        return "void"


@dataclass(frozen=True)
class ErrorType(Type):
    """The type of `error.Name`."""

    def __str__(self) -> str:
        return "error"


@dataclass(frozen=True)
class Packet(Type):
    """The `packet` of a parser or deparser."""

    def __str__(self) -> str:
        return "packet"


@dataclass(frozen=True)
class Meta(Type):
    """The `meta` of a packet; fields in `builtins.META`."""

    def __str__(self) -> str:
        return "meta"


@dataclass(frozen=True)
class Frame(Type):
    """What a handler knows of a frame; fields in `builtins.FRAME`."""

    def __str__(self) -> str:
        return "frame"


@dataclass(frozen=True)
class Varbit(Type):
    """`varbit<max>`: a run of whole bytes of the packet, at most `max` bits."""

    max_width: int

    def __str__(self) -> str:
        return f"varbit<{self.max_width}>"


@dataclass(frozen=True)
class Named(Type):
    """Base of types made by a declaration."""

    decl: "ast.Decl"

    def __str__(self) -> str:
        return self.decl.name

    def __hash__(self) -> int:
        return id(self.decl)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.decl is other.decl  # type: ignore[attr-defined]


@dataclass(frozen=True, eq=False)
class EnumType(Named):
    """`enum bit<N> E {...}`; its representation is `decl.base.type`."""

    decl: "ast.Enum"


@dataclass(frozen=True, eq=False)
class StructType(Named):
    decl: "ast.Struct"


@dataclass(frozen=True, eq=False)
class HeaderType(Named):
    decl: "ast.Header"


@dataclass(frozen=True, eq=False)
class ChoiceType(Named):
    """The value of a `choice` member of a header; its arms are read by name. `decl` is the `ast.ChoiceField`."""

    decl: "ast.ChoiceField"


@dataclass(frozen=True)
class Stack(Type):
    """`H[n]`: a stack of n headers of one type."""

    header: HeaderType
    size: int

    def __str__(self) -> str:
        return f"{self.header}[{self.size}]"


@dataclass(frozen=True)
class Array(Type):
    """`register<T>[n]`: n cells of one type; a single `register<T>` reads and writes as its cell type."""

    cell: Type
    size: int

    def __str__(self) -> str:
        return f"register<{self.cell}>[{self.size}]"
