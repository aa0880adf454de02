"""Captures are read as tshark reads them, written whole or not at all, and refused in one line."""

from __future__ import annotations

import io
import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import dpkt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lpn.runtime import linktype as links
from lpn.runtime.capture import CaptureError, Frame, Writer, read, write

FRAME = bytes.fromhex("418801cdabffff0100") + b"payload"


def with_crc(frame: bytes) -> bytes:
    return frame + links.crc16(frame).to_bytes(2, "little")


def pcap(linktype: int, *records: bytes, order: str = "<", magic: int = 0xA1B2C3D4, fraction: int = 5) -> bytes:
    """A pcap file, made without the code under test."""
    out = struct.pack(order + "IHHIIII", magic, 2, 4, 0, 0, 65535, linktype)
    for record in records:
        out += struct.pack(order + "IIII", 7, fraction, len(record), len(record)) + record
    return out


def block(kind: int, body: bytes, order: str) -> bytes:
    body += bytes(-len(body) % 4)
    size = struct.pack(order + "I", 12 + len(body))
    return struct.pack(order + "I", kind) + size + body + size


def pcapng(order: str, *blocks: bytes) -> bytes:
    section = block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)
    return section + b"".join(blocks)


def interface(linktype: int, order: str, options: bytes = b"") -> bytes:
    return block(1, struct.pack(order + "HHI", linktype, 0, 65535) + options, order)


def packet(data: bytes, order: str, index: int = 0, ticks: int = 7_000_005) -> bytes:
    head = struct.pack(order + "IIIII", index, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data))
    return block(6, head + data, order)


@pytest.fixture
def load(tmp_path):
    """Read a capture from octets."""
    def _load(data: bytes, fcs: str = "auto") -> list[Frame]:
        path = tmp_path / "in.pcap"
        path.write_bytes(data)
        return list(read(path, fcs))
    return _load


def refusal(load, data: bytes) -> str:
    with pytest.raises(CaptureError) as error:
        load(data)
    assert "in.pcap: " in str(error.value) and "\n" not in str(error.value)
    return str(error.value).split("in.pcap: ")[1]


# The file formats


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("magic, fraction", [(0xA1B2C3D4, 5), (0xA1B23C4D, 5999)])
def test_pcap_of_either_byte_order_and_resolution(load, order, magic, fraction):
    frame, = load(pcap(195, with_crc(FRAME), order=order, magic=magic, fraction=fraction))
    assert frame == Frame(1, 7_000_005, FRAME, True)


@pytest.mark.parametrize("order", "<>")
def test_pcapng_of_either_byte_order(load, order):
    frame, = load(pcapng(order, interface(195, order), packet(with_crc(FRAME), order)))
    assert frame == Frame(1, 7_000_005, FRAME, True)


@pytest.mark.parametrize("order", "<>")
def test_pcapng_interfaces_have_their_own_link_type_and_clock(load, order):
    nano = struct.pack(order + "HHBxxx", 9, 1, 9) + struct.pack(order + "HHq", 14, 8, 2)
    frames = load(pcapng(order, interface(195, order), interface(230, order, nano), block(0xBAD, b"skip me", order),
                         packet(FRAME, order, 1, 5_000_000_999), packet(with_crc(FRAME), order, 0)))
    assert [(f.time_us, f.fcs_ok) for f in frames] == [(7_000_000, None), (7_000_005, True)]
    assert frames[0].data == frames[1].data == FRAME


def test_pcapng_simple_packet_block(load):
    frame, = load(pcapng("<", interface(230, "<"), block(3, struct.pack("<I", len(FRAME)) + FRAME, "<")))
    assert frame == Frame(1, 0, FRAME)


def test_a_record_cut_by_the_snap_length_has_no_fcs(load):
    data = pcap(195) + struct.pack("<IIII", 0, 0, 10, 18) + FRAME[:10]
    assert load(data) == [Frame(1, 0, FRAME[:10], None, note="10 of 18 octets captured")]


# The link types


