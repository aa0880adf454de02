"""A checksum that a codec leaves out is not computed to be compared with itself: short code is shorter for it, and no packet has another verdict."""
from __future__ import annotations

import pytest

from lpn.compiler.build import compile_program
from lpn.compiler.disasm import disassemble
from lpn.compiler.fuzz.differential import Case, Variant, run_case
from lpn.compiler.generate.base import Program
from lpn.compiler.lower.left_out import left_out
from lpn.lang.derive import derived
from lpn.lang.reference import Reference
from programs import program

TEXT = """
    error {{ Wrong }}
    register<bit<16>> seen;
    function bit<16> more(bit<16> x) {{ return x + seen; }}
    header H {{ bit<8> kind; bit<16> a; bit<16> b; bit<16> sum = ~inet_sum({a}, b, payload) deferred; }}
    codec Short() <-> H {{ tag 0b1000000, c:1;
        c {{ 0: inline(kind, a, b, sum); 1: inline(kind, a, b); }} }}
    struct headers {{ H h; }}
    parser Rx(packet pkt, out headers h) {{
        state start {{ transition select(pkt.lookahead<bit<8>>()) {{ 0x80 &&& 0x80: short; default: whole; }} }}
        state short {{ {short} }}
        state whole {{ pkt.extract(h.h); transition accept; }}
    }}
    processor Look(inout headers h, inout meta m) {{ apply {{ {before} if (!h.h.holds()) {{ m.verdict = DROP; m.reason = error.Wrong; }} }} }}
    processor End(inout headers h, inout meta m) {{ apply {{ {behind} m.verdict = DELIVER; }} }}
    protocol P version 1 {{ on radio.rx_done : Rx -> Look -> End; }}"""
SHORT = "pkt.extract(h.h via Short()); transition accept;"
AS_IS = {"a": "a", "short": SHORT, "before": "", "behind": ""}
CASES = {                                       # what differs, whether the field may be left out
    "it may": ({}, True),
    "changed behind": ({"behind": "h.h.a = 7;"}, True),
    "changed before": ({"before": "if (h.h.kind == 3) { h.h.a = h.h.a + 1; }"}, False),
    "of state that changes": ({"a": "a, seen", "before": "if (h.h.kind == 4) { seen = seen + 1; }"}, False),
    "of a function of state": ({"a": "more(a)", "before": "if (h.h.kind == 4) { seen = seen + 1; }"}, False),
    "read": ({"behind": "if (h.h.sum == 0x1234) { m.port = 1; }"}, False),
    "asked again where it has changed": ({"behind": "h.h.b = 7; if (h.h.holds()) { m.port = 2; }"}, False),
    "more in the parser": ({"short": "pkt.extract(h.h via Short()); transition select(h.h.kind) { 1: accept; default: reject; }"}, False),
}


def made(name: str):
    parts, may = CASES[name]
    return program(TEXT.format(**{**AS_IS, **parts})), may


def packets() -> list[bytes]:
    """Of two kinds, with the checksum left out, right and wrong; what a codec does not know, what is cut short."""
    rest, right = bytes.fromhex("0102ff"), (0xFFFF ^ (0x0005 + 0x1234 + 0x0102 + 0xFF00) % 0xFFFF).to_bytes(2, "big")
    bodies = [bytes.fromhex("0300051234"), bytes.fromhex("0400051234")]
    heads = [(b"\x81", b""), (b"\x80", right), (b"\x80", b"\x12\x34"), (b"", right), (b"", b"\x12\x34"), (b"\x91", b"")]
    return [b"\x81\x03", *(head + body + tail + rest for body in bodies for head, tail in heads)]


@pytest.mark.parametrize("name", CASES)
def test_no_verdict_changes(name):
    given, may = made(name)
    chain = list(given.hooks[0].chain)
    assert bool(left_out(given, chain, derived(given))) == may
    case = Case(Program(TEXT.format(**{**AS_IS, **CASES[name][0]}), {}, False), [(frame, {}) for frame in packets()])
    run_case(case, (Variant("engine"), Variant("engine", True), Variant("engine", True, "s")))
    verdicts = [Reference(given).run(frame).verdict for frame in packets()]
    assert {"DELIVER", "DROP"} == set(verdicts)


def test_shorter_by_a_sum():
    """Against the same, where something else reads the field: that takes the sum once more, a loop and a remainder of 19 instructions."""
    short, long = (disassemble(compile_program(made(name)[0], fuse=True, level="s").containers[0].image.text) for name in ("it may", "read"))
    assert [sum(line.endswith(" %= 0xffff") for line in code) for code in (short, long)] == [1, 2]
    assert len(short) <= 64 and len(short) + 19 <= len(long)


def test_what_a_function_asks_may_be_of_any_header():
    text = TEXT.format(**{**AS_IS, "behind": "if (right(h.h)) { m.port = 3; }"})
    given = program(text.replace("    struct headers", "    function bool right(H x) { return x.holds(); }\n    struct headers"))
    assert left_out(given, list(given.hooks[0].chain), derived(given)) == set()
