"""A test's failure in text: the line of the test, what differs field by field, both packets with the wrong octets marked."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Optional

from lpn.lang.diagnostics import Diagnostic, Piece, pieces
from lpn.lang.source import Span

from .match import Difference, Pair, octet

ROW = 16                                        # octets in a line
ROWS = 12                                       # lines of a packet, at most


@dataclass
class Failure:
    """`heads`: what the two sides are called. `got` and `expected` with `marks`: packets to show. `notes`: more lines."""

    message: str
    span: Span
    differences: list[Difference] = field(default_factory=list)
    heads: tuple[str, str] = ("expected", "got")
    expected: list[Pair] = field(default_factory=list)
    got: Optional[bytes] = None
    marks: set[int] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)


def render(failure: Failure) -> list[Piece]:
    """As styled text, a newline at the end."""
    out = pieces(Diagnostic("failed", failure.message, failure.span))
    if failure.differences:
        out += [(line + "\n", "") for line in rows(failure)]
    if failure.got is not None:
        out += hexes(failure)
    out += [(f"  {note}\n", "") for note in failure.notes]
    return out


def text(failure: Failure) -> str:
    return "".join(piece for piece, _ in render(failure))


def rows(failure: Failure) -> Iterator[str]:
    """The differences as a table."""
    cells = [("offset", "field", *failure.heads)]
    cells += [("" if d.offset is None else str(d.offset), d.name, short(d.expected), short(d.got)) for d in failure.differences[:40]]
    widths = [max(len(row[at]) for row in cells) for at in range(4)]
    for row in cells:
        yield f"  {row[0]:>{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]:<{widths[2]}}  {row[3]}".rstrip()
    if len(failure.differences) > 40:
        yield f"  and {len(failure.differences) - 40} more"


def short(value: str) -> str:
    return value if len(value) <= 60 else value[:57] + "..."


def hexes(failure: Failure) -> Iterator[Piece]:
    """Both packets in lines of 16 octets, marks below the octets that are wrong; only lines with marks where there are many."""
    got = failure.got or b""
    length = max(len(got), len(failure.expected))
    starts = list(range(0, length, ROW))
    if len(starts) > ROWS:
        wrong = [at for at in starts if failure.marks & set(range(at, at + ROW))]
        starts = [0, *(at for at in wrong if at)][:ROWS]
    left = max(map(len, failure.heads))
    before = -ROW
    for at in starts:
        if at != before + ROW:
            yield "  ...\n", "gutter"
        before = at
        end = min(at + ROW, length)
        widths = [max(2, len(octet(failure.expected[i])) if i < len(failure.expected) else 0) for i in range(at, end)]
        if failure.expected[at:]:
            yield f"  {failure.heads[0]:<{left}}  {at:4}  ", "gutter"
            yield " ".join((octet(failure.expected[i]) if i < len(failure.expected) else "").ljust(w)
                           for i, w in zip(range(at, end), widths)).rstrip() + "\n", ""
        yield f"  {failure.heads[1]:<{left}}  {at:4}  ", "gutter"
        yield " ".join((f"{got[i]:02x}" if i < len(got) else "").ljust(w) for i, w in zip(range(at, end), widths)).rstrip() + "\n", ""
        if failure.marks & set(range(at, end)):
            yield " " * (left + 10), ""
            yield " ".join(("^^" if i in failure.marks else "").ljust(w) for i, w in zip(range(at, end), widths)).rstrip() + "\n", "error"
