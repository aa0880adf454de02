"""A packet drawn in text: each header with its place, each field with its offset and value."""
from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Iterator, Optional, Union

from .. import ast
from ..types import Bits, EnumType, Type
from .headers import Instance
from .values import width_of

if TYPE_CHECKING:
    from .run import Run, Taken


def draw(run: "Run", reason: Optional[str]) -> str:
    """The headers in the order in which they were taken from the packet, then the payload."""
    lines: list[str] = []
    for taken in run.taken:
        lines.extend(draw_header(taken))
    if reason is not None:
        lines.append(f"rejected at byte {run.packet.payload}: {reason}")
    if run.packet.rest:
        lines.append(f"{'rest' if reason else 'payload'}: {place(run.packet.payload, len(run.packet.data))}")
        lines.extend(dump(run.packet.payload, run.packet.rest))
    return "\n".join(lines)


def draw_header(taken: "Taken") -> Iterator[str]:
    instance = taken.instance
    how = f" via {taken.codec.name}" if taken.codec else ""
    where = place(taken.start, taken.end) if taken.end is not None else f"from byte {taken.start}, not taken"
    yield f"{instance.name}: {instance.header.name}{how}, {where}"
    offsets = {located.field: located for located in instance.located}
    for name, item, value in values(instance):
        located = offsets.get(item)
        at = f"{located.position // 8:4}" + (f".{located.position % 8}" if located.position % 8 else "  ") if located else " " * 6
        yield f"  {at} {name:<16} {shown(value, item.type)}"


def values(instance: Instance, among: Optional[set[str]] = None) -> Iterator[tuple[str, Union[ast.Field, ast.ChoiceArm], object]]:
    """The fields that are there, in order, with names and values; of a refused header those that were found. `among`: of these names alone."""
    for item in instance.header.items:
        if among is not None and not isinstance(item, ast.Word) and getattr(item, "name", None) not in among:
            continue
        if isinstance(item, ast.ChoiceField):
            arm, value = instance.arms.get(item, (None, 0))
            if arm:
                yield f"{item.name}.{arm.name}", arm, value
        elif isinstance(item, (ast.Field, ast.Word)):
            for part in item.fields if isinstance(item, ast.Word) else [item]:
                if among is not None and part.name not in among:
                    continue
                if not instance.valid and part in instance.stored:
                    yield part.name, part, instance.received(part)
                elif instance.valid and instance.present(part):
                    yield part.name, part, instance.read(part)


def place(start: int, end: int) -> str:
    return f"bytes {start} to {end - 1}" if end > start else f"no bytes, at {start}"


def shown(value: object, type_: Optional[Type]) -> str:
    """An address as such, an enum by name, small numbers in both bases."""
    if isinstance(value, bytes):
        return value.hex() or "(empty)"
    if isinstance(type_, EnumType):
        names = [member.name for member in type_.decl.members if member.number == value]
        return f"{names[0] if names else '?'} ({value})"
    number = int(value)                                                     # type: ignore[call-overload]
    if not isinstance(type_, Bits) or type_.signed or type_.width < 8:
        return str(number)
    if type_.width == 128:
        return str(ipaddress.IPv6Address(number))
    if type_.width == 64:
        return number.to_bytes(8, "big").hex(":")
    return f"0x{number:0{(width_of(type_) + 3) // 4}x} ({number})"


def dump(start: int, data: bytes) -> Iterator[str]:
    for at in range(0, len(data), 16):
        yield f"  {start + at:4}   {data[at:at + 16].hex(' ')}"
