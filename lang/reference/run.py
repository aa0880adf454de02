"""One packet's way through the program: its bytes, its headers, and what names from outside mean."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Optional

from .. import ast
from ..limits import OUT_SIZE
from ..types import HeaderType, Stack, Type
from .entries import Entry
from .calls import Calls
from .codecs import Compress, Expand
from .expressions import Expressions
from .headers import Instance, Located
from .outside import Outside
from .packet import Packet
from .scope import Scope
from .state import State
from .statements import Statements
from .values import NotSupported, Rejected, StackValue, Struct

Derived = Callable[[ast.Node, ast.Field], bool]


@dataclass
class Taken:
    """A header taken from the packet, for drawing: through which codec, from where to where (None: refused). `said`: what a codec has in line."""

    instance: Instance
    codec: Optional[ast.Codec]
    start: int
    end: Optional[int] = None
    said: list[Located] = field(default_factory=list)


class Run:
    """The state of one packet's run. The modules of the chain share it."""

    def __init__(self, program: ast.Program, derived: Derived, frame: bytes, meta: dict, state: State,
                 externs: Mapping[str, Callable[..., "int | None"]] | None = None) -> None:
        self.program, self.derived, self.state = program, derived, state
        self.externs = externs or {}
        self.old: dict[str, object] = {}        # in a migration: the old registers
        self.packet = Packet(bytes(frame))
        self.meta, self.node = meta_fields(meta), node_fields(meta)
        self.expressions, self.statements, self.calls = Expressions(self), Statements(self), Calls(self)
        self.evaluate, self.number = self.expressions.evaluate, self.expressions.number
        self.matches, self.assign = self.expressions.matches, self.statements.assign
        self.order: list[Instance] = []         # the header instances as the `headers` struct declares them
        self.taken: list[Taken] = []
        self.emitting: Optional[list[bytes]] = None
        self.outside = Outside(self)
        self.completed: Optional[tuple[ast.BufferDecl, Entry]] = None      # whose chain runs next
        self.event = int(meta.get("event") or 0)
        self.headers = self.make_headers()

    # ------------------------------------------------------------ headers

    def make_headers(self) -> Optional[Struct]:
        struct = self.program.headers_struct
        if struct is None:
            return None
        made: dict[str, object] = {}
        for field in struct.fields:
            args = [made[arg.name] for arg in field.args]
            made[field.name] = self.new_header(field, field.type, field.name, args)     # type: ignore[arg-type]
        for value in made.values():
            self.order.extend(value.elements if isinstance(value, StackValue) else [value])     # type: ignore[list-item]
        return Struct(struct, made)

    def new_header(self, decl: ast.Node, type_: Type | None, name: str, args: list[Instance]) -> object:
        """An invalid header, or a stack of them."""
        if isinstance(type_, Stack):
            return StackValue([self.new_header(decl, type_.header, f"{name}[{i}]", args)        # type: ignore[misc]
                               for i in range(type_.size)])
        assert isinstance(type_, HeaderType)
        header = type_.decl
        derived = frozenset(each for each in header.fields() if each.equation is not None and self.derived(decl, each))
        return Instance(self, header, decl, name, args, derived)

    def header_scope(self, instance: Instance) -> Scope:
        return Scope(dict(zip(instance.header.params, instance.args)), this=instance)

    def next_of(self, stack: StackValue) -> Instance:
        if stack.next == len(stack.elements):
            raise Rejected("StackOutOfBounds")
        return stack.elements[stack.next]

    def following(self, instance: Optional[Instance]) -> list[Instance]:
        """The valid headers after one, and the one being checked; none after what is not of the headers struct."""
        later = self.order[self.order.index(instance) + 1:] if instance in self.order else []
        return [each for each in later if each.valid or each.taken]

    def size_of_payload(self, instance: Optional[Instance]) -> int:
        """What follows the headers; in a header's own description, what follows that header: later headers too."""
        return sum(each.size() for each in self.following(instance)) + len(self.packet.rest)

    def payload_of(self, instance: Optional[Instance]) -> bytes:
        """The octets that `size_of_payload` counts, as they are sent."""
        return b"".join(each.emit() for each in self.following(instance)) + self.packet.rest

    def extract(self, instance: Instance, codec: Optional[ast.Codec], args: list[object]) -> dict[ast.Param, object]:
        """`pkt.extract(h [via codec])`; returns the codec's inout parameters."""
        taken = Taken(instance, codec, self.packet.payload)
        self.taken.append(taken)
        if codec is None:
            instance.extract(self.packet)
            result: dict[ast.Param, object] = {}
        else:
            expand = Expand(self, codec, args, instance)
            taken.said = expand.said
            expand.expand()
            result = expand.inout()
        taken.end = self.packet.payload
        return result

    def emit(self, instance: Instance, codec: Optional[ast.Codec], args: list[object]) -> dict[ast.Param, object]:
        """`pkt.emit(h [via codec])` of a header that may be invalid."""
        assert self.emitting is not None
        if not instance.valid:
            return {}
        result: dict[ast.Param, object] = {}
        if codec is None:
            self.emitting.append(instance.emit())
        else:
            compress = Compress(self, codec, args, instance)
            self.emitting.append(compress.compress())
            result = compress.inout()
        if sum(map(len, self.emitting)) > OUT_SIZE:
            raise Rejected("PacketTooLong")
        return result

    # ------------------------------------------------------------ names from outside

    def builtin(self, name: str) -> object:
        if name == "node":
            return self.node
        if name == "old":
            return self.old
        raise NotSupported(f"the reference does not know {name!r}")

    def reason(self, expr: Optional[ast.Expr], default: str, scope: Scope) -> str:
        """The name of an error that the program gives, or the automatic one. An error that was never set is no reason: NoMatch."""
        if expr is None:
            return default
        return self.program.reasons[self.number(expr, scope)] or "NoMatch"


def meta_fields(given: dict) -> dict[str, object]:
    """The packet's `meta`: what the program may read and write of it."""
    return {"verdict": 0, "reason": 0, "port": 0,
            "iface": int(given.get("iface") or 0) & 0xFF, "rssi": int(given.get("rssi") or 0) & 0xFF,
            "lqi": int(given.get("lqi") or 0) & 0xFF, "time": int(given.get("time") or 0) & 0xFFFF_FFFF}


def node_fields(given: dict) -> dict[str, object]:
    """The `node`, from the keys node_short, node_ext, node_pan, clock."""
    return {"short": int(given.get("node_short") or 0) & 0xFFFF, "pan": int(given.get("node_pan") or 0) & 0xFFFF,
            "ext": int(given.get("node_ext") or 0) & (1 << 64) - 1, "clock": int(given.get("clock") or 0) & 0xFFFF_FFFF}
