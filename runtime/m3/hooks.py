"""Hooks of the emulator that are C functions: built with the system's compiler, loaded with cffi."""

from __future__ import annotations

import ctypes
import functools
import re
from pathlib import Path
from typing import Any

import cffi
import unicorn
from unicorn.unicorn_py3.unicorn import uclib

from lpn.runtime.engine.build import FLAGS, cache_dir, compile_to, compiler, digest


def build(name: str, source: Path, *, strict: bool = False) -> Path:
    """The library's path, built if it is not there. BuildError when it fails. `strict`: warnings are errors."""
    cc, flags = compiler(), (*FLAGS, *(("-Werror",) if strict else ()))
    target = cache_dir() / f"lpn-{name}-{digest(cc, *flags, source, source.with_suffix('.h'))}.so"
    if not target.exists():
        compile_to(target, [cc, *flags, str(source)])
    return target


@functools.cache
def library(name: str, source: Path) -> tuple[cffi.FFI, Any]:
    """(ffi, lib) of a C file, whose header has marks around what cffi reads. Raises BuildError."""
    ffi = cffi.FFI()
    match = re.search(r"/\* cdef begin \*/(.*)/\* cdef end \*/", source.with_suffix(".h").read_text(encoding="utf-8"), re.DOTALL)
    assert match
    ffi.cdef(match[1])
    return ffi, ffi.dlopen(str(build(name, source)))


def function_of(ffi: cffi.FFI, name: str) -> Any:
    """One of the emulator's functions, for C to call."""
    return ffi.cast("void *", ctypes.cast(getattr(uclib, name), ctypes.c_void_p).value)


def add(uc: unicorn.Uc, ffi: cffi.FFI, kind: int, function: Any, data: Any, begin: int = 1, end: int = 0) -> None:
    """A hook that is a C function. `data` must live as long. Without `begin` and `end` it is called wherever that is."""
    handle = ctypes.c_size_t()
    status = uclib.uc_hook_add(uc._uch, ctypes.byref(handle), kind, ctypes.c_void_p(int(ffi.cast("uintptr_t", function))),
                               ctypes.c_void_p(int(ffi.cast("uintptr_t", data))), ctypes.c_uint64(begin), ctypes.c_uint64(end))
    if status != unicorn.UC_ERR_OK:
        raise unicorn.UcError(status)
