"""The codecs of 6LoWPAN: they round-trip in every row, and what is compressed again means the same. The laws of all headers
and codecs of the library are in test_stdlib_laws.py."""
from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given, strategies as st
from programs import chain, example, lossless, program
from strategies import damaged, lowpan, numbers, payloads, valid

from lpn.lang import tables
from lpn.lang.reference import Reference, State

CONTEXTS = {"contexts": {
    "0": {"prefix": "aaaa::", "length": 64}, "2": {"prefix": "2001:db8:cafe::", "length": 48},
    "3": {"prefix": "2001:db8:0:5:aabb::", "length": 80}, "4": {"prefix": "2001:db8:6:7:1122:33ff:fe44:0", "length": 112},
    "9": {"prefix": "fd00:5:5:5::5", "length": 128}}}


def with_contexts(reference: Reference) -> State:
    return reference.state(tables.from_json(CONTEXTS, reference.program))


# ---------------------------------------------------------------- codecs

IPHC = dict(headers="Mhr mac; Ipv6 ip;", imports="ieee802154 sixlowpan ipv6")
FULL, SHORT = "pkt.extract(h.ip);", "bit<1> nhc; pkt.extract(h.ip via Iphc(mac_link(h.mac), nhc));"
TO_IPHC = chain(IPHC["headers"], f"state start {{ pkt.extract(h.mac); {FULL} transition accept; }}",
                "bit<1> nhc = 0; pkt.emit(h.mac); pkt.emit(h.ip via Iphc(mac_link(h.mac), nhc));", imports=IPHC["imports"])
FROM_IPHC = chain(IPHC["headers"], f"state start {{ pkt.extract(h.mac); {SHORT} transition accept; }}",
                  "pkt.emit(h.mac); pkt.emit(h.ip);", imports=IPHC["imports"])

EXT = dict(headers="Announced first; Ipv6Ext ext;", types="header Announced { bit<8> next_header; }")
TO_EXT = chain(EXT["headers"], "state start { pkt.extract(h.first); pkt.extract(h.ext); transition accept; }",
               "bit<1> nhc = 0; pkt.emit(h.first); pkt.emit(h.ext via ExtNhc(h.first.next_header, nhc));",
               EXT["types"], imports="sixlowpan ipv6")
FROM_EXT = chain(EXT["headers"], """state start { bit<1> nhc; pkt.extract(h.first);
                 pkt.extract(h.ext via ExtNhc(h.first.next_header, nhc)); transition accept; }""",
                 "pkt.emit(h.first); pkt.emit(h.ext);", EXT["types"], imports="sixlowpan ipv6")

UDP = "Ipv6 ip; Udp(ip) udp;"
TO_UDP = chain(UDP, "state start { pkt.extract(h.ip); pkt.extract(h.udp); transition accept; }",
               "Link none; bit<1> nhc = 1; pkt.emit(h.ip via Iphc(none, nhc)); pkt.emit(h.udp via UdpNhc());",
               imports="sixlowpan ipv6 udp")
FROM_UDP = chain(UDP, """state start { Link none; bit<1> nhc; pkt.extract(h.ip via Iphc(none, nhc));
                 pkt.extract(h.udp via UdpNhc()); transition accept; }""",
                 "pkt.emit(h.ip); pkt.emit(h.udp);", imports="sixlowpan ipv6 udp")


def iid(mode: int, address: int) -> int:
    return 0xFFFE00 << 16 | address if mode == 2 else address ^ 1 << 57


@st.composite
def addresses(draw, iids: list[int], multicast: bool) -> int:
    """IPv6 addresses that the rows of Iphc are for, and those next to them."""
    if multicast and draw(st.booleans()):
        scope = 0xFF << 120 | draw(numbers(8)) << 112
        return scope | draw(st.one_of(numbers(8), numbers(32), numbers(40), numbers(112),
                                      numbers(32).map(lambda group: 64 << 96 | 0xAAAA << 80 | group)))
    prefixes = [int(ipaddress.IPv6Address(each["prefix"])) for each in CONTEXTS["contexts"].values()]
    prefix = draw(st.sampled_from([0xFE80 << 112, 0, 0xFF02 << 112, *prefixes]))
    low = draw(st.one_of(st.sampled_from([0, *iids]), numbers(16).map(lambda n: 0xFFFE00 << 16 | n), numbers(64), numbers(16)))
    return draw(st.one_of(st.just(prefix), st.just(prefix | low), st.just(prefix >> 64 << 64 | low), st.just(prefix ^ 1 << 70 | low)))


