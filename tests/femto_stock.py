"""The stock Femto-Container engine as its sources describe it, defects included: an independent model in Python.

Written from what is known of it (compiler/femto.py lists it): instructions that it has not end the run, moves keep 32
bits, `lddw` sign-extends, shift counts must be below 64. Addresses have 32 bits, as on the Cortex-M3.
"""
from __future__ import annotations

import struct
from typing import NamedTuple

M32, M64 = 0xFFFFFFFF, (1 << 64) - 1
MAGIC = 0x72425046
PKT, REC, STATE, OUT, CTX, STACK = (0x20000000 + 0x10000 * n for n in range(6))
OUT_SIZE, WINDOW, CTX_SIZE = 256, 64, 96
SCALARS = {"port": (48, 4), "iface": (52, 4), "rssi": (56, 4), "lqi": (60, 4), "time": (64, 4), "node_short": (68, 4),
           "node_ext": (72, 8), "node_pan": (80, 4), "clock": (84, 4)}


class Stop(Exception):
    """The engine ends the run with an error."""


def signed(v: int) -> int:
    return v - (1 << 64) if v >> 63 else v


class Stock:
    def __init__(self, image: bytes):
        magic, _, flags, data, rodata, text, _ = struct.unpack_from("<7I", image)
        assert (magic, flags, data, rodata) == (MAGIC, 0, 0, 0) and len(image) == 28 + text
        self.code = [(op, regs & 15, regs >> 4, off, imm)
                     for op, regs, off, imm in struct.iter_unpack("<BBhi", image[28:])]
        self.preflight()
        self.taken = 0

    def preflight(self) -> None:
        n, i = len(self.code), 0
        while i < n:
            op, dst, src, off, _ = self.code[i]
            assert dst < 11 and src < 11
            if op == 0x18:
                i += 2
                continue
            if op & 7 == 5:
                assert 0 <= i + off < n, "jump"
            i += 1
        assert self.code[-1][0] == 0x95

    def place(self, memory: dict, address: int, size: int) -> tuple[bytearray, int]:
        address &= M32
        base = address & ~0xFFFF
        at = address - base
        if base not in memory or at + size > len(memory[base]):
            raise Stop(f"memory {address:#x}")
        if size == 8 and address & 3:
            raise Stop(f"unaligned {address:#x}")
        return memory[base], at

    def execute(self, memory: dict) -> int:
        r = [0] * 11
        r[1], r[10] = CTX, STACK + 512
        pc, self.taken = 0, 0
        while True:
            op, dst, src, off, imm = self.code[pc]
            cls = op & 7
            if op == 0x95:
                return r[0]
            if op == 0x18:
                r[dst] = (imm | self.code[pc + 1][4] << 32) & M64
                pc += 1
            elif cls == 7:
                r[dst] = self.alu(op, r[dst], (r[src] if op & 8 else imm) & M64)
            elif cls == 5 and op != 0x85:
                if self.jump(op, r[dst], (r[src] if op & 8 else imm) & M64):
                    pc += off
                    self.taken += 1
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
                raise Stop(f"instruction {op:#x}")
            pc += 1

    @staticmethod
    def alu(op: int, a: int, b: int) -> int:
        code = op & 0xF0
        if code in (0x60, 0x70, 0xC0) and b > 63:
            raise Stop("shift")                 # undefined in C
        if code in (0x30, 0x90) and b == 0:
            raise Stop("division by zero")
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
            return b & M32
        if code == 0xC0:
            return signed(a) >> b & M64
        raise Stop(f"instruction {op:#x}")

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
    """A compiled program's containers, one after the other, as the chain runs them."""

    VERDICTS = ("ACCEPT", "DROP", "DELIVER", "TRANSMIT", "CONSUMED")

    def __init__(self, compiled, state: bytes):
        self.compiled = compiled
        self.engines = [Stock(c.stored) for c in compiled.containers]
        self.cells = bytearray(state)
        self.taken = 0                          # most taken jumps in one run

    def state(self) -> bytes:
        return bytes(self.cells)

    def run(self, frame: bytes, meta: dict) -> Passed:
        ctx = bytearray(CTX_SIZE)
        struct.pack_into("<QQQQQ", ctx, 0, PKT, PKT + len(frame), REC, STATE, OUT)
        for name, value in meta.items():
            at, width = SCALARS[name]
            ctx[at:at + width] = (value & (1 << 8 * width) - 1).to_bytes(width, "little")
        memory = {PKT: bytearray(frame + bytes(WINDOW)), REC: bytearray(self.compiled.record_size), STATE: self.cells, OUT: bytearray(OUT_SIZE), CTX: ctx}
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
        out = bytes(memory[OUT][:out_len] + memory[PKT][payload:max(len(frame) - cut, payload)]) if rebuilt else None
        return Passed(so_far, None, None, out)
