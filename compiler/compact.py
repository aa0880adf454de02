"""The compact form of a container image: what is sent over the air, where a frame has 127 bytes.

    magic "LPNZ" | length of the image, 3 bytes | its checksum, 4 bytes | header | text | the rest

- *header*: the image's bytes 16 to 63 in groups of eight: a mask (bit n: byte n is not zero), then the bytes that are not.
- *text*: tokens, which opcodes that no compiler emits leave room for. By the class in a token's lowest three bits:
  - LD: the shape of an instruction in the upper five bits; its opcode follows, then its fields.
  - ST: a copy of instructions that were before: upper four bits + 2 of them, the distance in instructions follows, one byte, or two
    when bit 3 is set.
  - any other: the token is the opcode, its shape that of `USUAL`.

  A shape says how many bytes of each field follow: registers (0, 1), offset (0, 1, 2), immediate (0, 1, 2, 4); offset and
  immediate are sign-extended. As a number it is immediate | offset << 2 | registers << 4, where 3 stands for an immediate of 4.
- *the rest*: rodata, data, certificate and name as they are, padding included.

It is expanded in place (`lpn_image_expand`, `runtime/engine/expand.c`): a node stores it at the end of as much memory as the
image takes. An image for which that is impossible, or that is not smaller for it, has no compact form. Everything that an image
says is checked after it is expanded.
"""
from __future__ import annotations

import struct
from collections import defaultdict

from .image import HEADER_SIZE, INSN_SIZE, MAGIC as PLAIN, MAX_IMAGE, VERSION, Image, ImageError
from .isa import ALU, ALU64, JMP, JMP32, LD, LDX, SLOT, ST, STX, K, X

MAGIC = b"LPNZ"

Shape = tuple[int, int, int]    # bytes of registers, offset, immediate
_IMMEDIATE = (0, 1, 2, 4)       #: bytes by their two bits in a shape

#: Shapes by class and source bit, an opcode's lowest four bits.
USUAL: dict[int, Shape] = {
    ALU | K: (1, 0, 1), ALU | X: (1, 0, 0), ALU64 | K: (1, 0, 1), ALU64 | X: (1, 0, 0),
    JMP | K: (1, 1, 1), JMP | X: (1, 1, 0), JMP32 | K: (1, 1, 1), JMP32 | X: (1, 1, 0),
    LDX: (1, 1, 0), LDX | 8: (1, 1, 0), STX: (1, 1, 0), STX | 8: (1, 1, 0),
}
LONGEST = 17                    #: instructions of one copy
_FARTHEST = 0xffff              #: instructions between a copy and what it copies
_NEAREST = 128                  #: places before that the packer compares with


def pack(image: bytes) -> bytes:
    """The compact form of an image, or the image itself when it has none. `image` is well-formed."""
    end = HEADER_SIZE + struct.unpack_from("<I", image, 20)[0]
    header = b"".join(_masked(image[at:at + 8]) for at in range(16, HEADER_SIZE, 8))
    packed = MAGIC + image[8:11] + image[12:16] + header + _text(image[HEADER_SIZE:end]) + image[end:]
    try:
        return packed if len(packed) < len(image) and unpack(packed) == image else image
    except ImageError:      # no place to expand in
        return image


def unpack(raw: bytes) -> bytes:
    """The image of a compact form, not checked itself. ImageError says what is wrong."""
    if raw[:4] != MAGIC:
        raise ImageError("bad magic", f"a compact image starts with {MAGIC!r}, not {bytes(raw[:4])!r}")
    length = int.from_bytes(raw[4:7], "little")
    if not max(len(raw), HEADER_SIZE) <= length <= MAX_IMAGE:
        raise _wrong(f"{len(raw)} bytes for an image of {length}")
    x = _Expansion(raw, length)
    for width, count in ((4, 4), (0, 4), (3, 4), (4, 4)):
        x.field(width, count)
    for _ in range(16, HEADER_SIZE, 8):
        mask = x.next()
        for n in range(8):
            x.field(mask >> n & 1, 1)
    x.out[:8] = PLAIN + struct.pack("<HH", VERSION, HEADER_SIZE)
    end = HEADER_SIZE + struct.unpack_from("<I", x.out, 20)[0]
    while len(x.out) < end:
        x.step()
    x.out += raw[x.at:]
    if len(x.out) != length:
        raise _wrong(f"it makes {len(x.out)} bytes of an image of {length}")
    return bytes(x.out)


def read_image(raw: bytes) -> Image:
    """An image in either form; ImageError names the first thing that is wrong."""
    return Image.from_bytes(unpack(raw) if raw[:4] == MAGIC else raw)


def _wrong(detail: str) -> ImageError:
    return ImageError("bad compact form", detail)


