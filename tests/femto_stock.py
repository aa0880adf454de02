"""The stock Femto-Container engine as its sources describe it, defects included: an independent model in Python.

Written from what is known of it (compiler/femto.py lists it): instructions that it has not end the run, `lddw` sign-extends, shift counts
must be below 64; moves keep 32 bits, as before February 2022, unless told otherwise. Addresses have 32 bits, as on the Cortex-M3.
test_femto_engine.py compares it with the engine itself.
"""
from __future__ import annotations

import struct
from typing import NamedTuple

M32, M64 = 0xFFFFFFFF, (1 << 64) - 1
MAGIC = 0x72425046
PKT, REC, STATE, OUT, CTX, STACK = (0x20100000 + 0x10000 * n for n in range(6))
OUT_SIZE, WINDOW, CTX_SIZE = 256, 64, 96
SCALARS = {"port": (48, 4), "iface": (52, 4), "rssi": (56, 4), "lqi": (60, 4), "time": (64, 4), "node_short": (68, 4),
           "node_ext": (72, 8), "node_pan": (80, 4), "clock": (84, 4)}


BRANCHES = 200                                  # that a run may take; FEMTO_CONTAINER_BRANCHES_ALLOWED


class Stop(Exception):
    """The engine ends the run with an error, or does not begin it: in its words, or in ours where it does not notice."""


def signed(v: int) -> int:
    return v - (1 << 64) if v >> 63 else v


