"""The state region: registers, counters, meters and their arrays, laid out once for a program.

Numbers of at most 64 bits are little-endian in 1, 2, 4 or 8 octets; wider ones are in network order in whole words, because
they are addresses and meet packet bytes. Every object starts at a multiple of 8.
"""
from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lpn.lang import ast
from lpn.lang.persist import shape
from lpn.lang.types import Array, Bits, Bool, EnumType, ErrorType, StructType, Type

from .kept import Kept, KeptTable


ERROR_WIDTH = 16                                # reasons are numbers of 16 bits


def scalar_width(t: Type) -> int:
    if isinstance(t, ErrorType):
        return ERROR_WIDTH
    if isinstance(t, Bits):
        return t.width
    if isinstance(t, Bool):
        return 1
    if isinstance(t, EnumType):
        return t.decl.base.type.width
    raise TypeError(f"{t} is not a scalar")


def scalar_octets(width: int) -> int:
    for size in (1, 2, 4, 8):
        if width <= 8 * size:
            return size
    return (width + 31) // 32 * 4


def cell_layout(t: Type) -> tuple[int, int, dict[str, int]]:
    """(octets, alignment, offset of each struct field)."""
    if not isinstance(t, StructType):
        size = scalar_octets(scalar_width(t))
        return size, min(size, 8), {}
    at, align, offsets = 0, 1, {}
    for f in t.decl.fields:
        size, a, _ = cell_layout(f.type)
        at = (at + a - 1) // a * a
        offsets[f.name] = at
        at += size
        align = max(align, a)
    return (at + align - 1) // align * align, align, offsets


def leaves(t: Type, path: str = "", at: int = 0) -> Iterator[tuple[str, int, int]]:
    """(path, offset, bits) of each number of a cell; the path of a scalar cell's is ""."""
    if not isinstance(t, StructType):
        yield path, at, scalar_width(t)
        return
    _, _, offsets = cell_layout(t)
    for f in t.decl.fields:
        yield from leaves(f.type, f"{path}.{f.name}" if path else f.name, at + offsets[f.name])


def is_big_endian(width: int) -> bool:
    return width > 64


def encode_scalar(value: int, width: int) -> bytes:
    size = scalar_octets(width)
    return (int(value) & (1 << width) - 1).to_bytes(size, "big" if is_big_endian(width) else "little")


def decode_scalar(data: bytes, width: int) -> int:
    return int.from_bytes(data, "big" if is_big_endian(width) else "little")


@dataclass(eq=False)
class StateObject:
    decl: ast.Register | ast.Counter | ast.Meter
    name: str                                   # qualified: "contexts", "Serve.echoed"
    offset: int
    cell: Type
    count: int
    stride: int

    @property
    def size(self) -> int:
        return self.stride * self.count


class StateLayout:
    """`found`: what has cells, by qualified name."""

    def __init__(self, found: Iterable[tuple[str, ast.Register | ast.Counter | ast.Meter]]):
        self.objects: list[StateObject] = []
        self.by_decl: dict[object, StateObject] = {}
        at = 0
        for name, decl in found:
            cell, count = (decl.type.cell, decl.type.size) if isinstance(decl.type, Array) else (decl.type, 1)
            stride, _, _ = cell_layout(cell)
            at = (at + 7) & ~7
            obj = StateObject(decl, name, at, cell, count, stride)
            self.objects.append(obj)
            self.by_decl[decl] = obj
            at += obj.size
        self.size = (at + 7) & ~7
        self.hash = zlib.crc32(self.describe().encode())

    def describe(self) -> str:
        return "\n".join(f"{o.name} {o.offset} {shape(o.cell)} {o.count} {o.stride} {cell_layout(o.cell)[2]}" for o in self.objects)

    def kept(self, objects: Iterable[StateObject]) -> KeptTable:
        """These of its objects, as a successor finds them."""
        return KeptTable(tuple(Kept(o.name, shape(o.decl.type), o.offset, o.size) for o in objects))

    def persistent(self) -> KeptTable:
        return self.kept(o for o in self.objects if isinstance(o.decl, ast.Register) and o.decl.persistent)

    def write(self, state: bytearray, decl: object, index: int, fields: dict[str, int]) -> None:
        """Stores one cell; `fields` by path, or {"": value} for a scalar cell."""
        obj = self.by_decl[decl]
        for path, at, width in leaves(obj.cell, at=obj.offset + index * obj.stride):
            if path in fields:
                data = encode_scalar(fields[path], width)
                state[at:at + len(data)] = data

    def read(self, state: bytes, decl: object, index: int = 0) -> int | dict[str, int]:
        obj = self.by_decl[decl]
        out = {path: decode_scalar(state[at:at + scalar_octets(width)], width)
               for path, at, width in leaves(obj.cell, at=obj.offset + index * obj.stride)}
        return out if isinstance(obj.cell, StructType) else out[""]
