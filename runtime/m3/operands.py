"""Operands with which an arithmetic instruction takes longest, and those with which it takes least: for who measures costs.

What divides depends on them: the core's instructions end early (DDI 0337, r2p1, 3.3.1), and libgcc's functions for 64 bits go several ways. No verified
program divides by 0.
"""
from __future__ import annotations

from itertools import product

PRODUCTS, MOVES, SHIFTS = ((0, 1), (0x7FFFFFFF, 0x7FFFFFFF)), ((0, 0), (0, 0x80), (0, 0x8000), (0, 0x7FFFFFFF)), ((0, 0), (0x7FFFFFFF, 1), (0x80000000, 31))
QUOTIENTS = (0, 1), (5, 1), (0xFFFFFFFF, 1), (5, 0xFFFFFFFF), (0x7FFFFFFF, 3), (0x80000000, 3)
#: More, of 64 bits. libgcc's __udivmoddi4 makes a quotient of four digits of 16 bits, each from an estimate that is corrected up to twice; of what takes all
#: four, the first is 0 and the second is corrected once at most. In LONGEST the others are twice. Signs take longer.
ALL = (1 << 64) - 1
LONGEST = 0x40001FFFFFFFFFFF, 0x107FFF
WIDE_PRODUCTS, WIDE_SHIFTS = ((ALL, 1), (ALL, 0x7FFFFFFF), (ALL, ALL)), ((ALL, 1), (ALL, 32), (ALL, 63))
WIDE_QUOTIENTS = tuple((a & ALL, b & ALL) for a, b in product((LONGEST[0], -LONGEST[0]), (LONGEST[1], -LONGEST[1], 1, -1)))
DIVISIONS = 0x3, 0x9
OPERANDS = dict.fromkeys(DIVISIONS, (QUOTIENTS, WIDE_QUOTIENTS)) | dict.fromkeys((0x6, 0x7, 0xC), (SHIFTS, WIDE_SHIFTS)) | {0xB: (MOVES, ())}


def operands(code: int, wide: bool) -> tuple[tuple[int, int], ...]:
    """What an operation is measured with; `wide`: with numbers of 64 bits, too."""
    narrow, more = OPERANDS.get(code, (PRODUCTS, WIDE_PRODUCTS))
    return narrow + more * wide
