"""A program has no more of tables, keys, actions and chains than a node has room for. Buffers are checked in buffers.py."""
from __future__ import annotations

from collections.abc import Iterator

from .. import ast
from ..diagnostics import Diagnostics
from ..limits import MAX_ACTION_DATA, MAX_ACTIONS, MAX_HOOKS, MAX_KEY_BYTES, MAX_KEY_FIELDS, MAX_TABLES
from ..source import Span
from ..types import Bits, Bool, EnumType, Type


def limits(program: ast.Program, diagnostics: Diagnostics) -> None:
    for message, span, hint in exceeded(program):
        diagnostics.error(message, span, hint)


def exceeded(program: ast.Program) -> Iterator[tuple[str, Span, str]]:
    found = [table for decl in program.decls if isinstance(decl, (ast.Parser, ast.Processor)) for one in decl.locals
             if isinstance(table := one.table if isinstance(one, ast.ValueSet) else one, ast.Table) and table.keys and table.shared is None]
    for table in found[MAX_TABLES:]:
        yield f"a program has at most {MAX_TABLES} tables and value sets", table.span, "join some: a table can have several keys"
    for hook in program.hooks[MAX_HOOKS:]:
        yield f"a program has at most {MAX_HOOKS} chains and handlers", hook.span or program.span, "let one look at what it is given, as in a table"
    for table in found:
        if len(table.keys) > MAX_KEY_FIELDS:
            yield f"table '{table.name}' has {len(table.keys)} keys, and at most {MAX_KEY_FIELDS} are looked up", table.keys[MAX_KEY_FIELDS].span, "join some: a ++ b"
        elif (octets := sum(octets_of(key.expr.type) for key in table.keys)) > MAX_KEY_BYTES:
            yield f"the keys of table '{table.name}' have {octets} octets, and at most {MAX_KEY_BYTES} are looked up", table.span, "look up less of them"
        if len(table.actions) > MAX_ACTIONS:
            yield f"table '{table.name}' has {len(table.actions)} actions, and at most {MAX_ACTIONS} are told apart", table.actions[MAX_ACTIONS].span, "give them parameters"
        for ref in table.actions:
            if ref.action is not None and (octets := sum(octets_of(p.type) for p in ref.action.params[len(ref.args):])) > MAX_ACTION_DATA:
                yield f"an entry gives {octets} octets to action '{ref.name}', and it has room for {MAX_ACTION_DATA}", ref.span, "keep some in a register"


def octets_of(type_: Type | None) -> int:
    width = type_.width if isinstance(type_, Bits) else type_.decl.base.type.width if isinstance(type_, EnumType) else 1 if isinstance(type_, Bool) else 16
    return (width + 7) // 8
