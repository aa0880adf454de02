"""What a program's state holds, for people and for JSON: registers as a tables file has them, counters, meters."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Optional

from lpn.lang import ast, tables as control
from lpn.lang.reference.draw import shown
from lpn.lang.reference.values import wrap
from lpn.lang.types import Array, Bits, Bool, StructType, Type

from .runner import Cells

KINDS = {ast.Register: "registers", ast.Counter: "counters", ast.Meter: "meters"}


def as_json(program: ast.Program, cells: Cells) -> dict[str, dict[str, Any]]:
    """By kind and name: a value, of a struct its fields, of an array by index those that are not 0."""
    out: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS.values()}
    for name, decl in control.stateful(program):
        values = [written(decl_cell(decl), cell, program.reasons) for cell in cells[decl]]
        out[KINDS[type(decl)]][name] = values[0] if not isinstance(decl.type, Array) else \
            {str(at): value for at, (value, cell) in enumerate(zip(values, cells[decl])) if any(cell.values())}
    return out


def written(type_: Optional[Type], cell: dict[str, int], reasons: list[str], path: str = "") -> Any:
    """A cell, or a struct in it, whose numbers are below `path`."""
    if isinstance(type_, StructType):
        return {each.name: written(each.type, cell, reasons, f"{path}.{each.name}" if path else each.name) for each in type_.decl.fields}
    return control.written(type_, int(wrap(cell[path], type_)), reasons)


def as_rows(program: ast.Program, cells: Cells) -> Iterator[tuple[str, str, str]]:
    """(kind, name, value) of each number that stands alone, and of those in arrays that are not 0."""
    for name, decl in control.stateful(program):
        type_, kind = decl_cell(decl), KINDS[type(decl)][:-1]
        array = isinstance(decl.type, Array)
        found = [(index, path, number) for index, cell in enumerate(cells[decl]) for path, number in cell.items() if number or not array]
        for index, path, number in found:
            yield kind, label(name, index, path, array), text(leaf(type_, path), number, program.reasons)
        if not found:
            yield kind, name, f"all {len(cells[decl]):,} are 0"


def differing(program: ast.Program, one: Cells, other: Cells) -> Iterator[tuple[str, int, int]]:
    """(name, number, number) of what two states of a program do not have in common."""
    for name, decl in control.stateful(program):
        for at, (mine, theirs) in enumerate(zip(one[decl], other[decl])):
            for path, number in mine.items():
                if theirs[path] != number:
                    yield label(name, at, path, isinstance(decl.type, Array)), number, theirs[path]


def label(name: str, index: Optional[int], path: str, array: bool) -> str:
    """`seen[1].last`, as in the language."""
    return f"{name}{f'[{index}]' if index is not None and array else ''}{'.' + path if path else ''}"


def decl_cell(decl: ast.Register | ast.Counter | ast.Meter) -> Optional[Type]:
    return decl.type.cell if isinstance(decl.type, Array) else decl.type


def leaf(type_: Optional[Type], path: str) -> Optional[Type]:
    for part in path.split(".") if path else ():
        assert isinstance(type_, StructType)
        type_ = next(each.type for each in type_.decl.fields if each.name == part)
    return type_


def text(type_: Optional[Type], number: int, reasons: list[str]) -> str:
    value = int(wrap(number, type_))
    return value_text(value, type_) if isinstance(type_, (Bits, Bool)) else str(control.written(type_, value, reasons))


def value_text(value: object, type_: Optional[Type]) -> str:
    if isinstance(value, bytes):
        return value.hex(" ") or "no octets"
    if isinstance(type_, Bool):
        return "true" if value else "false"
    if isinstance(type_, Bits) and type_.width < 64:
        return str(value) if -10 < int(value) < 10 else f"{value} ({int(value):#x})"     # type: ignore[call-overload]
    return shown(value, type_)
