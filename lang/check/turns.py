"""Loops whose variable names elements of a header stack. Which element is meant must be known when the program is compiled, so
such a loop is written out: one copy of its body for each turn, in which the variable is a constant."""
from __future__ import annotations

from dataclasses import fields
from typing import Any

from .. import ast
from ..instances import walk
from ..types import Bits


def indices(loop: ast.For) -> list[ast.Index]:
    """Where the loop's variable stands in an index, or some name that hides it. Nothing is checked yet."""
    return [node for node in walk(loop.body) if isinstance(node, ast.Index)
            and any(isinstance(one, ast.Name) and one.name == loop.name for one in walk(node.index))]


def copy(node: Any) -> Any:
    """A part of a program that is not checked yet, once more."""
    if isinstance(node, (list, tuple)):
        return type(node)(map(copy, node))
    if not isinstance(node, ast.Node):
        return node
    made = object.__new__(type(node))
    for one in fields(node):
        made.__dict__[one.name] = copy(getattr(node, one.name))
    return made


def write_turns(loop: ast.For, low: int, turns: int) -> None:
    """Makes of it a loop of one turn whose body holds the turns from `low` on."""
    def number(value: int) -> ast.Int:
        made = ast.Int(loop.span, value)
        made.type, made.const = Bits(32), value
        return made

    def turn(value: int) -> ast.Block:
        type_ref = ast.TypeRef(loop.span, "bit", ast.Int(loop.span, 32))
        return ast.Block(loop.body.span, [ast.ConstDecl(loop.span, type_ref, loop.name, ast.Int(loop.span, value)), copy(loop.body)])

    loop.body = ast.Block(loop.body.span, [turn(value) for value in range(low, low + turns)])
    loop.low, loop.high, loop.written = number(0), number(1), True
