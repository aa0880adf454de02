"""Properties of udp.lpn, on packets drawn from its own descriptions; udp.test has the cases one by one."""
from __future__ import annotations

from hypothesis import given, settings, strategies as st

from lpn.testing import protocol

NODE = {"node_short": 2, "node_ext": 0x024C504E00000002, "node_pan": 0x23}
CONTEXTS = {"contexts": {"0": {"prefix": "2001:db8::", "length": 64}, "3": {"prefix": "2001:db8:0:3::", "length": 80}}}
p = protocol("udp.lpn", CONTEXTS, NODE)


@settings(max_examples=30)
@given(st.lists(p.packets(), max_size=3))
def test_engines_agree(packets):
    p.engines_agree(packets)


@settings(max_examples=30)
@given(p.packets())
def test_fused_is_the_same(packet):
    p.engines_agree(packet, fuse=True)


@settings(max_examples=30)
@given(p.valid())
def test_a_datagram_is_only_dropped_for_its_checksum(packet):
    p.never_drops(packet, {"BadChecksum"})


@settings(max_examples=30)
@given(st.lists(p.packets(), max_size=3))
def test_bounds(packets):
    """An echo has all headers of the request, its addresses perhaps in full: no more than 54 octets longer."""
    p.bounds_hold(packets, max(map(len, packets), default=0) + 54, {"Serve.echoed": range(4), "Serve.delivered": range(4)})


@settings(max_examples=30)
@given(p.valid())
def test_echoes_are_addressed_back(packet):
    asked, result = p.found(packet), p.run(packet)
    if result.verdict != "TRANSMIT":
        return
    answer = p.found(result.out)
    assert answer["ip.dst"] == asked["ip.src"] and answer["udp.dst"] == asked["udp.src"] and answer["udp.src"] == 7
    assert answer["payload"] == asked["payload"] and answer.get("mac.seq") == asked.get("mac.seq")
    assert p.run(result.out).reason != "BadChecksum"


@settings(max_examples=30)
@given(p.valid())
def test_headers_go_round(packet):
    """The deparser compresses as far as it can: what it writes is read as what was read before."""
    p.round_trip(packet, exact=False)
