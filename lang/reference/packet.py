"""The packet under the cursor: reading bits, running out of them."""
from __future__ import annotations

from dataclasses import dataclass

from .values import Rejected


@dataclass
class Packet:
    """`payload` is the offset of the first byte behind the headers: the parser's cursor while it runs."""

    data: bytes
    payload: int = 0

    def bits(self, position: int, count: int) -> int:
        """`count` bits from bit `position`, the first one most significant."""
        end = position + count
        if end > 8 * len(self.data):
            raise Rejected("PacketTooShort")
        first, last = position // 8, -(-end // 8)
        return (int.from_bytes(self.data[first:last], "big") >> (8 * last - end)) & ((1 << count) - 1)

    def take(self, start: int, count: int) -> bytes:
        if start + count > len(self.data):
            raise Rejected("PacketTooShort")
        return self.data[start:start + count]

    def advance(self, count: int) -> None:
        """Move the cursor by whole bytes."""
        if self.payload + count > len(self.data):
            raise Rejected("PacketTooShort")
        self.payload += count

    @property
    def rest(self) -> bytes:
        return self.data[self.payload:]

    def truncate(self, count: int) -> None:
        """`payload.truncate(n)`: at most n bytes of payload stay."""
        self.data = self.data[:self.payload + count]


@dataclass
class Reader:
    """Bits of a packet in sequence, from a byte offset."""

    packet: Packet
    position: int                               # in bits

    def bits(self, count: int) -> int:
        value = self.packet.bits(self.position, count)
        self.position += count
        return value

    def bytes(self, count: int) -> bytes:
        assert self.position % 8 == 0
        value = self.packet.take(self.position // 8, count)
        self.position += 8 * count
        return value


class Writer:
    """Bits laid end to end; whole bytes when finished."""

    def __init__(self) -> None:
        self.value = 0
        self.width = 0

    def bits(self, value: int, count: int) -> None:
        self.value = self.value << count | (value & ((1 << count) - 1))
        self.width += count

    def bytes(self, data: bytes) -> None:
        self.bits(int.from_bytes(data, "big"), 8 * len(data))

    def finish(self) -> bytes:
        assert self.width % 8 == 0, f"{self.width} bits are no whole bytes"
        return self.value.to_bytes(self.width // 8, "big")
