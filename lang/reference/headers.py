"""Header instances: located in the packet, checked, read, changed, and laid out again."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Iterator, Union

from .. import ast
from ..check.headers import in_order_of_need
from ..types import EnumType, Type, Varbit
from .packet import Packet, Reader, Writer
from .values import Rejected, unsigned, width_of, wrap, zero

if TYPE_CHECKING:
    from .run import Run


def swap(value: int, width: int) -> int:
    """The octets of a `le<width>` or of a little-endian word in the other order."""
    return int.from_bytes(value.to_bytes(width // 8, "little"), "big")


def as_value(bits: int, type_: Type | None) -> object:
    """Bits from the wire as a value of the field's type."""
    return wrap(bits, type_)


@dataclass
class Located:
    """Where a field's bits were found: for drawing a packet, not for its meaning. -1: not on the wire."""

    field: Union[ast.Field, ast.ChoiceArm]
    position: int
    width: int


@dataclass
class ChoiceValue:
    """`h.dst` of a choice: arms are read and assigned by name."""

    instance: "Instance"
    choice: ast.ChoiceField

    def arm(self) -> ast.ChoiceArm | None:
        """The arm that the tag selects; None where no arm has the tag's value."""
        number = self.instance.read(self.choice.tag.decl)
        return next((arm for arm in self.choice.arms if arm.number == number), None)

    def read(self, arm: ast.ChoiceArm) -> object:
        return self.instance.arm_value(self.choice, arm) if self.arm() is arm else 0

    def write(self, arm: ast.ChoiceArm, value: object) -> None:
        self.instance.write(self.choice.tag.decl, arm.number)
        self.instance.arms[self.choice] = (arm, value)


