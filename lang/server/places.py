"""Places: the compiler counts lines and characters from 1, the protocol counts from 0, and in UTF-16 code units."""
from __future__ import annotations

import re
from dataclasses import dataclass

from lsprotocol import types as lsp

from .. import ast
from ..source import COMMENT, Source, Span

TYPED = ("type_ref", "cell", "amount", "return_type", "base")           # what is written before a declared name
WORDED = (ast.State, ast.Action, ast.Timing, ast.Protocol, ast.BufferDecl, ast.Table)       # begin with a word that may be a name, too; a value set has a table


def utf16(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def position(source: Source, line: int, column: int) -> lsp.Position:
    text = source.lines[line - 1] if line <= len(source.lines) else ""
    return lsp.Position(line - 1, utf16(text[:column - 1]))


def range_of(span: Span) -> lsp.Range:
    return lsp.Range(position(span.source, span.line, span.column), position(span.source, span.end_line, span.end_column))


def meet(a: lsp.Range, b: lsp.Range) -> bool:
    return (a.start.line, a.start.character) <= (b.end.line, b.end.character) and (b.start.line, b.start.character) <= (a.end.line, a.end.character)


def column(line: str, character: int) -> int:
    """The column, from 1, of a position in a line."""
    units = 0
    for at, one in enumerate(line):
        if units >= character:
            return at + 1
        units += 2 if ord(one) > 0xFFFF else 1
    return len(line) + 1


@dataclass(frozen=True)
class Point:
    """A place in the main source, lines and columns from 1."""

    line: int
    column: int

    def within(self, span: Span) -> bool:
        return (span.line, span.column) <= (self.line, self.column) <= (span.end_line, span.end_column)


def in_comment(source: Source, point: Point) -> bool:
    """Whether what is written at a place is part of a comment."""
    offset = sum(len(line) + 1 for line in source.lines[:point.line - 1]) + point.column - 1
    return any(found.start() < offset and (offset < found.end() or offset == found.end() and not (found[0][1] == "*" and found[0].endswith("*/")))
               for found in COMMENT.finditer(source.text))


def find_name(span: Span, name: str, line: int, start: int) -> Span | None:
    """Where `name` stands in a span, from a line and column on; comments are not looked at."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    for number in range(line, span.end_line + 1):
        text = span.source.code[number - 1]
        text = text[:span.end_column - 1] if number == span.end_line else text
        found = word.search(text, start - 1 if number == line else 0)
        if found:
            return Span(span.source, number, found.start() + 1, number, found.end() + 1)
    return None


def name_span(node: ast.Node, name: str) -> Span:
    """Where a declaration has its name."""
    span = node.span
    for attribute in TYPED:
        written = getattr(node, attribute, None)
        if isinstance(written, ast.Node) and written.span != span:
            found = find_name(span, name, written.span.end_line, written.span.end_column)
            if found:
                return found
    line, column = span.line, span.column
    if isinstance(node, ast.ChoiceField):
        before = (node.arms or [node.tag])[-1].span
        line, column = before.end_line, before.end_column
    elif isinstance(node, WORDED):              # `state state { ... }`
        column += len(re.match(r"\w*", span.source.lines[line - 1][column - 1:])[0])       # type: ignore[index]
    return find_name(span, name, line, column) or span


def text_of(span: Span) -> str:
    lines = span.source.lines[span.line - 1:span.end_line]
    if not lines:
        return ""
    if len(lines) == 1:
        return lines[0][span.column - 1:span.end_column - 1]
    return "\n".join([lines[0][span.column - 1:], *lines[1:-1], lines[-1][:span.end_column - 1]])
