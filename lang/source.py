"""Source text and positions in it: what every diagnostic points at."""
from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.S)


def readable(path: str) -> str:
    """A file's name as text that can be written; of octets that are no UTF-8, their numbers."""
    return path.encode("utf-8", "backslashreplace").decode("utf-8")


@dataclass
class Source:
    """One `.lpn` file. `name` is shown to the user; `text` is decoded UTF-8, each end of a line a line feed; `written`: as it is in the file, where a
    carriage return, alone or with a line feed behind it, ends a line, too."""

    name: str
    text: str
    path: Path | None = None
    lines: list[str] = field(init=False, repr=False)
    written: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.name = readable(self.name)
        self.written, self.text = self.text, self.text.replace("\r\n", "\n").replace("\r", "\n")
        self.lines = self.text.split("\n")

    @cached_property
    def code(self) -> list[str]:
        """The lines, with blanks where they have comments."""
        return COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), self.text).split("\n")


@dataclass(frozen=True)
class Span:
    """A half-open region of one source: lines from 1, columns from 1, `end_column` one past the last."""

    source: Source = field(repr=False)
    line: int
    column: int
    end_line: int
    end_column: int

    def to(self, other: "Span") -> "Span":
        """From the start of this span to the end of `other`."""
        return Span(self.source, self.line, self.column, other.end_line, other.end_column)

    @property
    def text(self) -> str:
        """What is written there."""
        lines = self.source.lines[self.line - 1:self.end_line]
        lines[-1] = lines[-1][:self.end_column - 1]
        lines[0] = lines[0][self.column - 1:]
        return "\n".join(lines)

    def __str__(self) -> str:
        return f"{self.source.name}:{self.line}:{self.column}"