def test_fcs_is_checked_and_taken_off(load):
    assert [f.fcs_ok for f in load(pcap(195, with_crc(FRAME), FRAME + b"??"))] == [True, False]
    assert load(pcap(195, b"1"))[0].note == "too short for a frame check sequence"
    assert load(pcap(195, FRAME), "none") == [Frame(1, 7_000_005, FRAME)]
    assert load(pcap(230, FRAME)) == [Frame(1, 7_000_005, FRAME)]


def test_crc16_is_the_one_of_802_15_4():
    """IEEE 802.15.4-2006, 7.2.1.9, gives the FCS of the acknowledgement 02 00 6a as e4 79 on the air."""
    assert with_crc(bytes.fromhex("02006a")).hex() == "02006ae479"


def test_ti_trailer(load):
    good, bad = FRAME + b"\xc4\xeb", FRAME + b"\xc4\x6b"
    assert load(pcap(195, good, bad), "ti") == [
        Frame(1, 7_000_005, FRAME, True, -60, 107), Frame(2, 7_000_005, FRAME, False, -60, 107)]


def test_auto_finds_the_ti_trailer_only_where_nothing_contradicts_it(load):
    ti = [FRAME + bytes([0xC4, 0x80 | i]) for i in range(8)]
    assert all(f.fcs_ok and f.rssi == -60 for f in load(pcap(195, *ti)))
    assert not any(f.fcs_ok for f in load(pcap(195, *ti[:7])))
    assert [f.fcs_ok for f in load(pcap(195, with_crc(FRAME), *ti))] == [True] + [False] * 8


def test_non_ask_phy(load):
    psdu = with_crc(FRAME)
    head = b"\0\0\0\0\xa7" + bytes([len(psdu)])
    frames = load(pcap(215, head + psdu + b"beyond", head + psdu[:-1], b"\0\0\0\0\xa6\1?", b"\0\0"))
    assert frames[0] == Frame(1, 7_000_005, FRAME, True)
    assert [f.fcs_ok for f in frames[1:]] == [None] * 3
    assert [f.note for f in frames[1:]] == [
        "17 of 18 octets captured", "start-of-frame delimiter 0xa6, not 0xa7", "too short for a PHY header"]


def tap(body: bytes, *fields: tuple[int, bytes]) -> bytes:
    tlvs = b"".join(struct.pack("<HH", kind, len(v)) + v + bytes(-len(v) % 4) for kind, v in fields)
    return struct.pack("<BBH", 0, 0, 4 + len(tlvs)) + tlvs + body


def test_tap_header(load):
    channel, rss, lqi = (3, b"\x0b\0\0"), (1, struct.pack("<f", -70.4)), (10, b"\x50")
    crc32 = zlib.crc32(FRAME).to_bytes(4, "little")
    frames = load(pcap(283, tap(with_crc(FRAME), (0, b"\1"), channel, rss, lqi), tap(FRAME, (0, b"\0")), tap(FRAME),
                       tap(FRAME + crc32, (0, b"\2")), tap(FRAME + b"????", (0, b"\2"))))
    assert frames[0] == Frame(1, 7_000_005, FRAME, True, -70, 80)
    assert [(f.data, f.fcs_ok) for f in frames[1:]] == [(FRAME, x) for x in (None, None, True, False)]


@pytest.mark.parametrize("record", [b"", b"\0\0\x08", b"\1\0\4\0", b"\0\0\xff\0", b"\0\0\0\0", b"\0\0\x08\0\0\0\x09\0"])
def test_bad_tap_header_is_a_note(load, record):
    assert "TAP" in load(pcap(283, record))[0].note


def zep(version: int, mode: int, frame: bytes, length: int | None = None) -> bytes:
    length = len(frame) if length is None else length
    if version == 1:
        return b"EX\1" + bytes([26, 0, 1, mode, 9]) + bytes(7) + bytes([length]) + frame
    return b"EX" + bytes([version, 1, 26, 0, 1, mode, 9]) + bytes(22) + bytes([length]) + frame


