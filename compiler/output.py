"""What the commands print and write: text and tables for people, progress, files that appear whole or not at all."""
from __future__ import annotations

import errno
import json
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lpn.lang.files import Scratch, replaced_by

if TYPE_CHECKING:
    from rich.console import Console

PATIENCE = 1.0                                  # seconds before something that takes long says so
LEAST_FOLDED = 40                               # columns of a terminal that a table's last column is folded into
STDOUT = "-"
JSON = "lpn.json"                               # what click's contexts know of --json


class Failure(Exception):
    """One line for the user; `status` is the command's exit status."""

    def __init__(self, message: str, status: int = 2):
        super().__init__(message)
        self.status = status


class NoProgram(Failure):
    """What is wrong with a program as a whole, of which no line is to blame: it cannot be read, or nothing can be made of it. `path`: as it was given."""

    def __init__(self, message: str, path: str, status: int = 2):
        super().__init__(message, status)
        self.path = path


# ---------------------------------------------------------------- text

def console(err: bool = False) -> Console:
    """Standard output or error as it is now; colours only on a terminal and without NO_COLOR."""
    from rich.console import Console
    made = Console(file=sys.stderr if err else sys.stdout, highlight=False, markup=False, emoji=False)
    made.on_broken_pipe = _broken_pipe          # type: ignore[method-assign]
    return made


def coloured() -> bool:
    """Whether standard output takes colours."""
    out = console()
    return out.color_system is not None and not out.no_color


def _broken_pipe() -> None:
    """Not rich's exit with status 1, which says that something was rejected."""
    raise BrokenPipeError


def say(text: Any = "", style: str | None = None, err: bool = False) -> None:
    """A line (or a `rich` Text), never wrapped."""
    console(err).print(text, style=style, soft_wrap=True)


def one_line(text: str) -> str:
    """Text for one line of a terminal: control characters would break it or move the cursor."""
    return "".join(c if c.isprintable() else " " if c in "\n\t" else "?" for c in text.strip())


def put_json(value: Any) -> None:
    """One JSON object on a line of its own."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")


def percent(share: float) -> str:
    """With two digits behind the point; below one percent with up to four, as budgets are promised."""
    return f"{share:.2f} %" if share >= 1 or not share else f"{round(share, 4):g} %"


def count(number: int, noun: str, plural: str = "") -> str:
    """`1 frame`, `2 frames`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


# ---------------------------------------------------------------- tables

