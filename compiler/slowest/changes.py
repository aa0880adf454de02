"""Neighbours of an input of the search for the slowest run: a little of the packet is changed, of the circumstances, of the state.

Where the packet's headers lie, as its parser takes them, is known: a header is put behind another one once more, or is left out, or comes from another
packet; and an octet may grow by as much as the octets behind it, as a length does.
"""
from __future__ import annotations

import random
from collections.abc import Sequence

from lpn.lang import ast
from lpn.lang.reference import Reference
from lpn.lang.reference.modules import run_module

from ..target import MAX_PACKET
from .subject import Cells, Input

META = {"rssi": 32, "lqi": 32, "time": 32, "node_short": 16, "node_ext": 64, "node_pan": 16, "clock": 32}
REMEMBERED = 4000                               #: frames whose headers' places are remembered


class Shapes:
    """Where the headers of frames begin and end, as the chain's parser takes them."""

    def __init__(self, program: ast.Program, parser: ast.Parser | None) -> None:
        self.reference, self.parser = Reference(program, {}), parser
        self.state = self.reference.state(None)
        self.known: dict[bytes, list[int]] = {}

    def cuts(self, frame: bytes) -> list[int]:
        """Octets, ascending; none where there is no parser."""
        if self.parser is None or not frame:
            return []
        if frame not in self.known:
            if len(self.known) >= REMEMBERED:
                self.known.clear()
            run = self.reference.prepare(frame, {}, self.state)
            run_module(run, self.parser)
            places = {each for taken in run.taken for each in (taken.start, taken.end) if each is not None}
            self.known[frame] = sorted(place for place in places if 0 <= place <= len(frame))
        return self.known[frame]


def reshaped(frame: bytearray, cuts: list[int], other: bytes, others: list[int], rng: random.Random) -> None:
    """A header once more, one left out, or one of another frame."""
    way = rng.randrange(4)
    if way == 3 and len(others) > 1:
        i = rng.randrange(len(others) - 1)
        piece = other[others[i]:others[rng.randrange(i + 1, len(others)) if rng.random() < 0.3 else i + 1]]
        to = rng.choice(cuts)
        frame[to:to + rng.choice((0, 0, len(piece)))] = piece
        return
    i = rng.randrange(len(cuts) - 1)
    first, last = cuts[i], cuts[rng.randrange(i + 1, len(cuts)) if rng.random() < 0.3 else i + 1]
    if way == 2:
        del frame[first:last]
    else:
        to = last if way else rng.choice(cuts)
        frame[to:to] = frame[first:last]


def lengthened(frame: bytearray, at: int, rng: random.Random) -> None:
    """An octet, or a part of it, says how many octets are somewhere behind it, perhaps: more or fewer, and so are these."""
    size = rng.choice((1, 1, 2, 3, 4, 5, 6, 7, 8, 16, rng.randrange(1, 32)))
    place = min(len(frame), at + 1 + rng.choice((0, 0, 1, 2, 3, rng.randrange(1, 16))))
    unit = rng.choice((1, 1, 1, 8, 16))
    if rng.random() < 0.5:
        frame[at] = frame[at] + size * (unit if unit == 16 else 1) & 0xFF
        frame[place:place] = bytes([rng.choice((0, 0xFF, rng.randrange(256)))]) * (size * (unit if unit == 8 else 1))
    else:
        frame[at] = frame[at] - size * (unit if unit == 16 else 1) & 0xFF
        del frame[place:place + size * (unit if unit == 8 else 1)]


