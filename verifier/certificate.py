"""The certificate's format: what holds at each label of a container, as bytes. docs/certificate.md describes it,
runtime/engine/certificate.c reads it; certify.py finds what to write.
"""
from __future__ import annotations

import struct
from dataclasses import dataclass, field, replace
from functools import lru_cache

VERSION = 2
NUMBER, PKT, LOW, CTX, STACK, REC, STATE, OUT, RODATA, DATA = range(1, 11)
KINDS = {"pkt": PKT, "ctx": CTX, "stack0": STACK, "rec": REC, "state": STATE, "out": OUT, "rodata": RODATA, "data": DATA}
LENGTH, FIRST = 1, 2                                  # symbols: the packet's length; the first that a label names
M32, MAX_OFFSET, BOTTOM = 0xFFFFFFFF, 1 << 17, 512    # BOTTOM: r10's offset from the start of the whole stack
HAS_SHARED, HAS_FRAME, HAS_LENGTH, HAS_LOOP = 1 << 10, 1 << 11, 1 << 12, 1 << 13
CURSOR_END = 4095                                     # of form 10
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
        if (g.lo, g.hi) == (0, M32 if g.kind == NUMBER else 0):
            return form(0)
        if g.lo == g.hi:
            return form(1, varint(g.lo))
        if g.lo == 0 and g.hi in (0xFF, 0xFFFF, 1):
            return form({0xFF: 7, 0xFFFF: 8, 1: 9}[g.hi])
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
    """A label without its slot. `frame_at`: where the certificate says what it knows of the stack; 0: nothing."""
    bits = sum(1 << r for r in label.regs)
    parts = []
    if label.length:
        bits |= HAS_LENGTH
        parts.append(varint(label.length))
    if label.shared:
        bits |= HAS_SHARED
        parts += [bytes([len(label.shared)]), *(value(g) for g in label.shared)]
    if label.loop:
        bits |= HAS_LOOP
        parts.append(bytes([label.loop]))
    if frame_at:
        bits |= HAS_FRAME
        parts.append(struct.pack("<H", frame_at))
    parts += [value(g) for _, g in sorted(label.regs.items())]
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
        head = bytes([VERSION, self.symbols, self.shared, self.slots]) + varint(self.cost) + varint(len(self.labels))
        return head + bytes([len(self.loops)]) if self.labels else head

    def loop_rows(self) -> bytes:
        return b"".join(struct.pack("<HBbI", r.head, r.parent, r.step, r.body) for r in self.loops)

    def to_bytes(self) -> bytes:
        """The certificate; ValueError when it is too large for its own offsets."""
        frames = {content: 0 for label in self.labels if (content := frame(label))}
        head = self.begin()
        at = len(head) + 4 * max(0, -(-len(self.labels) // STRIDE) - 1) + 8 * len(self.loops)

        def rows(at: int) -> tuple[list[bytes], list[tuple[int, int]]]:
            out, index, before = [], [], 0
            for i, label in enumerate(self.labels):
                content = body(label, frames[said] if (said := frame(label)) else 0)
                if i and i % STRIDE == 0:
                    index.append((label.pc, at))
                else:
                    content = varint(label.pc - before) + content
                before = label.pc
                out.append(content)
                at += len(content)
            return out, index
        for content in frames:
            frames[content] = 1
        behind = at + sum(map(len, rows(at)[0]))
        for content in frames:
            frames[content] = behind
            behind += len(content)
        if behind > 0xFFFF:
            raise ValueError("the certificate has more than 65535 bytes")
        labels, index = rows(at)
        return b"".join([head, *(struct.pack("<HH", *row) for row in index), self.loop_rows(), *labels, *frames])
