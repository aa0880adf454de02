"""The part of the core that is called for each block, in C."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cffi

from lpn.runtime.m3 import hooks

SOURCE = Path(__file__).parent / "clock.c"


def build(*, strict: bool = False) -> Path:
    """The library's path, built if it is not there. BuildError when it fails. `strict`: warnings are errors."""
    return hooks.build("twin", SOURCE, strict=strict)


def library() -> tuple[cffi.FFI, Any]:
    """(ffi, lib) of clock.c. Raises BuildError."""
    return hooks.library("twin", SOURCE)
