"""`inet_sum(..., payload)` covers the headers that follow, whatever their sizes: engines, reference and arithmetic agree."""
from __future__ import annotations

import pytest
from hypothesis import given, settings
from programs import chain, program
from strategies import numbers, valid

from lpn.compiler.build import compile_program
from lpn.compiler.fuzz.differential import VARIANTS, Case, Variant, run_case
from lpn.compiler.generate.base import Program
from lpn.compiler.isa import decode
from lpn.lang.reference import Reference
from lpn.lang.reference.values import inet_sum

SUMMED = "header S { bit<8> kind; bit<8> n; bit<16> sum = ~inet_sum(kind ++ n, payload) deferred; }"
EXTRACT = "state start {{ pkt.extract(h.s); {} transition accept; }}"
# Headers that follow: types, struct, extraction, emission.
SHAPES = {
    "even": ("header A { bit<8> x; bit<24> y; le<32> z; }", "A a;", "pkt.extract(h.a);", "pkt.emit(h.a);"),
    "odd": ("header A { bit<8> x; } header B { bit<16> y; le<24> z; bit<40> w; }", "A a; B b;",
            "pkt.extract(h.a); pkt.extract(h.b);", "pkt.emit(h.a); pkt.emit(h.b);"),
    "optional": ("header A { bit<8> x; bit<24> y when (x[0:0] == 1); le<16> z when (x[1:1] == 1); bit<8> w; }", "A a; A b;",
                 "pkt.extract(h.a); pkt.extract(h.b);", "pkt.emit(h.a); pkt.emit(h.b);"),
    "choice": ("enum bit<8> K { none, one, two, three } header A { K k; choice (k) { one: bit<8>; two: le<16>; three: bit<64>; } v; }",
               "A a; A b;", "pkt.extract(h.a); pkt.extract(h.b);", "pkt.emit(h.a); pkt.emit(h.b);"),
    "even choice": ("enum bit<16> K { none, one, two } header A { K k; choice (k) { one: le<16>; two: bit<64>; } v; bit<16> w; }",
                    "A a;", "pkt.extract(h.a);", "pkt.emit(h.a);"),
    "varbit": ("header A { bit<8> n = (bit<8>) sizeof(data); varbit<96> data sized (8 * (bit<16>) n); bit<8> after; }", "A a; A b;",
               "pkt.extract(h.a); pkt.extract(h.b);", "pkt.emit(h.a); pkt.emit(h.b);"),
    "stack": ("header A { bit<8> x; bit<16> y; }", "A[3] a;", "pkt.extract(h.a.next); pkt.extract(h.a.next);", "pkt.emit(h.a);"),
}
TURNED = "h.s.kind = h.s.kind + 1; m.verdict = TRANSMIT;"
MADE = {"even": "h.a.setInvalid();", "odd": "h.b.y = 0x1234; h.b.z = 0x010203;", "optional": "h.a.x = 1; h.b.x = 2;",
        "choice": "h.a.k = K.three; h.b.v.one = 7;", "even choice": "h.a.v.one = 0xabcd;", "varbit": "h.b.after = 9;",
        "stack": "h.a[2].setValid(); h.a[2].y = 0x0102; h.a[0].setInvalid();"}


