"""The stock Femto-Container engine itself, where its source is: FEMTO_CONTAINER names a checkout of it.

Nothing of it is part of this project. Its files are compiled together with a host of ours (tests/femto/stock_host.c), for this
machine and, where engine m3 is there, for the emulated Cortex-M3. tests/femto_stock.py is the model that it judges.
"""
from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import cffi
import pytest
from engine_isa import EXIT, mov

from lpn.compiler import femto
from lpn.compiler.bundle import Bundle
from lpn.compiler.image import Image
from lpn.runtime.engine.build import cache_dir, compile_to, compiler, digest
from lpn.runtime.engine.native import as_bundle
from lpn.runtime.memory import READ, WRITABLE, WRITE, Buffer
from lpn.runtime.rbpf.engine import RbpfFault, RbpfProgram

FOLDER = Path(os.environ.get("FEMTO_CONTAINER", ""))
HERE = bool(os.environ.get("FEMTO_CONTAINER")) and (FOLDER / "src/jumptable.c").is_file()
needs_engine = pytest.mark.skipif(not HERE, reason="needs the stock engine's source: set FEMTO_CONTAINER to a checkout of "
                                  "https://github.com/future-proof-iot/Femto-Container")
OURS = Path(__file__).parent / "femto"
HOST, CALLS = OURS / "stock_host.c", OURS / "stock_calls.h"
FLAGS = ("-DFEMTO_CONTAINER_EXTERNAL_CALLS", "-include", str(CALLS), f"-I{FOLDER / 'include'}")
STATUS = ("ok", "illegal instruction", "illegal memory", "illegal jump", "illegal call", "illegal length", "illegal register", "no return",
          "out of branches", "illegal division")
STACK, WINDOW = 512, 64
MANY = "-DFEMTO_CONTAINER_BRANCHES_ALLOWED=100000"     # for modules that rule 35 refuses
GARBAGE = b"\xa5"                               # what was on the stack before: the engine does not clear it


def sources() -> list[Path]:
    return [FOLDER / "src" / name for name in ("bpf.c", "jumptable.c", "verify.c")]


def parts() -> list[Path]:
    """What its build depends on."""
    return [*sources(), *sorted((FOLDER / "include").rglob("*.h")), HOST, CALLS]


def declarations() -> str:
    found = re.search(r"/\* cdef begin \*/(.*)/\* cdef end \*/", HOST.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    return found[1]


@cache
def library(*options: str) -> tuple[cffi.FFI, Any]:
    """(ffi, lib) of the engine for this machine, compiled with these options more."""
    flags = ("-std=gnu11", "-O2", "-fPIC", "-shared", "-fno-strict-aliasing", *FLAGS, *options)
    cc = compiler()
    target = cache_dir() / f"lpn-femto-{digest(cc, *flags, *parts())}.so"
    if not target.exists():
        compile_to(target, [cc, *flags, str(HOST), *map(str, sources())])
    ffi = cffi.FFI()
    ffi.cdef(declarations())
    return ffi, ffi.dlopen(str(target))


class StockFault(RbpfFault):
    """The stock engine ended a run, or would not begin it."""


class StockVm:
    """One image in the stock engine, on this machine. `regions`: memory that it may read and write, besides what a run is given."""

    def __init__(self, image: bytes, regions: Iterable[Buffer] = (), host: Any = None, options: tuple[str, ...] = ()):
        self.ffi, self.lib = library(*options)
        self.image, self.stack, self.regions, self.host = Buffer(len(image), image, low=True), Buffer(STACK, low=True), tuple(regions), host
        self.taken = self.most = 0

    def run(self, ctx: int, ctx_size: int, packet: int, readable: int) -> int:
        """r0; StockFault when the engine says anything but FC_OK."""
        self.stack.view[:STACK] = GARBAGE * STACK
        rights = [(region.address, region.size, READ | WRITE) for region in self.regions]
        if readable:
            rights += [(packet, readable - WINDOW, READ | WRITE), (packet, readable, READ)]
        if ctx_size:
            rights += [(ctx, ctx_size, READ), *((ctx + low, high - low, WRITE) for low, high in WRITABLE)]
        run, status = self.execute(ctx, ctx_size, rights)
        self.most = max(self.most, run.taken)
        if self.host:
            self.host.reraise()
        if run.error:
            raise StockFault(self.host.error_name(run.error))
        if status != "ok":
            raise StockFault(status)
        return run.r0 & 0xFFFFFFFFFFFFFFFF

    def execute(self, ctx: int, ctx_size: int, rights: list[tuple[int, int, int]]) -> tuple[Any, str]:
        regions = self.ffi.new("stock_region[]", rights)
        if not self.host:
            self.lib.stock_helpers(self.ffi.NULL, self.ffi.NULL)
        run = self.ffi.new("stock_run *", {
            "image": self.image.address, "image_size": self.image.size, "stack": self.stack.address, "stack_size": STACK,
            "ctx": ctx, "ctx_size": ctx_size, "regions": int(self.ffi.cast("uintptr_t", regions)), "count": len(rights)})
        self.lib.stock_execute(run)
        return run, STATUS[-run.status]

    def readable(self, rights: list[tuple[int, int, int]], address: int, size: int) -> bool:
        """Whether the engine would tell a helper that it may read there."""
        regions = self.ffi.new("stock_region[]", rights)
        run = self.ffi.new("stock_run *", {"image": self.image.address, "stack": self.stack.address, "stack_size": STACK,
                                           "regions": int(self.ffi.cast("uintptr_t", regions)), "count": len(rights)})
        return bool(self.lib.stock_readable(run, address, size))

    def environment(self, now: int) -> None:
        """The helpers of this image's host from now on."""
        ffi = self.host.ffi
        call, handle = (int(ffi.cast("uintptr_t", one)) for one in (ffi.addressof(self.host.lib, "lpn_host_call"), self.host.handle))
        self.lib.stock_helpers(self.ffi.cast("uint64_t (*)(void *, uint32_t, const uint64_t *)", call), self.ffi.cast("void *", handle))

    def traces(self) -> tuple[tuple[int, int], ...]:
        return ()


class StockProgram(RbpfProgram):
    """A bundle of target `femto` in the stock engine; chain, memory and helpers are the host's, as for the crate."""

    low = True                                  # before February 2022 its moves kept 32 bits

    def __init__(self, bundle: Bundle, externs: Any = None, hook: Any = None, options: tuple[str, ...] = ()):
        self.options = options
        super().__init__(bundle, externs, hook)

    def vm(self, image: Image) -> StockVm:
        return StockVm(femto.image(image.text), (self._record, self._state, self._out), self.host, self.options)

    @property
    def taken(self) -> int:
        """Most jumps that a run took."""
        return max(vm.most for chain in (self._chain, *self._takers.values()) for _, vm in chain)


class StockEngine:
    """As the engines of lpn.runtime.engines. `options`: of its compilation."""

    def __init__(self, *options: str):
        self.options = options

    def load(self, bundle: Bundle | bytes, *, externs: Any = None, hook: Any = None) -> StockProgram:
        return StockProgram(as_bundle(bundle), externs, hook, self.options)


def outcome(text: bytes, behind: bytes = b"", options: tuple[str, ...] = ()) -> int | str:
    """r0 of bare instructions, or what the engine says. `behind`: what lies behind the image."""
    vm = StockVm(femto.image(text) + behind, options=options)
    run, status = vm.execute(0, 0, [])
    return run.r0 if status == "ok" else status


#: Whether this engine is of before February 2022, when its moves were mended.
OLD = HERE and outcome(mov(0, -1) + EXIT) != (1 << 64) - 1
