"""What every node has; types as written, and expressions."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Optional

from ..source import Span
from ..types import Type

if TYPE_CHECKING:
    from .codecs import Codec


@dataclass(eq=False)
class Node:
    span: Span = field(repr=False)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """For whoever prints what tests drew: all that a node leads to is the whole program."""
        printer.text(f"{type(self).__name__} at {self.span}: {self.span.text.splitlines()[0]}")


@dataclass(eq=False)
class TypeRef(Node):
    """A type as written: `bit<8>`, `le<16>`, `varbit<2032>`, `bool`, `Ipv6`, `Ipv6Ext[4]`, `Udp(ip)`.

    name: "bit", "int", "le", "varbit", "bool", "packet", "meta", "void", "error" or a declared name;
    width: the expression in `<...>`; args: header arguments `Udp(ip)`; size: the `[n]` of a stack or array.
    """

    name: str
    width: Optional["Expr"] = None
    args: Optional[list["Expr"]] = None
    size: Optional["Expr"] = None
    type: Optional[Type] = None                 # checked; for `le<N>` Bits(N)


@dataclass(eq=False)
class Expr(Node):
    # checked: the type, and the value (int or bool) if the expression is a compile-time constant
    type: Optional[Type] = field(default=None, init=False)
    const: Optional[int] = field(default=None, init=False)


@dataclass(eq=False)
class Int(Expr):
    """`17`, `0xff`, `0b101`, `8w0x11` (width 8), `4s3` (signed); `ip6"fe80::"` is a `bit<128>`; `eui64"..."`, `125 ms` in time units (value in us)."""

    value: int
    width: Optional[int] = None
    signed: bool = False
    unit: Optional[str] = None                  # "us", "ms", "s", "min" for times


@dataclass(eq=False)
class BoolLit(Expr):
    value: bool


@dataclass(eq=False)
class Name(Expr):
    """A bare name. decl (checked): Const, VarDecl, Param, Field (inside its header or codec), Instance, State, Action, ...
    or a string for built-ins: "payload", "node", "following", and "CLEAR", "BUSY", "ACCEPT", "DROP", ..."""

    name: str
    decl: object = None


@dataclass(eq=False)
class Member(Expr):
    """`base.name`: struct or header field, choice arm, enum member (`AddrMode.short`), `error.X`, `meta`/`node` field,
    stack `next`/`last`, or a method name when it is the callee of a Call.
    decl (checked): Field, ChoiceField, ChoiceArm, StructField, EnumMember, ErrorMember, or a built-in's name as string."""

    base: Expr
    name: str
    decl: object = None


@dataclass(eq=False)
class Index(Expr):
    """`base[i]`: header stack (i constant), register array, `payload[i]`."""

    base: Expr
    index: Expr


@dataclass(eq=False)
class Slice(Expr):
    """`base[hi:lo]`, both constant, hi >= lo."""

    base: Expr
    hi: Expr
    lo: Expr


@dataclass(eq=False)
class Unary(Expr):
    """op: "-", "~", "!"."""

    op: str
    operand: Expr


@dataclass(eq=False)
class Binary(Expr):
    """op: + - * / % << >> & | ^ == != < <= > >= && || ++ (concatenation), &&& (mask, only in sets), |+| |-| (saturating)."""

    op: str
    left: Expr
    right: Expr


@dataclass(eq=False)
class Conditional(Expr):
    """`cond ? then : otherwise`."""

    cond: Expr
    then: Expr
    otherwise: Expr


@dataclass(eq=False)
class Cast(Expr):
    """`(bit<8>) operand`: truncates or zero-extends (sign-extends from `int<N>`); bool <-> bit<1>; enum <-> bit."""

    target: TypeRef
    operand: Expr


@dataclass(eq=False)
class Call(Expr):
    """`callee(args)`, with type arguments `pkt.lookahead<bit<8>>()`.

    target (checked): Function, Extern, Action, Table (for `t.apply()`), or a built-in method's name:
    "extract", "emit", "advance", "lookahead", "isValid", "setValid", "setInvalid", "holds", "apply", "count", "execute", "reset",
    "verify", "inet_sum", "truncate", "push_front", "pop_front", "radio.on", ... ; via: the codec of `extract(h via C(args))`."""

    callee: Expr
    args: list[Expr]
    type_args: list[TypeRef] = field(default_factory=list)
    via: Optional["Via"] = None
    target: object = None


@dataclass(eq=False)
class Via(Node):
    """`via Codec(args)` of an extract or emit."""

    name: str
    args: list[Expr]
    codec: Optional["Codec"] = None             # checked


@dataclass(eq=False)
class Sizeof(Expr):
    """`sizeof(payload)`, `sizeof(this)`, `sizeof(varbit field)`, `sizeof(header instance)`: bytes, `bit<16>`.

    operand is None for `this` (the header being described)."""

    operand: Optional[Expr]


@dataclass(eq=False)
class InlinePiece(Expr):
    """In a codec row: `inline:N` inside `++`, or `inline(expr)` as a value. bits read on expand; on compress `source`
    (checked: for `inline:N` the slice of the target it stands for) is written."""

    width: Optional[Expr] = None
    source: Optional[Expr] = None


@dataclass(eq=False)
class Following(Expr):
    """In a codec row, expand only: `following:8`, the bits that follow this header's encoding, not consumed."""

    width: Expr


@dataclass(eq=False)
class RangeSet(Expr):
    """`lo..hi` (both inclusive) as a set element."""

    low: Expr
    high: Expr


@dataclass(eq=False)
class DontCare(Expr):
    """`_` or `default` in a select."""


@dataclass(eq=False)
class Tuple(Expr):
    """`(a, b)` in a select's keyset."""

    elements: list[Expr]


@dataclass(eq=False)
class ListExpr(Expr):
    """`{ a, b, c }`: a struct value in field order, or a set."""

    elements: list[Expr]
