"""What a codec writes alike of two fields is one loop in short code, as what it searches for them; what is sent is the same."""
from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from lpn.compiler.bench.frames import FOLDER
from lpn.compiler.build import compile_program
from lpn.compiler.forms import SMALL
from lpn.compiler.fuzz.differential import Case, Variant, run_case
from lpn.compiler.generate.base import Program
from lpn.compiler.judge import sealed
from lpn.compiler.lower.base import Lowering
from lpn.compiler.lower.one_of_two import OneOfTwo
from lpn.lang.check import check
from lpn.lang.loader import load
from lpn.lang.reference import Reference
from programs import program
from twin_programs import ENDS, GROUPS

TEXT = ENDS + """
    error {{ NoEnd }}
    struct Known {{ bit<64> prefix; bit<8> length; }}
    register<Known>[4] known;
    function bit<64> in_known(Known c, bit<64> low) {{
        bit<64> x = low;
        if (c.length > 8) {{ x = c.prefix[63:32] ++ low[31:0]; }}
        return x;
    }}
    function bit<64> wide(bit<32> x) {{ return 32w0 ++ x; }}
    codec C(Ends e, inout bit<1> more) <-> H {{
        tag {tag};
        {i}
        {o}""" + GROUPS + """
        {y}
    }}
    parser Rx(packet pkt, out headers h) {{
        state start {{ pkt.extract(h.l); pkt.extract(h.h); transition accept; }}
    }}
    processor Learn(inout headers h, inout meta m) {{
        apply {{
            known[1].prefix = 64w0x0000_0001_0102_0304;
            known[1].length = 16;
            known[3].prefix = 64w0x99_0000_0000;
            known[3].length = 4;
            m.verdict = TRANSMIT;
        }}
    }}
    deparser Tx(packet pkt, in headers h) {{ bit<1> more = 0; pkt.emit(h.l); pkt.emit(h.h via C(ends(h.l), more)); }}
    protocol P version 1 {{ on radio.rx_done : Rx -> Learn -> Tx; }}"""
TAG = "0b1, x:1, m:1, w:5, u:4, v:4"
I = "var bit<4> i = first j in 0..4 where (a != 7 && known[j].length != 0 && in_known(known[j], a) == a);"
O = "var bit<4> o = first j in 0..4 where (b != 7 && b[7:0] != 9 && known[j].length != 0 && in_known(known[j], b) == b);"
OTHER = ("var bit<4> o = first j in 0..4 where (b != 7 && (b[63:56] == 0x99 ? known[j].length == b[55:48] && known[j].prefix[31:0] == 0"
         " : known[j].length != 0 && in_known(known[j], b) == b));")
U = ["3: where (e.has_a, error.NoEnd), a = e.a;", "1: a = 32w0xfe80 ++ inline:32;", "6: where (known[i].length != 0, error.NoEnd), a = in_known(known[i], e.a);",
     "7: where (known[i].length != 0, error.NoEnd), a = in_known(known[i], wide(inline(a[31:0])));", "5: a = 0;", "0: inline(a);"]
V = [*(row.replace("a = ", "b = ").replace("has_a", "has_b").replace("e.a", "e.b").replace("[i]", "[o]") for row in U[:2]),
     "8: b = 8w0x99 ++ inline:24 ++ 32w0;", "9: b = 40w0 ++ inline:24, where (b[0:0] == 1);",
     *(row.replace("a = ", "b = ").replace("e.a", "e.b").replace("[i]", "[o]").replace("(a[", "(b[") for row in U[2:4]), "0: inline(b);"]
