"""What a module comes to: the nodes of all that it calls, the headers that it reads."""
from __future__ import annotations

from collections.abc import Iterator

from .. import ast
from ..instances import walk
from ..types import HeaderType
from .flow_calls import looked_at


def headers_read(module: ast.Node) -> set[ast.StructField]:
    """The headers that a module reads, emits or asks for, with all that it calls and that their descriptions look at."""
    todo, seen, found, places = [module], {module}, set(), set()
    for body in todo:
        for one in walk(body):
            match one:
                case ast.Assign(target=place) | ast.Call(target="setValid" | "setInvalid", callee=ast.Member(base=place)):
                    while isinstance(place, (ast.Member, ast.Index, ast.Slice)):
                        places.add(id(place))
                        place = place.base
                case ast.Member(decl=ast.StructField() as field) if id(one) not in places:
                    found.add(field)
                case ast.Call(target=ast.Node() as called) | ast.ActionRef(action=ast.Node() as called) if called not in seen:
                    seen.add(called)
                    todo.append(called)
    return found | {arg for field in found if isinstance(field.type, HeaderType) for arg in looked_at(field)}


def with_called(node: ast.Node, seen: set[ast.Node]) -> Iterator[ast.Node]:
    """A module's nodes, and those of what it calls, applies, or names in a table."""
    for one in walk(node):
        yield one
        target = one.target if isinstance(one, ast.Call) else one.action if isinstance(one, ast.ActionRef) else None
        if isinstance(target, (ast.Action, ast.Function, ast.Processor)) and target not in seen:
            seen.add(target)
            yield from with_called(target, seen)
