"""Host memory laid out as a program sees it: the context and the regions it points to.

For engines that Python drives itself; the C engine lays out its own (runtime/engine/chain.c), a test compares.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Mapping
from typing import Any

import cffi

from lpn.runtime.engines import OUT_SIZE, WINDOW, EngineError

#: The `lpn` context: name -> (offset, width in bytes). Pointer slots are 64 bits on every host.
CONTEXT = {
    "pkt": (0, 8), "pkt_end": (8, 8), "rec": (16, 8), "state": (24, 8), "out": (32, 8), "out_len": (40, 4),
    "payload": (44, 4), "port": (48, 4), "iface": (52, 4), "rssi": (56, 4), "lqi": (60, 4), "time": (64, 4),
    "node_short": (68, 4), "node_ext": (72, 8), "node_pan": (80, 4), "clock": (84, 4), "event": (88, 4),
    "cut": (92, 4),
}
CONTEXT_SIZE = 96
WRITABLE = ((40, 52), (92, 96))     #: the context's writable bytes: out_len, payload, port; cut
MAP_32BIT = 0x40        #: mmap(2), x86-64

READ, WRITE = 1, 2

_ffi = cffi.FFI()


class Buffer:
    """Bytes at a fixed address, 8-aligned, zeroed; `low`: below 4 GiB, for contexts with 32-bit pointers."""

    def __init__(self, size: int, content: bytes = b"", *, low: bool = False) -> None:
        self.size = size
        room = max(size, len(content), 1)
        if low:
            try:
                self._keep: Any = mmap.mmap(-1, room, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_32BIT)
            except OSError as e:
                raise EngineError(f"no memory below 4 GiB: {e.strerror}") from None
            self.pointer = _ffi.from_buffer("uint8_t[]", self._keep)
        else:
            self._keep = _ffi.new("uint64_t[]", (room + 7) // 8)
            self.pointer = _ffi.cast("uint8_t *", self._keep)
        self.address = int(_ffi.cast("uintptr_t", self.pointer))
        if low and (self.address + room) >> 32:
            raise EngineError("no memory below 4 GiB on this machine")
        self.view = _ffi.buffer(self.pointer, room)
        self.view[:len(content)] = content

    def bytes(self) -> bytes:
        return self.view[:self.size]


def context(pkt: int, size: int, rec: int, state: int, out: int, meta: Mapping[str, int]) -> bytes:
    """The 96 bytes of the `lpn` context; `meta` as `check_meta` returns it."""
    values = {"pkt": pkt, "pkt_end": pkt + size, "rec": rec, "state": state, "out": out, **meta}
    raw = bytearray(CONTEXT_SIZE)
    for name, (offset, width) in CONTEXT.items():
        raw[offset:offset + width] = values.get(name, 0).to_bytes(width, "little")
    return bytes(raw)


class Regions:
    """The memory of one run, and which of it a program may read and write.

    `make`: makes the buffers, where memory is not this process's. layout "lpn": r1 points to the `lpn` context, made of `meta`. "xdp": to `struct xdp_md`, 32-bit pointers to
    packet start and end in front, the packet below 4 GiB, no window. "mem": to `ctx` itself, which is writable.
    """

    def __init__(self, layout: str, ctx: bytes = b"", packet: bytes = b"", record_size: int = 0,
                 state: bytes = b"", rodata: bytes = b"", data: bytes = b"",
                 meta: Mapping[str, int] | None = None, make: Callable[..., Any] = Buffer) -> None:
        window = WINDOW if layout == "lpn" else 0
        self.packet = make(len(packet), packet + bytes(window), low=layout == "xdp")
        self.record = make(record_size)
        self.state = make(len(state), state)
        self.out = make(OUT_SIZE)
        self.rodata = make(len(rodata), rodata)
        self.data = make(len(data), data)
        if layout == "lpn":
            ctx = context(self.packet.address, len(packet), self.record.address, self.state.address,
                          self.out.address, meta or {})
        elif layout == "xdp":
            start, end = self.packet.address, self.packet.address + len(packet)
            ctx = start.to_bytes(4, "little") + end.to_bytes(4, "little") + ctx[8:24].ljust(16, b"\0")
        elif layout != "mem":
            raise EngineError(f"unknown layout {layout!r}: mem, lpn or xdp")
        self.ctx = make(len(ctx), ctx)
        both = READ | WRITE
        #: (address, size, access)
        self.list = [(self.packet.address, len(packet), both)]
        if layout == "lpn":
            self.list += [(self.record.address, record_size, both),
                          (self.ctx.address, CONTEXT_SIZE, READ),
                          (self.state.address, len(state), both), (self.out.address, OUT_SIZE, both),
                          *((self.ctx.address + low, high - low, WRITE) for low, high in WRITABLE),
                          (self.packet.address, len(packet) + window, READ)]
        else:
            self.list.append((self.ctx.address, len(ctx), both if layout == "mem" else READ))
