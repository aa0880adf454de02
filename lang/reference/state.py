"""The state of a program: registers and counters by declaration, read and set by name; entries of tables."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Union

from .. import ast
from ..buffers import buffers
from ..tables import Cell, Entry, Tables, constant_entries, stateful
from ..types import Array
from .entries import Buffer
from .values import Struct, copy, zero

Stateful = Union[ast.Register, ast.Counter, ast.Meter]


class State:
    """What stays between packets. `cells[decl]` is a value, or a list of them."""

    def __init__(self, program: ast.Program) -> None:
        self.program = program
        self.cells: dict[object, object] = {decl: zero(decl.type) for _, decl in stateful(program)}
        self.buffers = {decl: Buffer(decl) for _, decl in buffers(program)}
        self.entries: dict[ast.Table, list[Entry]] = constant_entries(program)

    def find(self, name: str) -> Stateful:
        """By full name, or by its last part where only one object has it."""
        full = [decl for each, decl in stateful(self.program) if each == name]
        short = [decl for each, decl in stateful(self.program) if each.rpartition(".")[2] == name]
        if len(full or short) != 1:
            raise KeyError(f"{'no' if not short else 'more than one'} register or counter {name!r}")
        return (full or short)[0]

    def get(self, name: str, index: int | None = None) -> object:
        """A cell as an int, a bool or a dict; the list of them for an array without `index`."""
        value = self.cells[self.find(name)]
        if index is not None:
            assert isinstance(value, list)
            value = value[index]
        return [plain(each) for each in value] if isinstance(value, list) else plain(value)

    def set(self, name: str, value: object, index: int | None = None) -> None:
        """Set a cell: an int or bool, or a dict with some of a struct's fields."""
        self.put(self.find(name), index, value)

    def put(self, decl: Stateful, index: int | None, value: object) -> None:
        cell = self.cells[decl]
        if isinstance(cell, list):
            assert index is not None
            cell[index] = changed(cell[index], value)
        else:
            self.cells[decl] = changed(cell, value)

    def keep(self, old: "State", names: Iterable[str]) -> None:
        """Take over the content of registers that `old` has under the same names, with the same types."""
        before, mine = dict(stateful(old.program)), dict(stateful(self.program))
        for name in names:
            decl = mine[name]
            self.cells[decl] = retyped(old.cells[before[name]], zero(decl.type))

    def load(self, tables: Tables) -> "State":
        """Take over what a tables file says: register cells are set, entries added to the program's own."""
        for cell in tables.cells:
            self.load_cell(cell)
        for table, entries in tables.entries.items():
            self.entries[table] = list(entries)
        return self

    def load_cell(self, cell: Cell) -> None:
        index = cell.index if isinstance(cell.register.type, Array) else None
        for path, value in cell.values.items():
            whole: object = value
            for name in reversed(path.split(".") if path else []):
                whole = {name: whole}
            self.put(cell.register, index, whole)


def retyped(value: object, like: object) -> object:
    """A register's content as one of another declaration of the same type."""
    if isinstance(value, list):
        assert isinstance(like, list)
        return [retyped(each, other) for each, other in zip(value, like, strict=True)]
    return changed(like, plain(value))


def changed(old: object, value: object) -> object:
    if not isinstance(old, Struct):
        return bool(value) if isinstance(old, bool) else value
    assert isinstance(value, dict)
    new = copy(old)
    assert isinstance(new, Struct)
    for name, part in value.items():
        new.fields[name] = changed(new.fields[name], part)
    return new


def plain(value: object) -> object:
    if isinstance(value, Struct):
        return {name: plain(part) for name, part in value.fields.items()}
    return value
