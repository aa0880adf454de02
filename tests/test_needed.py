"""What decides of a header which fields it has, and what these are, is another's, or computed: engines agree when that changes."""
from __future__ import annotations

import pytest
from programs import chain

from lpn.compiler.build import compile_program
from lpn.compiler.fuzz.differential import Case, Variant, checked, refused, run_case
from lpn.compiler.generate.base import Program

ENGINES = (Variant("engine"), Variant("engine", True))
AGAIN = chain("K k; B(k) b; K l; B(l) c;", """
    state start max 3 { pkt.extract(h.k); transition select(h.k.k) { 1: body; default: turns; } }
    state body { pkt.extract(h.b); transition start; }
    state turns { for (i in 0..2) { pkt.extract(h.l); if (i == 0) { pkt.extract(h.c); } } transition accept; }""",
    "pkt.emit(h.b); pkt.emit(h.c);", "header K { bit<8> k; } header B(K up) { bit<8> a; bit<8> more when (up.k == 2); bit<8> z; }")

K, B = "header K { bit<8> k; }", "header B(K up) { bit<8> c = up.k + 1; bit<8> n = (bit<8>) sizeof(this); bit<8> more when (up.k == 0); }"
TAKEN = "state start { pkt.extract(h.k); pkt.extract(h.b); transition accept; }"
GONE = chain("K k; B(k) b;", TAKEN, "pkt.emit(h.b);", f"{K} {B}", "apply { h.k.setInvalid(); }")
GONE_OF_ELEMENTS = chain("K k; B(k)[2] s;", "state start { pkt.extract(h.k); pkt.extract(h.s.next); pkt.extract(h.s.next); transition accept; }",
                         "pkt.emit(h.s);", f"{K} {B}", "apply { h.s.pop_front(1); h.k.setInvalid(); }")
NEVER_THERE = chain("K k; B(k) b;", """
    state start { transition select(pkt.lookahead<bit<8>>()) { 7: accept; default: k; } }
    state k { pkt.extract(h.k); transition accept; }""",
    "pkt.emit(h.k); pkt.emit(h.b);", f"{K} {B}", "apply { h.b.setValid(); }")
OF_ALL_KINDS = chain("K k; B(k) b;", TAKEN, "pkt.emit(h.b);", """
    enum bit<8> T { one = 1, two = 2 }
    header K { bit<8> n; T t; choice (t) { one: bit<8>; two: bit<16>; } c; varbit<32> v sized (8 * (bit<16>) n[1:0]); }
    function bit<8> first(K k) { return k.n ^ 5; }
    function void away(out K k) { k.setInvalid(); }
    header B(K up) {
        bit<8> a; bit<8> o when (up.t == T.one && up.c.one == 3); bit<8> p when (first(up) == 5);
        bit<16> l = sizeof(up.v) + sizeof(up) deferred; }""",
    "apply { h.b.a = 1; m.port = sizeof(h.b); away(h.k); m.port = m.port + 256 * sizeof(h.b); m.verdict = DELIVER; }")

CASES = {"what is looked at is extracted again, in a circle of states and in a loop":
         (AGAIN, "01a0b00201c0d00277 01a0b00302c0d0e00177 01a0b001a1b10202c0d0e002"),
         "what is looked at is made invalid": (GONE, "050602 01020277 000103dd"),
         "what the elements of a stack look at is made invalid": (GONE_OF_ELEMENTS, "0506020602 000103dd0103ee"),
         "what is looked at was never there": (NEVER_THERE, "0702030405 0102 00"),
         "fields, arms, sizes and what functions read of what is gone":
         (OF_ALL_KINDS, "0101034402030405 00010344020304 0001440200030405 0302aabb112233fe00aa")}


@pytest.mark.parametrize("text, packets", CASES.values(), ids=CASES)
def test_engines_agree(text: str, packets: str) -> None:
    run_case(Case(Program(text, {}, False), [(bytes.fromhex(packet), {}) for packet in packets.split()]), ENGINES)


def test_octets_that_another_header_decides_are_counted_so_that_the_verifier_follows() -> None:
    text = chain("K k; B(k) a; B(k) b;", "state start { transition accept; }", "pkt.emit(h.a); pkt.emit(h.b);",
                 f"{K} header B(K up) {{ bit<8> a; bit<8> c = a when (up.k[0:0] == 1); }}", "apply { h.b.setValid(); }")
    assert refused(compile_program(checked(text), listings=False)) == []
