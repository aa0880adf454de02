"""The certificate's format: what holds at each label of a container, as bytes. docs/certificate.md describes it,
runtime/engine/certificate.c reads it; certify.py finds what to write.
"""
from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

VERSION = 16                                          # of the format; what the first byte is more says how many fields follow
NUMBER, PKT, LOW, CTX, STACK, REC, STATE, OUT, RODATA, DATA = range(1, 11)
KINDS = {"pkt": PKT, "ctx": CTX, "stack0": STACK, "rec": REC, "state": STATE, "out": OUT, "rodata": RODATA, "data": DATA}
LENGTH, FIRST = 1, 2                                  # symbols: the packet's length; the first that a label names
M32, MAX_OFFSET, BOTTOM = 0xFFFFFFFF, 1 << 17, 512    # BOTTOM: r10's offset from the start of the whole stack
HAS_SHARED, HAS_FRAME, HAS_LENGTH, HAS_NUMBERS, HAS_LOOP = (1 << bit for bit in range(10, 15))
CURSOR_END = 4095                                     # where a packet pointer that grows without end stops
ROW, LOOP_ROW = 3, 9                                  # bytes of a row of the tables of words and of loops
LOWEST, ROOM, SHARED = 16, 32, 64                     # what follows a value's kind in the pool
MASK, POOL = 16, 32                                   # how a label says a value: below are kinds; bytes of a word; the pool
STRIDE = 8                                            # labels for each entry of the index


class Given(NamedTuple):
    """A value: somewhere in lo..hi, with `room` bytes of packet behind it (None: not known). Or, if
    `ref` is not 0, symbol `ref` + `off`."""
    kind: int
    lo: int = 0
    hi: int = 0
    room: int | None = None
    ref: int = 0
    off: int = 0


ANY = Given(NUMBER, 0, M32)


@dataclass
class Label:
    """What holds before the instruction at slot `pc`."""
    pc: int
    cost: int
    length: int = 0
    shared: list[Given] = field(default_factory=list) # symbols FIRST and on; the first are counters of the loops around
    loop: int = 0                                     # the innermost, counted from 1
    regs: dict[int, Given] = field(default_factory=dict)
    slots: dict[int, Given] = field(default_factory=dict)   # by place: twice the word, counted from the lowest in use; + 1: two words
    written: frozenset[int] = frozenset()             # bytes, counted from the lowest in use

    def but(self, **changes: Any) -> Label:
        """A label like this one, but for some of its fields."""
        out = object.__new__(Label)
        out.__dict__.update(self.__dict__, **changes)
        return out

    def copy(self) -> Label:
        return self.but(shared=list(self.shared), regs=dict(self.regs), slots=dict(self.slots))


@dataclass(frozen=True)
class LoopRow:
    """A loop: the slot of its head, the loop around it, what the counter moves by in each turn at least, the most a turn costs, what the
    counter is a multiple of."""
    head: int
    parent: int
    step: int
    body: int
    unit: int = 1


OCTET = [bytes([n]) for n in range(128)]


def varint(n: int) -> bytes:
    """A number of 32 bits."""
    n &= M32
    if n < 128:
        return OCTET[n]
    if n < 1 << 14:
        return bytes((n & 127 | 128, n >> 7))
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + OCTET[n]


def zigzag(n: int) -> bytes:
    return varint(n << 1 if n >= 0 else (-n << 1) - 1)


@lru_cache(maxsize=1 << 16)
def value(g: Given) -> bytes:
    """A value as the pool has it."""
    if g.ref:
        return bytes([g.kind | SHARED]) + varint(g.ref) + zigzag(g.off)
    first = bytes([g.kind | LOWEST * (g.lo != 0) | ROOM * (g.room is not None)])
    return first + (varint(g.lo) if g.lo else b"") + varint(g.hi - g.lo) + (b"" if g.room is None else zigzag(g.room))


def ones(n: int) -> frozenset[int]:
    """The bits that are set."""
    return frozenset(i for i in range(n.bit_length()) if n >> i & 1)


def plain(g: Given) -> bool:
    """Is its kind all there is to say?"""
    return not g.ref and g.lo == 0 and g.hi == (M32 if g.kind == NUMBER else 0) and g.room is None


#: Where the pool has a value: how far before the certificate's end.
Places = Callable[[Given], int]


def number(g: Given, places: Places) -> int:
    """How a label says a value."""
    return g.kind if plain(g) else POOL - 1 + places(g)


#: What a label says of a word of the stack: twice the word, + 1 for two; the value, or a bit for each byte that holds a number.
StackRow = tuple[int, Given | int]


