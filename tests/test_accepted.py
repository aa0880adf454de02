"""What the checker accepts can be compiled: each type in each place where a type can stand, and statements that few programs have."""
from __future__ import annotations

import pytest

from lpn.compiler.build import compile_program
from lpn.lang.check import check
from lpn.lang.diagnostics import DiagnosticError
from lpn.lang.loader import load
from lpn.lang.source import Source

TYPES = ["bit<1>", "bit<8>", "bit<16>", "bit<37>", "bit<64>", "bit<128>", "int<16>", "int<64>", "bool", "E", "S", "T", "K", "G", "headers", "varbit<64>", "error", "packet", "meta", "void"]
# where a type stands: a name, what is declared at the top, in the parser, in the processor, and in its apply
PLACES = [
    ("a constant", "const {} c = 1;", "", "", ""), ("a struct's field", "struct X {{ {} x; }}", "", "", "X x; m.port = 1;"),
    ("a header's field", "header X {{ {} x; }}", "", "", ""), ("a register", "register<{}> r;", "", "", "r = r;"),
    ("registers", "register<{}>[4] r;", "", "", "r[1] = r[2];"), ("an argument", "function bit<8> f({} x) {{ return 1; }}", "", "", ""),
    ("a result", "function {0} f(inout {0} x) {{ return x; }}", "", "", ""), ("a parser's variable", "", "{} x;", "", ""), ("a processor's variable", "", "", "{} x;", ""),
    ("a variable", "", "", "", "{0} x; {0} y; x = y;"), ("an action's argument", "", "", "action a({} x) {{ m.port = 1; }}", ""),
    ("a table's argument", "", "", "action a({} x) {{ m.port = 1; }} table t {{ key = {{ h.k.a : exact; }} actions = {{ a; }} size = 2; }}", "t.apply();"),
    ("a meter's", "", "", "meter<{}> x(1 ms, 2);", "m.port = x.execute(1) == RED ? 1 : 2;"), ("a counter's", "", "", "counter<{}> x;", "x.count();"),
    ("a stack", "struct others {{ {}[2] x; }}", "", "", ""), ("a variable stack", "", "{}[2] x;", "", ""), ("a cast", "", "", "", "m.port = (bit<16>) (({}) h.k.a);"),
]
STATEMENTS = [
    "h.k.w = h.k.w + 1;", "h.k.w = h.k.w >> 3;", "h.k.w = h.k.w * 3;", "int<16> n = h.k.n; n = n / 3; n = n % 5; n = n >> 2; h.k.n = -n;",
    "h.k = h.k2;", "h.s[0] = h.k;", "h.k.setInvalid();", "h.s.push_front(1);", "h.s.pop_front(1);", "m.reason = error.Odd; m.verdict = DROP;",
    "m.verdict = m.port == 1 ? DROP : DELIVER;", "switch (h.k.a) { 1: { m.port = 1; } 2: 3: { m.port = 2; } default: { return; } }", "exit;",
    "payload.truncate(3);", "m.port = (bit<16>) payload[300];", "bit<8> x = payload[h.k.a];", "m.port = inet_sum(h.k.w, payload);",
    "E e = (E) h.k.a;", "bool q = h.k.f && h.k.a == 3 || !h.k.f; m.port = q ? 1 : 2;", "bit<8> x = h.k.a / (h.k.a - h.k.a);",
    "for (i in 5..5) { h.s[i].a = 1; }", "for (i in 0..3) { bit<8> i = 1; h.s[i].a = 1; }", "for (i in 0..3) { h.s[2 - i].setValid(); }",
    "for (i in 0..2) { if (i == 1) { return; } h.s[i].setValid(); }", "h.k.z[3:0] = 5; h.k.w[127:64] = 7;", "h.k.w = h.k.w[63:0] ++ h.k.w[127:64];",
    "m.port = (h.k.w == h.k2.w) ? 3 : 4;", "m.port = m.port |+| 3; m.port = m.port |-| 5;", "m.port = m.port << 17; m.port = m.port >> h.k.a;",
    "m.port = (bit<16>) ((int<16>) ((int<8>) h.k.a));", "m.verdict = CONSUMED;", "T t = {{1, 2}, E.a, true}; m.port = t.s.y;", "h.s.next.a = 1;",
    "if (h.g.isValid()) { m.port = sizeof(h.g.body); }", "h.g.setValid(); h.g.len = 3;", "m.port = m.port / 0;", "m.port = node.pan;",
]
REFUSED = {"h.k.w = h.k.w + 1;", "h.k.w = h.k.w * 3;", "for (i in 5..5) { h.s[i].a = 1; }", "h.s.next.a = 1;", "m.port = m.port / 0;",
           "for (i in 0..3) { bit<8> i = 1; h.s[i].a = 1; }", "m.port = (h.k.w == h.k2.w) ? 3 : 4;"}


def taken(top: str = "", parser: str = "", processor: str = "", apply: str = "", state: str = "") -> str:
    """"refused" or "compiled", the one or the other."""
    text = f"""enum bit<8> E {{ a = 1, b = 2 }}
struct S {{ bit<8> x; bit<16> y; }}
struct T {{ S s; E e; bool q; }}
header G {{ bit<8> len; varbit<256> body sized (8 * (bit<16>) len); }}
header K {{ bit<8> a; bit<128> w; int<16> n; bool f; bit<7> z; }}
error {{ Odd }}
struct headers {{ K k; K k2; G g; K[3] s; }}
{top}
parser Rx(packet pkt, out headers h) {{ {parser} state start {{ pkt.extract(h.k); {state} transition accept; }} }}
processor P(inout headers h, inout meta m) {{ {processor} apply {{ {apply} }} }}
deparser Tx(packet pkt, in headers h) {{ pkt.emit(h.k); pkt.emit(h.s); }}
protocol Q version 1 {{ on radio.rx_done : Rx -> P -> Tx; }}
"""
    try:
        program = check(load(Source("odd.lpn", text)))
    except DiagnosticError:
        return "refused"
    compile_program(program, listings=False)
    return "compiled"


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place[0])
def test_types(place: tuple[str, str, str, str, str]) -> None:
    told = {one: taken(*(part.format(one) for part in place[1:])) for one in TYPES}
    assert told["void"] == "refused" and (told["bit<16>"] == "compiled") != ("stack" in place[0])


@pytest.mark.parametrize("statement", STATEMENTS)
def test_statements(statement: str) -> None:
    told = taken(apply=statement), taken(state=statement.replace("m.port", "h.k.w[15:0]"))
    assert ("compiled" not in told) == (statement in REFUSED)


def test_the_smallest_is_compiled() -> None:
    assert taken() == "compiled"
