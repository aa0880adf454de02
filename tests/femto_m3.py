"""The stock Femto-Container engine on the emulated Cortex-M3, where addresses have 32 bits and shifts and alignment are the core's.

It has no helpers here. Its interface is the model's (femto_stock.Stock).
"""
from __future__ import annotations

import struct
from functools import cache

from femto_engine import FLAGS, FOLDER, HOST, OURS, STATUS, WINDOW, parts, sources
from femto_stock import CTX, CTX_SIZE, PKT, STACK, Stop

from lpn.runtime.m3 import firmware
from lpn.runtime.m3.core import Core, Fault
from lpn.runtime.memory import READ, WRITABLE, WRITE

RUN, RIGHTS, IMAGE = 0x20170000, 0x20170100, 0x20180000         # behind the memory that the model has; an image may take 64 KB and more
_RUN, _RIGHT = struct.Struct("<4Q4IQiIIxxxx"), struct.Struct("<QII")        # stock_run, stock_region


@cache
def core(*options: str) -> Core:
    libc = firmware.HERE / "libc"
    built = firmware.build("femto", [*sources(), HOST, firmware.HERE / "support.c"], headers=[*parts(), OURS / "assert.h"],
                           include=(OURS, libc, FOLDER / "include"), flags=(*FLAGS, *options))
    return Core(firmware.read(built), counting=False)


class M3Stock:
    """An image there. `taken`: jumps of the last run."""

    def __init__(self, image: bytes, *options: str, behind: bytes = b""):
        self.core, self.image, self.behind = core(*options), image, behind
        self.taken = 0

    def execute(self, memory: dict[int, bytearray]) -> int:
        """r0; Stop as the model has it."""
        rights = []
        for at, content in memory.items():
            self.core.write(at, bytes(content))
            if at == PKT:
                rights += [(at, len(content) - WINDOW, READ | WRITE), (at, len(content), READ)]
            elif at == CTX:
                rights += [(at, CTX_SIZE, READ), *((at + low, high - low, WRITE) for low, high in WRITABLE)]
            elif at != STACK:
                rights.append((at, len(content), READ | WRITE))
        self.core.write(IMAGE, self.image + self.behind)
        self.core.write(RIGHTS, b"".join(_RIGHT.pack(*row) for row in rights))
        self.core.write(RUN, _RUN.pack(IMAGE, STACK, CTX, RIGHTS, len(self.image), 512, CTX_SIZE, len(rights), 0, 0, 0, 0))
        try:
            self.core.call("stock_execute", RUN)
        except Fault as why:
            raise Stop("fault") from why
        *_, r0, status, self.taken, _ = _RUN.unpack(self.core.read(RUN, _RUN.size))
        if status:
            raise Stop(STATUS[-status])
        for at, content in memory.items():
            content[:] = self.core.read(at, len(content))
        return r0
