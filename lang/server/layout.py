"""Where a header's field lies, in words."""
from __future__ import annotations

from .. import ast
from ..types import Bits, Bool, EnumType, Type, Varbit


def width(type_: Type | None) -> int | None:
    """Bits of a field's value; None of what has no fixed width."""
    if isinstance(type_, Bits):
        return type_.width
    if isinstance(type_, Bool):
        return 1
    if isinstance(type_, EnumType):
        return width(type_.decl.base.type)
    return None


def bits(count: int) -> str:
    if count % 8 == 0 and count > 8:
        return f"{count} bits ({count // 8} bytes)"
    return "1 bit" if count == 1 else f"{count} bits"


def where(header: ast.Header, field: ast.Decl) -> str:
    """`byte 4`, `bits 4 to 7 of byte 1` (bit 0 is the first on the wire), or what its place depends on."""
    at, loose = 0, []
    for item in header.items:
        if item is field:
            return place(at, width(getattr(field, "type", None)), loose)
        if isinstance(item, ast.Word):
            low = 0
            for one in item.fields:
                size = width(one.type) or 0
                if one is field:
                    ends = f"bit {low}" if size == 1 else f"bits {low} to {low + size - 1}"
                    kind = "little-endian" if item.little else "big-endian"
                    return f"{ends} of the {kind} {item.width}-bit word at {place(at, item.width, loose)} (bit 0 the least significant)"
                low += size
            at += item.width
        elif isinstance(item, ast.ChoiceField):
            if field in item.arms:
                return place(at, None, loose)
            loose.append(item.name)
        elif isinstance(item, ast.Field):
            size = width(item.type)
            if item.when is not None or isinstance(item.type, Varbit) or size is None:
                loose.append(item.name)
            else:
                at += size
    return ""


def place(at: int, size: int | None, loose: list[str]) -> str:
    byte, bit = divmod(at, 8)
    if bit or size is not None and size < 8:
        last = bit + (size or 1) - 1
        text = f"bit {bit} of byte {byte}" if last == bit else f"bits {bit} to {last} of byte {byte}" if last < 8 else (
            f"bit {bit} of byte {byte} to bit {last % 8} of byte {byte + last // 8}")
    elif size is not None and size > 8:
        text = f"bytes {byte} to {byte + (size + 7) // 8 - 1}"
    else:
        text = f"byte {byte}"
    if not loose:
        return text
    names = ", ".join(f"`{name}`" for name in loose)
    return f"{text}, plus what {names} take{'s' if len(loose) == 1 else ''}"
