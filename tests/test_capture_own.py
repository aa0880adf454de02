"""The project's own recordings of RIOT nodes are what their README.md says."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from ipaddress import IPv6Network
from pathlib import Path

import pytest
from scapy.layers.inet6 import IPv6

from lpn.runtime.capture import read

EXAMPLES = Path(__file__).parents[1] / "examples"
UDP = EXAMPLES / "udp" / "captures"
DECOMPRESS = EXAMPLES / "decompress" / "captures"


@pytest.mark.parametrize("path, frames, damaged", [
    (UDP / "riot_udp.pcap", 277, [260, 276]), (DECOMPRESS / "riot_6lowpan.pcap", 280, [])],
    ids=lambda value: value.name if isinstance(value, Path) else "")
def test_frames_and_damage(path, frames, damaged):
    found = list(read(path))
    assert len(found) == frames
    assert [f.number for f in found if not f.fcs_ok] == damaged
    assert [f.time_us for f in found] == sorted(f.time_us for f in found)
    assert path.stat().st_size < 100_000


def dispatches(path: Path) -> set[str]:
    """The kinds of 6LoWPAN headers (RFC 4944, 5.1) behind a data frame's addresses."""
    kinds = set()
    for frame in read(path):
        if frame.fcs_ok and frame.data[0] & 7 == 1:
            fcf = int.from_bytes(frame.data[:2], "little")
            address = {0: 0, 2: 2, 3: 8}
            # A destination PAN and, because of PAN compression, no source PAN.
            assert fcf & 0x40
            octet = frame.data[3 + 2 + address[fcf >> 10 & 3] + address[fcf >> 14]]
            kinds.add({0b011: "iphc", 0b110: "frag1", 0b111: "fragn"}[octet >> 5])
    return kinds


def test_both_hold_whole_datagrams_and_fragments():
    for path in (UDP / "riot_udp.pcap", DECOMPRESS / "riot_6lowpan.pcap"):
        assert dispatches(path) == {"iphc", "frag1", "fragn"}


def test_contexts_are_prefixes():
    table = json.loads((DECOMPRESS.parent / "contexts.json").read_text())["contexts"]
    assert {int(i): IPv6Network(f"{c['prefix']}/{c['length']}") for i, c in table.items()} == {
        0: IPv6Network("2001:db8::/64"), 3: IPv6Network("2001:db8:0:3::/64")}


READINGS = [(UDP / "riot_udp.pcap", []), (DECOMPRESS / "riot_6lowpan.pcap", [DECOMPRESS.parent / "contexts.json"])]


def reading(path: Path) -> list[dict[str, str]]:
    with open(path.with_suffix(".tshark.tsv"), newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


@pytest.mark.parametrize("path", [path for path, _ in READINGS], ids=lambda path: path.name)
def test_tsharks_reading_is_of_these_frames(path):
    for frame, row in zip(read(path), reading(path), strict=True):
        assert (str(frame.number), frame.fcs_ok) == (row["frame"], row["fcs_ok"] == "1")
        assert (row["kind"] == "ack") == (frame.data[0] & 7 == 2)


@pytest.mark.parametrize("path", [path for path, _ in READINGS], ids=lambda path: path.name)
def test_scapy_finds_the_same_checksums_in_tsharks_datagrams(path):
    for row in reading(path):
        if row["srcport"]:
            datagram = bytes.fromhex(row["datagram"])
            fresh = IPv6(datagram)
            assert (fresh.sport, fresh.dport) == (int(row["srcport"]), int(row["dstport"]))
            del fresh.chksum
            assert (bytes(fresh) == datagram) == (row["udp_ok"] == "1")


@pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not here")
@pytest.mark.parametrize("path, contexts", READINGS, ids=lambda value: getattr(value, "name", ""))
def test_tshark_still_reads_them_so(path, contexts):
    done = subprocess.run([sys.executable, UDP / "expect.py", path, *contexts],
                          capture_output=True, text=True, check=True)
    assert done.stdout == path.with_suffix(".tshark.tsv").read_text(encoding="utf-8")


def test_recording_without_riot_says_so(tmp_path):
    environment = {k: v for k, v in os.environ.items() if k != "RIOTBASE"}
    done = subprocess.run([sys.executable, UDP / "record.py", tmp_path],
                          env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "record: skipped: set RIOTBASE to a checkout of RIOT\n")
    assert not list(tmp_path.iterdir())
