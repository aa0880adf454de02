"""The container image: one module as it is stored, signed and sent to a node.

A 64-byte little-endian header, then text, rodata, data, certificate and name. `runtime/engine/image.c` makes
the same checks in the same order; a test feeds both the same bytes.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from functools import reduce
from operator import or_

from lpn.lang.hooks import RadioPart

from .target import OUT_SIZE

MAGIC = b"LPN1"
VERSION = 2                     #: 1: helpers took sizes in registers of their own
HEADER_SIZE = 64
INSN_SIZE = 8
STACK_SIZE = 512
TEXT_MAX = 1 << 14          #: instruction slots that a verifier reads
MAX_IMAGE = 1 << 20         #: bytes; far above what a node stores, bounds what a host reads
STATE_MAX = 0xFFFF          #: bytes of registers, counters and meters
MAX_NAME = 64               #: bytes of UTF-8

_HEADER = struct.Struct("<4sHHIIBBHIIIIIIHHIHHQ")
assert _HEADER.size == HEADER_SIZE


class Kind(IntEnum):
    """What the container does in a chain."""

    PARSER = 1
    PROCESSOR = 2
    DEPARSER = 3
    TIMING = 4
    FUSED = 5
    MIGRATION = 6       #: runs once, when a bundle replaces another; its record has registers of that one


class Profile(IntEnum):
    """Which context descriptor the container was compiled for."""

    LPN = 1


class Flag(IntFlag):
    """Properties of the container."""

    CLEAN32 = 1         #: every register holds a 32-bit value or a pointer
    CERTIFIED = 2       #: the certificate section is not empty
    DEPARSES = 4        #: of a fused container: it ends with a deparser, which fills `out`
    RADIO = 8           #: it, or an `after` that it starts, switches the radio
    BUDGET = 16         #: its timing block promises that the radio is off for some of the time
    QUIETS = 32         #: the body of an `after`: a run of it ends with the radio off, whatever its path

    @classmethod
    def of_radio(cls, part: RadioPart) -> Flag:
        """What an image says of a module's part in how long the radio is on."""
        flags = {RadioPart.SWITCHES: cls.RADIO, RadioPart.PROMISES: cls.BUDGET, RadioPart.QUIETS: cls.QUIETS}
        return reduce(or_, (flag for its, flag in flags.items() if its in part), cls(0))


KNOWN_FLAGS = reduce(or_, Flag)


