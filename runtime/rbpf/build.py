"""Builds the Rust library with cargo and loads it with cffi; cached like the C engine."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import cffi

from lpn.runtime.engine.build import BuildError, cache_dir, digest

HERE = Path(__file__).parent
SOURCES = ("Cargo.toml", "src/lib.rs")

DECLARATIONS = """
typedef struct Vm Vm;
Vm *lpn_rbpf_new(const uint8_t *text, size_t size, char *message, size_t room);
void lpn_rbpf_free(Vm *vm);
void lpn_rbpf_allow(Vm *vm, uint64_t address, uint64_t size);
void lpn_rbpf_environment(void *call, uint8_t *host, uint32_t now);
size_t lpn_rbpf_traces(uint64_t *out, size_t room);
int lpn_rbpf_run(const Vm *vm, const uint8_t *ctx, size_t ctx_size, const uint8_t *memory, size_t memory_size,
                 uint64_t *r0, char *message, size_t room);
"""


def build() -> Path:
    """The path of the library, built if it is not there. BuildError says in one line what is missing."""
    cargo = os.environ.get("CARGO") or shutil.which("cargo")
    if not cargo:
        raise BuildError("engine rbpf needs cargo (Rust 1.63 or newer): install it, or use another engine")
    files = [HERE / name for name in SOURCES]
    target = cache_dir() / f"lpn-rbpf-{digest(*files)}.so"
    if target.exists():
        return target
    crate = cache_dir() / "rbpf"                # cargo writes beside the manifest: give it a copy
    (crate / "src").mkdir(parents=True, exist_ok=True)
    for name in SOURCES:
        shutil.copyfile(HERE / name, crate / name)
    work = cache_dir() / "rbpf-target"
    done = subprocess.run(
        [cargo, "build", "--release", "--quiet", "--manifest-path", str(crate / "Cargo.toml"), "--target-dir", str(work)],
        capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.startswith("error")] or ["no message"]
        raise BuildError(f"cargo could not build engine rbpf: {lines[0]}")
    scratch = target.with_suffix(f".{os.getpid()}.tmp")
    shutil.copyfile(work / "release" / "liblpn_rbpf.so", scratch)
    os.replace(scratch, target)
    return target


@functools.cache
def library() -> tuple[cffi.FFI, Any]:
    """(ffi, lib)."""
    ffi = cffi.FFI()
    ffi.cdef(DECLARATIONS)
    return ffi, ffi.dlopen(str(build()))
