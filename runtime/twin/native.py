"""The part of the core that is called for each block, in C: built with the system's compiler, loaded with cffi."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import cffi

from lpn.runtime.engine.build import FLAGS, cache_dir, compile_to, compiler, digest

HERE = Path(__file__).parent


def build(*, strict: bool = False) -> Path:
    """The library's path, built if it is not there. BuildError when it fails. `strict`: warnings are errors."""
    cc, flags = compiler(), (*FLAGS, *(("-Werror",) if strict else ()))
    source, header = HERE / "clock.c", HERE / "clock.h"
    target = cache_dir() / f"lpn-twin-{digest(cc, *flags, source, header)}.so"
    if not target.exists():
        compile_to(target, [cc, *flags, str(source)])
    return target


@functools.cache
def library() -> tuple[cffi.FFI, Any]:
    """(ffi, lib) of clock.c. Raises BuildError."""
    ffi = cffi.FFI()
    match = re.search(r"/\* cdef begin \*/(.*)/\* cdef end \*/", (HERE / "clock.h").read_text(encoding="utf-8"), re.DOTALL)
    assert match
    ffi.cdef(match[1])
    return ffi, ffi.dlopen(str(build()))