def written_rows(written: frozenset[int], places: Iterable[int]) -> list[StackRow]:
    """Rows for the words of which bytes are written, without those at `places`."""
    masks: dict[int, int] = {}
    for at in written:
        masks[at // 4] = masks.get(at // 4, 0) | 1 << at % 4
    for place in places:
        for covered in range(place // 2, place // 2 + 1 + place % 2):
            masks.pop(covered, None)
    return [(2 * word, mask) for word, mask in masks.items()]


def spilled_row(place: int, g: Given) -> StackRow:
    return place, 15 if g == ANY else g


def spilled_rows(slots: dict[int, Given]) -> list[StackRow]:
    return [spilled_row(place, g) for place, g in slots.items()]


def stack_rows(label: Label) -> list[StackRow]:
    """What a label says of the stack."""
    return sorted(spilled_rows(label.slots), key=lambda row: row[0]) + written_rows(label.written, label.slots)


def word_row(said: StackRow, places: Places) -> bytes:
    """As the table of words has it."""
    place, what = said
    return struct.pack("<BH", place, MASK + what if isinstance(what, int) else number(what, places))


def frame(rows: Iterable[int], words: int) -> bytes:
    """The stack's part of a label: a bit for each row of the table."""
    return sum(1 << k for k in rows).to_bytes(-(-words // 8), "little")


#: A value's number, as a varint.
Said = Callable[[Given], bytes]


class Registers(NamedTuple):
    """What a label says of registers: a bit for each, a bit for each that may be any number; the values of all, and of the others."""
    bits: int
    any: int
    values: bytes
    others: bytes


def registers(regs: dict[int, Given], said: Said) -> Registers:
    bits = numbers = 0
    values, others = b"", b""
    for r, g in sorted(regs.items()):
        bits |= 1 << r
        content = said(g)
        values += content
        if g == ANY:
            numbers |= 1 << r
        else:
            others += content
    return Registers(bits, numbers, values, others)


def symbols(shared: list[Given], said: Said) -> bytes:
    return b"".join(map(said, shared))


def body(label: Label, frame_at: int, regs: Registers, shared: bytes) -> bytes:
    """A label without its slot. `frame_at`: how far before the certificate's end it says what it knows of the stack; 0: nothing. `shared`: its symbols."""
    bits, numbers, values, others = regs
    begin, behind = b"", b""
    if label.shared:
        bits |= HAS_SHARED
        begin = varint(len(label.shared))
    if frame_at:
        bits |= HAS_FRAME
        begin += varint(frame_at)
    if label.length:
        bits |= HAS_LENGTH
        begin += varint(label.length)
    if label.loop:
        bits |= HAS_LOOP
        behind = varint(label.loop)
    said_bits = varint(bits)
    if numbers:                                       # any numbers: in a mask, or as values among the others
        bits_apart, mask = varint(bits & ~numbers | HAS_NUMBERS), varint(numbers)
        if len(bits_apart) + len(mask) <= len(said_bits) + numbers.bit_count():
            said_bits, begin, values = bits_apart, begin + mask, others
    return varint(label.cost) + said_bits + begin + behind + values + shared


def entry(label: Label, before: int, frame_at: int, regs: Registers, shared: bytes) -> bytes:
    """A label with its distance from the slot of the one before, and its size."""
    content = body(label, frame_at, regs, shared)
    distance, size = label.pc - before << 4, len(content)
    return (varint(distance | size) if size < 16 else varint(distance) + varint(size)) + content


@dataclass
class Certificate:
    """`shared`: how many symbols labels may share, the first two included. `cost`: most instructions of a run."""
    shared: int
    cost: int
    labels: list[Label]
    loops: list[LoopRow]

    def begin(self, words: int) -> bytes:
        """`words`: rows of their table."""
        fields = [self.cost, len(self.labels), words, self.shared - FIRST, len(self.loops)]
        while fields and not fields[-1]:
            fields.pop()
        return bytes([VERSION + len(fields)]) + b"".join(map(varint, fields))

    def loop_rows(self) -> bytes:
        return b"".join(struct.pack("<HBbBI", r.head, r.parent, r.step, r.unit, r.body) for r in self.loops)

    def pool(self) -> tuple[bytes, dict[Given, int]]:
        """The values that labels do not say themselves, and how far before the end each begins: those that are said often nearest."""
        often = Counter(g for label in self.labels for g in (*label.regs.values(), *label.shared) if not plain(g))
        frames = {(tuple(sorted(label.slots.items())), label.written) for label in self.labels}
        often += Counter(g for slots, _ in frames for _, g in slots if not plain(g))
        order = sorted(often, key=lambda g: (-often[g], value(g)))
        out, behind = {}, 0
        for g in order:
            behind += len(value(g))
            out[g] = behind
        return b"".join(value(g) for g in reversed(order)), out

    def to_bytes(self) -> bytes:
        """The certificate; ValueError when it is too large for its own offsets."""
        pool, place = self.pool()
        words = [[word_row(one, place.__getitem__) for one in stack_rows(label)] for label in self.labels]
        rows = {content: k for k, content in enumerate(dict.fromkeys(content for contents in words for content in contents))}
        known = [frame((rows[content] for content in contents), len(rows)) if contents else b"" for contents in words]
        used = Counter(filter(None, known))
        frames = sorted(used, key=lambda content: used[content])      # those that are asked for often stand near the end
        distance, behind = {b"": 0}, len(pool)
        for content in reversed(frames):
            behind += len(content)
            distance[content] = behind
        head, before = self.begin(len(rows)), 0
        table = b"".join(rows)
        at = len(head) + 4 * (len(self.labels) // STRIDE) + LOOP_ROW * len(self.loops) + len(table)
        out, index = [], []
        said = {g: varint(number(g, place.__getitem__)) for label in self.labels for g in (*label.regs.values(), *label.shared)}.__getitem__
        for i, label in enumerate(self.labels):
            if i % STRIDE == 0 and i:
                index.append((before, at))
            out.append(entry(label, before, distance[known[i]], registers(label.regs, said), symbols(label.shared, said)))
            before = label.pc
            at += len(out[-1])
        if len(self.labels) % STRIDE == 0 and self.labels:
            index.append((before, at))                # of no label
        if index and index[-1][1] > 0xFFFF:
            raise ValueError("the certificate has more than 65535 bytes")
        return b"".join([head, *(struct.pack("<HH", *row) for row in index), self.loop_rows(), table, *out, *frames, pool])
