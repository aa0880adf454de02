"""Link types of capture files: how the octets of one record hold an 802.15.4 frame.

Each `unwrap_*` takes the octets of a record and gives a `Body`: the frame with whatever
trailer it carries, and what the encapsulation says of the trailer and of the reception.
Numbers are those of the tcpdump group's registry of link-layer header types.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import dpkt

ETHERNET = 1
RAW_IP = 101
IEEE802154_WITHFCS = 195
IEEE802154_NONASK_PHY = 215
RAW_IPV6 = 229
IEEE802154_NOFCS = 230
IEEE802154_TAP = 283

ZEP_PORT = 17754

# Link types a person is likely to hand us that carry no 802.15.4 frame we can reach: named in errors.
NAMES = {
    0: "BSD loopback", ETHERNET: "Ethernet", 9: "PPP", RAW_IP: "raw IP", 105: "802.11",
    113: "Linux cooked capture", 127: "802.11 with radiotap", 147: "private use 0",
    187: "Bluetooth HCI", 191: "802.15.4 Linux", IEEE802154_WITHFCS: "802.15.4 with FCS",
    IEEE802154_NONASK_PHY: "802.15.4 non-ASK PHY", 228: "raw IPv4", RAW_IPV6: "raw IPv6",
    IEEE802154_NOFCS: "802.15.4 without FCS", 251: "Bluetooth LE", 276: "Linux cooked capture v2",
    IEEE802154_TAP: "802.15.4 TAP",
}


def name(linktype: int) -> str:
    """`195 (802.15.4 with FCS)`: the number, and the name where we know it."""
    known = NAMES.get(linktype)
    return f"{linktype} ({known})" if known else str(linktype)


@dataclass(frozen=True, slots=True)
class Body:
    """A record without its encapsulation. `trailer` tells what `data` ends in: `none`, `crc`
    (two octets), `crc32` (four) or `ti` (RSSI and correlation); `linktype` what `data` is."""

    data: bytes
    trailer: str
    rssi: int | None = None
    lqi: int | None = None
    note: str = ""
    linktype: int = IEEE802154_NOFCS


def _crc16_table() -> tuple[int, ...]:
    """One row per octet of the polynomial x^16 + x^12 + x^5 + 1, least significant bit first."""
    rows = []
    for octet in range(256):
        for _ in range(8):
            octet = (octet >> 1) ^ 0x8408 if octet & 1 else octet >> 1
        rows.append(octet)
    return tuple(rows)


_CRC16 = _crc16_table()


def crc16(data: bytes) -> int:
    """The frame check sequence of IEEE 802.15.4-2006, 7.2.1.9: ITU-T CRC-16, initial value 0.
    It is sent low octet first."""
    crc = 0
    for octet in data:
        crc = (crc >> 8) ^ _CRC16[(crc ^ octet) & 0xFF]
    return crc


def strip(body: Body) -> tuple[bytes, bool | None, int | None, int | None, str]:
    """Take the trailer off: (frame, FCS right?, RSSI, LQI, note).

    TI's radios (CC2420 data sheet, AUTOCRC; the CC2538 too) overwrite a checked FCS with the signed
    RSSI and an octet of CRC_OK (bit 7) and correlation (bits 6-0).
    """
    data = body.data
    size = {"none": 0, "crc": 2, "ti": 2, "crc32": 4}[body.trailer]
    if size == 0:
        return data, None, body.rssi, body.lqi, body.note
    if len(data) < size:
        return data, None, body.rssi, body.lqi, body.note or "too short for a frame check sequence"
    frame, trailer = data[:-size], data[-size:]
    if body.trailer == "ti":
        rssi, = struct.unpack_from("b", trailer)
        return frame, bool(trailer[1] & 0x80), rssi, trailer[1] & 0x7F, body.note
    claimed = int.from_bytes(trailer, "little")
    # 802.15.4-2015, 7.2.10: the 4-octet FCS pads a frame shorter than 4 octets with zeros.
    computed = crc16(frame) if size == 2 else zlib.crc32(frame.ljust(4, b"\0"))
    return frame, claimed == computed, body.rssi, body.lqi, body.note


def unwrap_withfcs(record: bytes) -> Body:
    """Link type 195: the frame and its FCS, nothing else."""
    return Body(record, "crc")


def unwrap_nofcs(record: bytes) -> Body:
    """Link type 230: the frame alone."""
    return Body(record, "none")


def unwrap_nonask(record: bytes) -> Body:
    """Link type 215: preamble of four zero octets, SFD 0xA7, PHR (length in bits 6-0), frame, FCS
    (IEEE 802.15.4-2006, 6.3)."""
    if len(record) < 6:
        return Body(b"", "none", note="too short for a PHY header")
    if record[4] != 0xA7:
        return Body(record[6:], "none", note=f"start-of-frame delimiter 0x{record[4]:02x}, not 0xa7")
    return _cut(record[6:], record[5] & 0x7F, "crc")


def _cut(data: bytes, length: int, trailer: str, **more: int | None) -> Body:
    """The first `length` octets; a frame of which fewer are there has lost its trailer."""
    if len(data) < length:
        return Body(data, "none", note=f"{len(data)} of {length} octets captured", **more)
    return Body(data[:length], trailer, **more)


_TAP_FCS, _TAP_RSS, _TAP_LQI = 0, 1, 10
_TAP_TRAILER = {0: "none", 1: "crc", 2: "crc32"}


def unwrap_tap(record: bytes) -> Body:
    """Link type 283: version, reserved, length (16 bits), then TLVs of type, length (16 bits each)
    and a value padded to four octets; all little-endian. Without a TLV of the FCS there is none."""
    if len(record) < 4:
        return Body(b"", "none", note="too short for a TAP header")
    version, _, length = struct.unpack_from("<BBH", record)
    if version != 0 or length < 4 or length > len(record):
        return Body(b"", "none", note=f"bad TAP header (version {version}, length {length})")
    trailer, rssi, lqi = "none", None, None
    at = 4
    while at + 4 <= length:
        kind, size = struct.unpack_from("<HH", record, at)
        value = record[at + 4:min(at + 4 + size, length)]
        at += 4 + (size + 3 & ~3)
        if len(value) < size:
            return Body(record[length:], trailer, rssi, lqi, "truncated TAP field")
        if kind == _TAP_FCS and size >= 1:
            trailer = _TAP_TRAILER.get(value[0], "none")
        elif kind == _TAP_RSS and size == 4:
            rssi = _decibel(struct.unpack("<f", value)[0])
        elif kind == _TAP_LQI and size >= 1:
            lqi = value[0]
    return Body(record[length:], trailer, rssi, lqi)


def _decibel(value: float) -> int | None:
    """A level in dBm as the signed octet that `meta.rssi` is; None for what no radio reports."""
    return round(value) if -128 <= value <= 127 else None


def unwrap_zep(payload: bytes) -> Body | None:
    """ZigBee Encapsulation Protocol, versions 1 to 3, the payload of a UDP datagram to or from port
    17754: `EX`, version, header, length, frame. None where it is something else. Version 2 begins
    as version 1 but for a type (1 data, 2 acknowledgement); version 3 uses some reserved octets."""
    if payload[:2] != b"EX" or len(payload) < 4:
        return None
    version = payload[2]
    if version == 1 and len(payload) >= 16:
        mode, lqi, length, start = payload[6], payload[7], payload[15], 16
    elif version in (2, 3) and payload[3] == 1 and len(payload) >= 32:
        mode, lqi, length, start = payload[7], payload[8], payload[31], 32
    else:
        return None
    # Mode 1: the frame ends in its FCS; mode 0: in TI's RSSI and correlation.
    return _cut(payload[start:], length & 0x7F, "crc" if mode else "ti", lqi=lqi if not mode else None)


def unwrap_ethernet(record: bytes) -> Body:
    """Link type 1: a ZEP datagram inside, or else the Ethernet frame as it is."""
    try:
        packet = dpkt.ethernet.Ethernet(record).data
    except Exception:  # dpkt raises its own errors, but not only those, on malformed octets
        packet = None
    return _zep_inside(packet) or Body(record, "none", note="Ethernet, no ZEP", linktype=ETHERNET)


def unwrap_raw_ip(record: bytes) -> Body:
    """Link types 101 and 228: a ZEP datagram inside, or else the datagram as it is."""
    if record[:1] and record[0] >> 4 == 6:
        return unwrap_raw_ipv6(record)
    return _zep_in(dpkt.ip.IP, record) or Body(record, "none", note="no IPv6 datagram, and no ZEP in it", linktype=RAW_IP)


def unwrap_raw_ipv6(record: bytes) -> Body:
    """Link type 229: a ZEP datagram inside, or else the datagram as it is, whether its length is right or not: that is for programs to judge, which take datagrams, too."""
    return _zep_in(dpkt.ip6.IP6, record) or Body(record, "none", linktype=RAW_IPV6)


def _zep_in(datagram: Callable[[bytes], object], record: bytes) -> Body | None:
    try:
        return _zep_inside(datagram(record))
    except Exception:  # as above
        return None


def _zep_inside(packet: object) -> Body | None:
    udp = getattr(packet, "data", None)
    if isinstance(udp, dpkt.udp.UDP) and ZEP_PORT in (udp.sport, udp.dport):
        return unwrap_zep(bytes(udp.data))
    return None


UNWRAP: dict[int, Callable[[bytes], Body]] = {
    ETHERNET: unwrap_ethernet,
    RAW_IP: unwrap_raw_ip,
    228: unwrap_raw_ip,
    RAW_IPV6: unwrap_raw_ipv6,
    IEEE802154_WITHFCS: unwrap_withfcs,
    IEEE802154_NONASK_PHY: unwrap_nonask,
    IEEE802154_NOFCS: unwrap_nofcs,
    IEEE802154_TAP: unwrap_tap,
}
