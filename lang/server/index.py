"""Where names are declared and used.

The checker writes out applied modules and loops over stacks, with places of what was written once: the parts of a text are listed
before it runs, and what a declaration is goes by where it stands.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .. import ast
from ..builtins import OUTSIDE
from ..instances import walk
from ..source import Source, Span
from .places import Point, find_name, name_span

DECLARES = (ast.Decl, ast.VarDecl, ast.ConstDecl)

#: The declarations of a program, each with all parts of it.
Parts = list[tuple[ast.Node, list[ast.Node]]]


@dataclass(frozen=True)
class Mention:
    """A name in a source and what it stands for: a declaration, or the name of something built in."""

    span: Span
    decl: object
    declares: bool = False


def parts(program: ast.Program) -> Parts:
    return [(outer, list(everything(outer))) for outer in program.decls]


def everything(outer: ast.Node) -> Iterator[ast.Node]:
    for node in walk(outer):
        yield node
        if isinstance(node, ast.TableEntry):
            yield from walk(node.action)


def key(decl: object) -> object:
    """What two declarations have in common that are one in the text."""
    if not isinstance(decl, ast.Node):
        return decl
    span = decl.span
    return id(span.source), span.line, span.column, span.end_line, span.end_column, getattr(decl, "name", "")


class Index:
    def __init__(self, program: ast.Program, written: Parts):
        """written: the parts of the program before it was checked."""
        self.program = program
        self.top = {decl.name: decl for decl in program.decls if isinstance(decl, ast.Decl)}
        self.owner: dict[int, ast.Node] = {}                # id of a declaration -> what it is part of
        places: dict[tuple[int, int, int], Mention] = {}
        for one in [*self.collect([*written, *parts(program)]), *self.guess(written)]:
            places.setdefault((id(one.span.source), one.span.line, one.span.column), one)
        self.mentions = list(places.values())

    def at(self, source: Source, point: Point) -> Mention | None:
        """The mention at a place; of two that meet there, the one that begins."""
        found = [one for one in self.mentions if one.span.source is source and point.within(one.span)]
        return max(found, key=lambda one: one.span.column, default=None)

    def of(self, decl: object) -> list[Mention]:
        return [one for one in self.mentions if key(one.decl) == key(decl)]

    def declaration(self, decl: object) -> Mention | None:
        return next((one for one in self.of(decl) if one.declares), None)

    # ------------------------------------------------------------ what the checker found

    def collect(self, found: Parts) -> Iterator[Mention]:
        for outer, nodes in found:
            for node in nodes:
                if isinstance(node, DECLARES) and node.name not in ("", "_"):
                    if node is not outer:
                        self.owner[id(node)] = outer
                    yield from mention(name_span(node, node.name), node.name, node, True)
                if isinstance(node, ast.For) and node.var is not None:
                    yield from named(node.span, node.name, node.var, True)
                yield from self.uses(node)

    def uses(self, node: ast.Node) -> Iterator[Mention]:
        match node:
            case ast.Name():
                yield from mention(node.span, node.name, node.decl)
            case ast.Member():
                span = node.span
                decl = f"{node.base.name}.{node.name}" if isinstance(node.base, ast.Name) and isinstance(node.decl, str) else ""
                yield from mention(Span(span.source, span.end_line, span.end_column - len(node.name), span.end_line, span.end_column), node.name,
                                   decl if decl in OUTSIDE else node.decl)
            case ast.Codec():
                span = behind(node.span, node.params, node.header_name)
                yield from mention(span, node.header_name, node.header or self.top.get(node.header_name))
            case ast.Via():
                yield from named(node.span, node.name, node.codec or self.top.get(node.name))
            case ast.TypeRef():
                yield from named(node.span, node.name, self.top.get(node.name))
            case ast.ActionRef():
                yield from named(node.span, node.name, node.action)
            case ast.SelectCase():
                yield from target(node, node.state)
            case ast.Binding():
                yield from self.bound(node)
            case ast.Protocol():
                for name, span in zip(node.timing, node.timing_spans):
                    yield from mention(span, name, self.top.get(name))

    def bound(self, node: ast.Binding) -> Iterator[Mention]:
        """`on Collect.partial.complete : Whole -> Deliver;`"""
        line, column = node.span.line, node.span.column
        names: list[tuple[str, object]] = []
        if node.buffer is not None:
            *before, name, _ = node.event.split(".")
            names = [*((one, self.top.get(one)) for one in before), (name, node.buffer)]
        for one, decl in names:
            span = find_name(node.span, one, line, column)
            if span is not None:
                line, column = span.end_line, span.end_column
                yield from mention(span, one, decl)
        for one, span in zip(node.chain, node.chain_spans):
            yield from mention(span, one, self.top.get(one))

    # ------------------------------------------------------------ what it did not come to

    def guess(self, written: Parts) -> Iterator[Mention]:
        """In a program with mistakes: names by what has them."""
        for outer, nodes in written:
            known = {one.name: one for name in ("states", "tag", "locals", "fields") for one in members(outer, name)}
            for node in nodes:
                if isinstance(node, ast.Name) and node.decl is None:
                    yield from mention(node.span, node.name, known.get(node.name) or self.top.get(node.name))
                elif isinstance(node, ast.ActionRef) and node.action is None:
                    yield from named(node.span, node.name, known.get(node.name) or self.top.get(node.name))
                elif isinstance(node, ast.SelectCase) and node.state is None:
                    yield from target(node, known.get(node.target))


def members(outer: ast.Node, name: str) -> list[ast.Decl]:
    """The declarations that a node has in a field."""
    found = getattr(outer, name, [])
    return [one for one in found if isinstance(one, DECLARES)] if isinstance(found, list) else []


def mention(span: Span | None, name: str, decl: object, declares: bool = False) -> Iterator[Mention]:
    """The one rule: a name is mentioned where it stands."""
    if span is not None and decl is not None and span.text == name:
        yield Mention(span, decl, declares)


def named(span: Span, name: str, decl: object, declares: bool = False) -> Iterator[Mention]:
    yield from mention(find_name(span, name, span.line, span.column), name, decl, declares)


def target(case: ast.SelectCase, state: object) -> Iterator[Mention]:
    yield from mention(behind(case.span, case.keys, case.target), case.target, state)


def behind(span: Span, nodes: Sequence[ast.Node], name: str) -> Span | None:
    """Where a name stands in a span, behind these parts of it."""
    line, column = (nodes[-1].span.end_line, nodes[-1].span.end_column) if nodes else (span.line, span.column)
    return find_name(span, name, line, column)
