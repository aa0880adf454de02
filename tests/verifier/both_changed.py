"""Texts, certificates, sizes and work areas changed at random, for both forms of the checker."""
from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace

PAGE = 4096
TEXT_MOST, CERTIFICATE_MOST, WORK_MOST = 64 * PAGE, 16 * PAGE, 2 * PAGE
CONSTANTS = 0, 1, -1, 2, 4, 8, 16, 31, 32, 63, 64, 255, 256, 32767, 32768, 65535, 65536, 131072, 131073, 1 << 30, -1 << 31


@dataclass(frozen=True)
class Case:
    """A text, its certificate, the sizes of its regions (both.SIZES), the bytes of work area. `high`: each buffer ends where its pages do, else it
    begins there."""
    text: bytes
    certificate: bytes
    sizes: tuple[int, ...]
    room: int = 1024
    high: bool = True


def changed(given: list[Case], rng: random.Random, count: int) -> Iterator[Case]:
    """So many of these, changed at random: text, certificate, sizes, room; several at once, too."""
    for _ in range(count):
        case = rng.choice(given)
        what = rng.randrange(16)
        text, certificate, sizes, room = case.text, case.certificate, case.sizes, case.room
        if what != 0 and what != 8:
            certificate = changed_bytes(certificate, rng)
        if what == 0 or what > 9:
            text = changed_text(text, rng, rng.choice(given).text)
        if what in (3, 8):
            at = rng.randrange(6)
            sizes = (*sizes[:at], max(0, rng.choice((sizes[at] - 8, sizes[at] - 1, sizes[at] + 1, sizes[at] + 9, 0, rng.randrange(600)))), *sizes[at + 1:])
        if what in (4, 8):
            room = rng.randrange(2 * WORK_MOST // 3) if rng.random() < 0.2 else rng.randrange(400)
        yield replace(case, text=text, certificate=certificate, sizes=sizes, room=room, high=rng.random() < 0.8)


def changed_bytes(raw: bytes, rng: random.Random) -> bytes:
    out = bytearray(raw)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if not out:
            break
        at, how = rng.randrange(len(out)), rng.randrange(9)
        if how == 0:
            out[at] ^= 1 << rng.randrange(8)
        elif how == 1:
            out[at] = rng.randrange(256)
        elif how == 2:
            out[at] = (out[at] + rng.choice((1, -1))) & 255
        elif how == 3:
            out[at] = out[rng.randrange(len(out))]
        elif how == 4:
            del out[at]
        elif how == 5:
            out.insert(at, rng.randrange(256))
        elif how == 6:
            out[at] = rng.choice((0, 1, 2, 16, 31, 32, 127, 128, 255))
        elif how == 7:
            out[at:at + 1] = bytes([out[at] | 128, rng.choice((0, 1, 2, 127, 128, 255))])
        else:
            del out[at:len(out) if rng.random() < 0.3 else at + 2]
    return bytes(out)


def changed_text(raw: bytes, rng: random.Random, other: bytes) -> bytes:
    out = bytearray(raw)
    for _ in range(rng.choice((1, 1, 2))):
        at, how = 8 * rng.randrange(len(out) // 8), rng.randrange(10)
        if how == 0:
            place = 8 * rng.randrange(len(other) // 8)
            out[at:at + 8] = other[place:place + 8]
        elif how == 1:
            place = 8 * rng.randrange(len(out) // 8)
            out[at:at + 8] = out[place:place + 8]
        elif how == 2:
            out[at + 1] = out[at + 1] & 0xF0 | rng.randrange(11)
        elif how == 3:
            out[at + 1] = out[at + 1] & 15 | rng.randrange(11) << 4
        elif how == 4:
            out[at] = other[8 * rng.randrange(len(other) // 8)]
        elif how == 5:
            out[at + rng.randrange(2, 8)] = rng.randrange(256)
        elif how == 6:
            byte = at + rng.choice((2, 4))
            out[byte] = (out[byte] + rng.randrange(-4, 5)) & 255
        elif how == 7:
            out[at] ^= rng.choice((8, 3, 0x10, 0x20, 0x40, 0x80))
        elif how == 8:
            struct.pack_into("<i", out, at + 4, rng.choice(CONSTANTS))
        else:
            out[at + rng.randrange(8)] ^= 1 << rng.randrange(8)
    return bytes(out)
