"""The reference interpreter against captures with known answers: RFC 6282's corners, and real traffic as tshark reads it."""
from __future__ import annotations

import corpus
import pytest
from programs import example

from lpn.lang import tables
from lpn.lang.reference import Reference, Result, State


def captures(*names: str):
    """A parameter for each capture; those that are not here are skipped."""
    return pytest.mark.parametrize("capture", [
        pytest.param(name, marks=pytest.mark.skipif(not corpus.here(name), reason=corpus.ABSENT)) for name in names])


class Engine:
    """The reference interpreter with a capture's contexts."""

    def __init__(self, name: str, capture: str) -> None:
        self.reference = Reference(example(name))
        self.state: State = self.reference.state(tables.from_json(corpus.tables_for(capture), self.reference.program))

    def run(self, frame: bytes, meta: dict[str, int]) -> Result:
        return self.reference.run(frame, meta, self.state)


@captures(*corpus.RFC_FILES)
def test_every_corner_of_rfc_6282(capture):
    comparison = corpus.compare(Engine("decompress/decompress", capture), capture)
    assert sum(comparison.compared.values()) > 30
    # C1: the UDP checksum is computed, as for a receiver that knows of an integrity check.
    assert not comparison.wrong("RFC", "C1", "SANE"), comparison.wrong("RFC", "C1", "SANE")[0]
    # Where the RFC is silent, the datagram is dropped or is one of the readings: four IPv6 headers whose length and
    # frame disagree, five datagrams with more extension headers than the program has room for.
    assert {each.got.split()[1] for each in comparison.differences} <= {"Ipv6.length", "StackOutOfBounds"}
    assert len(comparison.differences) == {"ipv6_raw": 4, "nhc_ext": 5}.get(capture, 0)


@captures(*corpus.OWN_FILES, *corpus.REAL_FILES)
def test_real_traffic_as_tshark_reads_it(capture):
    comparison = corpus.compare(Engine("decompress/decompress", capture), capture, limit=3000)
    assert not comparison.differences, comparison.differences[0]


@captures("riot_6lowpan", "plugtest_hc", "nhc_udp", "iphc_base", "ctx")
def test_compare_finds_an_engine_that_is_wrong(capture):
    class Wrong(Engine):
        def run(self, frame: bytes, meta: dict[str, int]) -> Result:
            result = super().run(frame, meta)
            out = bytearray(result.out or bytes(8))
            out[7] ^= 1                         # the hop limit
            return Result(result.verdict, result.reason, out=bytes(out))

    comparison = corpus.compare(Wrong("decompress/decompress", capture), capture)
    accepted = [answer for _, answer in corpus.frames_of(capture) if not isinstance(answer, str) and answer.accept]
    assert len(accepted) > 20
    assert len(comparison.differences) == len(accepted)


# ---------------------------------------------------------------- and back again

@captures(*corpus.OWN_FILES, *corpus.RFC_FILES, *corpus.REAL_FILES)
def test_recompressed_frames_mean_the_same_and_are_not_longer(capture):
    expand, compress = Engine("decompress/decompress", capture), Engine("decompress/recompress", capture)
    for number, (frame, answer) in enumerate(corpus.frames_of(capture)):
        if number == 600:
            break
        datagram, shortest = expand.run(frame.data, {}), compress.run(frame.data, {})
        if datagram.verdict != "ACCEPT":
            assert (shortest.verdict, shortest.reason) == ("DROP", datagram.reason)
            continue
        assert shortest.out is not None, (frame.number, shortest)
        assert expand.run(shortest.out, {}).out == datagram.out, frame.number
        assert compress.run(shortest.out, {}).out == shortest.out, frame.number
        # An elided UDP checksum is written out: no one here knows of an integrity check that replaces it.
        elided = not isinstance(answer, str) and answer.strength in ("C1", "OPEN")
        assert len(shortest.out) <= len(frame.data) + 2 * elided, frame.number
