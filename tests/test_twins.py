"""Two groups of a codec whose rows say the same of two fields are the two turns of a loop, in short code; what a packet means is the same."""
from __future__ import annotations

import pytest

from lpn.compiler.build import compile_program
from lpn.compiler.forms import SMALL
from lpn.compiler.fuzz import Case, Variant, run_case
from lpn.compiler.generate import Program
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


def packets() -> list[bytes]:
    """Every pair of rows, with both ends, one, or none; cut short."""
    out = []
    for u in range(8):
        for v in range(16):
            for f in (0x0f, 0x03, 0x05, 0x02):
                for x, m, w in ((0, 1, 1), (1, 0, 3)) if f == 0x0f else ((0, 1, 0),):
                    tag = 1 << 15 | x << 14 | m << 13 | u << 10 | v << 6 | w
                    out.append(bytes([f]) + bytes(range(1, 9)) + tag.to_bytes(2, "big") + bytes((0x31, *range(100, 130))))
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
