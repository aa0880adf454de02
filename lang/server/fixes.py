"""What a hint says to write, as a change of the text: the name that was meant, the import that is missing."""
from __future__ import annotations

import re

from lsprotocol import types as lsp

from ..diagnostics import Diagnostic
from ..source import Source, Span
from .places import find_name, position, range_of, text_of

WRONG = re.compile(r"\bno [a-z ]*'([A-Za-z_][\w.]*)(?:<\.\.\.>)?'")      # a name that is not there, as messages tell it
MEANT = re.compile(r"did you mean ([A-Za-z_][\w.]*)(?:<\.\.\.>)?\?")
IMPORT = re.compile(r"add (import [\w.]+;)")


def fixes(one: Diagnostic) -> list[tuple[str, lsp.TextEdit]]:
    """Each with its title."""
    out: list[tuple[str, lsp.TextEdit]] = []
    if one.span is None:
        return out
    wrong = WRONG.search(one.message)
    place = where(one.span, wrong[1]) if wrong else None
    for hint in one.hints:
        if (meant := MEANT.fullmatch(hint)) and place is not None:
            out.append((f"write {meant[1]}", lsp.TextEdit(range_of(place), meant[1])))
        elif missing := IMPORT.fullmatch(hint):
            line = next_import(one.span.source)
            at = position(one.span.source, line, 1)
            out.append((f"add {missing[1]}", lsp.TextEdit(lsp.Range(at, at), f"{missing[1]}\n")))
    return out


def where(span: Span, name: str) -> Span | None:
    """A member stands at the end of what is told, other names where they are found first."""
    if span.line == span.end_line and text_of(span).endswith(name):
        return Span(span.source, span.line, span.end_column - len(name), span.line, span.end_column)
    return find_name(span, name, span.line, span.column)


def next_import(source: Source) -> int:
    """The line in front of which an import is put: behind the other ones, else behind the comment that the file begins with."""
    imports = [number for number, line in enumerate(source.lines, 1) if line.startswith("import ")]
    if imports:
        return imports[-1] + 1
    return next((number for number, line in enumerate(source.lines, 1) if not line.startswith("//")), len(source.lines) + 1)
