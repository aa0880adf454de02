"""Assignments whose values can be said once more: a deparser reads such a field from where its value came.

It stands in a processor's `apply` block itself, and gives a field what constants and registers say that no module changes:
said later, it means the same. Nothing has to be kept from one place to the other.
"""
from __future__ import annotations

from collections.abc import Iterator

from lpn.lang import ast
from lpn.lang.check.contexts import reached
from lpn.lang.instances import header_of, named_field, walk
from lpn.lang.types import HeaderType


def repeatable(program: ast.Program, chain: list[ast.Module]) -> list[ast.Assign]:
    """Those of a chain's one processor, whose fields nothing else in it assigns."""
    processors = [m for m in chain if isinstance(m, ast.Processor)]
    if len(processors) != 1 or any(isinstance(n, (ast.Return, ast.Exit)) for n in walk(processors[0].apply)):
        return []
    changed = changed_names(program)
    statements = processors[0].apply.statements
    found = [s for s in statements if isinstance(s, ast.Assign) and named_field(s.target) is not None
             and isinstance(getattr(s.target, "decl", None), ast.Field) and says_again(s.value, changed)]
    if any(isinstance(n, ast.Call) and not isinstance(n.target, str) for n in walk(statements)):
        return []
    return [s for s in found if not any(place in places(other) for other in statements if other is not s for place in places(s))]


def changed_names(program: ast.Program) -> set[object]:
    """What some module, or what it calls, may change: what is named in a target, or given to something that is called. A handler may interrupt a chain."""
    out: set[object] = set()
    for n in (n for module in program.modules for n in reached(module)):
        parts = [n.target] if isinstance(n, ast.Assign) else [*n.args, n.callee] if isinstance(n, ast.Call) else []
        out |= {x.decl for part in parts for x in walk(part) if isinstance(x, ast.Name)}
    return out


def says_again(e: ast.Expr, changed: set[object]) -> bool:
    """Whether an expression is made of constants and registers that stay as they are."""
    if e.const is not None:
        return True
    for n in walk(e):
        if isinstance(n, (ast.Call, ast.Index)):
            return False
        if isinstance(n, ast.Name) and n.const is None and not (isinstance(n.decl, ast.Register) and n.decl not in changed):
            return False
    return True


def places(s: ast.Stmt) -> list[tuple[object, object]]:
    """(header, field) of all that a statement assigns; an arm goes with its tag."""
    return list(_places(s))


def _places(s: ast.Stmt) -> Iterator[tuple[object, object]]:
    for n in walk(s):
        target = n.target if isinstance(n, ast.Assign) else None
        while isinstance(target, ast.Slice):
            target = target.base
        field = named_field(target) if target is not None else None
        if target is not None and field is not None and isinstance(target.type, HeaderType):        # an element of a stack, too
            yield from ((field, f) for f in header_of(field).fields())
        elif target is not None and field is not None:
            decl = target.decl
            yield field, decl.choice.tag.decl if isinstance(decl, ast.ChoiceArm) else decl
        elif isinstance(n, ast.Call) and n.target not in ("setValid", "isValid"):       # it may do anything
            for part in [*n.args, n.callee]:
                field = named_field(part)
                if field is not None:
                    yield from ((field, f) for f in header_of(field).fields())
