"""A deparser that is a container of its own looks for headers where they are valid; what is sent is the same, and who has not got them executes less."""
from __future__ import annotations

from itertools import product

import pytest

from lpn.compiler.build import compile_program
from lpn.compiler.fuzz.differential import VARIANTS, Case, run_case
from lpn.compiler.generate.base import Program
from lpn.compiler.lower.found_late import found_late
from lpn.compiler.lower.modules import ProgramLowering
from lpn.compiler.runner import make_runner
from lpn.compiler.target import TARGETS
from lpn.lang import ast
from programs import program

TEXT = """
header A { bit<8> kind; bit<8> more; }
header B { bit<16> b; bit<16> c; }
header C { bit<32> d; }
header D { bit<8> n; varbit<56> rest sized (8 * (bit<8>) n[2:0]); }
header E { bit<8> e; bit<8> last; }
codec Short() <-> C { tag 0b1010101, t:1; t { 0: inline(d); 1: d = 5; } }
struct headers { A a; B b; C c; D d; E[3] e; }
parser Rx(packet pkt, out headers h) {
    state start { pkt.extract(h.a); transition select(h.a.more[0:0]) { 1: b; default: tc; } }
    state b { pkt.extract(h.b); transition tc; }
    state tc { transition select(h.a.more[1:1]) { 1: c; default: td; } }
    state c { pkt.extract(h.c); transition td; }
    state td { transition select(h.a.more[2:2]) { 1: d; default: te; } }
    state d { pkt.extract(h.d); transition te; }
    state te { transition select(h.a.more[3:3]) { 1: e; default: accept; } }
    state e { pkt.extract(h.e.next); transition select(h.e.last.last) { 0: e; default: accept; } }
}
processor P(inout headers h, inout meta m) {
    apply {
        if (h.a.kind == 1) { h.c.setInvalid(); }
        if (h.a.kind == 2) { h.b.setInvalid(); if (h.c.isValid()) { h.c.d = h.c.d + 1; } }
        if (h.a.kind == 3) { h.e.pop_front(1); }
        m.verdict = TRANSMIT;
    }
}
deparser Tx(packet pkt, in headers h) { pkt.emit(h.a); pkt.emit(h.b); pkt.emit(h.c); pkt.emit(h.d); pkt.emit(h.e); }
protocol T version 1 { on radio.rx_done : Rx -> P -> Tx; }
"""
EMITS = "pkt.emit(h.b); pkt.emit(h.c);"
CASES = {                                       # how the program differs, what is found late
    "as it is": ({}, {"b", "c", "d", "e"}),
    "named twice": ({EMITS: "pkt.emit(h.b); if (h.b.isValid()) { pkt.emit(h.c); }"}, {"d", "e"}),
    "emitted twice": ({EMITS: EMITS + " pkt.emit(h.b);"}, {"c", "d", "e"}),
    "in a condition": ({EMITS: "if (h.a.kind == 7) { pkt.emit(h.b); } pkt.emit(h.c);"}, {"c", "d", "e"}),
    "read by another's equation": ({"header C { bit<32> d; }": "header C(B b) { bit<32> d; bit<8> x when (b.c[0:0] == 1); }", "C c;": "C(b) c;",
                                    "codec Short() <-> C { tag 0b1010101, t:1; t { 0: inline(d); 1: d = 5; } }": "",
                                    "h.b); transition tc;": "h.b); pkt.extract(h.c); transition td;",
                                    "select(h.a.more[1:1]) { 1: c; default: td; }": "td;", "state c { pkt.extract(h.c); transition td; }": "",
                                    "if (h.a.kind == 1) { h.c.setInvalid(); }": "", "h.b.setInvalid();": "", "if (h.c.isValid()) { h.c.d = h.c.d + 1; }": ""},
                                   {"c", "d", "e"}),
    "given to a function": ({"deparser Tx": "function bit<8> kind(in headers h) { return h.a.isValid() ? h.a.kind : 0; }\ndeparser Tx",
                             EMITS: EMITS + " if (kind(h) == 7) { pkt.emit(h.a); }"}, set()),
    "written by a codec": ({EMITS: "pkt.emit(h.b); pkt.emit(h.c via Short());", "h.c.d = h.c.d + 1;": "h.c.d = 5;"}, {"b", "d", "e"}),
}


def text_of(name: str) -> tuple[str, set[str]]:
    changes, late = CASES[name]
    text = TEXT
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new, 1)
    return text, late


def found(given: ast.Program) -> set[str]:
    lowering = ProgramLowering(given, TARGETS["lpn"], fuse=False)
    chain = list(given.hooks[0].chain)
    assert isinstance(chain[-1], ast.Deparser)
    return {field.name for field in found_late(given, lowering.record, chain[-1], [chain])}


@pytest.mark.parametrize("name", CASES)
def test_what_is_sent_is_the_same(name: str) -> None:
    """Each header there or not, made invalid, changed, cut short."""
    text, late = text_of(name)
    assert found(program(text)) == late
    packets = []
    for kind, more in product((0, 1, 2, 3, 7), range(16)):
        body = bytes.fromhex("11121314") * (more & 1) + bytes.fromhex("a1a2a3a4") * (more >> 1 & 1) + bytes.fromhex("03c1c2c3") * (more >> 2 & 1)
        body += bytes.fromhex("e100e201") * (more >> 3 & 1)
        packets += [bytes([kind, more]) + body + rest for rest in (b"", b"rest")] + [(bytes([kind, more]) + body)[:-1]]
    run_case(Case(Program(text, {}, False), [(packet, {}) for packet in packets]), VARIANTS)


def test_what_is_absent_takes_little() -> None:
    """Three instructions a header. Seven where it is asked of each where it lies."""
    text = TEXT.replace("C c;", "C c; B b2; B b3;").replace("transition tc; }", "transition select(h.a.more[4:4]) { 1: b2; default: tc; } }\n"
                        "    state b2 { pkt.extract(h.b2); pkt.extract(h.b3); transition tc; }", 1)
    executed = []
    for emits in (EMITS, EMITS + " pkt.emit(h.b2); pkt.emit(h.b3);"):
        given = program(text.replace(EMITS, emits))
        executed.append(make_runner("engine", given, compiled=compile_program(given)).run(bytes(2)).insns)
    assert executed[1] - executed[0] <= 2 * 3


def test_what_follows_is_counted() -> None:
    """How much that is, a header in front asks before the others are emitted: those are of any size."""
    text = TEXT.replace("bit<8> more; }", "bit<8> more; bit<8> len = sizeof(payload)[7:0]; }", 1).replace("h.c.d = h.c.d + 1;", "h.a.kind = 5;")
    assert found(program(text)) >= {"b", "c", "d", "e"}
    packets = []
    for kind, more, size, rest in product((0, 1, 2, 3), range(16), (0, 3, 7), (b"", b"rest")):
        body = bytes(range(4)) * (more & 1) + bytes(4) * (more >> 1 & 1) + bytes([size, *range(size)]) * (more >> 2 & 1) + bytes.fromhex("e100e201") * (more >> 3 & 1)
        packets.append((bytes([kind, more, len(body + rest)]) + body + rest, {}))
    run_case(Case(Program(text, {}, False), packets), VARIANTS)
