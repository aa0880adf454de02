"""The certificate's format: what holds at each label of a container, as bytes. docs/certificate.md describes it,
runtime/engine/certificate.c reads it; certify.py finds what to write.
"""
from __future__ import annotations

import struct
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import lru_cache

VERSION = 4                                           # + 1: with shared symbols or loops
NUMBER, PKT, LOW, CTX, STACK, REC, STATE, OUT, RODATA, DATA = range(1, 11)
KINDS = {"pkt": PKT, "ctx": CTX, "stack0": STACK, "rec": REC, "state": STATE, "out": OUT, "rodata": RODATA, "data": DATA}
LENGTH, FIRST = 1, 2                                  # symbols: the packet's length; the first that a label names
M32, MAX_OFFSET, BOTTOM = 0xFFFFFFFF, 1 << 17, 512    # BOTTOM: r10's offset from the start of the whole stack
HAS_SHARED, HAS_FRAME, HAS_LENGTH, HAS_NUMBERS, HAS_LOOP = (1 << bit for bit in range(10, 15))
CURSOR_END = 4095                                     # of CURSOR
TWO, VALUE, ONE = 1, 2, 16                            # of a frame: values in two words; a value follows, else bytes and how often
BOUNDS, ROOM, STEPS = 16, 32, 64                      # what follows a value's first byte; STEPS alone: a shared symbol
BYTE, HALF, BIT, CURSOR, END, LENGTH_NUMBER = 0, 11, 12, 13, 14, 15   # sorts of values beside the kinds
SORTS = {(NUMBER, M32): NUMBER, (NUMBER, 0xFF): BYTE, (NUMBER, 0xFFFF): HALF, (NUMBER, 1): BIT, (PKT, CURSOR_END): CURSOR} | {
    (kind, 0): kind for kind in range(PKT, DATA + 1)} # by kind and highest, if the lowest is 0 and the step 1
STRIDE = 16                                           # labels for each entry of the index


@dataclass(frozen=True, slots=True)
class Given:
    """A value: somewhere in lo..hi, lo plus a multiple of `step`, with `room` bytes of packet behind it (None: not known). Or, if
    `ref` is not 0, symbol `ref` + `off`."""
    kind: int
    lo: int = 0
    hi: int = 0
    step: int = 1
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

    def copy(self) -> Label:
        return replace(self, shared=list(self.shared), regs=dict(self.regs), slots=dict(self.slots))


@dataclass(frozen=True)
class LoopRow:
    """A loop: the slot of its head, the loop around it, what the counter moves by in each turn, the most a turn costs."""
    head: int
    parent: int
    step: int
    body: int


def varint(n: int) -> bytes:
    """A number of 32 bits."""
    out = bytearray()
    n &= M32
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def zigzag(n: int) -> bytes:
    return varint(n << 1 if n >= 0 else (-n << 1) - 1)


@lru_cache(maxsize=1 << 16)
def value(g: Given) -> bytes:
    """A value in its shortest form."""
    if g.ref:
        if (g.ref, g.off) == (LENGTH, 0) and g.kind in (NUMBER, PKT):
            return bytes([LENGTH_NUMBER if g.kind == NUMBER else END])
        return bytes([STEPS | g.kind]) + varint(g.ref) + zigzag(g.off)
    room, step = g.room is not None, g.step != 1
    sort = SORTS.get((g.kind, g.hi)) if g.lo == 0 and not step else None
    first = g.kind | BOUNDS | STEPS * step if sort is None else sort
    out = bytes([first | ROOM * room])
    if sort is None:
        out += varint(g.lo) + varint(g.hi - g.lo)
    if g.room is not None:
        out += zigzag(g.room)
    return out + varint(g.step) if step else out


def frame(label: Label) -> bytes:
    """The stack's part of a label; empty when there is nothing to say."""
    if not label.slots and not label.written:
        return b""
    return words(tuple(sorted(label.slots.items())), label.written)