def udp6(payload: bytes, port: int = 17754) -> bytes:
    datagram = struct.pack("!HHHH", 50000, port, 8 + len(payload), 0) + payload
    return struct.pack("!IHBB", 0x60000000, len(datagram), 17, 64) + bytes(15) + b"\1" + bytes(15) + b"\1" + datagram


def udp4(payload: bytes) -> bytes:
    datagram = struct.pack("!HHHH", 50000, 17754, 8 + len(payload), 0) + payload
    return struct.pack("!BBHIBBH", 0x45, 0, 20 + len(datagram), 0, 64, 17, 0) + b"\x7f\0\0\1" * 2 + datagram


@pytest.mark.parametrize("version", [1, 2, 3])
def test_zep_in_ip_and_in_ethernet(load, version):
    crc, ti = zep(version, 1, with_crc(FRAME)), zep(version, 0, FRAME + b"\xc4\xeb")
    for packets in (load(pcap(101, udp6(crc), udp6(ti))), load(pcap(101, udp4(crc), udp4(ti))),
                    load(pcap(1, bytes(12) + b"\x86\xdd" + udp6(crc), bytes(12) + b"\x08\0" + udp4(ti)))):
        assert packets == [Frame(1, 7_000_005, FRAME, True), Frame(2, 7_000_005, FRAME, True, -60, 107)]


def test_what_is_not_zep_stays_as_it_is(load):
    other = udp6(zep(2, 1, with_crc(FRAME)), port=17755)
    for datagram in (other, other[:-1], other + b"x", other[:20]):      # whether it is whole is for programs to say
        assert load(pcap(101, datagram)) == load(pcap(229, datagram)) == [Frame(1, 7_000_005, datagram, linktype=229)]
    assert load(pcap(229, b"\x45")) == [Frame(1, 7_000_005, b"\x45", linktype=229)]
    for linktype in (101, 228):
        assert load(pcap(linktype, b"\x45" + bytes(19))) == [Frame(1, 7_000_005, b"\x45" + bytes(19), note="no IPv6 datagram, and no ZEP in it", linktype=101)]
    assert load(pcap(1, b"short")) == [Frame(1, 7_000_005, b"short", note="Ethernet, no ZEP", linktype=1)]


def test_zep_length_beyond_the_datagram(load):
    frame, = load(pcap(101, udp6(zep(2, 1, FRAME, 100))))
    assert (frame.data, frame.fcs_ok, frame.note) == (FRAME, None, "16 of 100 octets captured")


# What is refused


