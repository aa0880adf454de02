"""Stacks that short code emits in a loop mean the same as those that are written out, whichever elements are valid; and are shorter."""
from __future__ import annotations

import pytest
from programs import chain, program

from lpn.compiler.build import compile_program
from lpn.compiler.forms import SMALL
from lpn.compiler.fuzz.differential import Case, Variant, run_case
from lpn.compiler.generate.base import Program

VARIANTS = (Variant("engine"), Variant("engine", True), Variant("engine", False, SMALL), Variant("engine", True, SMALL), Variant("rbpf", False, SMALL))
SUMMED = """
    header S {
        bit<8>  n;
        bit<8>  gone;
        bit<16> length = sizeof(payload);
        bit<16> sum    = ~inet_sum(n ++ gone, length, payload) deferred;
    }
"""
# Elements: their header, and what of it is 3 octets long.
ELEMENTS = {
    "varbit": ("header O { bit<4> k; bit<4> n; bit<8> more when (n == 13); varbit<120> v sized (8 * (bit<16>) (n == 13 ? (bit<8>) n + (more & 1) : (bit<8>) n)); }",
               [b"\x00", b"\x13abc", b"\x2d\x00" + bytes(range(13)), b"\x3d\x01" + bytes(range(14)), b"\x41\xff", b"\x52\x80\x81"]),
    "optional": ("header O { bit<8> k; bit<16> a when (k[0:0] == 1); bit<8> b when (k[1:1] == 1); le<24> c; }",
                 [b"\x00abc", b"\x01\x12\x34abc", b"\x02\x56\xff\xfe\xfd", b"\x03\x12\x34\x56abc"]),
    "choice": ("enum bit<8> K { none, one, two } header O { K k; choice (k) { one: bit<24>; two: le<16>; } c; bit<8> z; }",
               [b"\x00z", b"\x01abcz", b"\x02\x12\x34z"]),
    "computed": ("header O { bit<8> n = (bit<8>) sizeof(v); varbit<64> v sized (8 * (bit<16>) n); bit<8> check = n ^ 0x5a; }",
                 [b"\x00\x5a", b"\x01a\x5b", b"\x08abcdefgh\x52"]),
    "fixed": ("header O { bit<8> k; bit<16> a; }", [b"\x01\x02\x03", b"abc"]),
}
CHANGES = {
    "none": "",
    "assigned": "if (h.o[0].isValid() && h.o[1].isValid()) { %s }",
    "moved": "if (h.s.n[0:0] == 1) { h.o.push_front(1); h.o[0].setValid(); } else { h.o.pop_front(1); }",
    "copied": "h.o[2] = h.o[0];",
}
ASSIGNED = {"varbit": "h.o[1].n = 0;", "optional": "h.o[1].k = 1;", "choice": "h.o[1].c.one = 24w0x010203;", "computed": "h.o[1].v = h.o[0].v;",
            "fixed": "h.o[1].k = 0;"}


def text(element: str, change: str, size: int) -> str:
    header, _ = ELEMENTS[element]
    made = CHANGES[change].replace("%s", ASSIGNED[element])
    return chain(f"S s; O[{size}] o; S2 end;", """
        bit<8> left;
        state start { pkt.extract(h.s); left = h.s.n; transition more; }
        state more { transition select(left) { 0: accept; default: one; } }
        state one { pkt.extract(h.o.next); left = left - 1; transition more; }
    """, "pkt.emit(h.s); pkt.emit(h.o); pkt.emit(h.end);", f"{SUMMED} {header} header S2 {{ bit<8> last; }}",
        f"apply {{ for (i in 0..{size}) {{ if ((h.s.gone >> i)[0:0] == 1) {{ h.o[i].setInvalid(); }} }} {made} "
        "h.end.setValid(); h.end.last = 7; m.verdict = TRANSMIT; }")


def frames(element: str, size: int) -> list[bytes]:
    """Every number of elements, and of the full stack every set of those that are made invalid."""
    kinds = ELEMENTS[element][1]
    out = []
    for n, gone in [*((n, 0) for n in range(size)), *((size, gone) for gone in range(1 << size))]:
        options = b"".join(kinds[(gone + 3 * i) % len(kinds)] for i in range(n))
        out.append(bytes([n, gone, 0, 0, 0, 0]) + options + b"payload"[:gone % 8])
    return out


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("element", ELEMENTS)
def test_whichever_elements_are_valid(element: str, change: str) -> None:
    size = 8 if element == "fixed" else 4
    given = frames(element, size)
    cases = [(frame, {}) for frame in (given if size == 4 else given[::7])]
    run_case(Case(Program(text(element, change, size), {}, False), cases), VARIANTS)


def test_a_buffer_that_has_no_room() -> None:
    """The loop stops where the elements written out would."""
    given = [bytes([n, gone, 0, 0, 0, 0]) + b"".join(bytes([0x0f]) + bytes(15) for _ in range(n)) + bytes(k)
             for n in (12, 14, 15, 16) for gone in (0, 1, 2) for k in (0, 5)]
    run_case(Case(Program(text("varbit", "none", 16), {}, False), [(frame, {}) for frame in given]), VARIANTS)


@pytest.mark.parametrize("element", ELEMENTS)
def test_more_elements_make_no_longer_deparser(element: str) -> None:
    def slots(size: int) -> int:
        made = compile_program(program(text(element, "moved", size)), level=SMALL)
        return next(c for c in made.containers if c.name == "Tx").instructions
    found = [slots(size) for size in (4, 8, 16, 32)]        # of many elements the buffer may not hold all, which is tested
    assert all(min(abs(one - found[0]), abs(one - found[-1])) <= 4 for one in found) and found[-1] <= found[0] + 20


SENDER = chain("Mhr mac; Ipv6 ip; Udp(ip) udp; Coap coap; CoapOption[4] options; CoapMarker marker;", """
    bit<1> nhc;
    state start { pkt.extract(h.mac); pkt.extract(h.ip via Iphc(mac_link(h.mac), nhc)); transition select(nhc) { 1: udp_nhc; 0: udp; } }
    state udp_nhc { pkt.extract(h.udp via UdpNhc()); transition coap; }
    state udp     { pkt.extract(h.udp);              transition coap; }
    state coap    { pkt.extract(h.coap); transition options; }
    state options { transition select(sizeof(payload)) { 0: accept; default: more; } }
    state more    { transition select(pkt.lookahead<bit<8>>()) { 0xff: marker; default: option; } }
    state option  { pkt.extract(h.options.next); transition options; }
    state marker  { pkt.extract(h.marker); transition accept; }
""", "bit<1> nhc = 1; pkt.emit(h.mac); pkt.emit(h.ip via Iphc(mac_link(h.mac), nhc)); pkt.emit(h.udp via UdpNhc()); "
     "pkt.emit(h.coap); pkt.emit(h.options); pkt.emit(h.marker);",
    processor="apply { h.coap.code = COAP_POST; h.udp.src = COAP_PORT; %s m.verdict = TRANSMIT; }", imports="ieee802154 sixlowpan ipv6 udp coap")
ADDED = "h.options.push_front(1); h.options[0].setValid(); h.options[0].delta = 11;"


@pytest.mark.parametrize("made, fuse, most", [("", False, 1360), ("", True, 2420), (ADDED, False, 1390), (ADDED, True, 2520)])
def test_a_sender_of_options_is_short(made: str, fuse: bool, most: int) -> None:
    """Slots of the deparser, or of the chain: each option takes more than 200 where they are written out, here all take what one takes."""
    containers = compile_program(program(SENDER % made), fuse=fuse, level=SMALL).containers
    assert containers[-1].instructions <= most