@st.composite
def datagrams(draw, **mac_fields: int) -> bytes:
    """A MAC header, an IPv6 header that says the truth about its payload, the payload."""
    mac = draw(valid(program(lossless({"x": "Mhr"}, "ieee802154")), fixed={"x": mac_fields}))
    # Only the header is wanted: its own parser says where it ends.
    drawn = Reference(program(lossless({"x": "Mhr"}, "ieee802154"))).prepare(mac, {}, None)
    instance = drawn.headers.fields["x"]
    instance.extract(drawn.packet)
    mac = mac[:drawn.packet.payload]
    iids = [iid(arm.number, value) for arm, value in instance.arms.values()]
    payload = draw(payloads)
    first = 6 << 28 | draw(st.sampled_from([0, 1, 0x12345, 0xFFFFF])) | draw(st.sampled_from([0, 3, 0x2C, 0xFF, 0xFC])) << 20
    head = first << 32 | len(payload) << 16 | draw(numbers(8)) << 8 | draw(st.sampled_from([0, 1, 2, 64, 255]))
    source, target = draw(addresses(iids, False)), draw(addresses(iids, True))
    return mac + head.to_bytes(8, "big") + source.to_bytes(16, "big") + target.to_bytes(16, "big") + payload


@given(datagrams())
def test_iphc_expands_to_what_was_compressed(frame):
    compress, expand = Reference(program(TO_IPHC)), Reference(program(FROM_IPHC))
    short = compress.run(frame, {}, with_contexts(compress)).out
    assert short is not None and len(short) <= len(frame)
    assert expand.run(short, {}, with_contexts(expand)).out == frame


EXT_PROTOCOLS = [0, 43, 44, 60, 135]


@pytest.mark.parametrize("protocol", EXT_PROTOCOLS + [59, 17])
def test_extension_headers_expand_to_what_was_compressed(protocol):
    compress, expand = Reference(program(TO_EXT)), Reference(program(FROM_EXT))

    @given(valid(compress.program, fixed={"first": {"next_header": protocol}}))
    def check(frame: bytes) -> None:
        result = compress.run(frame)
        if protocol not in EXT_PROTOCOLS or (protocol == 44 and frame[2] != 0):
            assert result.reason == "ExtNhc.eid"            # a fragment header has eight octets (RFC 8200, 4.5)
            return
        assert result.out is not None
        assert expand.run(result.out).out == frame

    check()


@pytest.mark.parametrize("source, target, bits", [
    (0xF0B5, 0xF0BC, "f35c"), (0xF0B5, 0xF034, "f1f0b534"), (0xF034, 0x1234, "f2341234"), (0x1234, 0xF034, "f1123434"),
    (0xF100, 0xEFFF, "f0f100efff")])
def test_udp_ports_take_the_shortest_row(source, target, bits):
    compress, expand = Reference(program(TO_UDP)), Reference(program(FROM_UDP))

    @given(valid(compress.program, fixed={"ip": {"next_header": 17}, "udp": {"src": source, "dst": target}}))
    def check(frame: bytes) -> None:
        short = compress.run(frame).out
        assert short is not None and short.endswith(bytes.fromhex(bits) + frame[46:])
        assert expand.run(short).out == frame

    check()


# ---------------------------------------------------------------- frames

@given(lowpan(example("decompress/decompress")), st.data())
def test_recompressed_frames_mean_the_same(frame, data):
    frame = data.draw(st.one_of(st.just(frame), damaged(st.just(frame))))
    expand, compress = Reference(example("decompress/decompress")), Reference(example("decompress/recompress"))
    contexts, others = with_contexts(expand), with_contexts(compress)
    datagram, shortest = expand.run(frame, {}, contexts), compress.run(frame, {}, others)
    if datagram.verdict != "ACCEPT":
        assert (shortest.verdict, shortest.reason) == ("DROP", datagram.reason)
        return
    assert shortest.out is not None
    assert expand.run(shortest.out, {}, contexts).out == datagram.out
    assert compress.run(shortest.out, {}, others).out == shortest.out
    assert len(shortest.out) <= len(frame) + 2          # a checksum that was elided
