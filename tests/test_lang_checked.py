"""What a checked program promises its readers: types, constants, declarations, targets; which fields are derived."""
from __future__ import annotations

from pathlib import Path

import pytest

from lpn.lang import ast
from lpn.lang.check import check
from lpn.lang.derive import derived, representation
from lpn.lang.instances import instances, named_field, walk
from lpn.lang.loader import load
from lpn.lang.source import Source
from lpn.lang.types import Bits, Integer
from work import calls

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted(ROOT.glob("examples/*/*.lpn"))


def checked(text: str) -> ast.Program:
    return check(load(Source("test.lpn", text)))


def unannotated(program: ast.Program) -> list[str]:
    """Expressions without a type of their own that are not names of things without type."""
    callees = {id(node.callee) for node in walk(program.decls) if isinstance(node, ast.Call)}
    bases = {id(node.base) for node in walk(program.decls) if isinstance(node, ast.Member) and isinstance(node.base, ast.Name) and node.base.type is None}
    bases |= {id(node.callee.base) for node in walk(program.decls) if isinstance(node, ast.Call) and isinstance(node.callee, ast.Member)}
    switches = [node for node in walk(program.decls) if isinstance(node, ast.Switch)]
    runs = {id(each) for one in switches if isinstance(one.value, ast.Member) and one.value.decl == "action_run"
            for each in (one.value, *(key for keys, _ in one.cases for key in keys))}         # actions, which have no type
    out = []
    for node in walk(program.decls):
        if isinstance(node, ast.Expr) and id(node) not in callees | bases | runs:
            payload = isinstance(node, ast.Name) and node.decl == "payload"
            default = isinstance(node, ast.DontCare)
            if (node.type is None and not payload and not default) or isinstance(node.type, Integer):
                out.append(f"{node.span} {type(node).__name__} {node.type}")
        if isinstance(node, (ast.Name, ast.Member)) and node.decl is None and id(node) not in callees:
            out.append(f"{node.span} {node.name} has no declaration")
        if isinstance(node, ast.TypeRef) and node.type is None:
            out.append(f"{node.span} type {node.name}")
        if isinstance(node, ast.Call) and node.target is None:
            out.append(f"{node.span} call without target")
        if isinstance(node, (ast.VarDecl, ast.Param, ast.Field, ast.StructField, ast.Const, ast.ConstDecl, ast.CodecVar)) and node.type is None:
            out.append(f"{node.span} {node.name} has no type")
    return out


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_are_fully_annotated(path: Path) -> None:
    assert unannotated(check(load(path))) == []


@pytest.mark.parametrize("path", [*EXAMPLES, *sorted(ROOT.glob("stdlib/*.lpn"))], ids=lambda path: path.name)
def test_nothing_is_to_be_warned_of(path: Path) -> None:
    """In what comes with the language: loops that are written out hide nothing."""
    assert not check(load(path)).warnings


PROGRAM = """
import std.udp;
enum bit<4> E { a, b = 7, c }
error { Mine, Other }
typedef bit<16> port_t;
const port_t PORT = 3 * (1 << 4) + 1;
struct Pair { bit<8> x; bool y; }
register<Pair>[4] pairs;
counter<bit<32>> seen;
header Hop { E kind; bit<4> rest; bit<8> n; }
struct headers { Hop first; Hop[2] more; Ipv6 ip; Udp(ip) udp; }
parser Rx(packet pkt, out headers h) {
    Pair p = { 1, true };
    state start {
        Hop local;
        pkt.extract(local);
        pkt.extract(h.first);
        pkt.advance(8);
        transition select(h.first.kind, h.first.n) {
            (E.a, 1..3): loop;
            (_, 8 &&& 0xc): accept;
            default: reject(error.Mine);
        }
    }
    state loop {
        pkt.extract(h.more.next);
        verify(h.more.last.n != 0 && sizeof(payload) > 2, error.Other);
        transition select(pkt.lookahead<bit<8>>()) { 1: loop; default: ip; }
    }
    state ip { pkt.extract(h.ip); pkt.extract(h.udp); transition accept; }
}
processor P(inout headers h, inout meta m) {
    const bit<8> TWO = 2;
    bit<8> total;
    action set(bit<8> n) { h.first.n = n; }
    table t {
        key = { h.first.n : ternary; h.first.kind : exact; }
        actions = { set; NoAction; }
        default_action = set(TWO);
        const entries = { (1 &&& 3, E.c) : set(4); (_, E.b) : NoAction; }
    }
    apply {
        for (i in 0..3) { total = total + (bit<8>) i + 1; }
        if (t.apply().hit) { seen.count(); }
        pairs[total] = { total << 1, h.udp.isValid() };
        m.port = h.udp.isValid() ? PORT : 16w9;
        m.verdict = TRANSMIT;
        switch (h.first.kind) { E.a: { exit; } default: { return; } }
    }
}
deparser Tx(packet pkt, in headers h) { pkt.emit(h.first); pkt.emit(h.more); pkt.emit(h.ip); pkt.emit(h.udp); }
protocol Test version 1 { on radio.rx_done : Rx -> P -> Tx; }
"""


