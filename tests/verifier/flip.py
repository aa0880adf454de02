"""Faults of the checker in Thumb-2: each condition of its machine code the other way round, one at a time.

As a program: all of them, python tests/verifier/flip.py. Exit status 1 if one is not noticed.
"""
from __future__ import annotations

import random
import struct
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from both import CODE, LOADED, Here, There, case_of, linked             # noqa: E402
from both_changed import Case                                          # noqa: E402
from forge import pairs                                                # noqa: E402
from forge_told import crowded                                         # noqa: E402

INSNS = 400_000                 #: more than any of these takes


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


def survivors(here: Here, there: There, code: bytes, ranges: list[tuple[int, int]], corpus: list[Case], every: int = 1) -> tuple[int, list[int]]:
    """How many of these faults were tried, one in `every`, and where those are that no case of the corpus shows."""
    mutants = list(flipped(code, CODE, ranges))[::every]
    truth = [(case, verdict) for case in corpus if (verdict := here.check(case)).why != LOADED]
    alive = []
    for at, mutant in mutants:
        there.put(mutant)
        if all(there.check(case, INSNS) == verdict for case, verdict in truth):
            alive.append(at)
    there.put(code)
    return len(mutants), alive


def everything() -> list[Case]:
    """Honest pairs with work areas of all sizes, then forged ones in any order."""
    given = list(pairs())
    honest = [case_of(pair) for pair in given if pair.honest]
    forged = [case_of(pair) for pair in given if not pair.honest]
    random.Random(1).shuffle(forged)
    many = [replace(honest[0], text=text, certificate=certificate, room=8192) for text, certificate in crowded()]
    many += [replace(case, sizes=(*case.sizes[:4], stack, case.sizes[5])) for case in honest for stack in (57, 63, 65, 72)]
    return honest + many + forged[:600] + [replace(case, room=room) for case in honest for room in range(40, 300, 4)] + forged[600:]


if __name__ == "__main__":
    built, entry, where = linked()
    total, left = survivors(Here(), There(built, entry), built, where, everything())
    print(f"{total} conditions, {len(left)} not noticed: {' '.join(map(hex, left))}")
    sys.exit(bool(left))
