"""Files that appear whole or not at all: written beside the place that they are for, and named when they are complete; and files that are read whole, up to a limit."""
from __future__ import annotations

import errno
import os
import tempfile
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import BinaryIO

from .limits import MAX_TEXT


def octets(path: Path | Traversable, most: int = MAX_TEXT) -> bytes:
    """All of a file. Raises OSError, also where it has more than `most` octets."""
    with path.open("rb") as stream:
        return whole(stream, most)


def whole(stream: BinaryIO, most: int) -> bytes:
    """All that is still to be read. Raises OSError where that is more than `most` octets: there may be no end to it."""
    data = stream.read(most + 1)
    if len(data) > most:
        raise too_long(most)
    return data


def too_long(most: int) -> OSError:
    return OSError(errno.EFBIG, f"it has more than {most >> 20} MiB, the most that is read")


def replaced_by(path: str | Path) -> Path | None:
    """The file that is replaced where something is written to `path`: a link keeps pointing. None: a pipe or device, which is written to; a folder, which is not."""
    return None if os.path.exists(path) and not os.path.isfile(path) else Path(os.path.realpath(path))


class Scratch:
    """A file that is not there yet: what is written to `stream` is in `target` once it is kept, with the permissions of the file that was there. Raises OSError."""

    def __init__(self, target: Path):
        self.target = target
        handle, name = tempfile.mkstemp(prefix=".lpn-", dir=target.parent)
        self.name: str | None = name
        self.stream: BinaryIO = os.fdopen(handle, "wb")
        try:
            os.fchmod(handle, mode_of(target))
        except OSError:
            self.discard()
            raise

    def keep(self) -> None:
        self.stream.close()
        if self.name is not None:
            os.replace(self.name, self.target)
            self.name = None

    def discard(self) -> None:
        """Unless it was kept."""
        try:
            self.stream.close()
        except OSError:                         # no room for what it still had
            pass
        if self.name is not None:
            Path(self.name).unlink(missing_ok=True)
            self.name = None


def mode_of(path: Path) -> int:
    """The permissions of the file to be replaced, or what `open` would give a new one."""
    try:
        return path.stat().st_mode & 0o7777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