@pytest.mark.parametrize("change", ["", "changed"])
@pytest.mark.parametrize("shape", SHAPES)
def test_what_follows_is_summed(shape, change):
    types, headers, taken, sent = SHAPES[shape]
    made = MADE[shape] if change else ""
    asked = "if (!h.s.holds()) { m.verdict = DROP; } else"
    text = chain(f"S s; {headers}", EXTRACT.format(taken), f"pkt.emit(h.s); {sent}", f"{SUMMED} {types}",
                 f"apply {{ {asked} {{ {TURNED} {made} }} }}")
    given_program = program(text)
    whole = Reference(program(chain(f"S s; {headers}", EXTRACT.format(taken), f"pkt.emit(h.s); {sent}", f"{SUMMED} {types}")))
    cases: list[tuple[bytes, dict]] = []

    @settings(max_examples=15)
    @given(valid(given_program), numbers(3))
    def check(frame: bytes, wrong: int) -> None:
        if whole.run(frame).verdict != "ACCEPT":
            return                              # two elements are taken, and fewer were made
        summed = frame[:2] + (0xFFFF & ~inet_sum(frame[:2] + frame[4:])).to_bytes(2, "big") + frame[4:]
        result = Reference(given_program).run(summed)
        assert result.verdict == "TRANSMIT"
        out = result.out
        assert inet_sum(out) in (0, 0xFFFF)
        cases.append((summed, {}))
        cases.append((frame[:2] + bytes([frame[2] ^ wrong]) + frame[3:], {}))

    check()
    assert len(cases) > 10
    if change:
        run_case(Case(Program(text, {}, False), cases), (Variant("engine"), Variant("engine", True)))


@pytest.mark.parametrize("arm, folds", [("bit<8>", False), ("bit<16>", False), ("le<16>", False), ("bit<24>", True)])
def test_one_word_is_not_folded(arm, folds):
    """Where it may begin at an odd octet its own octets are exchanged: of more than one word that is done to 16 bits."""
    def shifts(field: str) -> int:
        types = f"header A {{ bit<8> x; bit<8> y when (x[0:0] == 1); {field} }}"
        text = chain("S s; A a;", EXTRACT.format("pkt.extract(h.a);"), "pkt.emit(h.s); pkt.emit(h.a);", f"{SUMMED} {types}", f"apply {{ {TURNED} h.a.x = 1; }}")
        made = compile_program(program(text)).containers[-1].code.text
        return sum(insn.op in (0x74, 0x77) and insn.imm == 16 for insn in decode(made))

    assert (shifts(f"{arm} z when (x[1:1] == 1);") - shifts("") >= 2) == folds


CONGRUENT = {                                   # equations of a checksum, and which of the two it can be
    "as it is": ("~inet_sum(kind ++ n, payload)", {0, 0xFFFF}),
    "with a number": ("~inet_sum(kind ++ n, 16w17, payload)", {0}),
    "never zero": ("not_zero(~inet_sum(kind ++ n, payload))", {0xFFFF}),
    "never zero, with a number": ("not_zero(~inet_sum(kind ++ n, 16w17, payload))", {0xFFFF}),
    "no complement": ("inet_sum(kind ++ n, 16w0xffee, payload)", {0xFFFF}),
}


@pytest.mark.parametrize("form", CONGRUENT)
def test_zero_and_all_ones_are_told_apart(form):
    """Both are 0 modulo 0xffff. A sum is 0 only where all octets are (RFC 1071), and UDP says its complement's 0 as 0xffff."""
    equation, expected = CONGRUENT[form]
    types = SUMMED.replace("~inet_sum(kind ++ n, payload)", equation)
    text = "import std.checksum;\n" + chain("S s;", EXTRACT.format(""), "pkt.emit(h.s);", types, f"apply {{ {TURNED} }}")
    payloads = [bytes(2), b"", b"\xff\xff", b"\xff\xee", b"\xff\xed", b"\xff\xef", b"\x00\x11", b"\x00\x10", b"\xff", b"\xff\xfe\x00\x01",
                b"\xff\xff" * 700, b"\xff\xff" * 700 + b"\xff\xee", bytes(900), b"\xff\xee" + bytes(901)]
    cases = [(bytes([head >> 8, head & 0xFF]) + bytes(2) + payload, {}) for head in (0xFF00, 0xFEFF, 0xFF01, 0xFEEE) for payload in payloads]
    made = {int.from_bytes(Reference(program(text)).run(frame).out[2:4], "big") for frame, _ in cases}
    assert made & {0, 0xFFFF} == expected and len(made) > 4
    run_case(Case(Program(text, {}, False), cases), VARIANTS)