def test_a_program_of_everything_is_fully_annotated() -> None:
    assert unannotated(checked(PROGRAM)) == []


def find(program: ast.Program, name: str) -> ast.Decl:
    return next(decl for decl in program.decls if isinstance(decl, ast.Decl) and decl.name == name)


def test_constants_are_folded_in_the_width_they_are_used_with() -> None:
    program = checked("""
        const bit<16> A = 3 * (1 << 4) + 1;
        const bit<8> B = ~0;
        const bit<8> C = (bit<8>) A[15:4] | 0x80;
        const int<8> D = -3 / 2;
        const bool E = A == 49 && !(B < 4);
        const bit<24> F = 8w1 ++ 16w2;
        const bit<8> G = E ? 1 : 2;
        const bit<8> H = 8w250 + 10;
        const bit<8> I = 8w250 |+| 10;
        const bit<32> J = 2 s;
        """)
    values = {decl.name: decl.value.const for decl in program.decls if isinstance(decl, ast.Const)}
    assert values == {"A": 49, "B": 255, "C": 0x83, "D": -1, "E": True, "F": 0x010002, "G": 1, "H": 4, "I": 255, "J": 2_000_000}
    assert all(isinstance(node.type, Bits) and node.type.width == 16 for node in walk(find(program, "A").value) if isinstance(node, ast.Binary) and node.op == "+")  # type: ignore


def test_a_number_takes_the_width_of_its_place() -> None:
    program = checked("function bit<12> f(bit<12> x) { return x == 5 ? x + 7 : 9; }")
    numbers = {node.value: node.type for node in walk(find(program, "f").body) if isinstance(node, ast.Int)}  # type: ignore[attr-defined]
    assert numbers == {5: Bits(12), 7: Bits(12), 9: Bits(12)}


def test_enums_and_errors_are_numbered() -> None:
    program = checked(PROGRAM)
    enum = find(program, "E")
    assert isinstance(enum, ast.Enum)
    assert [(member.name, member.number) for member in enum.members] == [("a", 0), ("b", 7), ("c", 8)]
    assert program.reasons[:8] == ["", "PacketTooShort", "NoMatch", "StackOutOfBounds", "PacketTooLong", "RecordMismatch", "Mine", "Other"]
    assert {"Hop.kind", "Ipv6.version", "Ipv6.length", "Udp.length", "P.drop"} <= set(program.reasons)
    assert "Udp.checksum" not in program.reasons            # deferred: it cannot fail a parse
    assert program.reasons.index("Mine") == program.reason_number("Mine")
    assert len(set(program.reasons)) == len(program.reasons)


def test_instances_come_in_the_order_of_the_struct() -> None:
    program = checked(PROGRAM)
    assert [str(one) for one in instances(program)] == ["first", "more[0]", "more[1]", "ip", "udp"]
    assert [module.name for module in program.chain] == ["Rx", "P", "Tx"]
    udp = instances(program)[-1].field
    assert [arg.name for arg in udp.args] == ["ip"]
    calls = [node for node in walk(find(program, "Tx")) if isinstance(node, ast.Call)]
    assert [named_field(call.args[0]).name for call in calls] == ["first", "more", "ip", "udp"]  # type: ignore[union-attr]


def test_inline_bits_are_parts_of_their_target() -> None:
    program = checked("""
        header H { bit<24> a; bit<8> b; }
        codec C <-> H { tag t:8; t { 0: a = 4w1 ++ inline:8 ++ 8w2 ++ inline:4, inline(pad:4), b = inline:8; 1: a = inline:24, inline(b); } }
        """)
    sources = [node.source for node in walk(find(program, "C")) if isinstance(node, ast.InlinePiece)]
    shown = [(one.base.name, one.hi.const, one.lo.const) if isinstance(one, ast.Slice) else one.name for one in sources]    # type: ignore
    assert shown == [("a", 19, 12), ("a", 3, 0), "b", "a"]