def test_missing_file_and_folder(tmp_path):
    for path, reason in ((tmp_path / "none.pcap", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(CaptureError, match=f"^{path}: {reason}"):
            list(read(path))


def test_not_a_capture(load):
    assert refusal(load, b"") == "empty file, not a capture"
    assert refusal(load, b"PK\3\4 something") == "not a capture (neither pcap nor pcapng)"
    assert refusal(load, b"\xd4\xc3\xb2\xa1\2\0") == "file header is truncated: 6 of 24 octets"


def test_unknown_link_type_is_named(load):
    assert refusal(load, pcap(113)) == "link type 113 (Linux cooked capture) is not supported"
    assert refusal(load, pcap(999)) == "link type 999 is not supported"
    for version in ((65535, 65535), (1, 2), (0, 4)):
        data = bytearray(pcap(230, b"x"))
        struct.pack_into("<HH", data, 4, *version)
        assert refusal(load, bytes(data)) == f"pcap version {version[0]}.{version[1]} is not supported, 2.4 is"


@pytest.mark.parametrize("cut, reason", [(1, "15 of 16"), (len(FRAME) + 3, "13 of 16")])
def test_truncated_last_record_comes_after_the_frames_before_it(tmp_path, cut, reason):
    path = tmp_path / "in.pcap"
    path.write_bytes(pcap(230, FRAME, FRAME)[:-cut])
    frames = read(path)
    assert next(frames) == Frame(1, 7_000_005, FRAME)
    with pytest.raises(CaptureError, match=f"in.pcap: record 2 is truncated: {reason} octets$"):
        next(frames)


def test_impossible_lengths(load):
    record = struct.pack("<IIII", 0, 0, 0xFFFFFFF0, 0xFFFFFFF0)
    assert refusal(load, pcap(195) + record) == "record 1 has an impossible length of 4294967280 octets"
    assert "impossible length" in refusal(load, pcapng("<", struct.pack("<II", 6, 8)))
    assert "not described" in refusal(load, pcapng("<", packet(FRAME, "<")))
    assert "truncated" in refusal(load, pcapng("<", interface(230, "<"), packet(FRAME, "<")[:-3]))


@given(st.binary(max_size=200))
@example(pcapng("<", block(1, b"", "<")))
@example(pcapng("<", interface(230, "<"), block(6, b"", "<")))
@example(pcapng("<", interface(230, "<"), block(3, b"", "<")))
def test_any_octets_give_frames_or_a_capture_error(tmp_path_factory, octets):
    path = tmp_path_factory.getbasetemp() / "any.pcap"
    for data in (octets, pcap(195) + octets, pcapng("<", interface(195, "<")) + octets,
                 *(pcap(kind, octets) for kind in links.UNWRAP), pcap(101, udp6(octets)),
                 pcap(101, udp6(b"EX" + octets)), pcapng(">", interface(283, ">"), block(6, octets, ">"))):
        path.write_bytes(data)
        try:
            for frame in read(path):
                assert isinstance(frame.data, bytes)
        except CaptureError:
            pass


# Writing


frames_lists = st.lists(st.builds(Frame, st.just(0), st.integers(0, (1 << 32) * 10**6 - 1), st.binary(max_size=300)))


@given(frames_lists, st.sampled_from([195, 230]))
def test_what_is_written_is_read_back(tmp_path_factory, frames, linktype):
    path = tmp_path_factory.getbasetemp() / "round.pcap"
    assert write(path, frames, linktype) == len(frames)
    back = list(read(path))
    assert [(f.time_us, f.data) for f in back] == [(f.time_us, f.data) for f in frames]
    assert {f.fcs_ok for f in back} <= {True if linktype == 195 else None}
    with open(path, "rb") as stream:  # and by an independent reader
        assert [len(data) for _, data in dpkt.pcap.Reader(stream)] == \
            [len(f.data) + (2 if linktype == 195 else 0) for f in frames]


def test_the_file_appears_whole_or_not_at_all(tmp_path):
    path = tmp_path / "out.pcap"
    path.write_bytes(b"before")
    with pytest.raises(RuntimeError), Writer(path) as writer:
        writer.add(FRAME)
        raise RuntimeError
    assert path.read_bytes() == b"before"
    with Writer(path) as writer:
        writer.add(FRAME)
        assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["out.pcap"]
    assert [f.data for f in read(path)] == [FRAME]


def test_links_and_devices_are_written_through(tmp_path):
    target, link = tmp_path / "target.pcap", tmp_path / "link.pcap"
    link.symlink_to(target)
    write(link, [Frame(1, 0, FRAME)])
    assert link.is_symlink() and len(list(read(target))) == 1
    write("/dev/null", [Frame(1, 0, FRAME)])
    assert not Path("/dev/null").is_file()


def test_unwritable_place_is_one_line(tmp_path):
    path = tmp_path / "none" / "out.pcap"
    with pytest.raises(CaptureError, match=f"^{path}: No such file or directory$"):
        write(path, [])


def test_standard_streams():
    copy = "from lpn.runtime.capture import *; write('-', read('-'))"
    data = pcap(230, FRAME, FRAME)
    done = subprocess.run([sys.executable, "-c", copy], input=data, capture_output=True, check=True)
    assert [bytes(r) for _, r in dpkt.pcap.Reader(io.BytesIO(done.stdout))] == [FRAME, FRAME]
    done = subprocess.run([sys.executable, "-c", copy], input=b"no", capture_output=True, check=False)
    assert done.returncode and b"standard input: not a capture" in done.stderr