@dataclass
class Table:
    """Rows in columns: drawn by `rich` on a terminal, aligned plain text elsewhere. A column whose name starts with `>` is
    aligned to the right. A row's style is a `rich` style, for terminals only."""

    columns: Sequence[str]
    rows: list[tuple[list[str], str]] = field(default_factory=list)

    def add(self, *cells: Any, style: str = "") -> None:
        self.rows.append((["" if c is None else f"{c:,}" if isinstance(c, int) else str(c) for c in cells], style))

    def show(self) -> None:
        out = console()
        if not out.is_terminal:
            sys.stdout.writelines(line + "\n" for line in self.lines())
            return
        from rich.table import Table as Rich
        widths = self.widths()
        before = sum(widths[:-1]) + 2 * len(widths[:-1])
        if out.width < before + min(widths[-1], LEAST_FOLDED):
            out.size = before + widths[-1], out.height      # the terminal breaks the lines, and no number loses digits
        table = Rich(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold underline")
        for column in self.columns:             # where the others leave room for it the last column is folded
            table.add_column(column.lstrip(">"), justify="right" if column.startswith(">") else "left", overflow="fold",
                             no_wrap=column is not self.columns[-1])
        for cells, style in self.rows:
            table.add_row(*map(_text, cells), style=style or None)
        out.print(table)

    def heads(self) -> list[str]:
        return [c.lstrip(">") for c in self.columns]

    def widths(self) -> list[int]:
        return [max(map(len, [head, *(cells[i] for cells, _ in self.rows)])) for i, head in enumerate(self.heads())]

    def lines(self) -> Iterator[str]:
        heads, widths = self.heads(), self.widths()
        for cells in [heads, *(cells for cells, _ in self.rows)]:
            yield "  ".join(cell.rjust(width) if column.startswith(">") else cell.ljust(width)
                            for cell, width, column in zip(cells, widths, self.columns)).rstrip()


def _text(cell: str) -> Any:
    """Not markup, whatever brackets it has."""
    from rich.text import Text
    return Text(cell)


# ---------------------------------------------------------------- waiting

@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Says on a terminal what is being done once it takes longer than a second."""
    out = console(err=True)
    if not out.is_terminal:
        yield
        return
    status = out.status(f"{what} ...")
    lock, done = threading.Lock(), False

    def start() -> None:
        with lock:
            if not done:
                status.start()
    timer = threading.Timer(PATIENCE, start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with lock:
            done = True
        timer.cancel()
        status.stop()


def counted(items: Iterable[Any], what: str) -> Iterator[Any]:
    """The items; on a terminal their number so far, once they take longer than a second."""
    out = console(err=True)
    if not out.is_terminal:
        yield from items
        return
    begin, status = time.monotonic(), None
    try:
        for number, item in enumerate(items, 1):
            if number % 64 == 0 and time.monotonic() - begin > PATIENCE:
                if status is None:
                    status = out.status("")
                    status.start()
                status.update(f"{number:,} {what}")
            yield item
    finally:
        if status is not None:
            status.stop()


# ---------------------------------------------------------------- files

def write_files(files: dict[Path, bytes]) -> None:
    """Writes all files or none: each is complete before the first gets its name. Their folder is made if need be.
    A link keeps pointing; a pipe or device is written to, not replaced. The one path `-` is standard output. Raises Failure."""
    if list(files) == [Path(STDOUT)]:
        check_target(STDOUT)
        sys.stdout.flush()
        sys.stdout.buffer.write(files[Path(STDOUT)])
        sys.stdout.buffer.flush()
        return
    ready: list[Scratch] = []
    others: dict[Path, bytes] = {}
    try:
        for path, data in files.items():
            folder(path.parent)
            with refused(path):
                if path.is_dir():
                    raise IsADirectoryError(errno.EISDIR, "Is a directory")
                target = replaced_by(path)
                if target is None:
                    others[path] = data
                    continue
                path = target
            with refused(path):
                ready.append(Scratch(path))
                ready[-1].stream.write(data)
                ready[-1].stream.close()
        for path, data in others.items():
            with refused(path):
                path.write_bytes(data)
        for one in ready:
            with refused(one.target):
                one.keep()
    finally:
        for one in ready:
            one.discard()


def check_target(target: str | None, *read: tuple[str, str | None], makes_folder: bool = False) -> None:
    """Failure where a file cannot be written, or would take the place of one that is read (`read`: what it is, its path): known before the work is
    done. `makes_folder`: its folder is made."""
    if target == STDOUT and getattr(sys.stdout, "name", None) == os.devnull:    # what `main` puts in its place
        raise Failure("cannot write standard output: it is closed")
    if target is None or target == STDOUT:
        return
    if not target:
        raise Failure("an output without a name: a file is expected, or - for standard output")
    folder_of = os.path.dirname(os.path.realpath(target))
    if not makes_folder and not os.path.isdir(folder_of):
        raise Failure(f"cannot write {target}: there is no folder {os.path.dirname(target)}")
    if os.path.isdir(target):
        raise Failure(f"cannot write {target}: Is a directory")
    for what, path in read:
        if path is not None and os.path.isfile(target) and os.path.isfile(path) and os.path.samefile(target, path):
            raise Failure(f"{target} is the {what} that is read")


@contextmanager
def refused(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as e:
        raise Failure(f"cannot write {path}: {e.strerror or e}") from None


def folder(path: Path) -> None:
    """Makes a folder if it is not there. Raises Failure."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise Failure(f"cannot write into {path}: it is not a folder") from None
    except OSError as e:
        raise Failure(f"cannot make the folder {path}: {e.strerror or e}") from None
