"""std.sixlorh: the codec writes what RFC 8138 says of each option, and a parser finds its way through routing headers in front of a datagram."""
from __future__ import annotations

import pytest
from programs import program

from lpn.compiler.runner import make_runner

RPI = """
import std.sixlorh;
struct headers { RplHopOption plain; RplHopOption rpi; }
parser Rx(packet pkt, out headers h) {
    state start { transition select(pkt.lookahead<bit<3>>()) { 0b100: packed; default: plain; } }
    state plain  { pkt.extract(h.plain); transition accept; }
    state packed { pkt.extract(h.rpi via Rpi(RplHopType.skips)); transition accept; }
}
deparser Tx(packet pkt, in headers h) { pkt.emit(h.rpi); pkt.emit(h.plain via Rpi(RplHopType.skips)); }
protocol Both version 1 { on radio.rx_done : Rx -> Tx; }
"""
LORH = """
import std.sixlorh;
import std.sixlowpan;
struct headers { Paging page; RpiLorh rpi; SrhLorh[2] route; IpInIpLorh outer; Ipv6 ip; }
parser Rx(packet pkt, out headers h) {
    state start { pkt.extract(h.page); verify(h.page.page == LORH_PAGE, error.NotLowpan); transition next; }
    state next max 8 {
        transition select(pkt.lookahead<bit<16>>()) {
            0x8005 &&& 0xe0ff: rpi;
            0x8000 &&& 0xe0f8: route;
            0x8000 &&& 0xe000: reject(error.UnknownLorh);
            0xa006 &&& 0xe0ff: outer;
            0xa000 &&& 0xe000: other;
            0x6000 &&& 0xe000: ip;
        }
    }
    state rpi   { pkt.extract(h.rpi); transition next; }
    state route { pkt.extract(h.route.next); transition next; }
    state outer { pkt.extract(h.outer); transition next; }
    state other { ElectiveLorh one; pkt.extract(one); transition next; }
    state ip    { Link none; bit<1> nhc; pkt.extract(h.ip via Iphc(none, nhc)); transition accept; }
}
processor P(inout headers h, inout meta m) {
    apply { m.verdict = DELIVER; if (h.route[0].isValid()) { m.port = (bit<16>) h.route[0].size; } }
}
protocol Route version 1 { on radio.rx_done : Rx -> P; }
"""
IP = "7b4b 3a 1a"                                   # from ::, to ff02::1a, hop limit 255


@pytest.mark.parametrize("engine", ["engine", "reference"])
@pytest.mark.parametrize("option, packed", [
    ("23 04 00 07 1234", "80 05 07 1234"),
    ("23 04 80 00 1234", "92 05 1234"),
    ("23 04 40 07 0300", "89 05 07 03"),
    ("23 04 e0 00 ff00", "9f 05 ff"),
])
def test_the_option_and_its_short_form(engine: str, option: str, packed: str) -> None:
    runner = make_runner(engine, program(RPI))
    assert runner.run(bytes.fromhex(option)).out == bytes.fromhex(packed)
    assert runner.run(bytes.fromhex(packed)).out == bytes.fromhex(option)


@pytest.mark.parametrize("engine", ["engine", "reference"])
@pytest.mark.parametrize("frame, verdict", [
    ("f1 8305 03" + "8102 aabbccdd eeff0011" + "a106 40" + IP, ("DELIVER", 1, None)),
    ("f1 a207 abcd 9005 07 1234" + "8000 01 8003 0102030405060708" + IP, ("DELIVER", 0, None)),
    ("f1 8009 aa" + IP, ("DROP", None, "UnknownLorh")),
    ("f2 8305 03" + IP, ("DROP", None, "NotLowpan")),
    ("f1 8302 aa", ("DROP", None, "PacketTooShort")),
    ("f1 b206 40" + "00" * 20 + IP, ("DROP", None, "IpInIpLorh.length")),
])
def test_routing_headers_in_front_of_a_datagram(engine: str, frame: str, verdict: tuple[str, int | None, str | None]) -> None:
    found = make_runner(engine, program(LORH)).run(bytes.fromhex(frame))
    assert (found.verdict, found.port if found.verdict == "DELIVER" else None, found.reason) == verdict
