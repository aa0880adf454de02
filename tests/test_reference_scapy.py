"""scapy as an independent judge of the formats, where it is right (it has no contexts and swaps ECN and DSCP)."""
from __future__ import annotations

import pytest
from hypothesis import assume, given, strategies as st
from programs import lossless, program
from strategies import numbers, valid
from test_reference_laws import TO_IPHC, datagrams

from lpn.lang.reference import Reference

scapy = pytest.importorskip("scapy.all", reason="scapy is not here")
from scapy.config import conf  # noqa: E402
from scapy.layers.dot15d4 import Dot15d4, Dot15d4Data  # noqa: E402
from scapy.layers.inet import UDP  # noqa: E402
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, \
    PadN, Raw, RouterAlert  # noqa: E402

addresses = numbers(128).map(lambda number: ":".join(f"{number:032x}"[at:at + 4] for at in range(0, 32, 4)))
bodies = st.binary(max_size=40)


@pytest.fixture(autouse=True)
def sixlowpan():
    before, conf.dot15d4_protocol = conf.dot15d4_protocol, "sixlowpan"
    yield
    conf.dot15d4_protocol = before


def header(frame: bytes, kind: str, imports: str):
    """The first header of a frame as the reference extracts it."""
    run = Reference(program(lossless({"x": kind}, imports))).prepare(frame, None, None)
    instance = run.headers.fields["x"]
    instance.extract(run.packet)
    return instance, run.packet.payload


@given(valid(program(lossless({"x": "Mhr"}, "ieee802154")), fixed={"x": {"version": 0, "frame_type": 1, "security": 0}}))
def test_mac_headers(frame):
    instance, size = header(frame, "Mhr", "ieee802154")
    fields = {item.name: instance.read(item) for item in instance.header.fields()}
    arms = {choice.name: value for choice, (_, value) in instance.arms.items()}
    other = Dot15d4(frame)
    assert (other.fcf_frametype, other.fcf_pending, other.fcf_ackreq, other.fcf_panidcompress) == tuple(
        fields[name] for name in ("frame_type", "pending", "ack_request", "pan_compression"))
    assert (other.fcf_destaddrmode, other.fcf_srcaddrmode, other.seqnum) == tuple(
        fields[name] for name in ("dst_mode", "src_mode", "seq"))
    assume(Dot15d4Data in other and fields["dst_mode"])     # scapy always reads a destination's PAN
    data = other[Dot15d4Data]
    assert (data.dest_panid, data.dest_addr) == (fields["dst_pan"], arms["dst"])
    assert data.src_addr == arms.get("src")
    assert len(bytes(data.payload)) == len(frame) - size


CHANGED = """processor P(inout headers h, inout meta m) {{ apply {{ h.x.{0} = h.x.{0}; }} }} deparser"""


def recomputed(headers: dict[str, str], imports: str, field: str) -> Reference:
    """A program that computes the equations of `x` anew."""
    text = lossless(headers, imports).replace("deparser", CHANGED.format(field)).replace("Rx -> Tx", "Rx -> P -> Tx")
    return Reference(program(text))


@given(addresses, addresses, numbers(16), numbers(16), bodies, numbers(16))
def test_udp_checksums(source, target, sport, dport, body, wrong):
    datagram = bytes(IPv6(src=source, dst=target) / UDP(sport=sport, dport=dport) / Raw(body))
    udp = recomputed({"ip": "Ipv6", "x": "Udp(ip)"}, "udp", "src")
    assert udp.run(datagram[:46] + wrong.to_bytes(2, "big") + datagram[48:]).out == datagram


@given(addresses, addresses, bodies, numbers(16))
def test_icmpv6_checksums(source, target, body, wrong):
    datagram = bytes(IPv6(src=source, dst=target) / ICMPv6EchoRequest(data=body))
    icmp = recomputed({"ip": "Ipv6", "x": "Icmpv6(ip)"}, "icmpv6", "code")
    assert icmp.run(datagram[:42] + wrong.to_bytes(2, "big") + datagram[44:]).out == datagram


@given(st.sampled_from([IPv6ExtHdrHopByHop(options=[RouterAlert()]), IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0" * 20)]),
                        IPv6ExtHdrFragment(offset=5, m=1, id=77)]), addresses, bodies)
def test_extension_headers(extension, source, body):
    datagram = bytes(IPv6(src=source) / extension / UDP() / Raw(body))
    instance, size = header(datagram[40:], "Ipv6Ext", "ipv6")
    assert (size, instance.read(instance.header.fields()[0])) == (len(datagram) - 40 - 8 - len(body), 17)
    assert Reference(program(lossless({"ip": "Ipv6", "ext": "Ipv6Ext"}, "ipv6"))).run(datagram).out == datagram


@given(st.one_of(*(datagrams(version=1, frame_type=1, security=0, dst_mode=mode) for mode in (2, 3))))
def test_compressed_headers_are_read_by_scapy_as_they_were(frame):
    compress = Reference(program(TO_IPHC))
    _, size = header(frame, "Mhr", "ieee802154")
    datagram = b"\x60\0\0\0" + frame[size + 4:size + 6] + b"\xfd" + frame[size + 7:]
    short = compress.run(frame[:size] + datagram).out       # no contexts
    assert short is not None
    other = Dot15d4(short)[IPv6]
    assert bytes(other)[:40] == datagram[:40]
    assert bytes(other.payload) == datagram[40:]
