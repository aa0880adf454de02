"""The part of the MAC that the AT86RF231 does itself: which frames it takes, which it acknowledges, and with what.

Data sheet 7.2.3.3 (frame filter), 7.2.3.2 (its configuration); IEEE 802.15.4-2006, 7.2.1 and 7.5.6.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lpn.runtime.linktype import crc16

from .rf231_table import Reg

BEACON, DATA, ACK, COMMAND = range(4)
BROADCAST = 0xFFFF
MODES = {0: 0, 2: 2, 3: 8}      #: addressing mode -> octets of the address


@dataclass(frozen=True)
class Address:
    pan: int
    mode: int
    value: int


@dataclass(frozen=True)
class Header:
    """Of a frame without its FCS."""

    kind: int
    version: int
    wants_ack: bool
    pending: bool
    sequence: int
    destination: Address | None
    source: Address | None
    size: int                   #: octets up to the end of the addresses

    @staticmethod
    def of(frame: bytes) -> Header | None:
        """None: it is too short for what it says, or says what is reserved."""
        if len(frame) < 3:
            return None
        control = int.from_bytes(frame[:2], "little")
        to, by = control >> 10 & 3, control >> 14 & 3
        if to == 1 or by == 1:
            return None
        at, pan, found = 3, 0, []
        for mode, compressed in ((to, False), (by, bool(control & 0x40) and to != 0)):
            if not mode:
                found.append(None)
                continue
            if not compressed:
                pan, at = int.from_bytes(frame[at:at + 2], "little"), at + 2
            found.append(Address(pan, mode, int.from_bytes(frame[at:at + MODES[mode]], "little")))
            at += MODES[mode]
        if at > len(frame):
            return None
        return Header(control & 7, control >> 12 & 3, bool(control & 0x20), bool(control & 0x10), frame[2], *found, at)


@dataclass(frozen=True)
class Own:
    """What the registers say about the node."""

    pan: int
    short: int
    long: int
    coordinator: bool

    @staticmethod
    def of(registers: Mapping[int, int]) -> Own:
        def number(first: int, octets: int) -> int:
            return sum(registers[first + i] << 8 * i for i in range(octets))
        return Own(number(Reg.PAN_ID_0, 2), number(Reg.SHORT_ADDR_0, 2), number(Reg.IEEE_ADDR_0, 8),
                   bool(registers[Reg.CSMA_SEED_1] & 8))


def takes(header: Header, own: Own, *, reserved: bool = False) -> bool:
    """The frame filter. `reserved`: frames of reserved types come through (AACK_UPLD_RES_FT)."""
    if header.kind > COMMAND:
        return reserved
    if header.kind == ACK:
        return False
    if header.kind == BEACON:
        return header.source is not None and (own.pan == BROADCAST or header.source.pan == own.pan)
    to = header.destination
    if to is None:
        return header.source is not None and own.coordinator and header.source.pan == own.pan
    if to.pan not in (own.pan, BROADCAST):
        return False
    return to.value in (own.short, BROADCAST) if to.mode == 2 else to.value == own.long


def acknowledges(header: Header, registers: Mapping[int, int]) -> bool:
    """Of a frame that was taken. Versions: AACK_FVN_MODE, 7.2.7."""
    seed = registers[Reg.CSMA_SEED_1]
    to = header.destination
    if not header.wants_ack or seed & 0x10 or header.kind not in (DATA, COMMAND):
        return False
    if to is not None and to.mode == 2 and to.value == BROADCAST:
        return False
    mode = seed >> 6
    return mode == 3 or header.version <= mode


def with_fcs(frame: bytes) -> bytes:
    return frame + crc16(frame).to_bytes(2, "little")


def fcs_right(psdu: bytes) -> bool:
    return len(psdu) >= 2 and crc16(psdu[:-2]) == int.from_bytes(psdu[-2:], "little")


def acknowledgement(sequence: int, pending: bool) -> bytes:
    """An ACK frame with its FCS (7.2.2.3)."""
    return with_fcs(bytes((ACK | (0x10 if pending else 0), 0, sequence)))


def answers(psdu: bytes, sequence: int) -> bool:
    """Is this the acknowledgement of that frame?"""
    return len(psdu) == 5 and fcs_right(psdu) and psdu[0] & 7 == ACK and psdu[2] == sequence