class _Expansion:
    """A compact form while it is read. What the node does in place must be possible, so places are counted as there."""

    def __init__(self, raw: bytes, length: int) -> None:
        self.raw, self.at, self.out = raw, 0, bytearray()
        self.start = length - len(raw)      #: where in the image's memory the compact form begins

    def next(self) -> int:
        if self.at == len(self.raw):
            raise _wrong(f"it ends after {self.at} bytes, amid what must follow")
        self.at += 1
        return self.raw[self.at - 1]

    def put(self, byte: int) -> None:
        if len(self.out) == self.start + self.at:
            raise _wrong(f"in place, byte {self.at} is overwritten before it is read")
        self.out.append(byte)

    def field(self, size: int, width: int) -> None:
        """A number of `size` bytes, sign-extended to `width`."""
        byte = 0
        for n in range(width):
            byte = self.next() if n < size else 0xff * (byte >> 7)
            self.put(byte)

    def step(self) -> None:
        """One token: an instruction, or a copy of some."""
        token = self.next()
        if token & 7 == ST:
            distance = self.next() | (self.next() << 8 if token & 8 else 0)
            size = INSN_SIZE * ((token >> 4) + 2)
            if not 0 < INSN_SIZE * distance <= len(self.out) - HEADER_SIZE or size > self.start + self.at - len(self.out):
                raise _wrong(f"a copy of {size} bytes from {distance} instructions before, at byte {self.at}")
            for _ in range(size):
                self.out.append(self.out[-INSN_SIZE * distance])
            return
        if token & 7 == LD:
            registers, offset, immediate = token >> 7, token >> 5 & 3, _IMMEDIATE[token >> 3 & 3]
        else:
            registers, offset, immediate = USUAL[token & 15]
            self.at -= 1        # the token is the opcode
        for size, width in ((1, 1), (registers, 1), (offset, 2), (immediate, 4)):
            self.field(size, width)


def _masked(group: bytes) -> bytes:
    return bytes([sum(1 << n for n, byte in enumerate(group) if byte)]) + bytes(byte for byte in group if byte)


def _literal(slot: bytes) -> bytes:
    """One instruction, written out in the shortest way."""
    op, registers, offset, immediate = SLOT.unpack(slot)
    shape = (int(registers != 0), _width(offset, (0, 1, 2)), _width(immediate, _IMMEDIATE))
    usual = USUAL.get(op & 15)
    if usual and all(have >= need for have, need in zip(usual, shape)) and sum(usual) <= sum(shape) + 1:
        token, shape = bytes([op]), usual
    else:
        token = bytes([LD | _IMMEDIATE.index(shape[2]) << 3 | shape[1] << 5 | shape[0] << 7, op])
    return (token + bytes([registers] * shape[0]) + offset.to_bytes(shape[1], "little", signed=True)
            + immediate.to_bytes(shape[2], "little", signed=True))


def _width(value: int, widths: tuple[int, ...]) -> int:
    """The least of `widths` bytes that hold `value`, signed."""
    return next(w for w in widths if w == widths[-1] or (value == 0 if w == 0 else -1 << 8 * w - 1 <= value < 1 << 8 * w - 1))


def _text(text: bytes) -> bytes:
    """The text in tokens, the fewest bytes that these matches allow: by dynamic programming from the end."""
    slots = [text[at:at + INSN_SIZE] for at in range(0, len(text), INSN_SIZE)]
    literals = {slot: _literal(slot) for slot in set(slots)}
    matches = _matches(slots)
    cost = [0] * (len(slots) + 1)
    best: list[tuple[int, bytes]] = [(1, b"")] * len(slots)
    for k in range(len(slots) - 1, -1, -1):
        code = literals[slots[k]]
        cost[k], best[k] = cost[k + 1] + len(code), (1, code)
        for count, distance in matches[k]:
            wide = int(distance > 255)
            coded = bytes([ST | wide << 3 | count - 2 << 4]) + distance.to_bytes(1 + wide, "little")
            if len(coded) + cost[k + count] < cost[k]:
                cost[k], best[k] = len(coded) + cost[k + count], (count, coded)
    out, k = bytearray(), 0
    while k < len(slots):
        count, coded = best[k]
        out += coded
        k += count
    return bytes(out)


def _matches(slots: list[bytes]) -> list[list[tuple[int, int]]]:
    """For each place the copies worth a thought, (instructions, distance): the nearest of each length."""
    places: defaultdict[tuple[bytes, bytes], list[int]] = defaultdict(list)
    found: list[list[tuple[int, int]]] = [[] for _ in slots]
    for k in range(len(slots) - 1):
        pair = (slots[k], slots[k + 1])
        longest = 1
        for j in reversed(places[pair][-_NEAREST:]):
            if k - j > _FARTHEST:
                break
            count = 2
            while count < LONGEST and k + count < len(slots) and slots[j + count] == slots[k + count]:
                count += 1
            if count > longest:
                found[k] += [(n, k - j) for n in range(longest + 1, count + 1)]
                longest = count
            if longest == LONGEST:
                break
        places[pair].append(k)
    return found