class ImageError(ValueError):
    """An image that is refused. `code` is the check's name, the same as the C engine's error name."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail


@dataclass(frozen=True)
class Image:
    """One container. Sizes are bytes; `text` is whole eBPF instructions, little-endian."""

    name: str
    kind: Kind
    text: bytes
    rodata: bytes = b""
    data: bytes = b""
    certificate: bytes = b""
    flags: Flag = Flag(0)
    profile: Profile = Profile.LPN
    record_hash: int = 0
    record_size: int = 0
    state_hash: int = 0
    state_size: int = 0
    stack_used: int = 0
    out_size: int = OUT_SIZE        #: of the output buffer, what it may address

    def __post_init__(self) -> None:
        _check_text(len(self.text))
        _check_flags(int(self.flags), len(self.certificate), self.kind)
        for field, value, limit in (
                ("record hash", self.record_hash, 1 << 32), ("state hash", self.state_hash, 1 << 32),
                ("record size", self.record_size, 1 << 16), ("state size", self.state_size, STATE_MAX + 1)):
            if not 0 <= value < limit:
                raise ImageError("bad field", f"{field} {value} does not fit the header")
        _check_stack(self.stack_used)
        _check_output(OUT_SIZE - self.out_size)
        _check_name(self.name.encode("utf-8", "surrogatepass"))
        total = len(self.to_bytes())
        if total > MAX_IMAGE:
            raise ImageError("too large", f"the image has {total} bytes, the limit is {MAX_IMAGE}")

    def to_bytes(self) -> bytes:
        """The image, checksum included."""
        name = self.name.encode()
        sections = (self.text, self.rodata, self.data, self.certificate, name)
        body = b"".join(s + bytes(_padding(len(s), 8 if i == 0 else 4)) for i, s in enumerate(sections))
        header = _HEADER.pack(
            MAGIC, VERSION, HEADER_SIZE, HEADER_SIZE + len(body), 0, self.kind, self.profile, self.flags,
            *map(len, sections), self.record_hash, self.record_size, self.state_size, self.state_hash,
            self.stack_used, OUT_SIZE - self.out_size, 0)
        crc = zlib.crc32(body, zlib.crc32(header))
        return header[:12] + struct.pack("<I", crc) + header[16:] + body

    def places(self) -> list[tuple[str, int, int, bool]]:
        """Where its sections lie in the image: (name, first byte, bytes, may a running container change it)."""
        out, at = [], HEADER_SIZE
        for name, section in (("text", self.text), ("rodata", self.rodata), ("data", self.data), ("certificate", self.certificate)):
            out.append((name, at, len(section), name == "data"))
            at += len(section) + _padding(len(section), 8 if name == "text" else 4)
        return out

    @classmethod
    def from_bytes(cls, raw: bytes) -> Image:
        """Parse and check an image; ImageError names the first thing that is wrong."""
        if len(raw) < 4 or raw[:4] != MAGIC:
            raise ImageError("bad magic", f"an image starts with {MAGIC!r}, not {bytes(raw[:4])!r}")
        if len(raw) < HEADER_SIZE:
            raise ImageError("truncated", f"{len(raw)} bytes, the header alone has {HEADER_SIZE}")
        (_, version, header_size, total, crc, kind, profile, flags, n_text, n_rodata, n_data, n_cert, n_name,
         record_hash, record_size, state_size, state_hash, stack, spare, reserved) = _HEADER.unpack_from(raw)
        if version != VERSION:
            raise ImageError("unsupported version", f"version {version}, this reads {VERSION}")
        if header_size != HEADER_SIZE:
            raise ImageError("length mismatch", f"header size {header_size}, version {VERSION} has {HEADER_SIZE}")
        if total > MAX_IMAGE:
            raise ImageError("too large", f"{total} bytes, the limit is {MAX_IMAGE}")
        if len(raw) < total:
            raise ImageError("truncated", f"{len(raw)} bytes of {total}")
        if len(raw) > total:
            raise ImageError("length mismatch", f"{len(raw)} bytes, the header says {total}")
        sizes = (n_text, n_rodata, n_data, n_cert, n_name)
        padded = [n + _padding(n, 8 if i == 0 else 4) for i, n in enumerate(sizes)]
        if HEADER_SIZE + sum(padded) != total:
            raise ImageError("length mismatch",
                             f"header and sections make {HEADER_SIZE + sum(padded)} bytes, not {total}")
        if zlib.crc32(raw[16:], zlib.crc32(bytes(4), zlib.crc32(raw[:12]))) != crc:
            raise ImageError("checksum mismatch", f"the header says {crc:08x}: the image is damaged")
        if not 1 <= kind <= max(Kind):
            raise ImageError("bad kind", f"kind {kind}")
        if profile != Profile.LPN:
            raise ImageError("bad profile", f"profile {profile}")
        _check_flags(flags, n_cert, kind)
        if reserved:
            raise ImageError("reserved field set", "the header's reserved fields are zero")
        _check_text(n_text)
        _check_stack(stack)
        _check_output(spare)
        parts, at = [], HEADER_SIZE
        for size, room in zip(sizes, padded):
            if any(raw[at + size:at + room]):
                raise ImageError("bad padding", f"byte {at + size}: sections are padded with zeros")
            parts.append(bytes(raw[at:at + size]))
            at += room
        _check_name(parts[4])
        return cls(parts[4].decode(), Kind(kind), *parts[:4], Flag(flags), Profile(profile), record_hash,
                   record_size, state_hash, state_size, stack, OUT_SIZE - spare)


def _padding(size: int, to: int) -> int:
    return -size % to


def _check_text(size: int) -> None:
    if size == 0 or size % INSN_SIZE:
        raise ImageError("bad text", f"{size} bytes are not one or more whole instructions")


def _check_flags(flags: int, certificate: int, kind: int) -> None:
    if flags & ~int(KNOWN_FLAGS):
        raise ImageError("bad flags", f"flags {flags:#06x}: unknown bits")
    if bool(flags & Flag.CERTIFIED) != bool(certificate):
        raise ImageError("bad flags", "the certificate flag and the certificate's length disagree")
    if flags & Flag.DEPARSES and kind != Kind.FUSED:
        raise ImageError("bad flags", "only a fused container says that it deparses")


def _check_stack(used: int) -> None:
    if not 0 <= used <= STACK_SIZE:
        raise ImageError("bad field", f"{used} bytes of stack, there are {STACK_SIZE}")


def _check_output(spare: int) -> None:
    if not 0 <= spare <= OUT_SIZE:
        raise ImageError("bad field", f"{spare} bytes of the output are said to be left alone, there are {OUT_SIZE}")


def _check_name(name: bytes) -> None:
    """A name is text a person can read: UTF-8 without control characters."""
    try:
        text = name.decode()
    except UnicodeDecodeError as e:
        raise ImageError("bad name", f"not UTF-8 at byte {e.start}") from None
    if not 1 <= len(name) <= MAX_NAME:
        raise ImageError("bad name", f"{len(name)} bytes, 1 to {MAX_NAME} are allowed")
    if any(ord(c) < 0x20 or ord(c) == 0x7f for c in text):
        raise ImageError("bad name", "control characters")
