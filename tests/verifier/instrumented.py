"""An eBPF interpreter that watches itself: every access, every uninitialised byte, every turn of a loop.

Written from RFC 9669 apart from the verifier. Regions lie at addresses far apart, so that a stray pointer hits nothing. Each register
carries a tag: does it hold an address? `run` raises Fault for what the verifier promises cannot happen.
"""
from __future__ import annotations

import struct
from dataclasses import dataclass, field

from lpn.compiler.helpers import size_said

M64, M32 = (1 << 64) - 1, (1 << 32) - 1

LOW_COMPLEMENT = "complement of a low half"
COMPLEMENT = "complement"                             # the tag of an address whose bits are all turned round


class Fault(Exception):
    """Something no accepted container may do."""


@dataclass
class Memory:
    """A region: `data` at `base`; `writable_to`: bytes that may be written, the rest is read-only."""
    base: int
    data: bytearray
    first_writable: int = 0
    writable_to: int | None = None
    written: bytearray | None = None                  # per byte, for the stack: 0 never, 1 number, 2 part of an address
    pointer_slots: dict = field(default_factory=dict)


@dataclass
class Result:
    r0: int
    insns: int
    branches: int
    stack: int
    clean32: bool


def sx(x, bits):
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> (bits - 1) else x


class Machine:
    """One run. `packet` is followed by `window` readable bytes; `sizes`: of rec, state, out, rodata, data."""

    def __init__(self, text: bytes, packet: bytes, *, shift: int = 0, window: int = 64, sizes=(), fill=lambda n: bytes(n), align8=4):
        self.code = [struct.unpack_from("<BBhi", text, i) for i in range(0, len(text), 8)]
        self.align8 = align8
        base = 0x2000_0000 + shift
        step = 0x100_0000
        self.packet_at = base + 1                     # odd: nothing may count on its alignment
        self.length = len(packet)
        self.regions = {
            "pkt": Memory(self.packet_at, bytearray(packet) + bytearray(fill(window)), 0, len(packet)),
            "ctx": Memory(base + step, bytearray(96)),
        }
        self.fill = fill
        self.stack_at = base + 0x800_0000             # frames, each with its own 512 bytes
        for i, (name, size) in enumerate(sizes):
            self.regions[name] = Memory(base + (2 + i) * step, bytearray(fill(size)))
        if "rodata" in self.regions:
            self.regions["rodata"].writable_to = 0
        ctx = self.regions["ctx"]
        ctx.first_writable, ctx.writable_to = 40, 52
        slots = {"pkt": 0, "rec": 16, "state": 24, "out": 32}
        for name, off in slots.items():
            if name in self.regions:
                struct.pack_into("<Q", ctx.data, off, self.regions[name].base)
        struct.pack_into("<Q", ctx.data, 8, self.packet_at + len(packet))
        for off in range(40, 88, 4):
            struct.pack_into("<I", ctx.data, off, struct.unpack("<I", fill(4))[0] & (0xFFFF if off in (68, 80) else M32))
        ctx.pointer_slots = {off: 8 for off in (0, 8, 16, 24, 32)}

    def new_frame(self, depth: int) -> int:
        m = Memory(self.stack_at + depth * 0x10000, bytearray(self.fill(512)), written=bytearray(512))
        self.regions[f"stack{depth}"] = m
        return m.base + 512

    def find(self, address: int, size: int, write: bool, pc: int) -> tuple[Memory, int]:
        for name, m in self.regions.items():
            off = address - m.base
            if 0 <= off and off + size <= len(m.data):
                if write:
                    top = len(m.data) if m.writable_to is None else m.writable_to
                    if off < m.first_writable or off + size > top:
                        raise Fault(f"{pc}: {size} bytes at {name}+{off} are read-only")
                if size == 8 and self.align8 > 1 and address % self.align8:
                    raise Fault(f"{pc}: 8 bytes at {name}+{off} are not aligned")
                return m, off
        raise Fault(f"{pc}: {'write' if write else 'read'} of {size} bytes at {address:#x} hits nothing (packet at {self.packet_at:#x}, {self.length} bytes)")

    def run(self, limit: int, on_node=None) -> Result:
        r: list[int | None] = [None] * 11
        tag = [False] * 11
        r[1], tag[1] = self.regions["ctx"].base, True
        r[10], tag[10] = self.new_frame(0), True
        pc, insns, branches, frames, deepest, most, clean = 0, 0, 0, [], {}, 0, True

        def get(i):
            if r[i] is None:
                raise Fault(f"{pc}: r{i} is not initialised")
            return r[i]

        while True:
            if not 0 <= pc < len(self.code):
                raise Fault(f"control left the text at {pc}")
            if on_node:
                on_node(pc, r, self)
            op, regs, off, imm = self.code[pc]
            dst, src, cls = regs & 15, regs >> 4, op & 7
            insns += 1
            if insns > limit:
                raise Fault(f"more than {limit} instructions")
            nxt = pc + 1
            if cls in (4, 7):                         # arithmetic
                wide, code = cls == 7, op & 0xF0
                value, is_tag = self.alu(pc, r, tag, op, dst, src, off, imm, get)
                r[dst], tag[dst] = value & (M64 if wide else M32), is_tag
                if code == 0xD0:
                    r[dst] = value & M64
            elif op == 0x18:
                high = self.code[pc + 1][3]
                if src in (8, 9):
                    r[dst], tag[dst] = self.regions["rodata" if src == 8 else "data"].base + (imm & M32), True
                else:
                    r[dst], tag[dst] = imm & M32 | (high & M32) << 32, False
                nxt = pc + 2
            elif cls == 1:
                size = {0: 4, 8: 2, 16: 1, 24: 8}[op & 0x18]
                m, at = self.find((get(src) + off) & M64, size, False, pc)
                if m.written is not None:
                    deepest[m.base] = max(deepest.get(m.base, 0), 512 - at)
                kinds = set(m.written[at:at + size]) if m.written is not None else {1}
                if 0 in kinds:
                    raise Fault(f"{pc}: stack bytes read before they are written")
                pointer = m.pointer_slots.get(at) == size and (m.written is None or kinds == {2})
                if (2 in kinds or m is self.regions["ctx"] and any(o < at + size and at < o + s for o, s in m.pointer_slots.items())) and not pointer:
                    raise Fault(f"{pc}: part of an address is read")
                value = int.from_bytes(m.data[at:at + size], "little")
                r[dst], tag[dst] = (sx(value, 8 * size) & M64 if op & 0xE0 == 0x80 else value), pointer
            elif cls in (2, 3) and op & 0xE0 == 0x60:
                size = {0: 4, 8: 2, 16: 1, 24: 8}[op & 0x18]
                m, at = self.find((get(dst) + off) & M64, size, True, pc)
                if m.written is not None:
                    deepest[m.base] = max(deepest.get(m.base, 0), 512 - at)
                value, pointer = (get(src), tag[src]) if cls == 3 else (imm, False)
                if pointer and (m.written is None or size != 8):
                    raise Fault(f"{pc}: an address is stored where others see it")
                m.data[at:at + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
                if m.written is not None:
                    for o in list(m.pointer_slots):
                        if o < at + size and at < o + 8:
                            del m.pointer_slots[o]
                    m.written[at:at + size] = bytes([2 if pointer else 1]) * size
                    if pointer:
                        m.pointer_slots[at] = 8
            elif op in (0xC3, 0xDB):                  # atomics (5.3)
                size = 8 if op == 0xDB else 4
                m, at = self.find((get(dst) + off) & M64, size, True, pc)
                mask = (1 << 8 * size) - 1
                if m.written is not None:
                    deepest[m.base] = max(deepest.get(m.base, 0), 512 - at)
                    if set(m.written[at:at + size]) != {1}:
                        raise Fault(f"{pc}: atomic operation on uninitialised bytes or an address")
                if tag[src] or imm == 0xF1 and tag[0]:
                    raise Fault(f"{pc}: atomic operation with an address")
                old, value = int.from_bytes(m.data[at:at + size], "little"), get(src) & mask
                if imm == 0xF1:
                    new = value if get(0) & mask == old else old
                else:
                    new = {0: old + value, 0x40: old | value, 0x50: old & value, 0xA0: old ^ value, 0xE0: value}[imm & ~1]
                m.data[at:at + size] = (new & mask).to_bytes(size, "little")
                if imm & 1:
                    to = 0 if imm == 0xF1 else src
                    r[to], tag[to] = old, False
                    clean = clean and old <= M32
            elif op in (0x05, 0x06):
                nxt, branches = pc + 1 + (off if op == 5 else imm), branches + 1
            elif op == 0x95:
                most = max(most, sum(deepest.values()))
                deepest.pop(self.regions[f"stack{len(frames)}"].base, None)
                if not frames:
                    if tag[0]:
                        raise Fault(f"{pc}: an address is returned")
                    return Result(get(0), insns, branches, most, clean)
                del self.regions[f"stack{len(frames)}"]
                back, saved, tags = frames.pop()
                r[6:11], tag[6:11] = saved, tags
                r[1:6] = [None] * 5
                nxt = back
            elif op == 0x85 and src == 1:
                frames.append((pc + 1, r[6:11], tag[6:11]))
                r[6:10], r[0] = [None] * 4, None
                r[10] = self.new_frame(len(frames))
                nxt = pc + 1 + imm
            elif op == 0x85:
                self.helper(pc, imm, r, tag, get)
            elif cls in (5, 6):
                wide = cls == 5
                a, b = get(dst), get(src) if op & 8 else imm & M64
                mask, bits = (M64, 64) if wide else (M32, 32)
                asked = tag[dst] and not (op & 8 and tag[src]) and b == 0 and op & 0xF0 in (0x10, 0x50)     # for NULL
                alike = tag[dst] and op & 8 and tag[src] and op & 0xF0 in (0x10, 0x50)
                if (tag[dst] or op & 8 and tag[src]) and not wide and not asked and not alike:
                    raise Fault(f"{pc}: an address is compared in 32 bits")
                a, b = a & mask, b & mask
                code = op & 0xF0
                sa, sb = sx(a, bits), sx(b, bits)
                taken = {0x10: a == b, 0x20: a > b, 0x30: a >= b, 0x40: bool(a & b), 0x50: a != b, 0x60: sa > sb, 0x70: sa >= sb,
                         0xA0: a < b, 0xB0: a <= b, 0xC0: sa < sb, 0xD0: sa <= sb}[code]
                null = code in (0x10, 0x50) and b == 0 or not (tag[dst] or op & 8 and tag[src])
                if tag[dst] != bool(op & 8 and tag[src]) and not null:
                    raise Fault(f"{pc}: an address is compared with a number")
                if taken:
                    nxt, branches = pc + 1 + off, branches + 1
            else:
                raise Fault(f"{pc}: opcode {op:#x}")
            if cls in (0, 1, 4, 7) and not tag[dst] and r[dst] is not None and r[dst] > M32:
                clean = False
            pc = nxt

    def alu(self, pc, r, tag, op, dst, src, off, imm, get):
        wide, code = op & 7 == 7, op & 0xF0
        bits, mask = (64, M64) if wide else (32, M32)
        b, btag = (get(src), tag[src]) if op & 8 else (imm & M64, False)
        if code == 0xB0:
            if off:
                if btag:
                    raise Fault(f"{pc}: an address is cut")
                return sx(b, off), False
            return b & mask, btag                     # in 32 bits: half an address, which only a difference may use
        a, atag = get(dst), tag[dst]
        if code == 0xD0:
            n = imm // 8
            low = a & ((1 << imm) - 1)
            swap = int.from_bytes(low.to_bytes(n, "little"), "big")
            if atag:
                raise Fault(f"{pc}: an address is swapped")
            return (swap if op & 8 or wide else low), False
        if code == 0x80:
            if atag:
                raise Fault(f"{pc}: an address is negated")
            return -a, False
        x, y = a & mask, b & mask
        if code == 0xA0 and atag is True and not btag and y == mask:
            return ~x & mask, COMPLEMENT if wide else LOW_COMPLEMENT
        if code == 0x00 and ({atag, btag} == {True, COMPLEMENT} or not wide and {atag, btag} == {True, LOW_COMPLEMENT}):
            return x + y, False
        if {COMPLEMENT, LOW_COMPLEMENT} & {atag, btag}:
            raise Fault(f"{pc}: arithmetic {code:#x} on the complement of an address")
        if code == 0x00:
            if atag and btag:
                raise Fault(f"{pc}: addresses are added")
            return x + y, atag or btag
        if code == 0x10:
            if btag and not atag:
                raise Fault(f"{pc}: an address is subtracted from a number")
            return x - y, atag and not btag
        if atag or btag:
            raise Fault(f"{pc}: arithmetic {code:#x} on an address")
        if code in (0x30, 0x90):
            if y == 0:
                raise Fault(f"{pc}: division by zero")
            if off == 1:
                sa, sb = sx(x, bits), sx(y, bits)
                q = abs(sa) // abs(sb) * (1 if (sa < 0) == (sb < 0) else -1)
                return (q if code == 0x30 else sa - q * sb), False
            return (x // y if code == 0x30 else x % y), False
        if code in (0x60, 0x70, 0xC0):
            if y >= bits:
                raise Fault(f"{pc}: shift by {y}")
            return (x << y if code == 0x60 else x >> y if code == 0x70 else sx(x, bits) >> y), False
        return {0x20: x * y, 0x40: x | y, 0x50: x & y, 0xA0: x ^ y}[code], False

    def helper(self, pc, number, r, tag, get):
        """clock_us, trace and lookup of the project's table."""
        if number == 1:
            for reg, write in ((2, False), (3, True)):
                size = size_said(get(1), reg)
                if not size:
                    continue
                m, at = self.find(get(reg), size, write, pc) if size != 8 else self._unaligned(get(reg), write, pc)
                if m.written is not None and not write and set(m.written[at:at + size]) != {1}:
                    raise Fault(f"{pc}: helper reads uninitialised bytes or addresses")
                if m.written is not None and write:
                    m.written[at:at + size] = bytes([1]) * size
                    m.pointer_slots = {o: s for o, s in m.pointer_slots.items() if o >= at + size or o + 8 <= at}
                if write:
                    m.data[at:at + size] = bytes(range(size))
            r[0] = 1
        elif number == 2:
            r[0] = 0x89ABCDEF
        elif number == 3:
            for i in (1, 2):
                get(i)
                if tag[i]:
                    raise Fault(f"{pc}: an address is passed to trace")
            r[0] = 0
        else:
            raise Fault(f"{pc}: helper {number}")
        tag[0] = False
        r[1:6] = [None] * 5
        tag[1:6] = [False] * 5

    def _unaligned(self, address, write, pc):
        self.find(address, 7, write, pc)
        return self.find(address + 1, 7, write, pc)[0], address - self.find(address, 7, write, pc)[0].base
