"""What the front end tells its user: one message a mistake, with the place, the line, and what to do about it."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .source import Span

if TYPE_CHECKING:
    from rich.text import Text


@dataclass
class Diagnostic:
    """severity: "error" or "warning". hints: what to do. notes: other places that matter, each with a sentence. `unused`: the place does nothing."""

    severity: str
    message: str
    span: Span | None
    hints: list[str] = field(default_factory=list)
    notes: list[tuple[str, Span | None]] = field(default_factory=list)
    unused: bool = False

    def __str__(self) -> str:
        return render([self])


class DiagnosticError(Exception):
    """A program that is not one. `diagnostics` holds everything found, in source order, warnings too."""

    def __init__(self, diagnostics: list[Diagnostic]):
        self.diagnostics = diagnostics

    def __str__(self) -> str:
        return render(self.diagnostics)


class Diagnostics:
    """Collects diagnostics while a pass runs."""

    def __init__(self) -> None:
        self.items: list[Diagnostic] = []

    def error(self, message: str, span: Span | None, *hints: str,
              notes: list[tuple[str, Span | None]] | None = None) -> None:
        self._add(Diagnostic("error", message, span, [hint for hint in hints if hint], notes or []))

    def warning(self, message: str, span: Span | None, *hints: str,
                notes: list[tuple[str, Span | None]] | None = None, unused: bool = False) -> None:
        self._add(Diagnostic("warning", message, span, [hint for hint in hints if hint], notes or [], unused))

    def _add(self, new: Diagnostic) -> None:
        if not any(old.message == new.message and old.span == new.span for old in self.items):
            self.items.append(new)

    def stopped(self, most: int) -> None:
        """After so many errors reading went no further: that is said with the last of them."""
        errors = [item for item in self.items if item.severity == "error"]
        if len(errors) >= most:
            last = max(errors, key=lambda one: (one.span.line, one.span.column) if one.span is not None else (0, 0))
            hint = f"reading stops behind {most} errors: there may be more"
            last.hints += [hint] if hint not in last.hints else []

    @contextmanager
    def untold(self) -> Iterator[None]:
        """What is found meanwhile is not kept: it is told elsewhere."""
        before = len(self.items)
        yield
        del self.items[before:]

    @property
    def errors(self) -> int:
        return sum(item.severity == "error" for item in self.items)

    def raise_errors(self) -> None:
        """Raises DiagnosticError if there is an error among what was collected."""
        if self.errors:
            raise DiagnosticError(self.items)


# ---------------------------------------------------------------- showing them

Piece = tuple[str, str]                         # text, style: "", "error", "warning", "note", "hint", "place", "gutter"
TAB = " " * 4
MOST = 50                                       # of a file that are shown
WIDTH = 160                                     # longer source lines are cut around the place


def render(diagnostics: Iterable[Diagnostic]) -> str:
    """Plain text, one blank line between diagnostics, no newline at the end."""
    return "\n\n".join("".join(text for text, _ in pieces(one)).rstrip("\n") for one in diagnostics)


def rich_text(diagnostics: Iterable[Diagnostic]) -> "Text":
    """The same for a `rich` console, in colour; MOST of them, errors before warnings."""
    from rich.text import Text
    styles = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan", "hint": "bold green", "place": "bold",
              "gutter": "dim"}
    text = Text()
    told = list(diagnostics)
    if len(told) > MOST:
        told.sort(key=lambda one: one.severity != "error")
    for index, one in enumerate(told[:MOST]):
        if index:
            text.append("\n")
        for piece, style in pieces(one):
            text.append(piece, style=styles.get(style))
    if len(told) > MOST:
        text.append(f"\n... and {len(told) - MOST:,} more\n")
    return text


def pieces(diagnostic: Diagnostic) -> list[Piece]:
    """A diagnostic as styled text."""
    style = diagnostic.severity
    out: list[Piece] = []
    if diagnostic.span is not None:
        out += [(f"{diagnostic.span}: ", "place")]
    out += [(f"{diagnostic.severity}: ", style), (f"{diagnostic.message}\n", "place")]
    if diagnostic.span is not None:
        out += excerpt(diagnostic.span, style)
    for message, span in diagnostic.notes:
        if span is not None:
            out += [(f"{span}: ", "place")]
        out += [("note: ", "note"), (f"{message}\n", "")]
        if span is not None:
            out += excerpt(span, "note")
    for hint in diagnostic.hints:
        out += [("  help: ", "hint"), (f"{hint}\n", "")]
    return out


def excerpt(span: Span, style: str) -> list[Piece]:
    """The span's first line, underlined."""
    lines = span.source.lines
    if not 1 <= span.line <= len(lines):
        return []
    line = lines[span.line - 1].rstrip("\r")
    start = min(max(span.column - 1, 0), len(line))
    if span.end_line > span.line:
        end = max(len(line.rstrip()), start + 1)
    else:
        end = max(span.end_column - 1, start + 1)
    shift = start - WIDTH // 2 if len(line) > WIDTH and start > WIDTH // 2 else 0
    line, start, end = line[shift:shift + WIDTH], start - shift, min(end - shift, WIDTH)
    before, under = printable(line[:start]), printable(line[start:end])
    number = str(span.line)
    gutter = " " * len(number)
    return [(f" {number} | ", "gutter"), (f"{printable(line)}\n", ""),
            (f" {gutter} | ", "gutter"), (" " * len(before), ""), ("^" * max(len(under), 1) + "\n", style)]


def printable(text: str) -> str:
    """Tabs as blanks; control characters would move the cursor: shown as `?`."""
    return "".join(TAB if c == "\t" else c if c.isprintable() else "?" for c in text)
