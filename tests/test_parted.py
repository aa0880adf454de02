"""Parts that are there for one number of a field each, what is sized by it, and what is asked of them (compiler/lower/parted.py, made_early.py, left_over.py)."""
from __future__ import annotations

import random

import pytest

from lpn.compiler.build import compile_program
from lpn.compiler.forms import MOST, SMALL, Level
from lpn.compiler.judge import sealed
from lpn.compiler.runner import make_runner
from programs import chain, program

TYPES = """error { Not }
header Octet { bit<8> v; }
function bit<16> extended(bit<4> nibble, bit<8> one, bit<16> two) {
    if (nibble == 13) { return 13 + (bit<16>) one; }
    if (nibble == 14) { return 269 + two; }
    return (bit<16>) nibble;
}
function bit<16> low(bit<4> kind, bit<8> one, bit<16> two) { return kind == 1 ? (bit<16>) one + 3 : kind == 2 ? (two & 7) : 16w2; }
header Upper {
    bit<4>  kind;
    bit<4>  size in { 0..14 };
    bit<8>  one when (size == 13);
    bit<16> two in { 0..40 } when (size == 14);
    varbit<8272> value sized (8 * extended(size, one, two));
}
header Lower {
    bit<4>  kind in { 0..2, 9 };
    bit<4>  more;
    bit<8>  one when (kind == 1);
    bit<16> two when (kind == 2);
    varbit<2112> value sized (8 * low(kind, one, two));
}
header Apart {
    bit<4>  kind;
    bit<4>  size;
    bit<8>  one when (size == 13);
    bit<16> two when (size == 14);
    bit<8>  k_one when (kind == 3);
    bit<8>  k_two when (kind == 4);
    bit<8>  last in { 0..200 };
}
function bit<16> size_of(Apart a) { return extended(a.size, a.one, a.two); }
function bit<16> kind_of(Apart a) { return a.kind == 3 ? (bit<16>) a.k_one : a.kind == 4 ? 500 + (bit<16>) a.k_two : (bit<16>) a.last; }
header Sum { bit<16> n; }
"""


def option(header: str, does: str) -> str:
    return chain("Sum sum; Octet begin;", f"""
    state start {{ pkt.extract(h.begin); h.sum.setValid(); transition options; }}
    state options max 6 {{ transition select(sizeof(payload)) {{ 0: accept; default: marker; }} }}
    state marker {{ transition select(pkt.lookahead<bit<8>>()) {{ 0xff: accept; default: option; }} }}
    state option {{ {header} o; pkt.extract(o); {does} transition options; }}""",
                 types=TYPES, processor="apply { m.verdict = DELIVER; m.port = h.sum.n; }")


ADDED = "h.sum.n = h.sum.n + {};"
PROGRAMS = {
    "numbers in the upper half": option("Upper", ADDED.format("extended(o.size, o.one, o.two)")),
    "numbers in the lower half": option("Lower", ADDED.format("low(o.kind, o.one, o.two)")),
    "nothing asked": option("Upper", ADDED.format("1")),
    "parts that others follow": option("Apart", ADDED.format("size_of(o)") + ADDED.format("kind_of(o)")),
    "asked on one way alone": option("Apart", "if (o.kind == 3) {" + ADDED.format("size_of(o)") + "}" + ADDED.format("(o.last == 7 ? kind_of(o) : 16w1)")),
    "asked behind the next": option("Apart", ADDED.format("size_of(o)") + "bit<16> was = size_of(o); verify(o.last != 9, error.Not); pkt.extract(o);"
                                    + ADDED.format("size_of(o) * 3 + was")),
    "with what else is known": option("Apart", "bit<16> n = h.sum.n;" + ADDED.format("extended(o.size, o.one, o.two + n)")),
    "behind one of several ways": option("Apart", ADDED.format("size_of(o)")).replace("pkt.extract(o);", "if (h.begin.v == 1) { pkt.extract(h.more.next); } pkt.extract(o);")
    .replace("Octet begin;", "Octet begin; Octet[6] more;"),
    "in the record": option("Upper", ADDED.format("1")).replace("Upper o; pkt.extract(o);", "pkt.extract(h.upper);").replace("Octet begin;", "Octet begin; Upper upper;"),
}
FORMS = {"fused": (True, MOST), "short": (True, SMALL), "chain": (False, MOST), "as written": (False, 0)}
SEEN = {"numbers in the lower half": "Lower.kind", "parts that others follow": "Apart.last", "asked on one way alone": "Apart.last", "asked behind the next": "Not",
        "with what else is known": "Apart.last", "behind one of several ways": "Apart.last"}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("fuse, level", FORMS.values(), ids=FORMS)
def test_all_numbers(name: str, fuse: bool, level: Level) -> None:
    text, rng, seen = program(PROGRAMS[name]), random.Random(name), set()
    compiled = compile_program(text, "lpn", fuse, level)
    assert all(report.accepted for _, report in sealed(compiled)) and all(container.image.certificate for container in compiled.containers)
    engine, reference = (make_runner(kind, text, compiled=compiled) for kind in ("engine", "reference"))
    for _ in range(400):
        data = bytes([rng.choice([1, 1, 2])])
        for _ in range(rng.randrange(5)):
            kind, size = rng.choice([0, 1, 2, 3, 4, 9, 12, 13, 14, 15]), rng.choice([0, 1, 2, 12, 13, 14, 15])
            data += bytes([kind << 4 | size]) + bytes(rng.choice([0, 1, 7, 9, 40]) for _ in range(rng.choice([0, 1, 2, 3, size, size + 1, size + 3])))
            data += bytes(rng.choice([0, 0, 14, 269, 270, 280])) if size > 12 else b""
        data = data[:rng.randrange(len(data))] if rng.random() < 0.2 else data + b"\xff" * (rng.random() < 0.4)
        got, want = engine.run(data), reference.run(data)
        assert (got.verdict, got.reason, got.port, got.fault) == (want.verdict, want.reason, want.port, None), data.hex()
        seen.add(want.reason)
    assert {None, "PacketTooShort", SEEN.get(name, "Upper.size")} <= seen


@pytest.mark.parametrize("fuse, level, turn", [(True, MOST, 22), (True, SMALL, 22), (False, MOST, 24)])
def test_a_turn(fuse: bool, level: Level, turn: int) -> None:
    """Of what C written by hand takes 24 instructions for."""
    text = program(option("CoapOption", ADDED.format("coap_delta(o)")).replace("error {", "import std.coap;\nerror {", 1))
    engine = make_runner("engine", text, compiled=compile_program(text, "lpn", fuse, level))
    two, three = (engine.run(b"\1" + b"\x11\xaa" * n + b"\xff") for n in (2, 3))
    assert two.verdict == three.verdict == "DELIVER" and (two.port, three.port) == (2, 3)
    assert three.insns - two.insns <= turn
