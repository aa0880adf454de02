"""Any input gives a program or diagnostics, never a traceback."""
from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpn.lang import ast, syntax
from lpn.lang.check import check
from lpn.lang.derive import derived, representation
from lpn.lang.diagnostics import DiagnosticError, Diagnostics, render, rich_text
from lpn.lang.instances import walk
from lpn.lang.loader import Unreadable, load
from lpn.lang.source import Source, Span

ROOT = Path(__file__).parent.parent
PROGRAMS = [path.read_text() for path in sorted([*ROOT.glob("stdlib/*.lpn"), *ROOT.glob("examples/*/*.lpn")])]
CASES = [re.sub(r"^\s*//[!w?].*\n", "", block.partition("\n")[2], flags=re.M) for path in sorted((ROOT / "tests/lang").glob("*.cases"))
         for block in path.read_text().split("\n=== ")[1:]]
FOREIGN = ("while (", "do {", "for (int i", "case ", "x += ", "x++", "--;", "x >>= 1;", "var ", "bit<8> x[", "[", "]", "1: a = 2;", "{", "}", "(", ")")
TOKENS = sorted({token for text in PROGRAMS for token in re.findall(r"\w+|[^\w\s]+", text)})


def front_end(text: str) -> None:
    """Loads and checks; what is said can be shown."""
    try:
        program = check(load(Source("fuzz.lpn", text)))
        derived(program)
        representation(program)
        without = untyped(program)                  # alone: of a program pytest would show everything
        assert not without
    except DiagnosticError as error:
        assert error.diagnostics
        assert render(error.diagnostics)
        rich_text(error.diagnostics)
        assert any(one.severity == "error" for one in error.diagnostics)
        outside = [(span, said) for one in error.diagnostics for said, span in [(one.message, one.span), *one.notes] if span is not None and not inside(span)]
        assert not outside


def inside(span: Span) -> bool:
    """Whether a place is in its text; what is missing at the end of a line has one column behind it."""
    lines = span.source.lines
    if not 1 <= span.line <= span.end_line <= len(lines):
        return False
    first, last = lines[span.line - 1], lines[span.end_line - 1]
    return 1 <= span.column <= len(first) + 1 and (span.line, span.column) < (span.end_line, span.end_column) \
        and (span.end_column <= len(last) + 1 or (span.line, span.column, span.end_column) == (span.end_line, len(last) + 1, len(last) + 2))


def untyped(program: ast.Program) -> list[str]:
    """The expressions of a checked program that have no type: none but what is no value (enums, `radio`, what is called, `default`)."""
    out = []
    for decl in program.decls:
        no_value: set[object] = set()
        for node in walk(decl):
            if isinstance(node, ast.Call):
                no_value.add(node.callee)
            elif isinstance(node, ast.Member) and isinstance(node.base, ast.Name):
                no_value.add(node.base)
            elif isinstance(node, ast.Switch):
                no_value |= {node.value, *(label for labels, _ in node.cases for label in labels)}      # of t.apply().action_run: actions
            elif isinstance(node, ast.Name) and node.decl == "payload":
                no_value.add(node)
            if isinstance(node, ast.Expr) and node.type is None and not isinstance(node, ast.DontCare) and node not in no_value:
                out.append(f"{node.span}: {node.span.text}")
    return out


@given(st.text(max_size=200))
@settings(max_examples=300)
def test_any_text(text: str) -> None:
    front_end(text)


@given(st.lists(st.sampled_from(TOKENS), max_size=60))
@settings(max_examples=300)
def test_any_words(words: list[str]) -> None:
    front_end(" ".join(words))


