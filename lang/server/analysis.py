"""The front end on the text of an editor: diagnostics, and a program as far as there is one."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .. import ast
from ..check import check
from ..diagnostics import Diagnostic, DiagnosticError
from ..loader import load
from ..source import Source
from .index import Index, parts


@dataclass
class Analysis:
    """`index` is None where the text, or one that it imports, cannot be parsed. `asked`: the files that its imports may be, by resolved path."""

    source: Source
    diagnostics: list[Diagnostic] = field(default_factory=list)
    index: Index | None = None
    asked: set[str] = field(default_factory=set)

    @property
    def program(self) -> ast.Program | None:
        return self.index.program if self.index else None


def analyse(name: str, text: str, path: Path | None, open_texts: Mapping[str, str] | None = None, mended: bool = False) -> Analysis:
    """open_texts: texts that take the place of files, by resolved path; mended: of a text with syntax errors, what it is without them."""
    out = Analysis(Source(name, text, path))
    try:
        program = load(out.source, texts=open_texts, asked=out.asked, mended=mended)
    except DiagnosticError as e:
        out.diagnostics = e.diagnostics
        return out
    written = parts(program)
    try:
        check(program)
        out.diagnostics = program.warnings
    except DiagnosticError as e:
        out.diagnostics = e.diagnostics
    out.index = Index(program, written)
    return out
