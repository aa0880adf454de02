"""Parts of a parser's own header that may be absent are taken where they are stepped over: nobody asks again whether they are there (compiler/lower/instance.py)."""
from __future__ import annotations

import random

import pytest

from lpn.compiler.build import compile_program
from lpn.compiler.forms import MOST, SMALL, Level
from lpn.compiler.runner import make_runner
from programs import chain, program

OPTIONS = chain("Coap coap; Octet format;", """
    bit<16> number;
    bit<16> total;
    state start { pkt.extract(h.coap); transition select(pkt.lookahead<bit<8>>()) { 0xff: accept; default: option; } }
    state option max 8 {
        CoapOption o;
        pkt.extract(o);
        number = number + coap_delta(o);
        total = total + coap_length(o);
        transition select(pkt.lookahead<bit<8>>()) { 0xff: last; default: option; }
    }
    state last { verify(number != 7 && total != 9, error.Not); pkt.extract(h.format); transition accept; }""",
                types="error { Not }\nheader Octet { bit<8> v; }", processor="apply { m.verdict = DELIVER; m.port = h.coap.id; }", imports="coap")
BEGIN, END = bytes([0x40, 1, 0x12, 0x34]), b"\xff\x05\x06"
FORMS = {"fused": (True, MOST, 34, 141), "short": (True, SMALL, 34, 144), "chain": (False, MOST, 36, 158)}      # instructions a turn, slots


@pytest.mark.parametrize("fuse, level, turn, slots", FORMS.values(), ids=FORMS)
def test_an_option(fuse: bool, level: Level, turn: int, slots: int) -> None:
    text = program(OPTIONS)
    compiled = compile_program(text, "lpn", fuse, level)
    engine = make_runner("engine", text, compiled=compiled)
    two, three = (engine.run(BEGIN + b"\x11\xaa" * n + END) for n in (2, 3))
    assert two.verdict == three.verdict == "DELIVER"
    assert three.insns - two.insns <= turn
    assert len(compiled.containers[0].image.text) // 8 <= slots


@pytest.mark.parametrize("fuse, level, _turn, _slots", FORMS.values(), ids=FORMS)
def test_options_of_all_sizes(fuse: bool, level: Level, _turn: int, _slots: int) -> None:
    text, rng, seen = program(OPTIONS), random.Random(7), set()
    compiled = compile_program(text, "lpn", fuse, level)
    engine, reference = (make_runner(kind, text, compiled=compiled) for kind in ("engine", "reference"))
    for _ in range(200):
        data = BEGIN
        for _ in range(rng.randrange(5)):
            delta, length = rng.choice([0, 1, 2, 12, 13, 14, 15]), rng.choice([0, 1, 2, 3, 13, 14, 15])
            data += bytes([delta << 4 | length]) + {13: b"\7", 14: b"\0\3"}.get(delta, b"") + {13: b"\1", 14: b"\0\1"}.get(length, b"")
            data += bytes({13: 14, 14: 270}.get(length, length % 15))
        data += END
        data = data[:rng.randrange(len(data))] if rng.random() < 0.4 else data
        got, want = engine.run(data), reference.run(data)
        assert (got.verdict, got.reason, got.port, got.fault) == (want.verdict, want.reason, want.port, None), data.hex()
        seen.add(want.reason)
    assert {None, "PacketTooShort", "CoapOption.delta", "CoapOption.length"} <= seen


TWO = """header Parts {
    bit<4> version; bit<1> a; bit<1> b; bit<2> kind;
    bit<16> x when (a == 1);
    word le<24> { bit<5> low; bit<11> middle; bit<8> high; }
    le<32> y when (b == 1);
    bit<8> z when (x == 0x0101);
}
header Octet { bit<8> v; }"""
OWN = {                                         # what is read of a parser's own header, taken once, twice, or with what is required of it known
    "taken once": "Parts p; pkt.extract(p); sum = sum + p.x + p.y[15:0] + (bit<16>) p.z; {}",
    "taken twice": "Parts p; pkt.extract(p); sum = sum + p.x; pkt.extract(p); sum = sum + p.x + p.y[31:16] + (bit<16>) p.z; {}",
    "required": "Parts p; pkt.extract(p); verify(p.a == 1 && p.b == 0, error.Not); sum = sum + p.x + p.y[15:0] + (bit<16>) p.z; {}",
}


@pytest.mark.parametrize("fuse, level, _turn, _slots", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("taken", OWN)
def test_what_was_taken_is_what_is_read(taken: str, fuse: bool, level: Level, _turn: int, _slots: int) -> None:
    states = f"bit<16> sum; state start {{ {OWN[taken].format('verify(sum[1:0] != 3, error.Not); transition select(sum[2:2]) { 1: again; default: accept; }')} }} " \
             "state again { pkt.extract(h.last); transition accept; }"
    text, rng, seen = program(chain("Parts kept; Octet last;", states, types=f"error {{ Not }}\n{TWO}", processor="apply { m.verdict = TRANSMIT; }")), random.Random(9), set()
    engine, reference = (make_runner(kind, text, compiled=compile_program(text, "lpn", fuse, level)) for kind in ("engine", "reference"))
    for _ in range(300):
        data = bytes(rng.choice([0, 1, 1, 2, 4, 8, 12, rng.randrange(256)]) for _ in range(rng.randrange(30)))
        got, want = engine.run(data), reference.run(data)
        assert (got.verdict, got.reason, got.out, got.fault) == (want.verdict, want.reason, want.out, None), data.hex()
        seen.add(want.reason)
    assert seen == {None, "PacketTooShort", "Not"}
