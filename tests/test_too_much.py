"""What calls, copies or goes round too much of the same is refused with its place before it takes minutes, and what is long is not taken for deep."""
from __future__ import annotations

from typing import Any

import pytest

from lpn.compiler.build import compile_program
from lpn.compiler.forms import BuildError
from lpn.compiler.lower import modules
from lpn.compiler.runner import make_runner
from lpn.lang import ast
from lpn.lang.check import check
from lpn.lang.diagnostics import DiagnosticError
from lpn.lang.loader import load
from lpn.lang.reference import NotSupported, Reference
from lpn.lang.source import Source
from work import calls

RX = "parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }\n"
TX = "deparser Tx(packet pkt, in headers h) { pkt.emit(h.h); }\n"
HEADER = "header H { bit<8> a; bit<8> b; bit<32> d; }\nstruct headers { H h; }\n"


def program(body: str, before: str = "", inside: str = "") -> ast.Program:
    return check(load(Source("much.lpn", f"{before}{HEADER}{RX}processor P(inout headers h, inout meta m) {{ {inside}\napply {{\n{body}\n}} }}\n{TX}")))


def chain(n: int, inner: str) -> str:
    """So many functions, each of which calls the one before as `inner` says."""
    return "function bit<8> f0(bit<8> x) { return x + 1; }\n" + "".join(f"function bit<8> f{i}(bit<8> x) {{ {inner.format(f'f{i - 1}')} }}\n" for i in range(1, n))


def test_calls_in_each_other_are_lowered_as_deep_as_they_are_checked() -> None:
    deep = program("h.h.a = f254(h.h.b); m.verdict = TRANSMIT;", chain(255, "return {}(x) ^ 7;"))
    assert compile_program(deep, listings=False).containers
    assert Reference(deep).run(bytes([0, 1, 0, 0, 0, 0])).verdict == "TRANSMIT"


def test_the_deepest_text_runs() -> None:
    """As many statements and expressions in each other as are read."""
    conditions, sum_ = "".join(f"if (h.h.b != {n}) {{ " for n in range(100)), "(h.h.b + " * 25 + "(" * 48 + "h.h.b" + ")" * 73
    deep = program(f"{conditions} h.h.a = {sum_}; {'}' * 100} m.verdict = TRANSMIT;")
    for b, a in ((5, 1), (200, 200 * 26 & 0xFF)):
        frame = bytes([1, b, 0, 0, 0, 0])
        assert [make_runner(engine, deep).run(frame).out for engine in ("reference", "engine")] == [bytes([a]) + frame[1:]] * 2


def test_what_is_too_deep_only_in_line_is_told_where_it_is_called() -> None:
    parts = "(" * 40 + "{}(x)" + " ^ x)" * 40
    deep = program("\n\nh.h.a = f254(h.h.b);", chain(255, f"return {parts};"))
    with pytest.raises(DiagnosticError) as said:
        compile_program(deep)
    one = said.value.diagnostics[0]
    assert one.message == "calls and expressions are nested too deeply here, with what is put in line" and one.span is not None and one.span.text.startswith("h.h.a = f254")
    with pytest.raises(NotSupported, match="nested too deeply"):
        Reference(deep).run(bytes(6))


MUCH = {
    "functions": lambda n: {"body": f"\nh.h.a = f{n}(h.h.b);", "before": chain(n + 1, "return {0}(x) + {0}(x + 1);")},
    "conditions": lambda n: {"body": f"\nif (f{n}(h.h.b) > 7) {{ m.verdict = DROP; }}", "before": chain(n + 1, "if (x > 3) {{ return {0}(x); }} return {0}(x + 1);")},
    "actions": lambda n: {"body": f"\na{n}();", "inside": "action a0() { h.h.a = h.h.a + 1; }" + "".join(f"action a{i}() {{ a{i - 1}(); a{i - 1}(); }}" for i in range(1, n + 1))},
    "structs": lambda n: {"body": f"\nS{n} s;", "before": "struct S0 { bit<8> a; }" + "".join(f"struct S{i} {{ S{i - 1} x; S{i - 1} y; }}" for i in range(1, n + 1))},
}


