"""Files that appear whole or not at all: written beside the place that they are for, and named when they are complete."""
from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import BinaryIO


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