@dataclass(eq=False)
class Instance:
    """One header of the packet. `decl` names it in the program (the field of `headers`, or a parser's local);
    `args` are the instances bound to the header's parameters; `derived` the fields that are always computed."""

    run: "Run"
    header: ast.Header
    decl: ast.Node
    name: str
    args: list["Instance"] = field(default_factory=list)
    derived: frozenset[ast.Field] = frozenset()
    valid: bool = False
    stored: dict[ast.Field, object] = field(default_factory=dict)
    arms: dict[ast.ChoiceField, tuple[ast.ChoiceArm, object]] = field(default_factory=dict)
    open: bool = False                          # being extracted: fields read as they came from the wire
    taken: bool = False                         # being checked: it follows the headers before it, as it will when it is valid
    located: list[Located] = field(default_factory=list)

    # ------------------------------------------------------------ values

    def evaluate(self, expr: ast.Expr) -> object:
        """An expression of the header's own description: a condition, an equation, a size."""
        return self.run.evaluate(expr, self.run.header_scope(self))

    def present(self, item: ast.Field) -> bool:
        return item.when is None or bool(self.evaluate(item.when))

    def read(self, item: ast.Field) -> object:
        """The field's value; 0 where there is none."""
        if not (self.valid or self.open) or not self.present(item):
            return zero(item.type)
        if item in self.derived and not self.open:
            return self.equation(item)
        return self.received(item)

    def received(self, item: ast.Field) -> object:
        """The value as received or assigned, computed or not."""
        return self.stored[item] if item in self.stored else zero(item.type)

    def equation(self, item: ast.Field) -> object:
        assert item.equation is not None
        return as_value(int(self.evaluate(item.equation)), item.type)       # type: ignore[call-overload]

    def write(self, item: ast.Field, value: object) -> None:
        """Assign. A choice whose tag changes has lost its arm: the new arm's value is 0."""
        if value != self.received(item):
            for choice in self.choices():
                if choice.tag.decl is item:
                    self.arms.pop(choice, None)
        self.stored[item] = value

    def arm_value(self, choice: ast.ChoiceField, arm: ast.ChoiceArm) -> object:
        chosen, value = self.arms.get(choice, (None, 0))
        return value if chosen is arm else 0

    def choices(self) -> Iterator[ast.ChoiceField]:
        return (item for item in self.header.items if isinstance(item, ast.ChoiceField))

    def holds(self) -> bool:
        """Every deferred equation of a valid header is true of the value as received (or assigned)."""
        return self.valid and all(self.received(item) == self.equation(item) for item in self.header.fields()
                                  if item.deferred and item.equation is not None and self.present(item))

    def set_valid(self) -> None:
        if not self.valid:
            self.clear()
            self.valid = True

    def set_invalid(self) -> None:
        self.valid = False

    def clear(self) -> None:
        self.stored, self.arms, self.located = {}, {}, []

    def assign(self, other: "Instance") -> None:
        """`h.a = h.b`: validity and every field."""
        self.valid, self.stored, self.arms = other.valid, dict(other.stored), dict(other.arms)

    # ------------------------------------------------------------ size and layout

    def size(self) -> int:
        """Bytes of the header, uncompressed, as it is now."""
        bits = 0
        for item in self.header.items:
            if isinstance(item, ast.Word):
                bits += item.width
            elif isinstance(item, ast.ChoiceField):
                arm = ChoiceValue(self, item).arm()
                bits += width_of(arm.type) if arm else 0
            elif isinstance(item, ast.Field) and self.present(item):
                bits += self.field_bits(item)
        return bits // 8

    def field_bits(self, item: ast.Field) -> int:
        if isinstance(item.type, Varbit):
            return 8 * len(self.received(item))                             # type: ignore[arg-type]
        return width_of(item.type)

    def emit(self) -> bytes:
        """The header on the wire: what was received as it was, what is derived computed."""
        out = Writer()
        for item in self.header.items:
            if isinstance(item, ast.Word):
                word, shift = 0, 0
                for part in item.fields:
                    width = width_of(part.type)
                    word |= unsigned(self.read(part), width) << shift       # type: ignore[arg-type]
                    shift += width
                out.bits(swap(word, item.width) if item.little else word, item.width)
            elif isinstance(item, ast.ChoiceField):
                arm = ChoiceValue(self, item).arm()
                if arm:
                    write_bits(out, self.arm_value(item, arm), arm)
            elif isinstance(item, ast.Field) and self.present(item):
                write_bits(out, self.read(item), item)
        return out.finish()

    # ------------------------------------------------------------ extraction

    def extract(self, packet: Packet) -> None:
        """Take the header at the cursor: locate every field, then check them in order of declaration."""
        self.clear()
        self.open = True
        try:
            reader = Reader(packet, 8 * packet.payload)
            sized = self.locate(reader)
            packet.payload = reader.position // 8
            self.taken = True
            self.check(sized)
            self.valid = True
        finally:
            self.open = self.taken = False

    def locate(self, reader: Reader) -> dict[ast.Field, int]:
        """Read every present field. Returns what the `sized` expressions gave, in bits."""
        sized: dict[ast.Field, int] = {}
        for item in self.header.items:
            at = reader.position
            if isinstance(item, ast.Word):
                word = reader.bits(item.width)
                word = swap(word, item.width) if item.little else word
                for part in item.fields:
                    width = width_of(part.type)
                    self.stored[part] = as_value(word & ((1 << width) - 1), part.type)
                    self.located.append(Located(part, at, item.width))
                    word >>= width
            elif isinstance(item, ast.ChoiceField):
                arm = ChoiceValue(self, item).arm()
                if arm:
                    self.arms[item] = (arm, read_bits(reader, arm))
                    self.located.append(Located(arm, at, reader.position - at))
            elif isinstance(item, ast.Field) and self.present(item):
                if isinstance(item.type, Varbit):
                    sized[item] = int(self.evaluate(item.sized))            # type: ignore[arg-type,call-overload]
                    self.stored[item] = reader.bytes(sized[item] >> 3)
                else:
                    self.stored[item] = read_bits(reader, item)
                self.located.append(Located(item, at, reader.position - at))
        return sized

    def check(self, sized: dict[ast.Field, int]) -> None:
        for item in self.header.items:
            if isinstance(item, ast.Where):
                if not self.evaluate(item.cond):
                    raise Rejected(self.run.reason(item.reason, f"{self.header.name}.where", self.run.header_scope(self)))
                continue
            parts = item.fields if isinstance(item, ast.Word) else [item] if isinstance(item, ast.Field) else []
            for part in parts:
                if self.present(part) and not self.allowed(part, sized):
                    raise Rejected(f"{self.header.name}.{part.name}")

    def allowed(self, item: ast.Field, sized: dict[ast.Field, int]) -> bool:
        """The field's own checks: a size in whole bytes, a named value, one `in {...}`, the equation."""
        value = self.received(item)
        if isinstance(item.type, Varbit) and not fits(sized[item], item.type):
            return False
        if isinstance(item.type, EnumType) and all(value != member.number for member in item.type.decl.members):
            return False
        if item.values is not None and not any(
                self.run.matches(value, each, self.run.header_scope(self)) for each in item.values):
            return False
        return item.equation is None or item.deferred or value == self.equation(item)

    def complete(self, assigned: set[ast.Field]) -> None:
        """After `expand`: fields with an equation that no row assigned take the equation's value, what it needs first."""
        self.valid = True
        for item in in_order_of_need(self.header):
            if item not in assigned and self.present(item):
                self.stored[item] = self.equation(item)


def fits(bits: int, type_: Varbit) -> bool:
    return bits % 8 == 0 and bits <= type_.max_width


def read_bits(reader: Reader, item: Union[ast.Field, ast.ChoiceArm]) -> object:
    width = width_of(item.type)
    value = reader.bits(width)
    return as_value(swap(value, width) if item.little else value, item.type)


def write_bits(out: Writer, value: object, item: Union[ast.Field, ast.ChoiceArm]) -> None:
    if isinstance(value, bytes):
        out.bytes(value)
        return
    width = width_of(item.type)
    bits = unsigned(value, width)                                           # type: ignore[arg-type]
    out.bits(swap(bits, width) if item.little else bits, width)

