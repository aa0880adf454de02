"""A certificate's bytes as it grows: each label where it can be changed by itself, with an entry of the index of its own."""
from __future__ import annotations

import struct
from typing import Any, NamedTuple

from .certificate import (LOOP_ROW, ROW, Certificate, Given, Label, Registers, StackRow, entry, number, registers, spilled_row, spilled_rows, symbols,
                          value, varint, word_row, written_rows)
from .certify_labels import NoCertificate

ROOM, FIRST_ROOM, SIZE = 12, 1000, 0xFFFF             # bytes that a label may grow by where it stands; of a certificate as it grows
MORE_WORDS = 64                                       # rows for words of the stack that come to be needed


class Said(NamedTuple):
    """What a label says in its parts, and the bytes of each."""
    slots: dict[int, Given] | None
    written: frozenset[int] | None
    frame_at: int
    regs: dict[int, Given] | None
    values: Registers
    shared: list[Given] | None
    symbols: bytes


NOTHING = Said(None, None, 0, None, Registers(0, 0, b"", b""), None, b"")


class Layout:
    """`view`: what the checker reads; `ffi`: the checker's."""

    def __init__(self, certificate: Certificate, ffi: Any):
        self.certificate, self.ffi = certificate, ffi
        self.lay_out()

    def lay_out(self) -> None:
        """Writes all labels anew. NoCertificate when there is no room."""
        try:
            self.write_all()
        except OverflowError:
            raise NoCertificate("it would have more than 65535 bytes") from None

    def write_all(self) -> None:
        certificate = self.certificate
        labels = certificate.labels
        used = len({said for slots, bytes_ in {(tuple(label.slots.items()), label.written) for label in labels}
                    for said in (*spilled_rows(dict(slots)), *written_rows(bytes_, dict(slots)))})
        self.words = 2 * used + MORE_WORDS if used else 0
        head = certificate.begin(self.words)
        self.index = len(head)
        self.table = self.index + 4 * len(labels) + LOOP_ROW * len(certificate.loops)
        self.free = self.table + ROW * self.words
        self.rows: dict[bytes, int] = {}              # words of the stack, by content
        self.slot_bits: dict[int, dict[Given, int]] = {}      # and a bit for each: by place and value
        self.written_bits: dict[tuple, int] = {}      # of all words of which bytes are written
        self.numbers: dict[Given, bytes] = {}         # values as labels say them
        self.blob = bytearray(head + bytes(SIZE - len(head)))
        self.blob[self.table - LOOP_ROW * len(certificate.loops):self.table] = certificate.loop_rows()
        self.view = self.ffi.from_buffer("uint8_t[]", self.blob)
        self.kept_at: dict[bytes, int] = {}           # frames and values by content: how far before the end
        self.end = SIZE                               # where they begin
        self.start, self.room = [0] * len(labels), [0] * len(labels)
        self.content = [b""] * len(labels)
        self.said = [NOTHING] * len(labels)
        if labels:                                    # the first stands where the index ends
            self.start[0], self.room[0] = self.free, FIRST_ROOM
            self.free += FIRST_ROOM
        self.must_fit()
        for i, label in enumerate(labels):
            self.put(i, label)

    def put(self, i: int, label: Label) -> None:
        """Writes a label. OverflowError when there is no room where others stand."""
        now = self.said[i]
        at = now.frame_at if label.slots is now.slots and label.written is now.written else self.frame_at(label)
        values = now.values if label.regs is now.regs else registers(label.regs, self.number)
        shared = now.symbols if label.shared is now.shared else symbols(label.shared, self.number)
        self.said[i] = Said(label.slots, label.written, at, label.regs, values, label.shared, shared)
        self.write(i, entry(label, self.certificate.labels[i - 1].pc if i else 0, at, values, shared))

    def write(self, i: int, content: bytes) -> None:
        if len(content) > self.room[i]:
            if not i:
                raise OverflowError
            self.start[i], self.room[i] = self.free, len(content) + ROOM
            self.free += self.room[i]
            self.must_fit()
            struct.pack_into("<HH", self.blob, self.index + 4 * i - 4, self.certificate.labels[i - 1].pc, self.start[i])
        self.content[i] = content
        self.blob[self.start[i]:self.start[i] + len(content)] = content

    def frame_at(self, label: Label) -> int:
        if not (label.slots or label.written):
            return 0
        places = label.written, tuple(label.slots)
        bits = self.written_bits.get(places)
        if bits is None:
            bits = self.written_bits[places] = sum(self.row_bit(row) for row in written_rows(*places))
        for place, g in label.slots.items():
            known = self.slot_bits.setdefault(place, {})
            bit = known.get(g)
            if bit is None:
                bit = known[g] = self.row_bit(spilled_row(place, g))
            bits |= bit
        return self.keep_bytes(bits.to_bytes(-(-self.words // 8), "little"))

    def row_bit(self, row: StackRow) -> int:
        return 1 << self.row_at(word_row(row, self.value_at))

    def row_at(self, content: bytes) -> int:
        if content not in self.rows:
            k = len(self.rows)
            if k == self.words:
                raise OverflowError
            self.blob[self.table + ROW * k:self.table + ROW * (k + 1)] = content
            self.rows[content] = k
        return self.rows[content]

    def number(self, g: Given) -> bytes:
        said = self.numbers.get(g)
        if said is None:
            said = self.numbers[g] = varint(number(g, self.value_at))
        return said

    def value_at(self, g: Given) -> int:
        return self.keep_bytes(value(g))

    def keep_bytes(self, content: bytes) -> int:
        if content not in self.kept_at:
            self.end -= len(content)
            self.must_fit()
            self.blob[self.end:self.end + len(content)] = content
            self.kept_at[content] = SIZE - self.end
        return self.kept_at[content]

    def must_fit(self) -> None:
        if self.free > self.end:
            raise OverflowError

    def change(self, i: int, label: Label) -> None:
        """Puts a label in another's place. NoCertificate when there is no room even without what is used no more."""
        self.certificate.labels[i] = label
        try:
            self.put(i, label)
        except OverflowError:
            self.lay_out()