def mutate(text: str, chance: random.Random) -> str:
    """A program with a few tokens dropped, doubled, exchanged or replaced."""
    tokens = re.findall(r"//[^\n]*|\w+|\s+|[^\w\s]", text)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(tokens))
        match chance.randrange(11):
            case 0:
                del tokens[at]
            case 1:
                tokens.insert(at, tokens[at])
            case 2:
                tokens[at] = chance.choice(TOKENS)
            case 3:
                other = chance.randrange(len(tokens))
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 4:                             # statements change places
                ends = [i for i, token in enumerate(tokens) if token == ";"]
                if len(ends) > 3:
                    first, second = sorted(chance.sample(range(len(ends) - 1), 2))
                    moved = tokens[ends[first] + 1:ends[first + 1] + 1]
                    tokens[ends[second] + 1:ends[second] + 1] = moved
            case 5 | 6:
                tokens.insert(at, chance.choice(FOREIGN))
            case _:                             # names and numbers change places: most often still a program by its form
                names = [i for i, token in enumerate(tokens) if re.match(r"[a-zA-Z_0-9]", token)]
                tokens[chance.choice(names)] = tokens[chance.choice(names)]
    return "".join(tokens)


@given(st.integers(0, 2**32), st.sampled_from(CASES))
@settings(max_examples=600)
def test_mutated_cases(seed: int, text: str) -> None:
    front_end(mutate(text, random.Random(seed)))


@given(st.integers(0, 2**32), st.sampled_from(PROGRAMS))
@settings(max_examples=100)
def test_mutated_programs(seed: int, text: str) -> None:
    front_end(mutate(text, random.Random(seed)))


@given(st.sampled_from(PROGRAMS), st.integers(0, 2**16), st.integers(1, 40))
@settings(max_examples=60)
def test_programs_with_a_hole(text: str, at: int, size: int) -> None:
    at %= len(text)
    for damaged in (text[:at], text[:at] + text[at + size:]):
        front_end(damaged)
        try:                                    # what an editor makes of it
            check(load(Source("fuzz.lpn", damaged), mended=True))
        except DiagnosticError:
            pass


@pytest.mark.parametrize("text", ["processor C(inout headers h, inout) {", "processor C(bit) {\n}", "parser R(packet p) { state start { transition select(h.a {\n1: accept; } } }"])
def test_what_is_put_in_has_a_place(text: str) -> None:
    front_end(text)


UNCLOSED = """
processor P(inout meta m) {
    apply {
        while (m.port > 1) {{ m.port = 1; }
        for (int i = 0; i < 4; i++) { m.port = 1; }
        if (m.port > 1) { m.verdict = DROP; }
    }
}
deparser Tx(packet for (int ipkt, in headers h) { pkt.emit(h.h); }
protocol T version 1 { on radio.rx_done : Rx -> P -> Tx; }
"""


def test_reading_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement of another language took the braces with it that are missed behind it, and what was put in for them was taken out again, for ever."""
    mend, times = syntax.mend, []

    def counted(*args):
        times.append(args)
        assert len(times) < 20
        return mend(*args)
    monkeypatch.setattr(syntax, "mend", counted)
    with pytest.raises(DiagnosticError, match="there is no 'while'"):
        check(load(Source("fuzz.lpn", UNCLOSED)))


@pytest.mark.parametrize("right, wrong", [
    ("dst = LINK_LOCAL ++ l2.dst;", "dst = LINK_LOCAL ++ } l2.dst;"), ("dst = LINK_LOCAL ++ l2.dst;", "dst = LINK_LOCAL ++ l2.dst };"),
    ("pkt.extract(h.broadcast);", "pkt.extract(h.broadcast { );"), ("pkt.extract(h.broadcast);", "pkt.extract(h.broadcast } );"), ("pkt.extract(h.broadcast);", "pkt.extract(h.broadcast)] ;"),
])
def test_a_bracket_too_many_is_one_mistake(right: str, wrong: str) -> None:
    text = next(text for text in PROGRAMS if right in text)
    diagnostics, bracket = Diagnostics(), next(each for each in "{}]" if wrong.count(each) > right.count(each))
    assert syntax.parse_tree(Source("x.lpn", text.replace(right, wrong, 1)), diagnostics) is None
    [one] = diagnostics.items
    place = text.index(right) + wrong.index(bracket)
    assert one.message.startswith(f"unexpected '{bracket}'") and one.hints == ["remove it"]
    assert (one.span.line, one.span.column) == (text.count("\n", 0, place) + 1, place - text.rindex("\n", 0, place))


@pytest.mark.parametrize("part, mistake", [("const bit<8> A{} = {};\n", "const bit<8> B = ;"), ("    bit<8> a{};\n", "    bit<8> ;")])
def test_finished_parts_are_read_once_for_a_mistake(part: str, mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands before it in its own declaration is not read for each way to mend it."""
    parts = "".join(part.replace("{}", str(n)) for n in range(1000))
    text = f"header H {{\n{parts}{mistake}\n}}" if "a{}" in part else parts + mistake
    read, lengths = syntax.read, []
    monkeypatch.setattr(syntax, "read", lambda tokens: (lengths.append(len(tokens)), read(tokens))[1])
    diagnostics = Diagnostics()
    assert syntax.parse_tree(Source("x.lpn", text), diagnostics) is None
    assert len(diagnostics.items) == 1 and len(lengths) > 5
    assert sum(length > 1000 for length in lengths) <= 2, lengths           # to find it, and what is behind it


