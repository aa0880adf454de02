"""Headers that a packet does not have when it is sent, and that another header of it counts or sums with its payload: warnings, where they can be valid then."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .. import ast
from ..builtins import SENDS
from ..diagnostics import Diagnostic, Diagnostics
from ..hooks import Hook
from ..instances import named_field, walk
from ..types import HeaderType
from .headers import needs_payload
from .reads import headers_read, with_called


@dataclass
class Gone:
    """A warning of a header that is counted and not emitted by deparsers, for where one of them may find it valid."""

    warning: Diagnostic
    field: ast.StructField
    deparsers: list[ast.Deparser]

    def happens(self, found: Mapping[ast.Deparser, set[object]]) -> bool:
        """`found`: the headers that may be valid where a deparser begins."""
        return any(self.field in found.get(each, ()) for each in self.deparsers)


def counted_and_gone(program: ast.Program, calls: list[ast.Call], emitted: set[ast.StructField | None], diagnostics: Diagnostics) -> list[Gone]:
    """Headers that a parser takes, or a module makes valid, and no deparser emits, yet which a header that is emitted counts or sums with its payload: nobody makes them
    invalid."""
    gone = {named_field(call.callee.base) for call in calls if call.target in ("setInvalid", "pop_front") and isinstance(call.callee, ast.Member)}
    if None in gone:                            # those of modules and functions which others apply
        return []
    found: list[Gone] = []
    told = [one.span for one in diagnostics.items]
    for hook in program.hooks:
        sent = {each: headers_read(each) for each in sent_through(hook)}
        for call in (node for module in hook.chain for node in of_this_run(module) if isinstance(node, ast.Call) and node.span not in told) if sent else ():
            field = made_valid(call)
            if field is None or field in emitted | gone:
                continue
            counting = [one for one in fields_before(program, field) if one in emitted and counts_payload(one)]
            through = [(one, each) for one in counting for each, read in sent.items() if one in read]
            for outer, deparser in through[:1]:
                told.append(call.span)
                found.append(Gone(Diagnostic(
                    "warning", f"'{outer.name}' counts '{field.name}' as its payload where that is valid, and no deparser emits it", call.span,
                    [f"make it invalid before the packet is sent, {'' if call.target == 'extract' else f'let it stand before {outer.name!r} in the headers, '}"
                     f"or emit it in {deparser.name}"]), field, [each for _, each in through]))
    return found


def sent_through(hook: Hook) -> list[ast.Deparser]:
    """The deparsers that write a packet of this hook's headers: the last of its chain, and those of `radio.send(Tx(h))`."""
    if not hook.timed and not (hook.parses and isinstance(hook.chain[0], ast.Parser)):
        return []
    sends = [node.args[0] for module in hook.chain for node in of_this_run(module) if isinstance(node, ast.Call) and node.target in SENDS]
    return [*(one for one in hook.chain if isinstance(one, ast.Deparser)), *(one.target for one in sends if isinstance(one, ast.Call) and isinstance(one.target, ast.Deparser))]


def of_this_run(module: ast.Node) -> Iterator[ast.Node]:
    """A module's nodes, with those of what it calls, and without those that run later, with headers of their own."""
    later = {id(inner) for node in walk(module) if isinstance(node, ast.After) for inner in walk(node.body)}
    return (node for node in with_called(module, set()) if id(node) not in later)


def made_valid(call: ast.Call) -> ast.StructField | None:
    """The header that a call takes from the packet, or makes valid."""
    if call.target == "extract":
        return named_field(call.args[0])
    return named_field(call.callee.base) if call.target == "setValid" and isinstance(call.callee, ast.Member) else None


def fields_before(program: ast.Program, field: ast.StructField) -> list[ast.StructField]:
    """Those of the headers struct that has this one."""
    fields = next((decl.fields for decl in program.decls if isinstance(decl, ast.Struct) and field in decl.fields), [field])
    return fields[:fields.index(field)]


def counts_payload(field: ast.StructField) -> bool:
    return isinstance(field.type, HeaderType) and any(isinstance(one, ast.Field) and needs_payload(one.equation) for one in walk(field.type.decl))
