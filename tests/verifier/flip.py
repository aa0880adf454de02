"""Faults of the checker on the core: each condition of its machine code the other way round, one at a time."""
from __future__ import annotations

import struct
from collections.abc import Iterator


def flipped(code: bytes, base: int, ranges: list[tuple[int, int]]) -> Iterator[tuple[int, bytes]]:
    """(address, the code with this condition turned): conditional branches, comparisons with 0 that jump, IT instructions with all that they cover."""
    for start, end in ranges:
        at = start - base
        while at < end - base:
            first, = struct.unpack_from("<H", code, at)
            size = 4 if first >> 11 in (0b11101, 0b11110, 0b11111) else 2
            turned = first
            if size == 2 and first >> 12 == 0b1101 and first >> 8 & 15 < 14:
                turned ^= 1 << 8
            elif size == 2 and first & 0xF500 == 0xB100:
                turned ^= 1 << 11
            elif size == 2 and first >> 8 == 0xBF and first & 15:
                lowest = first & -first & 15
                turned ^= 1 << 4 | (15 & ~(2 * lowest - 1))
            elif size == 4 and first >> 11 == 0b11110 and code[at + 3] & 0xD0 == 0x80 and first >> 7 & 7 != 7:
                turned ^= 1 << 6
            if turned != first:
                yield base + at, code[:at] + struct.pack("<H", turned) + code[at + 2:]
            at += size