DEPTH = {
    "parentheses": lambda n: "const bit<8> X = " + "(" * n + "1" + ")" * n + ";",
    "sums": lambda n: "const bit<8> X = " + "1+" * n + "1;",
    "complements": lambda n: "const bit<8> X = " + "~" * n + "1;",
    "casts": lambda n: "const bit<8> X = " + "(bit<8>) " * n + "1;",
    "named casts": lambda n: "const bit<8> X = " + "(a) " * n + "1;",
    "calls": lambda n: "const bit<8> X = " + "f(" * n + "1" + ")" * n + ";",
    "differences of parentheses": lambda n: "const bit<8> X = " + "(a) - " * n + "1;",
    "conditions": lambda n: "const bit<8> X = " + "true ? 1 : " * n + "1;",
    "members": lambda n: "const bit<8> X = a" + ".b" * n + ";",
    "blocks": lambda n: "function void f() " + "{" * n + "}" * n,
    "open blocks": lambda n: "function void f() " + "{" * n,
    "ifs": lambda n: "function void f() { " + "if (true) " * n + "; }",
    "else ifs": lambda n: "function void f() { " + "if (true) {} else " * n + "{} }",
    "lists": lambda n: "const bit<8> X = " + "{" * n + "}" * n + ";",
    "types": lambda n: "const " + "bit<(" * n + "1" + ")>" * n + " X = 1;",
    "structs": lambda n: "".join(f"struct S{i} {{ S{i + 1} x; }}" for i in range(n)) + f"struct S{n} {{ bit<8> x; }}",
    "functions": lambda n: "".join(f"function bit<8> f{i}() {{ return f{i + 1}(); }}" for i in range(n)) + f"function bit<8> f{n}() {{ return 1; }}",
    "constants": lambda n: "".join(f"const bit<8> c{i} = c{i + 1};" for i in range(n)) + f"const bit<8> c{n} = 1;",
    "states": lambda n: "parser P(packet p) { state start { transition s0; } " + "".join(f"state s{i} {{ transition s{i + 1}; }}" for i in range(n))
              + f"state s{n} {{ transition accept; }} }}",
}


@pytest.mark.parametrize("shape", DEPTH)
@pytest.mark.parametrize("depth", [30, 120, 2000])
def test_deep_nesting(shape: str, depth: int) -> None:
    front_end(DEPTH[shape](depth))


def test_what_is_made_twice_of_another_is_looked_at_once() -> None:
    """A variable, or a function, that has the one before it twice: 2^200 ways lead to the first one."""
    n = 200
    functions = "\n".join(f"function bit<16> f{i}(bit<16> x) {{ return (f{i - 1}(x) & 7) + f{i - 1}(x); }}" for i in range(1, 9))
    variables = "\n".join(f"v{i} = (v{i - 1} & 7) + v{i - 1};" for i in range(1, n))
    program = check(load(Source("twice.lpn", f"""
        header H {{ bit<16> n; varbit<64> a sized (8 * (bit<32>) f8(n)); }}
        struct headers {{ H h; }}
        function bit<16> f0(bit<16> x) {{ return x; }}
        {functions}
        parser Rx(packet pkt, out headers h) {{
            {" ".join(f"bit<16> v{i};" for i in range(n))}
            state start {{ pkt.extract(h.h); v0 = h.h.n; {variables} pkt.advance(8 * v{n - 1}); transition accept; }}
        }}
        processor P(inout headers h, inout meta m) {{ apply {{ m.verdict = DELIVER; }} }}
        protocol Twice version 1 {{ on radio.rx_done : Rx -> P; }}""")))
    assert [said.message for said in program.warnings] == ["this product is bit<16>: it wraps at 65536"]


