"""Where names are declared and used."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .. import ast
from ..instances import walk
from ..source import Source, Span
from .places import Point, find_name, name_span

DECLARES = (ast.Decl, ast.VarDecl, ast.ConstDecl)


@dataclass(frozen=True)
class Mention:
    """A name in a source and what it stands for: a declaration, or the name of something built in."""

    span: Span
    decl: object
    declares: bool = False


class Index:
    def __init__(self, program: ast.Program):
        self.program = program
        self.top = {decl.name: decl for decl in program.decls if isinstance(decl, ast.Decl)}
        self.owner: dict[int, ast.Node] = {}                # id of a declaration -> what it is part of
        self.mentions = once(self.collect())

    def at(self, source: Source, point: Point) -> Mention | None:
        """The innermost mention at a place."""
        found = [one for one in self.mentions if one.span.source is source and point.within(one.span)]
        return min(found, key=lambda one: one.span.end_column - one.span.column, default=None)

    def of(self, decl: object) -> list[Mention]:
        return [one for one in self.mentions if one.decl is decl]

    def declaration(self, decl: object) -> Mention | None:
        return next((one for one in self.mentions if one.decl is decl and one.declares), None)

    def collect(self) -> Iterator[Mention]:
        for outer in self.program.decls:
            states = {one.name: one for one in getattr(outer, "states", [])}
            tags = {one.name: one for one in getattr(outer, "tag", [])} if isinstance(outer, ast.Codec) else {}
            actions = {one.name: one for one in getattr(outer, "locals", []) if isinstance(one, ast.Action)}
            fields = {one.name: one for one in outer.fields} if isinstance(outer, ast.Struct) else {}
            for node in walk(outer):
                if isinstance(node, DECLARES) and node.name not in ("", "_"):
                    if node is not outer:
                        self.owner[id(node)] = outer
                    yield Mention(name_span(node, node.name), node, True)
                if isinstance(node, ast.For) and node.var is not None and not node.written:
                    span = find_name(node.span, node.name, node.span.line, node.span.column)
                    if span:
                        yield Mention(span, node.var, True)
                yield from self.uses(node, {**states, **tags, **fields}, actions)
                if isinstance(node, ast.Codec):
                    yield from self.named(node.span, node.header_name, node.header or self.top.get(node.header_name))

    def uses(self, node: ast.Node, local: dict, actions: dict) -> Iterator[Mention]:
        if isinstance(node, ast.Name):
            decl = node.decl if node.decl is not None else local.get(node.name) or self.top.get(node.name)
            if decl is not None:
                yield Mention(node.span, decl)
        elif isinstance(node, ast.Member):
            span = node.span
            start = span.end_column - len(node.name)
            if node.decl is not None and span.source.lines[span.end_line - 1][start - 1:span.end_column - 1] == node.name:
                yield Mention(Span(span.source, span.end_line, start, span.end_line, span.end_column), node.decl)
        elif isinstance(node, (ast.TypeRef, ast.Via)):
            decl = (node.codec if isinstance(node, ast.Via) else None) or self.top.get(node.name)
            yield from self.named(node.span, node.name, decl)
        elif isinstance(node, ast.ActionRef):
            yield from self.named(node.span, node.name, node.action or actions.get(node.name) or self.top.get(node.name))
        elif isinstance(node, ast.SelectCase):
            decl = node.state or local.get(node.target)
            after = node.keys[-1].span if node.keys else node.span
            line, column = (after.end_line, after.end_column) if node.keys else (after.line, after.column)
            span = find_name(node.span, node.target, line, column)
            if decl is not None and span is not None:
                yield Mention(span, decl)
        elif isinstance(node, ast.Binding):
            line, column = node.span.line, node.span.column
            for name in node.chain:
                span = find_name(node.span, name, line, column)
                if span is not None:
                    line, column = span.end_line, span.end_column
                    if name in self.top:
                        yield Mention(span, self.top[name])
        elif isinstance(node, ast.Protocol):
            for name in node.timing:
                yield from self.named(node.span, name, self.top.get(name))

    def named(self, span: Span, name: str, decl: object | None) -> Iterator[Mention]:
        found = find_name(span, name, span.line, span.column) if decl is not None else None
        if found is not None:
            yield Mention(found, decl)


def once(mentions: Iterable[Mention]) -> list[Mention]:
    """Each place once for what it stands for: a loop may be written out, turn by turn."""
    found: dict[tuple[int, int, int, int], Mention] = {}
    for one in mentions:
        found.setdefault((id(one.span.source), one.span.line, one.span.column, id(one.decl)), one)
    return list(found.values())
