"""Captures: read the frames of a pcap or pcapng file, write frames to a pcap file.

A `Frame` is one record of the file, so record n is frame n whatever its content: what cannot be
read as an 802.15.4 frame still counts, and its `note` says why. The structures of the two file
formats are dpkt's; the walk over them is ours, because dpkt's readers pass over a truncated record
in silence. Formats: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng.
"""

from __future__ import annotations

import itertools
import struct
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from dpkt import dpkt, pcap, pcapng

from lpn.lang.files import Scratch, replaced_by
from lpn.runtime import linktype as links

# The largest record that libpcap and Wireshark write: a longer one is a damaged length.
MAX_RECORD = 262_144
# A pcapng block may carry options and name tables beside a record.
_MAX_BLOCK = 1 << 24
# aMaxPHYPacketSize without the FCS.
MAX_FRAME = 125
# `fcs="auto"` looks at this many records of link type 195 before it trusts the trailer to be a CRC.
_LOOK_AHEAD = 32
_TI_EVIDENCE = 8

FCS_MODES = ("auto", "crc", "ti", "none")


class CaptureError(Exception):
    """The file cannot be read or written as a capture; the text is one line: file, then reason."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One record of a capture.

    `number` counts from 1, `time_us` is microseconds since 1970, `data` the frame without its FCS,
    `fcs_ok` None where the record carries none, `rssi` in dBm, `linktype` what `data` is: 230 for
    an 802.15.4 frame; 229 for an IPv6 datagram, 1 or 101 for what else Ethernet or IP carries.
    """

    number: int
    time_us: int
    data: bytes
    fcs_ok: bool | None = None
    rssi: int | None = None
    lqi: int | None = None
    note: str = ""
    linktype: int = links.IEEE802154_NOFCS

    @property
    def whole(self) -> bool:
        """Whether a radio could have sent it: a whole 802.15.4 frame, not too long, whose FCS is not known to be wrong."""
        return self.linktype == links.IEEE802154_NOFCS and not self.note and self.fcs_ok is not False and len(self.data) <= MAX_FRAME


@dataclass(frozen=True, slots=True)
class _Record:
    linktype: int
    time_us: int
    data: bytes
    wire_length: int


def read(path: str | Path, fcs: str = "auto") -> Iterator[Frame]:
    """The frames of the capture at `path` (`-`: standard input).

    `fcs` says what ends the frames of link types 195 and 215, the two that do not say it themselves:
    `crc` the FCS, `ti` the two octets of a TI radio, `none` nothing; `auto` is `crc`, unless none of
    a file's first frames has a right CRC and all have TI's CRC_OK bit. Raises CaptureError; a
    truncated file yields the frames in front of the damage first.
    """
    if fcs not in FCS_MODES:
        raise ValueError(f"fcs must be one of {', '.join(FCS_MODES)}: {fcs!r}")
    where = "standard input" if str(path) == "-" else str(path)
    try:
        with _open_input(path) as stream:
            yield from _frames(_records(stream), fcs)
    except OSError as error:
        raise CaptureError(f"{where}: {error.strerror or error}") from error
    except _Bad as error:
        raise CaptureError(f"{where}: {error}") from error


class _Bad(Exception):
    """A reason, not yet with the name of the file."""


@contextmanager
def _open_input(path: str | Path) -> Iterator[BinaryIO]:
    if str(path) == "-":
        yield sys.stdin.buffer
    else:
        with open(path, "rb") as stream:
            yield stream


def _frames(records: Iterator[_Record], fcs: str) -> Iterator[Frame]:
    if fcs == "auto":
        fcs, records = _guess(records)
    for number, record in enumerate(records, start=1):
        yield _frame(number, record, fcs)


def _guess(records: Iterator[_Record]) -> tuple[str, Iterator[_Record]]:
    """Tell TI's trailer from a CRC. Eight random frames with wrong CRCs would all have the CRC_OK
    bit once in 256 captures; captures of wrong CRCs only are rarer still."""
    ahead: list[_Record] = []
    damage: _Bad | None = None
    try:
        for record in itertools.islice(records, _LOOK_AHEAD):
            ahead.append(record)
    except _Bad as error:  # reported when the reader gets there
        damage = error

    def again() -> Iterator[_Record]:
        yield from ahead
        if damage:
            raise damage
        yield from records

    seen = [r.data for r in ahead if r.linktype == links.IEEE802154_WITHFCS and len(r.data) >= 5]
    ti = len(seen) >= _TI_EVIDENCE and all(
        data[-1] & 0x80 and links.crc16(data[:-2]) != int.from_bytes(data[-2:], "little") for data in seen)
    return "ti" if ti else "crc", again()


def _frame(number: int, record: _Record, fcs: str) -> Frame:
    unwrap = links.UNWRAP.get(record.linktype)
    if unwrap is None:
        raise _Bad(f"link type {links.name(record.linktype)} of record {number} is not supported")
    body = unwrap(record.data)
    if len(record.data) < record.wire_length:
        # The sniffer's snap length cut the record: its last octets are no FCS.
        body = replace(body, trailer="none",
                       note=f"{len(record.data)} of {record.wire_length} octets captured")
    elif body.trailer == "crc" and record.linktype in (links.IEEE802154_WITHFCS, links.IEEE802154_NONASK_PHY):
        body = replace(body, trailer=fcs)
    data, fcs_ok, rssi, lqi, note = links.strip(body)
    return Frame(number, record.time_us, data, fcs_ok, rssi, lqi, note, body.linktype)


