"""Buffers that are full, for the search for the slowest run: what their helpers take depends on what other packets left there.

A run is asked which buffers it calls, with which keys and pieces; then their entries are filled as packets before it could have filled them
(`Buffer` has the layout): entries of other keys that differ in their last octet, a datagram that lacks nothing but the piece
which is put, queues of which the oldest packet is found last.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

from ..bundle_parts import Buffer, in_words
from ..helpers import number_said, size_said
from ..target import WINDOW

PUT, HOLD, TAKE, DROP = range(4)                #: as enum lpn_buffer_call
PARTIAL, HELD = 1, 2                            #: states of an entry
UNIT = 8                                        #: octets
FILLINGS = 3                                    #: ways to fill a buffer, the empty one among them
TRIED = 12                                      #: fillings of all buffers tried for one input


@dataclass(frozen=True)
class Asked:
    """A call: of which buffer, what, with which key, when; of a piece that is put its offset, the total and its octets."""

    buffer: int
    what: int
    key: bytes
    now: int
    offset: int = 0
    total: int = 0
    piece: int = 0


def entry(buffer: Buffer, state: int, key: bytes, since: int, order: int, total: int = 0, have: Collection[int] = ()) -> bytes:
    """An entry; `have`: units of 8 octets that came, each as a piece of its own."""
    def bit_map() -> bytes:
        return sum(1 << unit for unit in have).to_bytes(buffer.map_bytes, "little")
    furthest = UNIT * (max(have) + 1) if have else 0
    head = b"".join(n.to_bytes(size, "little") for n, size in ((state, 2), (total, 2), (since, 4), (order, 4), (min(furthest, total or furthest), 4)))
    return head + key.ljust(in_words(len(key)), b"\0") + bit_map() + bit_map() + bytes(in_words(buffer.size) + WINDOW)


def filled(buffer: Buffer, asked: Asked, way: int) -> bytes:
    """All its entries, filled for this call in one of FILLINGS ways."""
    count, empty = buffer.entries, bytes(buffer.memory_bytes // buffer.entries)
    if not way:
        return empty * count
    if asked.what == PUT:
        others = [entry(buffer, PARTIAL, asked.key[:-1] + bytes([asked.key[-1] ^ i + 1]), asked.now, count - i, have={1}) for i in range(count)]
        if way == 2:
            total = min(asked.total or buffer.size, buffer.size)
            piece = range(asked.offset // UNIT, (asked.offset + asked.piece + UNIT - 1) // UNIT)
            others[-1] = entry(buffer, PARTIAL, asked.key, asked.now, 0, total, set(range((total + UNIT - 1) // UNIT)) - set(piece))
        return b"".join(others)
    held = [entry(buffer, HELD, asked.key, asked.now, count - i, min(buffer.size, 40)) for i in range(count)]
    if asked.what == HOLD:
        held[-1] = empty
    elif way == 2:
        held[:-1] = [empty] * (count - 1)
    return b"".join(held)


class Buffers:
    """The buffers of a program on the emulated core `core`."""

    def __init__(self, core: Any, buffers: list[Buffer]) -> None:
        from unicorn import UC_HOOK_CODE
        from unicorn import arm_const as reg
        self.core, self.buffers = core, buffers
        self.memory: list[int] = []                     # where their entries lie, once one was called
        self.asked: dict[int, Asked] = {}               # what the last runs asked of each

        def word(at: int, size: int = 4) -> int:
            return int.from_bytes(core.read(at, size), "little")

        def called(uc: Any, address: int, size: int, data: Any) -> None:
            view, what, r, now = (uc.reg_read(getattr(reg, f"UC_ARM_REG_R{i}")) for i in range(4))
            if not self.memory:
                rows = word(word(view + 12))
                self.memory = [word(rows + 20 * i + 12) for i in range(len(buffers))]
            first, key, request = (word(r + 8 * i) for i in range(3))
            number = number_said(first)
            piece = [word(request + 4 * i) for i in range(5)] if what in (PUT, HOLD) else [0] * 5
            self.asked[number] = Asked(number, what, core.read(key, size_said(first, 2)), now, piece[0], piece[1], piece[2] + piece[4])
        at = core.firmware.symbols["lpn_buffers_call"]
        core.uc.hook_add(UC_HOOK_CODE, called, None, at, at)

    def fill(self, ways: Mapping[int, tuple[Asked, int]]) -> None:
        """The buffers named, filled for a call in some way; the others are empty."""
        for number, (memory, buffer) in enumerate(zip(self.memory, self.buffers)):
            asked, way = ways.get(number, (Asked(number, PUT, bytes(buffer.key_bytes), 0), 0))
            self.core.write(memory, filled(buffer, asked, way))

    def fillings(self, run: Callable[[], int]) -> Iterator[int]:
        """What `run` gives with the buffers empty, then filled for what it asked of them."""
        self.asked.clear()
        self.fill({})
        yield run()
        known = dict(self.asked)
        for ways in islice(product(*(range(FILLINGS) for _ in known)), 1, TRIED):
            self.fill({number: (asked, way) for (number, asked), way in zip(known.items(), ways)})
            yield run()
            if self.asked.keys() - known.keys():        # now it called another one
                known |= {number: asked for number, asked in self.asked.items() if number not in known}
                more = {number: (known[number], way) for number, way in zip(known, ways)}
                for way in range(1, FILLINGS):
                    self.fill(more | {number: (asked, way) for number, asked in known.items() if number not in more})
                    yield run()