class Stock:
    """`old`: of before February 2022. `branches`: that it was compiled to allow. `behind`: what lies in memory behind the image."""

    def __init__(self, image: bytes, old: bool = True, branches: int = BRANCHES, behind: bytes = b""):
        magic, _, flags, data, rodata, text, _ = struct.unpack_from("<7I", image)
        assert (magic, flags, data, rodata) == (MAGIC, 0, 0, 0) and len(image) == 28 + text
        self.old, self.branches = old, branches
        self.slots = text // 8
        self.code = [(op, regs & 15, regs >> 4, off, imm)
                     for op, regs, off, imm in struct.iter_unpack("<BBhi", image[28:] + behind)]
        self.preflight()
        self.taken = 0

    def preflight(self) -> None:
        i = 0
        while i < self.slots:
            op, dst, src, off, _ = self.code[i]
            if dst > 10 or src > 10:
                raise Stop("illegal register")
            if op == 0x18:
                i += 2
                continue
            if op & 7 == 5 and not 0 <= i + off < self.slots:
                raise Stop("illegal jump")
            if op == 0x85:                      # this host has no helpers
                raise Stop("illegal call")
            i += 1
        if self.code[self.slots - 1][0] != 0x95:
            raise Stop("no return")

    def place(self, memory: dict, address: int, size: int) -> tuple[bytearray, int]:
        address &= M32
        base = address & ~0xFFFF
        at = address - base
        if base not in memory or at + size > len(memory[base]):
            raise Stop("illegal memory")
        if size == 8 and address & 3:
            raise Stop("unaligned")             # a fault of the core
        return memory[base], at

    def execute(self, memory: dict) -> int:
        r = [0] * 11
        r[1], r[10] = CTX, STACK + 512
        pc, self.taken = 0, 0
        while True:
            if pc >= len(self.code):
                raise Stop("past the end")
            op, dst, src, off, imm = self.code[pc]
            cls = op & 7
            if op == 0x95:
                return r[0]
            if op == 0x18:
                r[dst] = (imm | self.code[pc + 1][4] << 32) & M64
                pc += 1
            elif cls == 7:
                r[dst] = self.alu(op, r[dst], (r[src] if op & 8 else imm) & M64)
            elif cls == 5 and op >> 4 < 14 and op not in (0x0D, 0x85, 0x8D, 0x9D):
                if self.jump(op, r[dst], (r[src] if op & 8 else imm) & M64):
                    pc += off
                    self.taken += 1
                    if self.taken > self.branches:
                        raise Stop("out of branches")
            elif cls in (1, 2, 3) and op & 0xE0 == 0x60:
                size = {0x00: 4, 0x08: 2, 0x10: 1, 0x18: 8}[op & 0x18]
                if cls == 1:
                    region, at = self.place(memory, r[src] + off, size)
                    r[dst] = int.from_bytes(region[at:at + size], "little")
                else:
                    region, at = self.place(memory, r[dst] + off, size)
                    value = r[src] if cls == 3 else imm
                    region[at:at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
            else:
                raise Stop("illegal instruction")
            pc += 1

    def alu(self, op: int, a: int, b: int) -> int:
        code = op & 0xF0
        if code in (0x60, 0x70, 0xC0) and b > 63:
            raise Stop("undefined")             # in C
        if code in (0x30, 0x90) and b == 0:
            raise Stop("illegal division")
        if code == 0x00:
            return (a + b) & M64
        if code == 0x10:
            return (a - b) & M64
        if code == 0x20:
            return a * b & M64
        if code == 0x30:
            return a // b
        if code == 0x40:
            return a | b
        if code == 0x50:
            return a & b
        if code == 0x60:
            return a << b & M64
        if code == 0x70:
            return a >> b
        if code == 0x90:
            return a % b
        if code == 0xA0:
            return a ^ b
        if code == 0xB0:
            return b & M32 if self.old else b
        if code == 0xC0:
            return signed(a) >> b & M64
        if op == 0x8F:                          # elsewhere than in RFC 9669
            return -a & M64
        raise Stop("illegal instruction")

    @staticmethod
    def jump(op: int, a: int, b: int) -> bool:
        code = op & 0xF0
        if code == 0x00:
            return True
        x, y = (signed(a), signed(b)) if code in (0x60, 0x70, 0xC0, 0xD0) else (a, b)
        if code in (0x10, 0x50):
            return (a == b) == (code == 0x10)
        if code == 0x40:
            return bool(a & b)
        if code in (0x20, 0x60):
            return x > y
        if code in (0x30, 0x70):
            return x >= y
        if code in (0xA0, 0xC0):
            return x < y
        return x <= y


class Passed(NamedTuple):
    verdict: str
    reason: str | None
    port: int | None
    out: bytes | None


class StockChain:
    """A compiled program's containers, one after the other, as the chain runs them. `make`: what executes an image."""

    VERDICTS = ("ACCEPT", "DROP", "DELIVER", "TRANSMIT", "CONSUMED")

    def __init__(self, compiled, state: bytes, make=Stock):
        self.compiled = compiled
        self.engines = [make(c.stored) for c in compiled.containers]
        self.cells = bytearray(state)
        self.taken = 0                          # most taken jumps in one run

    def state(self) -> bytes:
        return bytes(self.cells)

    def run(self, frame: bytes, meta: dict, place: int = 0) -> Passed:
        """`place`: where the packet begins, behind a multiple of 8."""
        ctx = bytearray(CTX_SIZE)
        struct.pack_into("<QQQQQ", ctx, 0, PKT + place, PKT + place + len(frame), REC, STATE, OUT)
        for name, value in meta.items():
            at, width = SCALARS[name]
            ctx[at:at + width] = (value & (1 << 8 * width) - 1).to_bytes(width, "little")
        memory = {PKT: bytearray(bytes(place) + frame + bytes(WINDOW)), REC: bytearray(self.compiled.record_size), STATE: self.cells, OUT: bytearray(OUT_SIZE), CTX: ctx}
        so_far, rebuilt = "ACCEPT", False
        for engine, container in zip(self.engines, self.compiled.containers):
            r0 = engine.execute(memory | {STACK: bytearray(512)})
            self.taken = max(self.taken, engine.taken)
            verdict, argument = self.VERDICTS[r0 & 0xFFFF], r0 >> 16 & 0xFFFF
            if verdict in ("DROP", "DELIVER", "CONSUMED"):
                reason = self.compiled.program.reasons[argument] if verdict == "DROP" else None
                return Passed(verdict, reason, argument if verdict == "DELIVER" else None, None)
            so_far = verdict if verdict != "ACCEPT" else so_far
            rebuilt |= container.lowered.rebuilds
        out_len, payload, cut = (struct.unpack_from("<I", ctx, at)[0] for at in (40, 44, 92))
        packet = memory[PKT][place:]
        out = bytes(memory[OUT][:out_len] + packet[payload:max(len(frame) - cut, payload)]) if rebuilt else None
        return Passed(so_far, None, None, out)
