"""A model of the eBPF instruction set for tests, written from RFC 9669 and from nothing else of this project.

`insn` encodes one instruction; `ALU`, `JUMPS` say what each operation computes on Python integers.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

M32, M64 = 2**32 - 1, 2**64 - 1

#: Operands at which widths, signs and shift counts turn.
EDGES = (0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1,
         2**32, 2**32 + 1, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1, 0x0123456789ABCDEF, 0xFEDCBA9876543210)
IMMEDIATES = (0, 1, 2, 31, 32, 63, 64, 0x7FFFFFFF, -0x80000000, -1, -2, 0x12345678)


def insn(op: int, dst: int = 0, src: int = 0, off: int = 0, imm: int = 0) -> bytes:
    """One slot: opcode, registers, offset, immediate (RFC 9669 section 3)."""
    return struct.pack("<BBhI", op, dst | src << 4, off, imm & M32)


def lddw(dst: int, value: int, src: int = 0) -> bytes:
    return insn(0x18, dst, src, 0, value) + insn(0, imm=value >> 32)


EXIT = insn(0x95)


def mov(dst: int, imm: int) -> bytes:
    return insn(0xB7, dst, imm=imm)


def signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _quotient(a: int, b: int) -> int:
    """Division that truncates towards zero, as C's and eBPF's."""
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def sdiv(a: int, b: int, n: int) -> int:
    a, b = signed(a, n), signed(b, n)
    return 0 if b == 0 else _quotient(a, b)


def smod(a: int, b: int, n: int) -> int:
    a, b = signed(a, n), signed(b, n)
    return a if b == 0 else a - b * _quotient(a, b)


#: name -> (code, offset, f(dst, src, width)); operands come truncated to the width, results get truncated.
ALU: dict[str, tuple[int, int, Callable[[int, int, int], int]]] = {
    "add": (0x0, 0, lambda a, b, n: a + b),
    "sub": (0x1, 0, lambda a, b, n: a - b),
    "mul": (0x2, 0, lambda a, b, n: a * b),
    "div": (0x3, 0, lambda a, b, n: a // b if b else 0),
    "sdiv": (0x3, 1, sdiv),
    "or": (0x4, 0, lambda a, b, n: a | b),
    "and": (0x5, 0, lambda a, b, n: a & b),
    "lsh": (0x6, 0, lambda a, b, n: a << b % n),
    "rsh": (0x7, 0, lambda a, b, n: a >> b % n),
    "mod": (0x9, 0, lambda a, b, n: a % b if b else a),
    "smod": (0x9, 1, smod),
    "xor": (0xA, 0, lambda a, b, n: a ^ b),
    "mov": (0xB, 0, lambda a, b, n: b),
    "arsh": (0xC, 0, lambda a, b, n: signed(a, n) >> b % n),
}

#: name -> (code, f(dst, src, width)).
JUMPS: dict[str, tuple[int, Callable[[int, int, int], bool]]] = {
    "jeq": (0x1, lambda a, b, n: a == b),
    "jgt": (0x2, lambda a, b, n: a > b),
    "jge": (0x3, lambda a, b, n: a >= b),
    "jset": (0x4, lambda a, b, n: a & b != 0),
    "jne": (0x5, lambda a, b, n: a != b),
    "jsgt": (0x6, lambda a, b, n: signed(a, n) > signed(b, n)),
    "jsge": (0x7, lambda a, b, n: signed(a, n) >= signed(b, n)),
    "jlt": (0xA, lambda a, b, n: a < b),
    "jle": (0xB, lambda a, b, n: a <= b),
    "jslt": (0xC, lambda a, b, n: signed(a, n) < signed(b, n)),
    "jsle": (0xD, lambda a, b, n: signed(a, n) <= signed(b, n)),
}


def alu_programs(name: str, width: int, immediate: bool):
    """(text, expected r0) for one operation over all edge operands."""
    code, off, f = ALU[name]
    mask = M64 if width == 64 else M32
    op = code << 4 | (0 if immediate else 8) | (7 if width == 64 else 4)
    for a in EDGES:
        for b in IMMEDIATES if immediate else EDGES:
            last = insn(op, 6, 0, off, b) if immediate else insn(op, 6, 7, off)
            text = lddw(6, a) + lddw(7, b & M64) + last + insn(0xBF, 0, 6) + EXIT
            yield text, f(a & mask, b & mask, width) & mask


def jump_programs(name: str, width: int, immediate: bool):
    """(text, expected r0) for one jump over all edge operands: 1 when taken."""
    code, f = JUMPS[name]
    mask = M64 if width == 64 else M32
    op = code << 4 | (0 if immediate else 8) | (5 if width == 64 else 6)
    for a in EDGES:
        for b in IMMEDIATES if immediate else EDGES:
            jump = insn(op, 6, 0, 1, b) if immediate else insn(op, 6, 7, 1)
            text = lddw(6, a) + lddw(7, b & M64) + mov(0, 1) + jump + mov(0, 0) + EXIT
            yield text, int(f(a & mask, b & mask, width))


def swap_programs():
    """(name, text, expected r0) for the byte swaps; this machine's order is little-endian (section 4.2)."""
    for name, op in (("le", 0xD4), ("be", 0xDC), ("bswap", 0xD7)):
        for bits in (16, 32, 64):
            for a in EDGES:
                low = a & ((1 << bits) - 1)
                want = low if name == "le" else int.from_bytes(low.to_bytes(bits // 8, "little"), "big")
                yield f"{name}{bits}", lddw(6, a) + insn(op, 6, imm=bits) + insn(0xBF, 0, 6) + EXIT, want


#: Memory for load and store tests; two spare bytes on each side of what aligned tests touch.
PATTERN = bytes((0x11 * i + 0x7A) & 0xFF for i in range(32))
SIZES = {1: 0x10, 2: 0x08, 4: 0x00, 8: 0x18}    #: bytes -> size code


def load_programs(sign: bool):
    """(text, expected r0): a load of each size at every offset, r1 -> PATTERN."""
    for size, code in SIZES.items():
        if sign and size == 8:
            continue
        for at in range(len(PATTERN) - size + 1):
            raw = int.from_bytes(PATTERN[at:at + size], "little")
            want = signed(raw, 8 * size) & M64 if sign else raw
            for base in (0, 5):     # the address split between register and offset
                text = (insn(0xBF, 6, 1) + insn(0x07, 6, imm=base)
                        + insn((0x81 if sign else 0x61) | code, 0, 6, at - base) + EXIT)
                yield text, want


def store_programs(register: bool):
    """(text, memory afterwards): a store of each size at every offset, r1 -> PATTERN."""
    for size, code in SIZES.items():
        for at in range(len(PATTERN) - size + 1):
            for value in (0x0123456789ABCDEF, 0xFFFFFFFFFFFFFFFF) if register else (0x1234ABCD, -2):
                bytes_ = (value & M64).to_bytes(8, "little")[:size]
                want = PATTERN[:at] + bytes_ + PATTERN[at + size:]
                if register:
                    text = lddw(7, value) + insn(0x63 | code, 1, 7, at)
                else:
                    text = insn(0x62 | code, 1, 0, at, value)
                yield text + mov(0, 0) + EXIT, want


def linked(parts: list[bytes | tuple[int, int, int, int]], choose: Callable[[int, int], int]) -> bytes:
    """Code made of pieces and of jumps (opcode, dst, src, imm); `choose(first, last)` says which piece, or the end, a
    jump goes to: only forward, so that each program ends."""
    starts = [0]
    for part in parts:
        starts.append(starts[-1] + (1 if isinstance(part, tuple) else len(part) // 8))
    out = b""
    for i, part in enumerate(parts):
        if isinstance(part, tuple):
            op, dst, src, imm = part
            part = insn(op, dst, src, starts[choose(i + 1, len(parts))] - starts[i] - 1, imm)
        out += part
    return out
