"""What the control plane may give a program: table entries and register cells, in the form of a tables file."""
from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from lpn.compiler.generate.looked_for import Interest, place_of
from lpn.lang import ast, tables as control
from lpn.lang.builtins import NO_ERROR, REASONS
from lpn.lang.types import Array, Bool, EnumType, ErrorType, StructType, Type

from .numbers import Draw, likely


def value(type_: Type | None, wanted: tuple[int, ...] = ()) -> st.SearchStrategy[Any]:
    """A scalar of a type, or a struct by its fields, as a tables file has it."""
    if isinstance(type_, Bool):
        return st.booleans()
    if isinstance(type_, EnumType):
        return st.sampled_from([member.name for member in type_.decl.members])
    if isinstance(type_, ErrorType):
        return st.sampled_from((NO_ERROR, *REASONS))
    if isinstance(type_, StructType):
        return st.fixed_dictionaries({each.name: value(each.type) for each in type_.decl.fields})
    width = control.key_width(type_)
    if getattr(type_, "signed", False):
        return st.integers(-(1 << width - 1), (1 << width - 1) - 1)
    return likely(width, wanted)


def key(draw: Draw, each: ast.TableKey, wanted: tuple[int, ...]) -> Any:
    """What one key of an entry must be."""
    type_, width = each.expr.type, control.key_width(each.expr.type)
    if each.match == "exact" or isinstance(type_, (Bool, EnumType)):
        return draw(value(type_, wanted))
    if draw(st.integers(0, 7)) == 7:
        return "_"
    number = draw(value(type_, wanted))
    if each.match == "lpm":
        length = draw(st.integers(0, width))
        return f"{number >> width - length << width - length if length else 0}/{length}"
    if each.match == "ternary":
        mask = draw(value(type_, ((1 << width) - 1,)))
        return f"{number & mask} &&& {mask}"
    return f"{number}..{draw(st.integers(number, (1 << width - getattr(type_, 'signed', False)) - 1))}"


def entries(table: ast.Table, wanted: Interest, most: int = 6) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Entries for a table that has none of its own, at most its size."""
    room = int(table.size.const) if table.size is not None and table.size.const is not None else most

    @st.composite
    def one(draw: Draw) -> dict[str, Any]:
        ref = draw(st.sampled_from([each for each in table.actions if each.action is not None]))
        params = ref.action.params[len(ref.args):]
        return {"key": [key(draw, each, tuple(wanted.get(place_of(each.expr), ()))) for each in table.keys], "action": ref.name,
                "args": [draw(value(param.type)) for param in params]}

    keys_only_exact = all(each.match == "exact" for each in table.keys)
    return st.lists(one(), max_size=min(room - len(table.entries), most),
                    unique_by=(lambda entry: str(entry["key"])) if keys_only_exact or any(k.match == "lpm" for k in table.keys) else None)


def cells(register: ast.Register) -> st.SearchStrategy[Any]:
    """A register's value; of an array, of some of its cells."""
    if isinstance(register.type, Array):
        return st.dictionaries(st.integers(0, register.type.size - 1).map(str), value(register.type.cell), max_size=4)
    return value(register.type)


def given_tables(program: ast.Program, wanted: Interest, registers: bool) -> st.SearchStrategy[dict[str, Any]]:
    """A tables file's content for all tables without constant entries, and for registers if wanted."""
    content: dict[str, st.SearchStrategy[Any]] = {}
    for name, decl in control.declared(program):
        if isinstance(decl, ast.Table) and not decl.const_entries:
            content[name] = entries(decl, wanted)
        elif isinstance(decl, ast.Register) and registers:
            content[name] = cells(decl)
    return st.fixed_dictionaries({}, optional=content)