@lru_cache(maxsize=1 << 12)
def words(slots: tuple[tuple[int, Given], ...], written: frozenset[int]) -> bytes:
    """Values, and bytes that hold numbers, word by word."""
    masks: dict[int, int] = {}
    for at in written:
        masks[at // 4] = masks.get(at // 4, 0) | 1 << at % 4
    parts: list[tuple[int, int, int, bytes]] = []     # word, words, sort, content
    pairs = set()                                     # any number in two words
    for place, g in slots:
        word, two = divmod(place, 2)
        if g != ANY:
            parts.append((word, 1 + two, VALUE + TWO * two, value(g)))
        elif two:
            pairs.add(word)
        for covered in range(word, word + 1 + two):
            masks.pop(covered, None)
        if g == ANY and not two:
            masks[word] = 15
    for words_of, two in ((masks, 0), (dict.fromkeys(pairs, 15), 1)):
        for word, mask in sorted(words_of.items()):
            if words_of.get(word - 1 - two) != mask:
                end = word
                while words_of.get(end) == mask:
                    end += 1 + two
                parts.append((word, end - word, TWO * two, varint((end - word >> two) * ONE + mask)))
    out, before = [varint(len(parts))], 0
    for word, count, sort, content in sorted(parts):
        out.append(varint(word - before << 2 | sort) + content)
        before = word + count
    return b"".join(out)


def body(label: Label, frame_at: int) -> bytes:
    """A label without its slot. `frame_at`: how far before the certificate's end it says what it knows of the stack; 0: nothing."""
    numbers = sum(1 << r for r, g in label.regs.items() if g == ANY)
    bits, parts = sum(1 << r for r in label.regs) - numbers, []
    for bit, said in ((HAS_SHARED, len(label.shared)), (HAS_FRAME, frame_at), (HAS_LENGTH, label.length), (HAS_NUMBERS, numbers),
                      (HAS_LOOP, label.loop)):
        if said:
            bits |= bit
            parts.append(varint(said))
    parts += [value(g) for _, g in sorted(label.regs.items()) if g != ANY]
    parts += [value(g) for g in label.shared]
    return varint(label.cost) + varint(bits) + b"".join(parts)


def entry(label: Label, before: int, frame_at: int) -> bytes:
    """A label with its distance from the slot of the one before, and its size."""
    content = body(label, frame_at)
    distance, size = label.pc - before << 4, len(content)
    return (varint(distance | size) if size < 16 else varint(distance) + varint(size)) + content


@dataclass
class Certificate:
    """`shared`: how many symbols labels may share, the first two included. `cost`: most instructions of a run."""
    shared: int
    cost: int
    labels: list[Label]
    loops: list[LoopRow]

    def begin(self) -> bytes:
        more = self.shared != FIRST or bool(self.loops)
        head = bytes([VERSION + more]) + varint(self.cost) + varint(len(self.labels))
        return head + varint(self.shared) + varint(len(self.loops)) if more else head

    def loop_rows(self) -> bytes:
        return b"".join(struct.pack("<HBbI", r.head, r.parent, r.step, r.body) for r in self.loops)

    def to_bytes(self) -> bytes:
        """The certificate; ValueError when it is too large for its own offsets."""
        known = [frame(label) for label in self.labels]
        used = Counter(filter(None, known))
        frames = sorted(used, key=lambda content: used[content])      # those that are asked for often stand near the end
        distance, behind = {b"": 0}, 0
        for content in reversed(frames):
            behind += len(content)
            distance[content] = behind
        head, before = self.begin(), 0
        at = len(head) + 4 * (len(self.labels) // STRIDE) + 8 * len(self.loops)
        out, index = [], []
        for i, label in enumerate(self.labels):
            if i % STRIDE == 0 and i:
                index.append((before, at))
            out.append(entry(label, before, distance[known[i]]))
            before = label.pc
            at += len(out[-1])
        if len(self.labels) % STRIDE == 0 and self.labels:
            index.append((before, at))                # of no label
        if index and index[-1][1] > 0xFFFF:
            raise ValueError("the certificate has more than 65535 bytes")
        return b"".join([head, *(struct.pack("<HH", *row) for row in index), self.loop_rows(), *out, *frames])
