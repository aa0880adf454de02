"""Values of LPN at run time, and the arithmetic on them.

bit<N> is a Python int from 0 to 2**N - 1, int<N> a signed one, bool a bool, an enum its number, an error its
reason number, a varbit bytes. Structs, headers and stacks are objects.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import ast
from ..types import (Array, Bits, Bool, EnumType, ErrorType, HeaderType, Integer, Stack, StructType, Type, Varbit)

if TYPE_CHECKING:
    from .headers import Instance


class Rejected(Exception):
    """The packet is refused; `reason` is a name of `program.reasons`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NotSupported(Exception):
    """The program uses what the reference does not execute (a helper of the engine that it does not know, or calls too deep in each other)."""


@dataclass
class Struct:
    """A struct's value: fields by name."""

    decl: ast.Struct
    fields: dict[str, object]

    def copy(self) -> "Struct":
        return Struct(self.decl, {name: copy(value) for name, value in self.fields.items()})

    def assign(self, other: "Struct") -> None:
        for name, value in other.fields.items():
            mine = self.fields[name]
            if isinstance(mine, Struct) and isinstance(value, Struct):
                mine.assign(value)
            else:
                self.fields[name] = copy(value)


@dataclass
class StackValue:
    """A header stack `H[n]`: its elements and how many `.next` has handed out."""

    elements: list["Instance"]
    next: int = 0

    def push_front(self, count: int) -> None:
        """P4: move every element `count` up; the first ones become invalid."""
        for index in reversed(range(len(self.elements))):
            if index >= count:
                self.elements[index].assign(self.elements[index - count])
            else:
                self.elements[index].set_invalid()
        self.next = min(self.next + count, len(self.elements))

    def pop_front(self, count: int) -> None:
        """P4: move every element `count` down; the last ones become invalid."""
        for index, element in enumerate(self.elements):
            if index + count < len(self.elements):
                element.assign(self.elements[index + count])
            else:
                element.set_invalid()
        self.next = max(self.next - count, 0)


def copy(value: object) -> object:
    """What a variable, parameter or register cell of its own gets; header instances are passed as they are."""
    return value.copy() if isinstance(value, Struct) else value


def width_of(type_: Type | None) -> int:
    """Bits of a value as it stands in `++`, a slice or a table key."""
    if isinstance(type_, Bits):
        return type_.width
    if isinstance(type_, Bool):
        return 1
    if isinstance(type_, EnumType):
        base = type_.decl.base.type
        assert isinstance(base, Bits)
        return base.width
    if isinstance(type_, Varbit):
        return type_.max_width
    raise TypeError(f"{type_} has no width")


def wrap(value: int, type_: Type | None) -> int:
    """`value` modulo the type's width; unsized constants stay as they are."""
    if isinstance(type_, Bits):
        value &= (1 << type_.width) - 1
        if type_.signed and value >> (type_.width - 1):
            value -= 1 << type_.width
        return value
    if isinstance(type_, Bool):
        return bool(value)
    if isinstance(type_, EnumType):
        return value & ((1 << width_of(type_)) - 1)
    return value


def zero(type_: Type | None) -> object:
    """The initial value of a variable, field or register cell (not of a header: it needs a place)."""
    if isinstance(type_, Bool):
        return False
    if isinstance(type_, Varbit):
        return b""
    if isinstance(type_, StructType):
        return Struct(type_.decl, {field.name: zero(field.type) for field in type_.decl.fields})
    if isinstance(type_, Array):
        return [zero(type_.cell) for _ in range(type_.size)]
    if isinstance(type_, (Bits, EnumType, ErrorType, Integer)):
        return 0
    raise TypeError(f"{type_} has no zero value")


def is_header(type_: Type | None) -> bool:
    return isinstance(type_, (HeaderType, Stack))


def cast(value: object, source: Type | None, target: Type | None) -> object:
    """`(target) value`: truncation or extension; from `int<N>` the sign is extended."""
    if isinstance(target, Bool):
        return bool(value)
    return wrap(int(value), target)                     # type: ignore[call-overload]


def shift(op: str, value: int, amount: int, type_: Type | None) -> int:
    """Shifts by at least the width give 0 (P4_16, 8.6); an arithmetic shift right of a negative int<N> gives -1."""
    if op == ">>":
        return wrap(value >> amount, type_)
    if isinstance(type_, Bits) and amount >= type_.width:
        return 0
    return wrap(value << amount, type_)


def divide(op: str, left: int, right: int, type_: Type | None) -> int:
    """eBPF's division: by zero gives 0, the remainder of a division by zero is the dividend (RFC 9669, 4.1).
    Signed division truncates."""
    if right == 0:
        return 0 if op == "/" else left
    quotient = abs(left) // abs(right)
    if (left < 0) != (right < 0):
        quotient = -quotient
    return wrap(quotient if op == "/" else left - quotient * right, type_)


def saturate(value: int, type_: Type | None) -> int:
    """`|+|` and `|-|`."""
    assert isinstance(type_, Bits)
    low, high = (-(1 << type_.width - 1), (1 << type_.width - 1) - 1) if type_.signed else (0, (1 << type_.width) - 1)
    return max(low, min(high, value))


def arithmetic(op: str, left: int, right: int, type_: Type | None) -> int:
    """The binary operators whose result has the operands' type."""
    if op in ("<<", ">>"):
        return shift(op, left, right, type_)
    if op in ("/", "%"):
        return divide(op, left, right, type_)
    if op in ("|+|", "|-|"):
        return saturate(left + right if op == "|+|" else left - right, type_)
    result = {"+": lambda: left + right, "-": lambda: left - right, "*": lambda: left * right,
              "&": lambda: left & right, "|": lambda: left | right, "^": lambda: left ^ right}[op]()
    return wrap(result, type_)


def unsigned(value: int, width: int) -> int:
    """The bits of a value: two's complement of a negative one."""
    return int(value) & ((1 << width) - 1)


def inet_sum(data: bytes) -> int:
    """RFC 1071: the one's complement sum of the 16-bit words of `data`, an odd octet padded with zero."""
    if len(data) % 2:
        data += b"\0"
    total = sum(int.from_bytes(data[at:at + 2], "big") for at in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total
