"""The certificate's format: what holds at each label of a container, as bytes. docs/certificate.md describes it,
runtime/engine/certificate.c reads it; certify.py finds what to write.
"""
from __future__ import annotations

import struct
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import lru_cache

VERSION = 3
NUMBER, PKT, LOW, CTX, STACK, REC, STATE, OUT, RODATA, DATA = range(1, 11)
KINDS = {"pkt": PKT, "ctx": CTX, "stack0": STACK, "rec": REC, "state": STATE, "out": OUT, "rodata": RODATA, "data": DATA}
LENGTH, FIRST = 1, 2                                  # symbols: the packet's length; the first that a label names
M32, MAX_OFFSET, BOTTOM = 0xFFFFFFFF, 1 << 17, 512    # BOTTOM: r10's offset from the start of the whole stack
HAS_SHARED, HAS_FRAME, HAS_LENGTH, HAS_LOOP = 1 << 10, 1 << 11, 1 << 12, 1 << 13
CURSOR_END = 4095                                     # of form 10
WIDTHS = {0: 0, 0xFF: 7, 0xFFFF: 8, 1: 9, M32: 12}    # forms of numbers that may be 0
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
    slots: dict[int, Given] = field(default_factory=dict)   # by place: word of the stack, + 128 for two
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
    def form(n: int, *rest: bytes) -> bytes:
        return bytes([n << 4 | g.kind]) + b"".join(rest)
    if g.ref:
        return form(11) if (g.ref, g.off) == (LENGTH, 0) else form(6, bytes([g.ref]), zigzag(g.off))
    if g.room is None and g.step == 1:
        if g.lo == 0 and g.hi in WIDTHS:
            return form(WIDTHS[g.hi])
        if g.lo == g.hi:
            return form(1, varint(g.lo))
    bounds = varint(g.lo) + varint(g.hi - g.lo)
    if g.room is None:
        return form(2, bounds) if g.step == 1 else form(4, bounds, bytes([g.step]))
    if g.step == 1:
        return form(10, zigzag(g.room)) if (g.lo, g.hi) == (0, CURSOR_END) else form(3, bounds, zigzag(g.room))
    return form(5, bounds, zigzag(g.room), bytes([g.step]))


def frame(label: Label) -> bytes:
    """The stack's part of a label; empty when there is nothing to say."""
    if not label.slots and not label.written:
        return b""
    values = [bytes([place]) + value(label.slots[place]) for place in sorted(label.slots)]
    return varint(len(values)) + b"".join(values) + runs(label.written)


@lru_cache(maxsize=1 << 12)
def runs(written: frozenset[int]) -> bytes:
    """The bytes of the stack that hold numbers, as a frame has them."""
    found: list[list[int]] = []
    for at in sorted(written):
        if found and found[-1][1] == at:
            found[-1][1] += 1
        else:
            found.append([at, at + 1])
    out, before = [varint(len(found))], 0
    for start, end in found:
        out.append(varint(start - before) + varint(end - start))
        before = end
    return b"".join(out)


def body(label: Label, frame_at: int) -> bytes:
    """A label without its slot. `frame_at`: how far before the certificate's end it says what it knows of the stack; 0: nothing."""
    bits = sum(1 << r for r in label.regs)
    parts = []
    if label.length:
        bits |= HAS_LENGTH
        parts.append(varint(label.length))
    if frame_at:
        bits |= HAS_FRAME
        parts.append(varint(frame_at))
    if label.shared:
        bits |= HAS_SHARED
        parts.append(bytes([len(label.shared)]))
    if label.loop:
        bits |= HAS_LOOP
        parts.append(bytes([label.loop]))
    parts += [value(g) for _, g in sorted(label.regs.items())]
    parts += [value(g) for g in label.shared]
    return varint(label.cost) + varint(bits) + b"".join(parts)


@dataclass
class Certificate:
    """`symbols`, `shared`, `slots`: how many the checker must have room for. `cost`: most instructions of a run."""
    symbols: int
    shared: int
    slots: int
    cost: int
    labels: list[Label]
    loops: list[LoopRow]

    def begin(self) -> bytes:
        head = bytes([VERSION, self.symbols, self.slots]) + varint(self.cost) + varint(len(self.labels))
        return head + bytes([self.shared, len(self.loops)]) if self.labels else head

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
        at = len(head) + 2 * max(0, -(-len(self.labels) // STRIDE) - 1) + 8 * len(self.loops)
        out, index = [], []
        for i, label in enumerate(self.labels):
            if i % STRIDE == 0:
                index += [at] if i else []
                before = 0
            out.append(varint(label.pc - before) + body(label, distance[known[i]]))
            before = label.pc
            at += len(out[-1])
        if index and index[-1] > 0xFFFF:
            raise ValueError("the certificate has more than 65535 bytes")
        return b"".join([head, *(struct.pack("<H", row) for row in index), self.loop_rows(), *out, *frames])
