"""Properties of decompress.lpn and recompress.lpn, on frames drawn along their parsers."""
from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given, settings, strategies as st

from lpn.testing import protocol

CONTEXTS = json.loads(Path(__file__).with_name("contexts.json").read_text())
expand, compress = protocol("decompress.lpn", CONTEXTS), protocol("recompress.lpn", CONTEXTS)


@settings(max_examples=30)
@given(expand.packets())
def test_engines_agree(packet):
    expand.engines_agree(packet)


@settings(max_examples=30)
@given(compress.packets())
def test_engines_agree_on_compression(packet):
    compress.engines_agree(packet)


@settings(max_examples=30)
@given(expand.packets())
def test_bounds(packet):
    """IPv6 headers in full, four extension headers of 264 octets at most, UDP: the output buffer says how much is possible."""
    expand.bounds_hold(packet, 256 + len(packet))


@settings(max_examples=30)
@given(compress.packets())
def test_a_frame_gets_no_longer(packet):
    """Only a checksum that was elided is written out, in two octets."""
    result = compress.run(packet)
    assert result.out is None or len(result.out) <= len(packet) + 2


@settings(max_examples=30)
@given(st.one_of(compress.valid(), compress.nearly_valid()))
def test_recompressed_frames_mean_the_same(packet):
    datagram, shortest = expand.run(packet), compress.run(packet)
    if datagram.verdict != "ACCEPT":
        assert (shortest.verdict, shortest.reason) == ("DROP", datagram.reason)
        return
    assert expand.run(shortest.out).out == datagram.out
    assert compress.run(shortest.out).out == shortest.out
