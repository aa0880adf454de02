"""Real captures, where they are: as many frames as the list says, FCS as tshark found it."""

from __future__ import annotations

import csv
import shlex
from pathlib import Path

import pytest

from lpn.runtime.capture import read

CAPTURES = Path(__file__).parents[2] / "shared" / "captures"


def table(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


MANIFEST = table(CAPTURES / "MANIFEST.tsv") if CAPTURES.is_dir() else []

pytestmark = pytest.mark.skipif(not MANIFEST, reason="../shared/captures is not here")


def options(row: dict[str, str]) -> str:
    """The reader's `fcs` that says the same as the options given to tshark."""
    return "ti" if "TI CC24xx" in " ".join(shlex.split(row["tshark_opts"])) else "crc"


@pytest.mark.parametrize("row", MANIFEST, ids=lambda row: row["file"])
def test_frames_and_fcs_are_tsharks(row):
    path = CAPTURES / row["file"]
    frames = list(read(path, options(row)))
    assert len(frames) == int(row["frames"])
    assert frames == list(read(path, "auto"))
    expected = table(CAPTURES / "expected" / (path.stem + ".tsv"))
    assert [f.number for f in frames] == [int(e["frame.number"]) for e in expected]
    for frame, want in zip(frames, expected):
        # tshark says 1 where there is no FCS, and nothing where the frame ends before it looks.
        if frame.fcs_ok is not None and want["wpan.fcs_ok"]:
            assert frame.fcs_ok == (want["wpan.fcs_ok"] == "1"), frame
        if want["wpan.rssi"]:
            assert frame.rssi == int(want["wpan.rssi"]), frame


def test_every_generated_capture_reads_without_a_word():
    for path in sorted((CAPTURES / "rfc6282").glob("*.pcap")):
        assert list(read(path)), path
