"""Header instances of a checked program: the elements of the headers struct, and which of them an expression names."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Optional

from . import ast
from .types import HeaderType, Meta, Stack, StructType


@dataclass(frozen=True)
class Instance:
    """One header of the headers struct: its field, and the index in a stack or None."""

    field: ast.StructField
    index: int | None = None

    @property
    def header(self) -> ast.Header:
        type_ = self.field.type
        if isinstance(type_, Stack):
            return type_.header.decl
        assert isinstance(type_, HeaderType)
        return type_.decl

    def __str__(self) -> str:
        return self.field.name if self.index is None else f"{self.field.name}[{self.index}]"


def instances(program: ast.Program) -> list[Instance]:
    """Every instance, in the order of the headers struct; that of the packet."""
    if program.headers_struct is None:
        return []
    out: list[Instance] = []
    for field in program.headers_struct.fields:
        if isinstance(field.type, Stack):
            out += [Instance(field, index) for index in range(field.type.size)]
        else:
            out.append(Instance(field))
    return out


def header_of(field: ast.StructField) -> ast.Header:
    """The header type of a field of the headers struct."""
    return Instance(field).header


def named_field(expr: ast.Expr) -> ast.StructField | None:
    """The field of the headers struct that a header (or stack) expression belongs to: of `h.ip`, `h.ext[1]`, `h.ext.next`."""
    while isinstance(expr, (ast.Member, ast.Index)):
        if isinstance(expr, ast.Member) and isinstance(expr.decl, ast.StructField):
            return expr.decl if isinstance(expr.decl.type, (HeaderType, Stack)) else None
        expr = expr.base
    return None


def is_headers(type_: object) -> bool:
    """Whether a type is a struct of headers."""
    return isinstance(type_, StructType) and any(isinstance(f.type, (HeaderType, Stack)) for f in type_.decl.fields)


def by_reference(type_: object) -> bool:
    """Whether a parameter of this type is the caller's own thing: headers, the struct of headers, the packet's meta."""
    return isinstance(type_, (HeaderType, Stack, Meta)) or is_headers(type_)


def walk(node: object) -> Iterator[ast.Node]:
    """A node and all nodes written below it, in their order; what names were resolved to is not followed."""
    todo = [node]
    while todo:
        one = todo.pop()
        kind = type(one)
        if kind is list or kind is tuple:
            todo += one[::-1]                               # type: ignore[index]
        elif kind in CHILDREN or isinstance(one, ast.Node):
            yield one                                       # type: ignore[misc]
            for name in (CHILDREN[kind] if kind in CHILDREN else children(kind))[::-1]:
                part = getattr(one, name)
                if part is not None and part != []:
                    todo += part[::-1] if type(part) is list else (part,)


def written_alike(one: ast.Expr, other: ast.Expr) -> bool:
    """Whether two expressions have the same text, blanks apart."""
    return one.span.text.split() == other.span.text.split()


CHILDREN: dict[type, tuple[str, ...]] = {}
# Filled by the checker, and references to other parts of the tree.
RESOLVED = {"span", "type", "const", "decl", "target_decl", "codec", "header", "choice", "state", "action", "modules", "var", "shared"}


def children(kind: type) -> tuple[str, ...]:
    """The fields of a node class that hold its parts."""
    if kind in CHILDREN:
        return CHILDREN[kind]
    skip = set(RESOLVED)
    if kind is ast.Call:
        skip.add("target")
    if kind is ast.StructField:
        skip.add("args")
    if kind is ast.After:
        skip.add("handler")
    if kind is ast.Handler:
        skip |= {"values", "block"}
    if kind is ast.Timing:
        skip.add("afters")
    if kind is ast.Protocol:
        skip.add("blocks")
    if kind is ast.Program:
        skip |= {"main", "hooks", "promises", "headers_struct", "summed", "applied"}
    CHILDREN[kind] = tuple(one.name for one in fields(kind) if one.name not in skip and not plain(one.type))
    return CHILDREN[kind]


def plain(type_: object) -> bool:
    """Whether a field of that type has no nodes: a number or a text, several of them, or none."""
    return type_ in (str, int, bool, Optional[str], Optional[int], list[str], Optional[list[int]])
