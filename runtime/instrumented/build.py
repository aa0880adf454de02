"""Builds the instrumented interpreter with the system's C compiler, as the engine is built."""
from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import cffi

from lpn.runtime.engine.build import FLAGS, cache_dir, compile_to, compiler, digest

HERE = Path(__file__).parent
SOURCES, HEADERS = ("machine.c", "memory.c", "arithmetic.c", "helpers.c", "claims.c", "batch.c"), ("machine.h", "inside.h")


@functools.cache
def library() -> tuple[cffi.FFI, Any]:
    """(ffi, lib). Raises the engine's BuildError."""
    cc, files = compiler(), [HERE / name for name in (*SOURCES, *HEADERS)]
    target = cache_dir() / f"lpn-instrumented-{digest(cc, *FLAGS, *files)}.so"
    if not target.exists():
        compile_to(target, [cc, *FLAGS, *(str(HERE / name) for name in SOURCES)])
    ffi = cffi.FFI()
    ffi.cdef(re.search(r"/\* cdef begin \*/(.*)/\* cdef end \*/", (HERE / "machine.h").read_text(encoding="utf-8"), re.DOTALL)[1])
    return ffi, ffi.dlopen(str(target))