def _records(stream: BinaryIO) -> Iterator[_Record]:
    magic = stream.read(4)
    if not magic:
        raise _Bad("empty file, not a capture")
    number = int.from_bytes(magic, "big") if len(magic) == 4 else 0
    if number in pcap.MAGIC_TO_PKT_HDR:
        return _pcap_records(stream, magic)
    if number == pcapng.PCAPNG_BT_SHB:
        return _pcapng_records(stream, magic)
    raise _Bad("not a capture (neither pcap nor pcapng)")


def _exactly(stream: BinaryIO, size: int, what: str, have: bytes = b"") -> bytes:
    """`size` octets, of which `have` were read before."""
    data = have + stream.read(size - len(have))
    if len(data) < size:
        raise _Bad(f"{what} is truncated: {len(data)} of {size} octets")
    return data


def _pcap_records(stream: BinaryIO, magic: bytes) -> Iterator[_Record]:
    number = int.from_bytes(magic, "big")
    record_header = pcap.MAGIC_TO_PKT_HDR[number]
    little = record_header.__hdr_fmt__[0] == "<"
    file_header = pcap.LEFileHdr if little else pcap.FileHdr
    head = file_header(_exactly(stream, file_header.__hdr_len__, "file header", magic))
    if head.v_major != pcap.PCAP_VERSION_MAJOR:
        raise _Bad(f"pcap version {head.v_major}.{head.v_minor} is not supported, {pcap.PCAP_VERSION_MAJOR}.{pcap.PCAP_VERSION_MINOR} is")
    nano = number in (pcap.TCPDUMP_MAGIC_NANO, pcap.PMUDPCT_MAGIC_NANO)
    # Bits 31-28 of the field tell the length of an FCS, the rest is reserved.
    linktype = head.linktype & 0xFFFF
    if linktype not in links.UNWRAP:
        raise _Bad(f"link type {links.name(linktype)} is not supported")
    for index in itertools.count(1):
        first = stream.read(1)
        if not first:
            return
        what = f"record {index}"
        record = record_header(_exactly(stream, record_header.__hdr_len__, what, first))
        if record.caplen > MAX_RECORD:
            raise _Bad(f"{what} has an impossible length of {record.caplen} octets")
        data = _exactly(stream, record.caplen, what)
        fraction = record.tv_usec // 1000 if nano else record.tv_usec
        yield _Record(linktype, record.tv_sec * 1_000_000 + fraction, data, record.len)


@dataclass(slots=True)
class _Interface:
    """A pcapng interface: ticks a second, and seconds to add."""

    linktype: int
    snap: int
    ticks: int = 1_000_000
    offset: int = 0

    def time_us(self, high: int, low: int) -> int:
        return (high << 32 | low) * 1_000_000 // self.ticks + self.offset * 1_000_000


def _pcapng_records(stream: BinaryIO, first: bytes) -> Iterator[_Record]:
    order = "<"
    interfaces: list[_Interface] = []
    found = 0
    while first:
        what = f"block after record {found}" if found else "first block"
        head = _exactly(stream, 8, what, first)
        if head[:4] == b"\x0a\x0d\x0d\x0a":  # a palindrome: the order is in the next word
            head = _exactly(stream, 12, what, head)
            order = "<" if head[8:] == b"\x4d\x3c\x2b\x1a" else ">"
            if order == ">" and head[8:] != b"\x1a\x2b\x3c\x4d":
                raise _Bad("bad byte-order mark of a pcapng section")
            interfaces = []
        kind, length = struct.unpack_from(order + "II", head)
        if length < 12 or length % 4 or length > _MAX_BLOCK or length < len(head):
            raise _Bad(f"{what} has an impossible length of {length} octets")
        block = _exactly(stream, length, what, head)
        record = _pcapng_block(kind, block, order, interfaces, what)
        if record:
            found += 1
            yield record
        first = stream.read(1)


