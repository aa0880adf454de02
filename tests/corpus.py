"""The captures with known answers, and the comparison of any engine with them.

`engine.run(frame, meta)` gives a result with `verdict`, `reason` and `out`; the engine runs `examples/decompress` (or a
program that gives the same datagrams) and has the contexts of `tables_for(capture)`. Only the project's own recordings
are part of it; `CAPTURES` is None where the others are absent, and `here(capture)` says whether one can be read.
"""
from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from lpn.runtime import capture as captures
from lpn.runtime.capture import Frame

_EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
_SHARED = Path(__file__).resolve().parents[2] / "shared" / "captures"
CAPTURES = _SHARED if _SHARED.is_dir() else None
ABSENT = "the captures (../shared/captures) are not here"

# The largest PHY payload of IEEE 802.15.4 (aMaxPhyPacketSize), without the FCS.
MAX_FRAME = 125

# The project's own recordings of RIOT nodes, with the contexts they use.
OWN_FILES = {"riot_6lowpan": ("decompress", "decompress/contexts.json"), "riot_udp": ("udp", None)}
# Files of generated frames, one for every corner of RFC 6282; `frag` needs reassembly.
RFC_FILES = ("ctx", "dispatch", "iphc_all", "iphc_base", "iphc_mcast", "iphc_ucast", "ipv6_raw", "l2", "mesh",
             "nhc_ext", "nhc_udp", "trunc", "upper")
# Files of real traffic with 6LoWPAN in it.
REAL_FILES = ("rpl_collect_cooja", "dtls_rpl_frag_a", "plugtest_hc", "echo_raw_vs_iphc", "openwsn_zep_raw",
              "zep_eth_single", "thread_commissioning", "thread_sed", "tsch_6tisch", "zigbee_control4", "zigbee_hue_tap",
              "mac_mle_vectors", "tcpdump_154_malformed")


class Engine(Protocol):
    """What is compared: anything that runs a frame."""

    def run(self, frame: bytes, meta: dict[str, int]) -> Any:
        ...


@dataclass(frozen=True)
class Expectation:
    """What the frame means. strength: see the captures' README; `alternative`: as right, where the RFC is silent."""

    accept: bool
    datagram: bytes | None
    strength: str
    why: str
    alternative: bytes | None = None

    def met_by(self, result: Any) -> bool:
        if result.verdict != "ACCEPT":
            return not self.accept and result.verdict == "DROP"
        return self.accept and result.out == self.datagram

    def allows(self, result: Any) -> bool:
        """For strength OPEN: any reading but a third datagram."""
        return result.verdict == "DROP" or result.out in (self.datagram, self.alternative)


@dataclass(frozen=True)
class Uncompressed:
    """An IPv6 datagram of `size` octets behind dispatch 41, at the frame's end."""

    size: int

    def expectation(self, data: bytes) -> Expectation:
        whole = data[-self.size - 1:]
        if len(whole) == self.size + 1 and whole[0] == 0x41:
            return Expectation(True, whole[1:], "tshark", "uncompressed")
        return Expectation(False, None, "SANE", "payload length and frame do not agree")


Answer = Expectation | Uncompressed | str


@dataclass(frozen=True)
class Difference:
    frame: int
    strength: str
    why: str
    expected: str
    got: str

    def __str__(self) -> str:
        return f"frame {self.frame} ({self.strength}) {self.why}\n  expected {self.expected}\n  got      {self.got}"


@dataclass
class Comparison:
    """Frames compared and equal, by strength; what differs."""

    capture: str
    frames: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    compared: Counter[str] = field(default_factory=Counter)
    equal: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)

    def __str__(self) -> str:
        parts = [f"{each} {self.equal[each]}/{self.compared[each]}" for each in sorted(self.compared)]
        skipped = [f"{reason} {count}" for reason, count in sorted(self.skipped.items())]
        return f"{self.capture}: {self.frames} frames; equal {', '.join(parts) or 'none compared'}" + (
            f"; not compared: {', '.join(skipped)}" if skipped else "")

    def wrong(self, *strengths: str) -> list[Difference]:
        return [each for each in self.differences if not strengths or each.strength in strengths]


def here(name: str) -> bool:
    return name in OWN_FILES or CAPTURES is not None


def path_of(name: str) -> Path:
    """The file of the capture `name`."""
    if name in OWN_FILES:
        return _EXAMPLES / OWN_FILES[name][0] / "captures" / f"{name}.pcap"
    assert CAPTURES is not None
    generated = CAPTURES / "rfc6282" / f"{name}.pcap"
    return generated if name in RFC_FILES or name == "frag" else CAPTURES / f"{name}.pcap"


