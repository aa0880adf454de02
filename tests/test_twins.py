"""Two groups of a codec whose rows say the same of two fields are the two turns of a loop, in short code; what a packet means is the same."""
from __future__ import annotations

import pytest

from lpn.compiler.build import compile_program
from lpn.compiler.forms import SMALL
from lpn.compiler.fuzz.differential import Case, Variant, run_case
from lpn.compiler.generate.base import Program
from lpn.compiler.lower.base import Lowering
from lpn.lang.reference import Reference
from programs import program
from twin_programs import ENDS, GROUPS

TEXT = ENDS + """
    error {{ NoEnd, Odd }}
    register<bit<64>>[4] known;
    function bit<64> one(bit<4> x) {{ return 60w0 ++ x; }}
    function bit<64> two(bit<4> x) {{ return 60w7 ++ x; }}
    function bit<64> whole(Ends e) {{ return e.a ^ 7; }}
    codec C(Ends e, inout bit<1> more) <-> H {{
        tag 0b1, x:1, m:1, u:3, v:4, w:6;
        var bit<4> i = first j in 0..4 where (known[j] == a);
        var bit<4> o = first j in 0..4 where (known[j] == b);""" + GROUPS + """
    }}
    parser Rx(packet pkt, out headers h) {{
        bit<1> more;
        state start {{
            pkt.extract(h.l);
            pkt.extract(h.h via C(ends(h.l), more));
            transition select(more, h.h.n) {{ (1, _): accept; (0, 5): reject(error.Odd); default: accept; }}
        }}
    }}
    deparser Tx(packet pkt, in headers h) {{ pkt.emit(h.h); }}
    protocol P version 1 {{ on radio.rx_done : Rx -> Tx; }}"""
U = ["0: inline(a);", "1: a = 32w0xfe80 ++ inline:32;", "2: where (e.has_a, error.NoEnd), a = e.a;", "3: a = 0x17;", "4: a = known[i];", "5: a = 0;"]
V = [*(row.replace("a", "b").replace("hbs", "has").replace("wherb", "where").replace("[i]", "[o]") for row in U[:4]), "4: b = known[o];",
     "8: b = 40w0x99 ++ inline:24;", "12: inline(b), where (b[0:0] == 1, error.Odd);"]
CASES = {                                       # rows of both groups, how many loops
    "as it is": (U, V, 1),
    "in another order": (U, [V[4], V[6], V[0], V[5], V[3], V[2], V[1]], 1),
    "too few alike": (U, [V[0], V[1].replace("fe80", "fe81"), V[2].replace("has_b", "has_a"), V[3].replace("17", "18"), *V[4:]], 0),
    "other numbers": (U, [row.replace(row[0], str(9 - int(row[0])), 1) if len(row.split(":")[0]) == 1 else row for row in V[:5]] + V[6:], 0),
    "of one word": ([*U[:5], "5: a = 0, k = 3;"], V, 0),
    "other constants in quotes": (['0: a = ip6"fe80::"[127:64];', *U[1:]], ['0: b = ip6"ff02::"[127:64];', *V[1:]], 1),
    "one name for both ends, and another": (["0: a = 60w0 ++ i;", *U[1:4], "4: a = 60w1 ++ i;", "5: a = 0;"],
                                            ["0: b = 60w0 ++ i;", *V[1:4], "4: b = 60w1 ++ o;", *V[5:]], 1),
    "a function of its own": (["0: a = one(i);", *U[1:]], ["0: b = two(o);", *V[1:]], 0),
    "the reason of its group": ([*U[:2], "2: where (e.has_a), a = e.a;", *U[3:]], [*V[:2], "2: where (e.has_b), b = e.b;", *V[3:]], 1),
    "all of them": (U, [*V[:5], "5: b = 0;"], 1),
    "a struct as a whole": (["0: a = whole(e);", *U[1:]], ["0: b = whole(e);", *V[1:]], 0),
    "a reason of its own": ([U[0], U[1], U[2].replace("NoEnd", "Odd"), *U[3:]], V, 0),
}


HEADERS = {                                     # of the two ends: fields, choices; what is said of either, by their names
    "fields": ("header L {{ bit<4> z; bit<1> d; bit<1> c; bit<1> y; bit<1> x; bit<32> p; bit<32> q; }}",
               "e.has_{0} = l.{1} == 1; if (l.{2} == 1) {{{{ e.{0} = 32w1 ++ l.{3}; }}}} else {{{{ e.{0} = 64w0x20 ^ (32w2 ++ l.{3}); }}}}"),
    "choices": ("enum bit<1> K {{ s = 0, l = 1 }} header L {{ bit<4> z; K d; K c; bit<1> y; bit<1> x; choice (c) {{ s: le<16>; l: bit<32>; }} p; "
                "choice (d) {{ s: le<16>; l: bit<32>; }} q; }}",
                "e.has_{0} = l.{1} == 1; if (l.{2} == K.l) {{{{ e.{0} = 32w1 ++ l.{3}.l; }}}} else {{{{ e.{0} = 48w2 ++ l.{3}.s; }}}}"),
    "what is there or not": ("header L {{ bit<4> z; bit<1> d; bit<1> c; bit<1> y; bit<1> x; bit<16> p when (c == 1); le<16> o; bit<16> q when (d == 1); }}",
                             "e.has_{0} = l.{1} == 1; if (l.{2} == 1) {{{{ e.{0} = l.o ++ 32w1 ++ l.{3}; }}}} else {{{{ e.{0} = 48w7 ++ l.o; }}}}"),
}
FIRST, SECOND = ("a", "x", "c", "p"), ("b", "y", "d", "q")
SIDES = {                                       # the second half, whether it is one
    "the other one": (SECOND, "", True), "behind all else": (SECOND, "e.a = e.a; ", False), "which reads the first": (SECOND, "e.b = e.a; ", False),
    "of one field of the first": (("b", "y", "d", "p"), "", True), "of the first's flag": (("b", "y", "c", "q"), "", True),
}