@pytest.mark.parametrize("what, n", [("functions", 15), ("conditions", 15), ("actions", 15), ("structs", 40)])
def test_lowering_stops_where_it_is_too_much(what: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not when all of it is there: 2^40 variables never are. The line is that of the module's own statement."""
    given: dict[str, Any] = MUCH[what](n)
    much = program(**given)
    monkeypatch.setattr(modules, "MOST_OPERATIONS", 2000)
    line = given.get("before", "").count("\n") + 7
    with pytest.raises(BuildError, match=f"^P is lowered to more than 2000 operations, and no more are tried for one container: divide it into modules; most are made of much.lpn:{line} "):
        compile_program(much)


def test_equations_that_are_made_of_each_other_stop_too(monkeypatch: pytest.MonkeyPatch) -> None:
    fields = " ".join(f"bit<8> b{i} = b{i - 1} + b{i - 1} deferred;" for i in range(1, 40))
    text = f"header H {{ bit<8> b0; {fields} }}\nstruct headers {{ H h; }}\n{RX}processor P(inout headers h, inout meta m) {{ apply {{ h.h.b0 = 3; m.verdict = TRANSMIT; }} }}\n{TX}"
    monkeypatch.setattr(modules, "MOST_OPERATIONS", 20000)
    with pytest.raises(BuildError, match="^Tx is lowered to more than 20000 operations, .* most are made of much.lpn:5 "):
        compile_program(check(load(Source("much.lpn", text))))
    with pytest.raises(BuildError, match="^Tx is lowered to more than 20000 operations, .* most are made of much.lpn:5 "):
        compile_program(check(load(Source("much.lpn", text))), fuse=True)


def test_states_that_are_lowered_for_each_way_into_their_circles_are_counted() -> None:
    states = "".join(f"state s{i} max 2 {{ x = x + 1; transition select(x) {{ {' '.join(f'{j}: s{j};' for j in range(8))} default: accept; }} }}\n" for i in range(8))
    parser = f"parser Rx(packet pkt, out headers h) {{ bit<8> x; state start {{ pkt.extract(h.h); x = h.h.a; transition s0; }}\n{states}}}\n"
    with pytest.raises(DiagnosticError, match="parser 'Rx' has its states more than 4096 times"):
        compile_program(check(load(Source("much.lpn", HEADER + parser + TX))), listings=False)


@pytest.mark.parametrize("body", ["h.h.d = " + " + ".join(["h.h.d"] * 513) + ";", "if (" + " || ".join(["h.h.d == 1"] * 500) + ") { m.verdict = DROP; }",
                                  " else ".join(f"if (h.h.d == {n}) {{ h.h.a = 1; }}" for n in range(513))], ids=["sum", "or", "else if"])
def test_what_stands_in_a_row_is_not_deep(body: str) -> None:
    assert compile_program(program(body), listings=False).containers


def test_too_much_in_a_row_is_said_where_it_is() -> None:
    with pytest.raises(DiagnosticError, match="2:18: error: this has 513 operators in a row, and at most 512 are read"):
        load(Source("much.lpn", "const bit<8> A = 1;\nconst bit<8> B = " + " + ".join(["A"] * 514) + ";"))
    with pytest.raises(DiagnosticError, match="this has 513 'else if', and at most 512 are read"):
        load(Source("much.lpn", "function void f() { " + " else ".join(["if (true) { }"] * 514) + " }"))


def test_states_in_a_row_are_not_deep() -> None:
    """Nor does each of them ask for all others more than once."""
    def parser(n: int) -> ast.Program:
        states = "".join(f"state s{i} {{ x = x + {i % 7}; transition {f's{i + 1}' if i + 1 < n else 'accept'}; }}\n" for i in range(n))
        return check(load(Source("long.lpn", f"{HEADER}parser Rx(packet pkt, out headers h) {{ bit<8> x; state start {{ pkt.extract(h.h); x = h.h.a; transition s0; }}\n{states}}}\n{TX}")))

    assert parser(1500)
    long = parser(300)
    assert calls(lambda: compile_program(long, listings=False)) < 3_000_000


def test_functions_that_switch_the_radio_are_followed_once() -> None:
    """Each calls the one before twice; what a call makes of the radio is found out once for what it was before."""
    functions = "function void f0(inout bit<32> x) { radio.on(); }\n" + "".join(f"function void f{i}(inout bit<32> x) {{ f{i - 1}(x); f{i - 1}(x); }}\n" for i in range(1, 15))
    source = Source("radio.lpn", f"""{functions}timing T {{ register<bit<32>> r;
        every 100 ms within 10 ms {{ bit<32> x = 0; f14(x); r = x; radio.off(); }}
        energy {{ radio.on <= 50 %; }} }}
        """)
    check(load(source))
    assert calls(lambda: check(load(source))) < 300_000


@pytest.mark.parametrize("target", ["femto", "xdp"])
def test_other_targets_stop_too(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modules, "MOST_OPERATIONS", 2000)
    with pytest.raises(BuildError, match="is lowered to more than 2000 operations"):
        compile_program(program(**MUCH["structs"](40)), target)