def tables_for(name: str) -> dict:
    """The contexts that the answers of the capture assume, as a tables file."""
    if name in OWN_FILES:
        file = OWN_FILES[name][1]
        return json.loads((_EXAMPLES / file).read_text()) if file else {}
    assert CAPTURES is not None
    if name in RFC_FILES or name == "frag":
        options = (CAPTURES / "rfc6282" / "TSHARK_OPTS.txt").read_text()
    else:
        manifest = rows(CAPTURES / "MANIFEST.tsv")
        options = next(row["tshark_opts"] or "" for row in manifest if row["file"] == f"{name}.pcap")
    found = re.findall(r"6lowpan\.context(\d+):([0-9a-f:]+)/(\d+)", options)
    return {"contexts": {number: {"prefix": prefix, "length": int(length)} for number, prefix, length in found}}


def frames_of(name: str) -> Iterator[tuple[Frame, Expectation | str]]:
    """Every frame with what is expected of it, or a word that says why nothing is."""
    answers = _own(name) if name in OWN_FILES else _truth(name) if name in RFC_FILES else _tshark(name)
    for frame in captures.read(path_of(name)):
        if frame.fcs_ok is False:
            yield frame, "wrong FCS"            # the radio's job: the frame never reaches the program
        elif len(frame.data) > MAX_FRAME or frame.note:
            yield frame, frame.note or "longer than a frame can be"
        else:
            answer = answers.get(frame.number, "no answer")
            yield frame, answer.expectation(frame.data) if isinstance(answer, Uncompressed) else answer


def compare(engine: Engine, name: str, limit: int | None = None) -> Comparison:
    """Run the capture's frames (the first `limit`) and compare with the answers."""
    comparison = Comparison(name)
    for frame, expected in frames_of(name):
        if limit is not None and comparison.frames == limit:
            break
        comparison.frames += 1
        if isinstance(expected, str):
            comparison.skipped[expected] += 1
            continue
        result = engine.run(frame.data, {"rssi": frame.rssi or 0, "lqi": frame.lqi or 0})
        comparison.compared[expected.strength] += 1
        if expected.met_by(result):
            comparison.equal[expected.strength] += 1
            continue
        comparison.differences.append(Difference(
            frame.number, expected.strength, expected.why,
            f"{'accept' if expected.accept else 'reject'} {_hex(expected.datagram)}"
            + (f" or {_hex(expected.alternative)}" if expected.alternative else ""),
            f"{result.verdict} {result.reason or ''} {_hex(result.out)}"))
    return comparison


def _hex(data: bytes | None) -> str:
    return data.hex() if data else ""


def rows(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


def _truth(name: str) -> dict[int, Answer]:
    """The RFC's own answer, of the generated files."""
    assert CAPTURES is not None
    answers: dict[int, Answer] = {}
    for row in rows(CAPTURES / "rfc6282" / "expected" / f"{name}.truth.tsv"):
        answers[int(row["frame"])] = Expectation(
            row["verdict"] == "accept", bytes.fromhex(row["rfc"]) if row["rfc"] else None, row["strength"], row["reason"],
            bytes.fromhex(row["rfc_alt"]) if row["rfc_alt"] else None)
    return answers


def _own(name: str) -> dict[int, Answer]:
    """tshark's answer, of the project's recordings."""
    answers: dict[int, Answer] = {}
    for row in rows(path_of(name).with_suffix(".tshark.tsv")):
        whole = row["kind"] == "whole"
        answers[int(row["frame"])] = "fragment" if row["kind"] in ("first", "next") else Expectation(
            whole, bytes.fromhex(row["datagram"]) if whole else None, "tshark" if whole else "none", row["kind"])
    return answers


def _tshark(name: str) -> dict[int, Answer]:
    """tshark's answer, of the real traffic: the datagram it decompressed, or that there is none."""
    assert CAPTURES is not None
    folder = CAPTURES / "expected"
    datagrams = {int(row["frame.number"]): bytes.fromhex(row["hex"]) for row in rows(folder / f"{name}.bytes.tsv")
                 if row["data_source"] == "Decompressed 6LoWPAN IPHC"}
    answers: dict[int, Answer] = {}
    for row in rows(folder / f"{name}.tsv"):
        number = int(row["frame.number"])
        if row["6lowpan.frag.size"]:
            answers[number] = "fragment"
        elif number in datagrams:
            answers[number] = Expectation(True, datagrams[number], "tshark", "IPHC")
        elif row["6lowpan.pattern"] == "0x41" and row["ipv6.plen"]:
            outer = 1 if row["zep.version"] and row["ipv6.plen"].count(",") else 0     # ZEP's own IPv6 comes first
            answers[number] = Uncompressed(40 + int(row["ipv6.plen"].split(",")[outer]))
        else:
            answers[number] = Expectation(False, None, "none", "no 6LoWPAN datagram in the clear")
    return answers