def test_without_protocol_the_chain_is_the_order_of_declaration() -> None:
    program = checked("""
        header H { bit<8> a; }
        struct headers { H h; }
        parser B(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
        processor A(inout headers h) { apply { h.h.a = 1; } }
        """)
    assert [module.name for module in program.chain] == ["B", "A"]


# ---------------------------------------------------------------- derived fields

HEAD = """
header Ip { bit<8> src; bit<16> length = sizeof(payload); bit<8> version = 6; }
header Up(Ip ip) { bit<8> a; bit<8> n; bit<8> sum = ip.src + a deferred; varbit<64> data sized (8 * (bit<16>) n); }
struct headers { Ip ip; Up(ip) up; }
codec C <-> Ip { tag t:8; t { 0: inline(src); } }
codec D <-> Ip { tag t:8; t { 0: inline(src, length); } }
parser Rx(packet pkt, out headers h) {
    state start { pkt.extract(h.ip VIA); pkt.extract(h.up); PARSER transition accept; }
}
function void touch(inout Up x) { x.a = 1; }
function void outer(inout Up x) { touch(x); }
processor P(inout headers h) { apply { PROCESSOR } }
deparser Tx(packet pkt, in headers h) { pkt.emit(h.ip); pkt.emit(h.up); }
"""


def facts(via: str = "", parser: str = "", processor: str = "") -> tuple[set[str], dict[str, str]]:
    program = checked(HEAD.replace("VIA", via).replace("PARSER", parser).replace("PROCESSOR", processor))
    return {f"{a.name}.{b.name}" for a, b in derived(program)}, {a.name: where for a, where in representation(program).items()}


@pytest.mark.parametrize("how, fields, images", [
    ({}, set(), set()),
    ({"via": "via C()"}, {"ip.length", "ip.version"}, {"ip"}),
    ({"via": "via D()"}, {"ip.version"}, {"ip"}),
    ({"parser": "h.up.a = 1;"}, {"up.sum"}, {"up"}),                    # the equation mentions it
    ({"parser": "h.ip.src = 1;"}, set(), set()),                        # in a parser other headers do not count
    ({"processor": "h.up.a = 1;"}, {"up.sum"}, {"up"}),
    ({"processor": "h.ip.src = 1;"}, {"ip.length", "ip.version", "up.sum"}, {"ip", "up"}),
    ({"processor": "h.up.sum = 1;"}, {"up.sum"}, {"up"}),
    ({"processor": "outer(h.up);"}, {"up.sum"}, {"up"}),                # where the function assigns
    ({"processor": "h.up.n = 1;"}, {"up.sum", "ip.length"}, {"ip", "up"}),   # the size of what follows changes
    ({"processor": "h.up.setInvalid();"}, {"ip.length"}, {"ip"}),
    ({"processor": "h.up.setValid();"}, {"ip.length", "up.sum"}, {"ip", "up"}),
    ({"processor": "h.ip.setInvalid();"}, set(), set()),
])
def test_derived_and_representation(how: dict[str, str], fields: set[str], images: set[str]) -> None:
    found, where = facts(**how)
    assert found == fields
    assert {name for name, kind in where.items() if kind == "image"} == images


def test_a_header_whose_shape_is_assigned_needs_an_image() -> None:
    program = checked("""
        enum bit<8> M { none, short, ext }
        header H { M m; bit<8> x; choice (m) { short: bit<16>; ext: bit<64>; } a; bit<8> y when (x == 1); }
        struct headers { H one; H two; H three; H four; H five; }
        parser Rx(packet pkt, out headers h) {
            state start { pkt.extract(h.one); pkt.extract(h.two); pkt.extract(h.three); pkt.extract(h.four); pkt.extract(h.five); transition accept; }
        }
        processor P(inout headers h) { apply { h.one.x = 1; h.two.a.short = 1; h.three.y = 1; h.four.m = M.ext; } }
        """)
    assert {a.name: kind for a, kind in representation(program).items()} == {
        "one": "image", "two": "image", "three": "image", "four": "image", "five": "packet"}


def test_check_is_quick() -> None:
    path = ROOT / "examples/decompress/decompress.lpn"
    check(load(path))
    assert calls(lambda: check(load(path))) < 2_000_000