#: What a codec has; whether two groups are one loop, and two searches.
CASES: dict[str, tuple[dict[str, object], bool, bool]] = {
    "as it is": ({}, True, True),
    "searches that differ where one is a group's": ({"o": OTHER}, True, True),
    "searches of other bounds": ({"o": O.replace("0..4", "0..3")}, True, False),
    "searches for another length": ({"o": O.replace("length != 0", "length != 1")}, True, False),
    "what is asked once is asked in each turn": ({"o": OTHER.replace("b[63:56] == 0x99 ?", "known[j].length == 4 ?")}, True, False),
    "rows in another order": ({"v": [V[1], V[0], *V[2:]]}, False, True),
    "rows of one group among those that share a call": ({"v": [*V[:2], V[4], V[2], V[3], V[5], V[6]]}, False, True),
    "rows of the second group first and last": ({"u": U[1:5], "v": [V[2], V[1], V[3], *V[4:6], "5: b = 0;", "2: b = 2;", "0: inline(b);"]}, True, True),
    "too few alike": ({"v": [V[0], V[1].replace("fe80", "fe81"), V[2], V[4].replace("[o]", "[i]"), V[6]]}, False, True),
    "other numbers": ({"v": [("2" if row[0] == "1" else "4" if row[0] == "3" else row[0]) + row[1:] for row in V]}, False, True),
    "no row for some": ({"u": U[:5], "v": V[:6]}, True, True),
    "the second one's bits first": ({"tag": "0b1, x:1, m:1, w:5, v:4, u:4"}, True, True),
    "a tag of five octets": ({"tag": "0b1, x:1, m:1, w:5, u:4, v:4, y:24", "y": "y { 0: ; }"}, False, True),
    "bits that would be moved out of a register": ({"tag": "0b1, x:1, m:1, w:5, v:8, y:8, u:4, 0b0000", "y": "y { 0: ; }"}, False, True),
    "bits that are moved far": ({"tag": "0b1, x:1, m:1, w:5, v:4, y:12, u:4, 0b0000", "y": "y { 0: ; }"}, True, True),
    "bits in two octets": ({"tag": "0b1, x:1, m:1, w:2, u:4, v:4, y:3", "y": "y { 0: ; }"}, False, True),
}


def text_of(parts: dict[str, object]) -> str:
    whole = {"tag": TAG, "i": I, "o": O, "u": U, "v": V, "y": "", **parts}
    return TEXT.format(**{key: value if isinstance(value, str) else " ".join(value) for key, value in whole.items()})


def packets() -> list[bytes]:
    """Every pair of values that some row says, with both ends, and with one or none."""
    p, q = bytes((1, 2, 3, 4)), bytes((5, 6, 7, 8))
    values = [b"\0\0\0\1" + p, b"\0\0\0\2" + p[:3] + b"\x24", b"\0\0\0\1" + q, b"\0\0\0\2" + q[:3] + b"\x28", b"\0\0\xfe\x80" + q, b"\0\0\xfe\x81" + q,
              bytes(8), bytes(7) + b"\7", bytes(4) + p, b"\x99" + p[:3] + bytes(4), b"\x99\4" + bytes(6), bytes(5) + b"\1\2\3", bytes(5) + b"\1\2\4",
              bytes(range(100, 108)), bytes(7) + b"\2", b"\0\0\0\1" + bytes(4), bytes(7) + b"\x09"]
    kinds = [(f, k, n) for f in (0x0f, 0x03, 0x05, 0x02) for k, n in ((0, 4), (2, 0x31), (9, 77))]
    return [bytes([f]) + p + q + bytes([k]) + a + b + bytes([n]) + b"and more" for x, a in enumerate(values) for y, b in enumerate(values)
            for f, k, n in (kinds[(x + 5 * y) % len(kinds)], kinds[0])]


