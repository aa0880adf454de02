"""Keys that constant entries match, for the search for the slowest run: what a lookup takes depends on how far each entry agrees with the key.

Such a table is never filled with other entries. So the packet is changed instead: where a field of a key that a run looked up stands in it, it gets what one
of the entries has there, one field or all, one after the other, since a field may decide where the next one comes from.
"""
from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from ..bundle import KeyField, Table
from .changes import with_sum, words
from .subject import Input, Subject

LOOKED_AT = 160                                 #: octets of a frame
PLACES = 12                                     #: where a field's octets stand, tried each


def matched(subject: Subject, given: Input, rng: random.Random) -> Input | None:
    """A neighbour whose key agrees with a constant entry in a field or in more; None if there is none."""
    key = _looked_up(subject, given)
    numbers = [number for number in key if subject.tables[number].constant and subject.tables[number].entries]
    if not numbers:
        return None
    number = rng.choice(numbers)
    table, out = subject.tables[number], given
    entry = rng.choice(table.entries)
    fields = range(len(table.key))
    for f in fields if rng.random() < 0.5 else [rng.choice(fields)]:
        own = field_of(table, key[number], f)
        wanted = nearest(table.key[f], entry.match[f], own)
        for each in () if wanted == own else _replaced(out, own, wanted, table.key[f].bytes, rng):
            now = _looked_up(subject, each)
            if number in now and field_of(table, now[number], f) == wanted:
                out, key = each, now
                break
    return None if out is given else out


def field_of(table: Table, key: bytes, f: int) -> int:
    at = sum(part.bytes for part in table.key[:f])
    return int.from_bytes(key[at:at + table.key[f].bytes], "big")


def nearest(part: KeyField, match: tuple[int, ...], own: int) -> int:
    """What matches, and is like `own` where that does not matter."""
    if part.kind == "range":
        return min(max(own, match[0]), match[1])
    mask = (1 << part.width_bits) - 1
    if part.kind == "lpm":
        mask = mask >> part.width_bits - match[1] << part.width_bits - match[1]
    elif part.kind == "ternary":
        mask = match[1]
    return own & ~mask | match[0] & mask


def _looked_up(subject: Subject, given: Input) -> dict[int, bytes]:
    subject.keys.clear()
    subject.play(subject.program, given)
    return {number: key for number, key in subject.keys.items() if number in subject.tables}


def _replaced(given: Input, own: int, wanted: int, size: int, rng: random.Random) -> Iterator[Input]:
    """Where so many octets of the packet have the number, in either order, they have the other one."""
    found = []
    for order in ("big", "little")[:size]:
        old, at = own.to_bytes(size, order), -1         # type: ignore[arg-type]
        while (at := given.frame.find(old, at + 1, LOOKED_AT)) >= 0:
            found.append((at, wanted.to_bytes(size, order)))        # type: ignore[arg-type]
    rng.shuffle(found)
    for at, new in found[:PLACES]:
        frame, place = given.frame[:at] + new + given.frame[at + size:], given.balance
        if place is not None and 0 <= place <= len(frame) - 2:
            frame = with_sum(frame, place, words(given.frame, place) - words(frame, place))
        yield replace(given, frame=frame)
