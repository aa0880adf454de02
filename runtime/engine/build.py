"""Builds the C engine with the system's C compiler and loads it with cffi.

The library goes into a cache folder under a name that is the hash of its sources and of how it was built:
nothing is rebuilt without need, and nothing stale is ever loaded. So does what cffi makes of the host headers.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import runpy
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import _cffi_backend

HERE = Path(__file__).parent
SOURCES = ("image.c", "names.c", "expand.c", "load.c", "env.c", "vm.c", "vm32.c", "vm32_plan.c", "tables.c", "chain.c", "certificate.c",
           "certificate_names.c", "state.c", "buffers.c", "node.c", "node_call.c", "node_check.c", "node_swap.c", "pack.c", "pack_build.c", "pack_compact.c",
           "thumb2.c", "native.c", "host.c", "node_host.c", "thumb2_host.c", "plan_host.c", "certificate_host.c")
HEADERS = ("lpn.h", "lpn_options.h", "lpn_node.h", "lpn_pack.h", "lpn_helpers.h", "lpn_context.h", "bytes.h", "vm.h", "vm32_offsets.h", "vm32_ops.h", "env_offsets.h", "load_offsets.h",
           "vm32_divide.inc", "node.h", "pack_form.h", "thumb2.h", "thumb2_encode.h", "thumb2_alu.h", "thumb2_memory.h", "thumb2_branch.h", "thumb2_clean.h",
           "thumb2_clean_alu.h", "thumb2_offsets.h", "thumb2_begin.inc", "thumb2_function.inc", "thumb2_const.inc", "thumb2_memory.inc",
           "thumb2_imm.inc", "thumb2_reg.inc", "thumb2_jump.inc", "host.h", "node_host.h", "thumb2_host.h", "plan_host.h",
           "certificate.h", "certificate_host.h", "certificate.c",
           "certificate_label.h", "certificate_step.h", "certificate_offsets.h", "certificate_values.inc", "certificate_compare.inc", "certificate_labels.inc",
           "certificate_index.inc", "certificate_memory.inc", "certificate_alu.inc", "certificate_jump.inc")
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow")
FLAGS = ("-std=c99", "-O2", "-g", "-fPIC", "-shared", "-fno-strict-aliasing", *WARNINGS)
SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer")


class BuildError(RuntimeError):
    """The library cannot be built here; one line says why."""


def cache_dir() -> Path:
    """Where built libraries lie: $LPN_BUILD_DIR, a checkout's build/, or the user's cache."""
    checkout = HERE.parent.parent
    choices = [Path(p) for p in [os.environ.get("LPN_BUILD_DIR")] if p]
    if not choices:
        if (checkout / "setup.cfg").is_file() and (checkout / "compiler").is_dir():
            choices.append(checkout / "build")
        choices.append(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lpn")
        choices.append(Path(tempfile.gettempdir()) / f"lpn-{os.getuid()}")
    for path in choices:
        try:
            path.mkdir(parents=True, exist_ok=True, mode=0o755)
        except OSError:
            continue
        # In a folder that everyone may write to, one of that name may be somebody else's.
        shared = path.parent == Path(tempfile.gettempdir())
        if os.access(path, os.W_OK) and (not shared or path.stat().st_uid == os.getuid()):
            return path
    raise BuildError(f"no folder to build in: {', '.join(map(str, choices))} cannot be written")


def compiler() -> str:
    """$CC, or the first of cc, gcc, clang there is."""
    for name in (os.environ.get("CC"), "cc", "gcc", "clang"):
        if name and shutil.which(name):
            return name
    raise BuildError("the engine needs a C compiler: install gcc or clang, or set CC")


def digest(*parts: str | bytes | Path) -> str:
    """A name for what these sources, in this order, build."""
    h = hashlib.sha256()
    for part in parts:
        raw = part.read_bytes() if isinstance(part, Path) else part if isinstance(part, bytes) else part.encode()
        h.update(len(raw).to_bytes(8, "little") + raw)
    return h.hexdigest()[:16]


def build(*, sanitize: bool = False, strict: bool = False) -> Path:
    """The path of the engine's library, built if it is not there.

    `sanitize`: with AddressSanitizer and UBSan. `strict`: warnings are errors. BuildError when it fails.
    """
    flags = (*FLAGS, *(SANITIZE if sanitize else ()), *(("-Werror",) if strict else ()))
    cc = compiler()
    files = [HERE / name for name in (*SOURCES, *HEADERS)]
    target = cache_dir() / f"lpn-engine-{digest(cc, *flags, *files)}.so"
    if not target.exists():
        compile_to(target, [cc, *flags, *(str(HERE / s) for s in SOURCES)])
    return target


def compile_to(target: Path, command: list[str]) -> None:
    """Run a compiler; the result appears under its name in one step, whoever else builds it."""
    handle, scratch = tempfile.mkstemp(prefix=target.stem, suffix=".tmp", dir=target.parent)
    os.close(handle)
    try:
        done = subprocess.run([*command, "-o", scratch], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            lines = [line for line in done.stderr.splitlines() if "error" in line] or [done.stderr.strip()]
            raise BuildError(f"{command[0]} failed: {lines[0]}")
        os.replace(scratch, target)
    finally:
        Path(scratch).unlink(missing_ok=True)


def declarations() -> str:
    """What cffi declares: the marked parts of the host headers."""
    parts = []
    for name in ("host.h", "node_host.h", "thumb2_host.h", "plan_host.h", "certificate_host.h"):
        match = re.search(r"/\* cdef begin \*/(.*)/\* cdef end \*/", (HERE / name).read_text(encoding="utf-8"), re.DOTALL)
        assert match
        parts.append(match[1])
    return "".join(parts)


def declared() -> Any:
    """cffi's FFI of these; parsed once, and kept as the module that cffi makes of it."""
    text = declarations()
    path = cache_dir() / f"lpn-declared-{digest(_cffi_backend.__version__, text)}.py"
    if not path.exists():
        import cffi
        from cffi.recompiler import make_py_source
        ffi = cffi.FFI()
        ffi.cdef(text)
        make_py_source(ffi, "lpn_declared", str(path))        # appears under its name in one step
    return runpy.run_path(str(path))["ffi"]


def open_library(path: Path) -> tuple[Any, Any]:
    """(ffi, lib) of a built engine."""
    ffi = declared()
    return ffi, ffi.dlopen(str(path))


@functools.cache
def library() -> tuple[Any, Any]:
    """(ffi, lib) of the engine; $LPN_ENGINE names another build of it, such as a sanitized one."""
    return open_library(Path(os.environ.get("LPN_ENGINE") or build()))
