"""Chains whose deparser emits what the parser took, in its order: the packet is sent as it lies."""
from __future__ import annotations

import pytest
from programs import chain, program

from lpn.compiler.build import compile_program
from lpn.compiler.judge import sealed
from lpn.compiler.layout import RecordLayout
from lpn.compiler.lower.in_place import in_place, sent_as_they_lie
from lpn.compiler.runner import make_runner
from lpn.lang.derive import representation

TYPES = """
header A { bit<8> ttl; bit<8> kind; bit<16> sum = ~inet_sum(ttl ++ kind, long) deferred; bit<32> long; }
header B { bit<8> length = (bit<8>) sizeof(payload) + n deferred; bit<8> n; bit<16> x when (n == 3); bit<8> y; }
header C { bit<8> more; le<16> c; }
header V { bit<8> n; varbit<64> v sized (8 * (bit<16>) n[2:0]); }
header W { bit<128> w; }
"""
STATES = """
state start { pkt.extract(h.a); transition select(h.a.kind) { 1: b; 2: c; 3: reject; default: accept; } }
state b { pkt.extract(h.b); transition select(h.b.n) { 9: accept; default: c; } }
state c { pkt.extract(h.c.next); transition select(h.c.last.more) { 1: c; default: accept; } }
"""
CHANGES = """apply {
    h.a.ttl = h.a.ttl - 1;
    if (h.b.isValid()) { h.b.y = 7; }
    if (h.c[1].isValid()) { h.c[1].c = h.c[0].c; }
    if (h.a.ttl == 5) { payload.truncate(1); }
    m.verdict = h.a.ttl == 9 ? DELIVER : TRANSMIT;
    m.port = 8;
}"""
EMITS = "pkt.emit(h.a); pkt.emit(h.b); pkt.emit(h.c);"
HEADERS = "A a; B b; C[3] c;"


def made(headers: str = HEADERS, states: str = STATES, emits: str = EMITS, processor: str = CHANGES):
    return program(chain(headers, states, emits, TYPES, processor))


def lies(checked) -> bool:
    return in_place(checked, RecordLayout(checked, representation(checked, sent_as_they_lie(checked))), list(checked.hooks[0].chain))


FRAMES = [bytes.fromhex(one) for one in (
    "0a00ffff00000001", "0a01ffff0000000104030405 06 00aaaa 55", "0a01ffff12345678 0504 06 01aaaa 01bbbb 00cccc 0102", "0a02ffff12345678 01aaaa01bbbb01cccc01dddd",
    "0a01ffff12345678 0009 06 0102", "0602ffffffffffff 0000aa 0102", "0602ffffffffffff 0000aa", "0a03ffff12345678", "0a01ffff1234", "0a01", "",
    "0a02ffff12345678 01aaaa01bb")]


@pytest.mark.parametrize("fuse", [True, False], ids=["fused", "modules"])
def test_the_packet_is_as_the_reference_sends_it(fuse):
    checked = made()
    assert lies(checked) and {f.name for f in sent_as_they_lie(checked)} == {"a", "b", "c"}
    compiled = compile_program(checked, fuse=fuse)
    sealed(compiled)
    reference, engine = make_runner("reference", checked), make_runner("engine", checked, compiled=compiled)
    results = [(one, reference.run(one), engine.run(one)) for one in FRAMES]
    for one, a, b in results:
        assert (a.verdict, a.reason, a.port, a.out) == (b.verdict, b.reason, b.port, b.out), one.hex()
    assert {a.verdict for _, a, _ in results} == {"TRANSMIT", "DELIVER", "DROP"}
    assert any(a.out not in (None, one) and len(a.out) < len(one) for one, a, _ in results)             # cut off


def test_nothing_is_written_to_the_output():
    """Of two fields that change, two stores."""
    checked = made("C[1] c; A a;", "state start { pkt.extract(h.c.next); pkt.extract(h.a); transition accept; }", "pkt.emit(h.c); pkt.emit(h.a);",
                   "apply { h.c[0].c = 7; m.verdict = TRANSMIT; }")
    compiled = compile_program(checked, fuse=True)
    [(container, report)] = sealed(compiled)
    assert report.accepted and report.insns <= 15
    assert container.image.out_size == 0


SHORT = ("A a; C[3] c;", "state start { pkt.extract(h.a); pkt.extract(h.c.next); transition accept; }")
NOT_SO = {                                      # (headers, states, emits, processor), where it is not so
    "emitted in another order": (*SHORT, "pkt.emit(h.c); pkt.emit(h.a);", "apply { m.verdict = TRANSMIT; }"),
    "not emitted": (HEADERS, STATES, "pkt.emit(h.a); pkt.emit(h.c);", CHANGES),
    "emitted twice": (*SHORT, "pkt.emit(h.a); pkt.emit(h.c); pkt.emit(h.a);", "apply { m.verdict = TRANSMIT; }"),
    "emitted on some ways": (HEADERS, STATES, "pkt.emit(h.a); pkt.emit(h.b); if (h.a.kind == 2) { pkt.emit(h.c); }", CHANGES),
    "taken in another order": (HEADERS, STATES.replace("{ 1: c;", "{ 1: c; 7: b;"), EMITS, CHANGES),
    "taken again": (HEADERS, STATES.replace("{ 9: accept;", "{ 9: accept; 8: b;"), EMITS, CHANGES),
    "passed over": (HEADERS, STATES.replace("state b {", "state b { pkt.advance(8);"), EMITS, CHANGES),
    "taken away": (HEADERS, STATES, EMITS, "apply { if (h.a.kind == 1) { h.b.setInvalid(); } m.verdict = TRANSMIT; }"),
    "made": (HEADERS, STATES, EMITS, "apply { h.b.setValid(); m.verdict = TRANSMIT; }"),
    "moved": (HEADERS, STATES, EMITS, "apply { h.c.pop_front(1); m.verdict = TRANSMIT; }"),
    "of another size": (HEADERS, STATES, EMITS, "apply { if (h.b.isValid()) { h.b.n = 3; } m.verdict = TRANSMIT; }"),
    "of any size": ("V v;", "state start { pkt.extract(h.v); transition accept; }", "pkt.emit(h.v);", "apply { m.verdict = TRANSMIT; }"),
    "longer than what can be emitted": ("W[17] w;", "state start { pkt.extract(h.w.next); transition select(h.w.last.w[7:0]) { 1: start; default: accept; } }", "pkt.emit(h.w);",
                                        "apply { m.verdict = TRANSMIT; }"),
}


@pytest.mark.parametrize("name", NOT_SO)
def test_other_packets_are_written(name):
    checked = made(*NOT_SO[name])
    assert not lies(checked) and not sent_as_they_lie(checked)
    reference, engine = make_runner("reference", checked), make_runner("engine", checked, fuse=True)
    for one in [*FRAMES, b"\1" * 271 + b"\2", bytes(15) + b"\1" + bytes(16)]:
        a, b = reference.run(one), engine.run(one)
        assert (a.verdict, a.reason, a.port, a.out) == (b.verdict, b.reason, b.port, b.out), one.hex()