@pytest.mark.parametrize("shape", ["types", "blocks", "open blocks", "parentheses", "calls"])
def test_brackets_in_each_other_are_refused_before_they_are_read(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where more are open than the deepest right text has, whatever else is wrong: what can be wrong in so many places takes minutes to find."""
    monkeypatch.setattr("lpn.lang.syntax.read", None)
    with pytest.raises(DiagnosticError, match="nested too deeply") as said:
        check(load(Source("deep.lpn", DEPTH[shape](400))))
    assert len(said.value.diagnostics) == 1


@pytest.mark.parametrize("statements, calls, brackets", [(100, 100, 302), (100, 1, 203), (1, 100, 104)])
def test_the_deepest_text_has_fewer_brackets(statements: int, calls: int, brackets: int) -> None:
    """Two for a statement, one for a call, and those of the declaration."""
    inside = "switch (x) { 1: { " * statements + "x = " + "f(" * calls + "x" + ")" * calls + ";" + "}}" * statements
    source = Source("deep.lpn", f"function bit<8> f(bit<8> x) {{ return x; }} processor P() {{ apply {{ bit<8> x; {inside} }} }}")
    assert syntax.deepest_bracket(syntax.tokenize(source, Diagnostics()))[0] == brackets < syntax.MAX_BRACKETS
    check(load(source))


LIMIT = {
    "parentheses": ("x = " + "(" * 100 + "x", ")" * 100 + ";", "(", ")"),
    "conditions": ("x = " + "x == 1 ? 2 : " * 99, "x;", "x == 1 ? 2 : ", ""),
    "ifs": ("if (x == 1) { " * 100 + "x = 2;", "}" * 100, "{ x = 3; ", "}"),
    "elses": ("if (x == 1) { } else { x = 2; " * 100, "}" * 100, "{ ", "x = 2; }"),
    "loops": ("".join(f"for (i{n} in 0..1) {{ " for n in range(100)) + "x = 2;", "}" * 100, "{ x = 3; ", "}"),
    "switches": ("switch (x) { 1: { " * 100 + "x = 2;", "}}" * 100, "{ x = 3; ", "}"),
    "both": ("if (x == 1) { " * 100 + "x = " + "(" * 100 + "x", ")" * 100 + ";" + "}" * 100, "(", ")"),
}


@pytest.mark.parametrize("shape", LIMIT)
def test_what_may_stand_in_each_other(shape: str) -> None:
    """As much as docs/language.md says, and not one more."""
    front, back, *more = LIMIT[shape]
    program = "processor P(inout meta m) {{ apply {{ bit<16> x = m.port; {}{} m.port = x; m.verdict = DELIVER; }} }}".format
    assert not check(load(Source("deep.lpn", program(front, back)))).warnings
    with pytest.raises(DiagnosticError, match="nested too deeply") as said:
        check(load(Source("deep.lpn", program(front + more[0], more[1] + back))))
    assert len(said.value.diagnostics) == 1


def test_unreadable(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="cannot read"):
        load(tmp_path / "nothing.lpn")
    with pytest.raises(Unreadable):
        load(tmp_path)
    (tmp_path / "bytes.lpn").write_bytes(b"const \xff")
    with pytest.raises(Unreadable, match="UTF-8"):
        load(tmp_path / "bytes.lpn")
    (tmp_path / "nul.lpn").write_bytes(b"const bit<8> X = 1\0;")
    with pytest.raises(DiagnosticError, match="unexpected character"):
        load(tmp_path / "nul.lpn")


def test_a_word_of_a_megabyte_is_cut_where_it_is_told() -> None:
    """As where a file of something else is given: its first line was written to the terminal whole."""
    with pytest.raises(DiagnosticError) as error:
        load(Source("fuzz.lpn", "a" * 1_000_000))
    assert len(str(error.value)) < 1000
