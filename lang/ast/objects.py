"""What a program keeps or is given: registers, counters, meters, buffers, tables."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional

from ..types import Type
from .declarations import Decl, Param
from .expressions import Expr, Node, TypeRef
from .statements import Block


@dataclass(eq=False)
class Register(Decl):
    """`register<T> r;`, `register<T>[n] r;`, `persistent register<T> r;` at top level or in a processor."""

    cell: TypeRef
    size: Optional[Expr]
    persistent: bool = False
    type: Optional[Type] = None                 # checked: the cell's type, or Array


@dataclass(eq=False)
class Counter(Decl):
    cell: TypeRef
    size: Optional[Expr]
    type: Optional[Type] = None


@dataclass(eq=False)
class Meter(Decl):
    """`meter<bit<16>>[n] m(interval, burst, excess);` see `meters.py`. amount: the type of what a packet takes."""

    amount: TypeRef
    args: list[Expr]
    size: Optional[Expr] = None
    type: Optional[Type] = None                 # checked: the cell's type, or Array


@dataclass(eq=False)
class Migrate(Node):
    """`migrate version 1 { register<T> r; ... }`: makes the state of this version from that of version 1, whose registers
    are declared in front and read as `old.r`."""

    version: Expr
    old: list[Register]
    body: Block


@dataclass(eq=False)
class BufferDecl(Decl):
    """`buffer<1280>[2] partial timeout 60 s;` bytes: octets of an entry, size: how many entries."""

    bytes: Expr
    size: Expr
    timeout: Optional[Expr]
    key: Optional[list[int]] = None             # checked: bits of each value of the key, as the first use has them


@dataclass(eq=False)
class Action(Decl):
    params: list[Param]
    body: Block


@dataclass(eq=False)
class TableKey(Node):
    expr: Expr
    match: str                                  # exact, lpm, ternary, range


@dataclass(eq=False)
class ActionRef(Node):
    """In a table's list `args` are bound: the action's first parameters. Elsewhere (`default_action`, an entry) they are
    what the table gives; checked: what the list binds is taken off the front and kept in `bound`."""

    name: str
    args: list[Expr]
    action: Optional[Action] = None             # checked
    bound: list[Expr] = field(default_factory=list)         # checked


@dataclass(eq=False)
class TableEntry(Node):
    """A constant entry: `(ip6"aaaa::" / 16) : send_to(7);`"""

    keys: list[Expr]
    action: ActionRef
    priority: Optional[int] = None


@dataclass(eq=False)
class Table(Decl):
    keys: list[TableKey]
    actions: list[ActionRef]
    size: Optional[Expr]
    default_action: Optional[ActionRef]
    entries: list[TableEntry]
    const_entries: bool = False
    const_default: bool = False


# ---- parser, processor, deparser
    shared: Optional["Table"] = None            # checked: of a copy in a module that applies the table's: whose entries it has

    @property
    def prioritized(self) -> bool:
        """Whether priorities say which of the entries that fit is taken; else it is the one with the longest prefix, if any."""
        return any(key.match in ("ternary", "range") for key in self.keys)
