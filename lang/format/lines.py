"""A page: pieces, where lines begin, and in which column each piece stands."""
from __future__ import annotations

from dataclasses import dataclass

from .pieces import TAB, Piece, Text
from .spacing import blanks


@dataclass
class Start:
    """A line begins here, in the column of piece `anchor` (-1: the margin) plus `indent`. `kind`: item, close, else, sub
    (a statement under `if`) or cont (a line of the same statement)."""

    kind: str
    anchor: int
    indent: int
    blank: bool = False                         # a blank line in front of it


class Page:
    def __init__(self, text: Text):
        self.text = text
        self.pieces: list[Piece] = text.pieces
        self.starts: list[Start | None] = [None] * len(self.pieces)
        self.pads = [0] * len(self.pieces)      # blanks more than spacing asks for, in front of a piece
        self.columns = [0] * len(self.pieces)
        self.ends = [0] * len(self.pieces)      # one behind the last character

    def place(self) -> None:
        """Columns from starts and pads."""
        at = 0
        for piece in self.pieces:
            i = piece.index
            start = self.starts[i]
            if start is not None:
                at = (self.columns[start.anchor] if start.anchor >= 0 else 0) + start.indent
            elif i:
                at += blanks(self.pieces[i - 1], piece) + self.pads[i]
            self.columns[i] = at
            at += len(piece.text) if "\n" not in piece.text else len(self.shifted(piece).rpartition("\n")[2]) - at
            self.ends[i] = at

    def shifted(self, piece: Piece) -> str:
        """A comment of several lines, each moved as far as the first."""
        first, *rest = piece.text.split("\n")
        by = self.columns[piece.index] - piece.column
        moved = []
        for line in rest:
            line = line.expandtabs(TAB).rstrip()
            bare = line.lstrip(" ")
            moved.append(" " * max(len(line) - len(bare) + by, 0) + bare if bare else "")
        return "\n".join([first.rstrip(), *moved])

    def lines(self) -> list[list[int]]:
        """The pieces of each line, without the end of the file."""
        out: list[list[int]] = []
        for piece in self.pieces[:-1]:
            if self.starts[piece.index] is not None or not out:
                out.append([])
            out[-1].append(piece.index)
        return out

    def code_end(self, line: list[int]) -> int:
        """Where a line's code ends; comments behind it do not count."""
        return next((self.ends[i] for i in reversed(line) if not self.pieces[i].comment), 0)

    def render(self) -> str:
        out: list[str] = []
        for line in self.lines():
            start = self.starts[line[0]]
            if start is not None and start.blank:
                out.append("\n")
            at = 0
            for i in line:
                out.append(" " * (self.columns[i] - at) + (self.shifted(self.pieces[i]) if self.pieces[i].comment else self.pieces[i].text))
                at = self.ends[i]
            out.append("\n")
        return "".join(out)
