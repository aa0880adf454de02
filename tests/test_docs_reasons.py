"""What the examples' READMEs say is dropped: a frame for each reason, all of them and no others."""
from __future__ import annotations

import re

import pytest
from programs import ROOT, example

from lpn.lang.reference import Reference

MAC = bytes.fromhex("61dc5e2300020000004e504c02010000004e504c02")       # data, both addresses extended
IPHC = bytes.fromhex("7e33")                                            # NHC next, hop limit 64, addresses elided
NHC_UDP = bytes.fromhex("f321bb71")
IP = bytes.fromhex("60000000000c1140fe80000000000000004c504e00000001fe80000000000000004c504e00000002")
UDP = bytes.fromhex("f0b2f0b1000cbb71")
DATA = b"abcd"
GOOD = MAC + IPHC + NHC_UDP + DATA
WHOLE = MAC + b"\x41" + IP + UDP + DATA


def changed(frame: bytes, at: int, value: int) -> bytes:
    return frame[:at] + bytes([value]) + frame[at + 1:]


FRAMES = {
    "PacketTooShort": [GOOD[:end] for end in range(len(MAC + IPHC + NHC_UDP))],
    "NotData": [changed(GOOD, 0, 0x60), changed(GOOD, 0, 0x62), changed(GOOD, 0, 0x63)],
    "Mhr.frame_type": [changed(GOOD, 0, 0x64)],
    "Mhr.version": [changed(GOOD, 1, 0xFC)],
    "Mhr.dst_mode": [changed(GOOD, 1, 0xD4)],
    "Secured": [changed(GOOD, 0, 0x69)],
    "Fragment": [MAC + bytes.fromhex("c0500001") + GOOD[21:], MAC + bytes.fromhex("e050000105") + GOOD[21:]],
    "NotLowpan": [MAC + b"\0" + DATA, MAC + b"\x42" + DATA],
    "NoContext": [MAC + bytes.fromhex("7e77") + NHC_UDP + DATA],
    "NoLinkAddress": [bytes.fromhex("01005e") + GOOD[21:]],
    "Iphc.dam": [MAC + bytes.fromhex("7e3f") + NHC_UDP + DATA, MAC + bytes.fromhex("7e34") + NHC_UDP + DATA],
    "Ipv6.version": [changed(WHOLE, 22, 0x50)],
    "Ipv6.length": [changed(WHOLE, 27, 0x0D)],
}
ICMP, BAD_NHC = MAC + bytes.fromhex("7a333a85000000"), MAC + IPHC + b"\xd0" + DATA
EXTENSION, FIVE = MAC + IPHC + bytes.fromhex("e011020102") + UDP, MAC + IPHC + bytes.fromhex("e700") * 5 + NHC_UDP
ROUTED = MAC + IPHC + bytes.fromhex("e306030188000000f712") + DATA             # one segment is left, and the checksum elided
UDP_FRAMES = FRAMES | {
    "NotUdp": [ICMP, EXTENSION], "Udp.length": [changed(WHOLE, 67, 0x0B)], "BadChecksum": [changed(GOOD, 30, 0), GOOD[:25] + b"\0\0" + DATA]}
UDP_FRAMES["NotLowpan"] = [*FRAMES["NotLowpan"], MAC + bytes.fromhex("b5aaaabbbb") + GOOD[21:], MAC + bytes.fromhex("5001") + GOOD[21:]]
EXPAND_FRAMES = FRAMES | {"UnknownNhc": [BAD_NHC], "StackOutOfBounds": [FIVE], "Routed": [ROUTED]}


def written(page: str) -> list[str]:
    """The reasons that a README's table names."""
    text = (ROOT / page).read_text(encoding="utf-8").partition("| reason |")[2].partition("\n\n")[0]
    return [reason for line in text.splitlines()[2:] for reason in re.findall(r"`([^`]+)`", line.split("|")[1])]


@pytest.mark.parametrize("name, frames", [("udp/udp", UDP_FRAMES), ("decompress/decompress", EXPAND_FRAMES)])
def test_reasons(name, frames):
    reference = Reference(example(name))
    assert reference.run(GOOD).verdict in ("DELIVER", "ACCEPT") and reference.run(WHOLE).verdict in ("DELIVER", "ACCEPT")
    for reason, some in frames.items():
        for frame in some:
            result = reference.run(frame)
            assert (result.verdict, result.reason) == ("DROP", reason), frame.hex()
    assert sorted(written(f"examples/{name.partition('/')[0]}/README.md")) == sorted(frames)