def _pcapng_block(kind: int, block: bytes, order: str, interfaces: list[_Interface],
                  what: str) -> _Record | None:
    """A record, or None for the blocks that carry none. dpkt checks the block's structure."""
    little = order == "<"
    try:
        if kind == pcapng.PCAPNG_BT_SHB:
            section = (pcapng.SectionHeaderBlockLE if little else pcapng.SectionHeaderBlock)(block)
            if section.v_major != pcapng.PCAPNG_VERSION_MAJOR:
                raise _Bad(f"pcapng version {section.v_major} is not supported")
        elif kind == pcapng.PCAPNG_BT_IDB:
            interfaces.append(_interface(
                (pcapng.InterfaceDescriptionBlockLE if little else pcapng.InterfaceDescriptionBlock)(block), order))
        elif kind in (pcapng.PCAPNG_BT_EPB, pcapng.PCAPNG_BT_PB):
            enhanced = pcapng.EnhancedPacketBlockLE if little else pcapng.EnhancedPacketBlock
            obsolete = pcapng.PacketBlockLE if little else pcapng.PacketBlock
            packet = (enhanced if kind == pcapng.PCAPNG_BT_EPB else obsolete)(block)
            if packet.caplen > MAX_RECORD or len(packet.pkt_data) < packet.caplen or \
                    packet.caplen > len(block) - packet.__hdr_len__:
                raise _Bad(f"{what} has an impossible record length of {packet.caplen} octets")
            interface = interfaces[packet.iface_id]
            return _Record(interface.linktype, interface.time_us(packet.ts_high, packet.ts_low),
                           packet.pkt_data, packet.pkt_len)
        elif kind == pcapng.PCAPNG_BT_SPB:  # dpkt has no class for it: length on the wire, octets
            wire, = struct.unpack_from(order + "I", block, 8)
            interface = interfaces[0]
            kept = min(wire, interface.snap or wire, len(block) - 16)
            return _Record(interface.linktype, 0, block[12:12 + kept], wire)
    except IndexError as error:
        raise _Bad(f"{what} names an interface that is not described") from error
    except (dpkt.Error, struct.error, ValueError, AttributeError) as error:
        raise _Bad(f"{what} is malformed") from error
    return None


def _interface(block: pcapng.InterfaceDescriptionBlock, order: str) -> _Interface:
    interface = _Interface(block.linktype, block.snaplen)
    for option in block.opts:
        if option.code == pcapng.PCAPNG_OPT_IF_TSRESOL and option.data:
            power = option.data[0] & 0x7F  # bit 7: of 2, else of 10
            interface.ticks = (2 if option.data[0] & 0x80 else 10) ** power
        elif option.code == pcapng.PCAPNG_OPT_IF_TSOFFSET and len(option.data) == 8:
            interface.offset, = struct.unpack(order + "q", option.data)
    return interface


class Writer:
    """Write a pcap file of one link type: 230 for frames without FCS (195: the FCS is appended), 229
    for IPv6 datagrams, 101 for either IP. A context manager: the file appears, complete, under its
    name when the block ends well, and not at all when it raises. `-` is standard output."""

    def __init__(self, path: str | Path, linktype: int = links.IEEE802154_NOFCS) -> None:
        self.path, self.linktype, self.count = path, linktype, 0
        self._scratch: Scratch | None = None

    def __enter__(self) -> Writer:
        try:
            self._stream = self._open()
            self._put(pcap.LEFileHdr(magic=pcap.TCPDUMP_MAGIC, snaplen=MAX_RECORD, linktype=self.linktype))
        except OSError as error:
            self._discard()
            raise self._error(error) from error
        return self

    def _open(self) -> BinaryIO:
        if str(self.path) == "-":
            return sys.stdout.buffer
        target = replaced_by(self.path)
        if target is None:
            return open(self.path, "wb")
        self._scratch = Scratch(target)
        return self._scratch.stream

    def add(self, data: bytes, time_us: int = 0) -> None:
        """Append one frame or datagram, stamped with microseconds since 1970."""
        if self.linktype == links.IEEE802154_WITHFCS:
            data += links.crc16(data).to_bytes(2, "little")
        self.add_verbatim(data, time_us)

    def add_verbatim(self, data: bytes, time_us: int = 0) -> None:
        """Append one record as it is: with link type 195, `data` ends in an FCS, right or wrong."""
        if len(data) > MAX_RECORD:
            raise CaptureError(f"{self.path}: a record of {len(data)} octets is too long")
        seconds, fraction = divmod(time_us, 1_000_000)
        try:
            self._put(pcap.LEPktHdr(tv_sec=seconds & 0xFFFFFFFF, tv_usec=fraction, caplen=len(data), len=len(data)))
            self._stream.write(data)
        except OSError as error:
            raise self._error(error) from error
        self.count += 1

    def _put(self, header: pcap.FileHdr | pcap.PktHdr) -> None:
        self._stream.write(bytes(header))

    def __exit__(self, kind: type | None, *_: object) -> None:
        try:
            if self._stream is sys.stdout.buffer:
                self._stream.flush()
                return
            self._stream.close()
            if kind is None and self._scratch:
                self._scratch.keep()
        except OSError as error:
            if kind is None:
                raise self._error(error) from error
        finally:
            self._discard()

    def _discard(self) -> None:
        if self._scratch:
            self._scratch.discard()

    def _error(self, error: OSError) -> CaptureError | BrokenPipeError:
        if isinstance(error, BrokenPipeError) and str(self.path) == "-":
            return error                        # who read it has left, which ends a command as it does elsewhere
        where = "standard output" if str(self.path) == "-" else self.path
        return CaptureError(f"{where}: {error.strerror or error}")


def write(path: str | Path, frames: Iterable[Frame], linktype: int = links.IEEE802154_NOFCS) -> int:
    """Write `frames` with their time stamps; returns how many."""
    with Writer(path, linktype) as writer:
        for frame in frames:
            writer.add(frame.data, frame.time_us)
    return writer.count