def changed(given: Input, others: list[Input], rng: random.Random, events: int, lengths: Sequence[int] = (MAX_PACKET,), arrays: Sequence[Cells] = (),
            shapes: Shapes | None = None) -> Input:
    """A neighbour, whose packet has at most as many octets as the first of `lengths` says; others are worth being tried. `arrays`: those of the
    state, whose cells are changed alike now and then."""
    frame, meta, state = bytearray(given.frame), dict(given.meta), bytearray(given.state)
    answers = given.answers
    for _ in range(rng.choice((1, 1, 2, 4))):
        if frame and rng.random() < 0.25:
            cuts = shapes.cuts(given.frame) if shapes is not None and rng.random() < 0.7 else []
            if len(cuts) > 1 and len(frame) == len(given.frame):
                other = rng.choice(others).frame if others else given.frame
                reshaped(frame, cuts, other, shapes.cuts(other), rng)
            else:
                lengthened(frame, rng.randrange(min(len(frame), 100)), rng)
            continue
        way = rng.randrange(17 if arrays else 12)
        at = rng.randrange(min(len(frame), 100)) if frame and way < 9 else rng.randrange(len(frame)) if frame else 0
        if way < 4 and frame:
            frame[at] = rng.choice((rng.randrange(256), frame[at] ^ 1 << rng.randrange(8), 0, 0xFF, frame[at] + 1 & 255))
        elif way == 4 and frame:
            del frame[at:at + rng.choice((1, 2, 8))]
        elif way == 5:
            frame[at:at] = rng.randbytes(rng.choice((1, 2, 8)))
        elif way == 6 and len(frame) < lengths[0]:
            frame += rng.choice((bytes(8), b"\xff" * 64, rng.randbytes(rng.randrange(1, 64)), bytes([rng.randrange(256)]) * (rng.choice(lengths) - len(frame))))
        elif way == 7 and others:
            other = rng.choice(others).frame
            frame[at:] = other[min(at, len(other)):]
        elif way == 8:
            name = rng.choice(list(META))
            meta[name] = rng.getrandbits(META[name])
        elif way == 9 and state:
            place = rng.randrange(len(state))
            state[place:place + 1] = bytes([rng.choice((0, 1, 0xFF, rng.randrange(256)))])
        elif way == 10:
            answers = rng.getrandbits(8)
            if events:
                meta["event"] = rng.randrange(events)
        elif way == 11 and len(frame) > 30:
            del frame[-rng.choice((1, 2, 16)):]
        elif way >= 12:
            cells = rng.choice(arrays)
            place = rng.randrange(cells.stride)
            if way > 14 and len(frame) >= 4:        # octets of the packet, an address perhaps, in all of them, in either order
                size = min(rng.choice((2, 4, 8, 8, 16)), cells.stride, len(frame))
                first, to = rng.randrange(len(frame) - size + 1), cells.offset + rng.randrange((cells.stride - size) // 2 + 1) * 2
                state[:] = cells.alike(bytes(state), to, bytes(frame[first:first + size][::rng.choice((1, -1))]))
            elif way == 14:                         # all as one of them is
                one = cells.offset + rng.randrange(cells.count) * cells.stride
                state[cells.offset:cells.end] = state[one:one + cells.stride] * cells.count
            else:
                state[cells.offset + place:cells.end:cells.stride] = bytes([rng.choice((0, 1, 2, 0xFF, rng.randrange(256), rng.randrange(128)))]) * cells.count
    new, place = bytes(frame[:lengths[0]]), given.balance
    if place is not None and new != given.frame:
        new, place = balanced(given.frame, new, place, rng)
    return Input(new, meta, bytes(state), answers, given.place, place)


def balanced(old: bytes, new: bytes, place: int, rng: random.Random) -> tuple[bytes, int | None]:
    """The changed frame with the checksum (RFC 1071) that the old one had, made by the two octets at `place`, and where these are now. The octets'
    number is added once more for each pseudo-header and header that has it."""
    longer = len(new) - len(old)
    if longer and new[:place] != old[:place]:
        place += longer
    if rng.random() < 0.03 or not 0 <= place <= len(new) - 2:
        return new, None
    lengths = longer * rng.choice((0, 1, 2))
    return with_sum(new, place, words(old, place) - words(new, place) - lengths), place


def words(frame: bytes, place: int) -> int:
    """The sum of its words of 16 bits, of which one is at `place`."""
    frame = frame[place & 1:]
    return sum(frame[::2]) * 256 + sum(frame[1::2])


def with_sum(frame: bytes, place: int, more: int) -> bytes:
    """So much is added to the word at `place`, in ones' complement."""
    word = (int.from_bytes(frame[place:place + 2], "big") + more) % 0xFFFF
    return frame[:place] + word.to_bytes(2, "big") + frame[place + 2:]