@pytest.mark.parametrize("name", CASES)
def test_every_row_is_written_as_it_was(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parts, loops, searches = CASES[name]
    text, found = text_of(parts), []
    for method in ("compress_twins", "search_twins"):
        real = getattr(Lowering, method)
        monkeypatch.setattr(Lowering, method, lambda self, *args, real=real, method=method: found.append(method) or real(self, *args))
    checked = program(text)
    for fuse in (True, False):
        found.clear()
        compiled = compile_program(checked, fuse=fuse, level=SMALL)
        assert [report.message for _, report in sealed(compiled) if not report.accepted] == []
        assert (bool(found.count("compress_twins")), bool(found.count("search_twins"))) == (loops, searches)
    run_case(Case(Program(text, {}, False), [(packet, {}) for packet in packets()]),
             (Variant("engine", True), Variant("engine", True, SMALL), Variant("engine", False, SMALL)))
    results = [Reference(checked).run(packet) for packet in packets()]
    assert {"TRANSMIT"} <= {r.verdict for r in results} and len({(r.out or b"")[9:11] for r in results}) > 20
    if name == "no row for some":
        assert {r.reason for r in results if r.verdict == "DROP"} == {"C.u", "C.v"}


MORE = ["a = 0x17;", "a = 60w0x0102_0304_0506_070 ++ i;", "a = 32w1 ++ inline:32;", "where (e.a[0:0] == 1, error.NoEnd), a = e.a;",
        "where (e.has_a, error.NoEnd), a = in_known(known[i], e.a);", "a = in_known(known[i], wide(inline(a[31:0])));", "a = e.a ^ 3;"]
SEARCHES = [O, OTHER, OTHER.replace("(b != 7 && ", "("), OTHER.replace("known[j].prefix[31:0] == 0", "known[j].length != 0"), O.replace(" && b[7:0] != 9", "")]


def other_end(row: str) -> str:
    """What it says of the other field."""
    return row.replace("a = ", "b = ").replace("has_a", "has_b").replace("e.a", "e.b").replace("[i]", "[o]").replace("++ i;", "++ o;").replace("(a[", "(b[")


@st.composite
def codecs(draw: st.DrawFn) -> dict[str, object]:
    """Groups with rows alike, and rows that one of them has alone, among those."""
    pool = [row.partition(": ")[2] for row in U[:5]] + MORE
    rows = draw(st.lists(st.sampled_from(pool), min_size=4, max_size=7, unique=True))
    keys = draw(st.permutations(range(16)))
    both = [(key, row, other_end(row)) for key, row in zip(keys, rows)]
    alone = iter(keys[len(rows):])
    u, v = ([f"{key}: {row}" for key, *said in both for row in said[n:n + 1]] for n in (0, 1))
    for text, group in (("a", u), ("b", v)):
        for row in draw(st.lists(st.sampled_from([f"{text} = 40w0 ++ inline:24, where ({text}[0:0] == 1);", f"{text} = 8w0x99 ++ inline:24 ++ 32w0;", f"{text} = 2;"]),
                                 max_size=2, unique=True)):
            group.insert(draw(st.integers(0, len(group))), f"{next(alone)}: {row}")
        if draw(st.integers(0, 3)):
            group.append(f"{keys[-1]}: inline({text});")
    order = draw(st.permutations(("u:4", "v:4")))
    return {"u": u, "v": v, "o": draw(st.sampled_from(SEARCHES)), "tag": f"0b1, x:1, m:1, w:5, {', '.join(order)}"}


@settings(max_examples=5)
@given(codecs(), st.integers(0, 9))
def test_random_groups_are_written_as_they_were(parts: dict[str, object], begin: int) -> None:
    """And are proved, with the first form that is made of them."""
    for fuse in (True, False):
        compiled = compile_program(program(text_of(parts)), fuse=fuse, level=SMALL)
        assert [report.message for _, report in sealed(compiled) if not report.accepted] == []
    run_case(Case(Program(text_of(parts), {}, False), [(packet, {}) for packet in packets()[begin::9]]), (Variant("engine", True, SMALL), Variant("engine", False, SMALL)))


def test_the_shorter_way_is_taken() -> None:
    """Where LLVM knows one of the fields, two ways are shorter than one loop."""
    text = text_of({}).replace("apply {", "apply { h.h.a = 32w0xfe80 ++ h.l.p;")
    [one] = compile_program(program(text), fuse=True, level=SMALL).containers
    assert not one.lowered.paired


@pytest.mark.parametrize("fuse", [True, False])
def test_what_lies_in_registers_is_read_there(fuse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sender's addresses are, where one container is the chain; in the header record they are copied from it."""
    found: list[bool] = []
    real = OneOfTwo.__init__
    monkeypatch.setattr(OneOfTwo, "__init__", lambda self, *args: real(self, *args) or found.append(self.lies))
    compiled = compile_program(check(load(FOLDER / "udp_tx.lpn")), fuse=fuse, level=SMALL)
    assert [report.message for _, report in sealed(compiled) if not report.accepted] == []
    assert found and set(found) == {fuse}
    assert all(image.certificate for image in compiled.bundle.modules)
