"""What a node has room for in one program: of tables and their keys, of actions, of chains. Buffers have theirs in buffers.py."""
from __future__ import annotations

from collections.abc import Iterator

from .. import ast
from ..diagnostics import Diagnostics
from ..source import Span
from ..types import Bits, Bool, EnumType, Type

MAX_TABLES, MAX_HOOKS = 64, 64                  # value sets are tables, too
MAX_KEYS, MAX_KEY = 8, 64                       # values, and octets of all together
MAX_ACTIONS, MAX_DATA = 256, 256                # of a table, and octets of what an entry gives to one


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
        if len(table.keys) > MAX_KEYS:
            yield f"table '{table.name}' has {len(table.keys)} keys, and at most {MAX_KEYS} are looked up", table.keys[MAX_KEYS].span, "join some: a ++ b"
        elif (octets := sum(octets_of(key.expr.type) for key in table.keys)) > MAX_KEY:
            yield f"the keys of table '{table.name}' have {octets} octets, and at most {MAX_KEY} are looked up", table.span, "look up less of them"
        if len(table.actions) > MAX_ACTIONS:
            yield f"table '{table.name}' has {len(table.actions)} actions, and at most {MAX_ACTIONS} are told apart", table.actions[MAX_ACTIONS].span, "give them parameters"
        for ref in table.actions:
            if ref.action is not None and (octets := sum(octets_of(p.type) for p in ref.action.params[len(ref.args):])) > MAX_DATA:
                yield f"an entry gives {octets} octets to action '{ref.name}', and it has room for {MAX_DATA}", ref.span, "keep some in a register"


def octets_of(type_: Type | None) -> int:
    width = type_.width if isinstance(type_, Bits) else type_.decl.base.type.width if isinstance(type_, EnumType) else 1 if isinstance(type_, Bool) else 16
    return (width + 7) // 8