def sizes(kind: str, f: int) -> int:
    """Octets of the header behind its first one."""
    big = (f >> 2 & 1) + (f >> 3 & 1)
    return {"fields": 8, "choices": 4 + 2 * big, "what is there or not": 2 + 2 * big}[kind]


def packets(kind: str = "fields") -> list[bytes]:
    """Every pair of rows, with both ends, one, or none; cut short."""
    out = []
    for u in range(8):
        for v in range(16):
            for f in (0x0f, 0x03, 0x05, 0x02):
                for x, m, w in ((0, 1, 1), (1, 0, 3)) if f == 0x0f else ((0, 1, 0),):
                    tag = 1 << 15 | x << 14 | m << 13 | u << 10 | v << 6 | w
                    out.append(bytes([f]) + bytes(range(1, 1 + sizes(kind, f))) + tag.to_bytes(2, "big") + bytes((0x31, *range(100, 130))))
    return out + [frame[:n] for frame in out[::37] for n in range(9, 34, 3)]


@pytest.mark.parametrize("name", CASES)
def test_every_row_means_what_it_meant(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    u, v, loops = CASES[name]
    text, found = TEXT.format(u=" ".join(u), v=" ".join(v)), []
    expand = Lowering.expand_twins
    monkeypatch.setattr(Lowering, "expand_twins", lambda *args: found.append(args) or expand(*args))
    given = program(text)
    compile_program(given, fuse=True, level=SMALL)
    assert len(found) == 2 * loops              # short code is made in two ways
    run_case(Case(Program(text, {}, False), [(packet, {}) for packet in packets()]), (Variant("engine", True), Variant("engine", True, SMALL)))
    assert {Reference(given).run(packet).verdict for packet in packets()} == {"ACCEPT", "DROP"}


def test_a_struct_that_is_a_variable_is_no_end_of_either() -> None:
    """What is not made anew has its members by their own names."""
    text = TEXT.format(u=" ".join(U), v=" ".join(V)).replace("bit<1> more;\n", "bit<1> more;\n        Ends e;\n", 1)
    text = text.replace("pkt.extract(h.l);", "pkt.extract(h.l);\n            e = ends(h.l);").replace("C(ends(h.l), more)", "C(e, more)")
    run_case(Case(Program(text, {}, False), [(packet, {}) for packet in packets()[::7]]), (Variant("engine", True, SMALL),))


def test_a_number_may_be_called_as_a_member_is() -> None:
    """And the other one is called otherwise."""
    text = TEXT.format(u=" ".join([*U[:4], "4: a = 0x18;", U[5]]), v=" ".join([*V[:4], "4: b = 0x18;", "5: b = 0;"]))
    for old, new in (("var bit<4> i =", "var bit<4> has_a ="), ("0: i = 0,", "0: has_a = 0,"), ("inline(i, o)", "inline(has_a, o)")):
        assert old in text
        text = text.replace(old, new)
    run_case(Case(Program(text, {}, False), [(packet, {}) for packet in packets()[::7]]), (Variant("engine", True, SMALL),))


@pytest.mark.parametrize("kind, side", [(kind, side) for kind in HEADERS for side in SIDES if kind != "choices" or " of " not in f" {side}"])
def test_a_struct_has_two_halves(kind: str, side: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a function says of one end is lowered once where it says the same of the other, of other fields."""
    header, said = HEADERS[kind]
    second, more, is_half = SIDES[side]
    begin, end = ENDS.index("header L"), ENDS.index("header H")
    text = ENDS[:begin] + header + ENDS[end:]
    begin, end = text.index("e.has_a ="), text.index("return e;")
    text = text[:begin] + said.format(*FIRST) + " " + said.format(*second) + " " + more + text[end:] + TEXT.removeprefix(ENDS)
    text, found, made = text.format(u=" ".join(U), v=" ".join(V)), [], Lowering.made_half
    monkeypatch.setattr(Lowering, "made_half", lambda *args: found.append(made(*args)) or found[-1])
    compile_program(program(text), fuse=True, level=SMALL)
    assert found and all((one is not None) == is_half for one in found)
    run_case(Case(Program(text, {}, False), [(packet, {}) for packet in packets(kind)]), (Variant("engine", True, SMALL),))
