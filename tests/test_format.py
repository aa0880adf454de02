"""`lpnc fmt`: formatting keeps the program and its comments, and is done after one time."""

from __future__ import annotations

import random
import re
from dataclasses import fields
from pathlib import Path

import pytest
from antlr4 import InputStream, Token
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from cli import TAG, lpnc
from lpn.compiler.build import compile_program
from lpn.compiler.generate.base import RandomChoose
from lpn.compiler.generate.modules import Generator
from lpn.lang import ast
from lpn.lang.build import parse
from lpn.lang.check import check
from lpn.lang.diagnostics import Diagnostics
from lpn.lang.format import WIDTH, format_source
from lpn.lang.format.breaks import CLAUSES, DECLARED_LISTS, HUGGING, OPERATIONS
from lpn.lang.format.pieces import COMMENT
from lpn.lang.format.rows import HEADED, KEYS, NEUTRAL
from lpn.lang.format.spacing import CALLED_WORDS, TIGHT_COLON, WIDE_COLON
from lpn.lang.grammar.LpnLexer import LpnLexer
from lpn.lang.grammar.LpnParser import LpnParser
from lpn.lang.loader import load
from lpn.lang.source import Source

ROOT = Path(__file__).resolve().parents[1]
FOUND = (Phase.explicit, Phase.generate)         # a seed does not get simpler
# But for programs that stand beside their P4 originals, whose lines they keep, and those that are wrong.
SHIPPED = sorted(path for folder in ("stdlib", "examples", "tests") for path in (ROOT / folder).rglob("*.lpn")
                 if path.parent.name not in ("from_p4", "mistakes"))
DOCS = [block for page in ("language", "semantics", "tutorial") for block in
        re.findall(r"```lpn\n(.*?)```", (ROOT / f"docs/{page}.md").read_text(), re.S)]


def fmt(text: str) -> str:
    return format_source(Source("test.lpn", text))


def words(text: str) -> list[str]:
    """The tokens and comments, which formatting keeps; of comments of several lines without the indentation."""
    lexer = LpnLexer(InputStream(text))
    lexer.removeErrorListeners()
    found, at = [], 0
    while True:
        token = lexer.nextToken()
        end = len(text) if token.type == Token.EOF else token.start
        found += ["\n".join(line.strip() for line in each.split("\n")) for each in COMMENT.findall(text, at, end)]
        if token.type == Token.EOF:
            return found
        found.append(token.text)
        at = token.stop + 1


def tree(text: str) -> object:
    """The syntax tree as plain values, without places."""
    diagnostics = Diagnostics()
    imports, decls = parse(Source("test.lpn", text), diagnostics)
    assert not diagnostics.items
    return [plain(one, {}) for one in [*imports, *decls]]


def plain(value: object, seen: dict[int, int]) -> object:
    if isinstance(value, ast.Node):
        if id(value) in seen:
            return seen[id(value)]
        seen[id(value)] = len(seen)
        return [type(value).__name__, *((f.name, plain(getattr(value, f.name), seen)) for f in fields(value) if f.name not in ("span", "chain_spans", "timing_spans"))]
    if isinstance(value, (list, tuple)):
        return [plain(each, seen) for each in value]
    return value if isinstance(value, (str, int, bool, type(None))) else repr(value)


def holds(text: str) -> str:
    """What is true of every text; returns it formatted."""
    once = fmt(text)
    assert fmt(once) == once
    assert tree(once) == tree(text)
    assert words(once) == words(text)
    assert not re.search(r"[ \t]+$|\n\n\n|\A\n|\{\n\n", once, re.M) or "/*" in once
    assert once == "" or once.endswith("\n")
    return once


def shaken(text: str, seed: int, comments: bool = True, chance: int = 3) -> str:
    """The same tokens with other blanks, line ends and more comments between them."""
    draw = random.Random(seed)
    out, first = [], True
    for word in joined(words(text)):
        if not first:
            if draw.randrange(chance):
                out.append(draw.choice([" ", " ", "\n", "\t", "\n\n\n", " \n  ", "\r\n"]) if draw.randrange(3) else " ")
            elif comments:
                out.append(draw.choice([" // word\n", "\n// line; {\n", " /* a */ ", "\n/* b */ ", "\n\n/* c\n   d */\n",
                                        " /* e */\n", " @name(\"a // b\") ", "\n@x\n", "\n  //\n\n  // two\n", " /**/"]))
            else:
                out.append(draw.choice([" ", "\n"]))
        out.append(word)
        if word.startswith("//"):
            out.append("\n")
        first = False
    return "".join(out)


def joined(parts: list[str]) -> list[str]:
    """Tokens, with those two in one that may not be parted: `>>`."""
    out: list[str] = []
    for word in parts:
        if word == ">" and out and out[-1] == ">":
            out[-1] = ">>"
        else:
            out.append(word)
    return out


# ---------------------------------------------------------------- what is kept

@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_shipped_sources_are_formatted(path: Path) -> None:
    text = path.read_text()
    assert fmt(text) == text, f"run lpnc fmt {path.relative_to(ROOT)}"


@pytest.mark.parametrize("text", DOCS, ids=lambda text: text.split("\n")[0][:30])
def test_examples_of_the_docs(text: str) -> None:
    holds(text)


@given(st.integers(0, 2**32))
@settings(max_examples=8, phases=FOUND)
def test_generated_programs(seed: int) -> None:
    once = holds(Generator(RandomChoose(seed)).program().text)
    assert all(len(line) <= WIDTH for line in once.split("\n"))


@given(st.integers(0, 2**32), st.integers(2, 40))
@settings(max_examples=30, phases=FOUND)
def test_any_blanks_and_comments_between_tokens(seed: int, chance: int) -> None:
    draw = random.Random(seed)
    text = (draw.choice(SHIPPED).read_text() if draw.randrange(2) else Generator(RandomChoose(seed)).program().text)
    decls = re.split(r"\n(?=\w)", text)
    at = draw.randrange(len(decls))
    holds(shaken("\n".join(decls[at:at + 3]), seed, chance=chance))


@given(st.integers(0, 2**32))
@settings(max_examples=3, phases=FOUND)
def test_a_program_in_one_line_or_one_token_a_line(seed: int) -> None:
    text = COMMENT.sub("", Generator(RandomChoose(seed)).program().text)
    for joint in (" ", "\n"):
        once = holds(joint.join(joined(words(text))))
        assert joint == "\n" or all(len(line) <= WIDTH for line in once.split("\n"))


@given(st.integers(0, 200))
@settings(max_examples=4, phases=FOUND)
def test_bytecode_is_the_same(seed: int) -> None:
    text = Generator(RandomChoose(seed)).program().text
    assert bytecode(fmt(shaken(text, seed, comments=False))) == bytecode(text)


def test_bytecode_of_an_example_is_the_same() -> None:
    text = (ROOT / "examples/udp/udp.lpn").read_text()
    assert bytecode(fmt(shaken(text, 1))) == bytecode(text)


def bytecode(text: str) -> list[bytes]:
    """The instructions of all modules, without lines."""
    return [one.code.text for one in compile_program(check(load(Source("test.lpn", text)))).containers]


# ---------------------------------------------------------------- the tables

def test_tables_name_what_the_grammar_has() -> None:
    """A rule that was renamed would quietly be set as if it were unknown."""
    kinds = {name.removesuffix("Context") for name in vars(LpnParser) if name.endswith("Context")}
    for table in (KEYS, NEUTRAL, HEADED, HUGGING, OPERATIONS, DECLARED_LISTS, TIGHT_COLON, WIDE_COLON):
        assert set(table) <= kinds, set(table) - kinds
    literals = {name.strip("'") for name in LpnParser.literalNames}
    assert CLAUSES | CALLED_WORDS <= literals


@pytest.mark.parametrize("path", [path for path in SHIPPED if path.stem in ("sixlowpan", "udp", "forward")], ids=lambda path: path.stem)
def test_constructs_that_no_table_knows_are_kept(path: Path) -> None:
    """The general rules alone keep every token, comment and meaning: nothing depends on a construct's being known."""
    tables: tuple = (KEYS, NEUTRAL, HEADED, HUGGING, OPERATIONS, DECLARED_LISTS, TIGHT_COLON, WIDE_COLON, CLAUSES, CALLED_WORDS)
    saved = [table.copy() for table in tables]
    try:
        for table in tables:
            table.clear()
        holds(path.read_text())
        holds(shaken(path.read_text(), 3, chance=20))
    finally:
        for table, old in zip(tables, saved):
            table.update(old)


# ---------------------------------------------------------------- the style

CASES = {
    "columns of fields, equations and conditions": (
        "header H{bit<4> version=6;\nbit<20> flow;\nbit<8> a = 0 when(flow==1);\nbit<16> bb = 0x0100 when (flow == 2);}",
        """\
header H {
    bit<4>  version = 6;
    bit<20> flow;
    bit<8>  a  = 0      when (flow == 1);
    bit<16> bb = 0x0100 when (flow == 2);
}
"""),
    "one-line states keep their line, and are a table": (
        "parser P(packet pkt,out headers h){\nstate a{pkt.extract(h.a);transition accept;}\n"
        "state longer{pkt.extract(h.longer);transition accept;}}",
        """\
parser P(packet pkt, out headers h) {
    state a      { pkt.extract(h.a);      transition accept; }
    state longer { pkt.extract(h.longer); transition accept; }
}
"""),
    "rows of a codec": (
        "codec C<->H{tag 0b0,a:1 , bc :2 ;\na{1:x=1;0:inline(x);}\n\nbc {3:y=1;\n\n2:inline(pad : 2,y),\nz=0;}}",
        """\
codec C <-> H {
    tag 0b0, a:1, bc:2;
    a  { 1: x = 1;  0: inline(x); }

    bc { 3: y = 1;

         2: inline(pad:2, y),
            z = 0; }
}
"""),
    "comments stay with what they follow, in columns": (
        "// top\n\n\n\nstruct S { // of S\n bit<8> a;// one\n  /* two */ bool b; // three\n\n// last\n}\n// end",
        """\
// top

struct S {                                      // of S
    bit<8> a;                                   // one
    /* two */ bool b;                           // three

    // last
}
// end
"""),
    "else stands beside a block, below a line": (
        "function void f() { if(a){ b = 1 ; }\nelse if (ccc) { d=2; }\nelse{\nif (a) {\nb = 1; }\nelse { c = 1; } } }",
        """\
function void f() {
    if (a)        { b = 1; }
    else if (ccc) { d = 2; }
    else {
        if (a) {
            b = 1;
        } else { c = 1; }
    }
}
"""),
    "annotations and properties in several lines": (
        'control C(inout H h){@name("a, {b") table t{key={h.a:exact;\n}actions={NoAction;}\n  @hidden size=4; '
        'default_action =NoAction();}\n\n@x apply{}}',
        """\
control C(inout H h) {
    @name("a, {b") table t {
        key = {
            h.a : exact;
        }
        actions = { NoAction; }
        @hidden size = 4;
        default_action = NoAction();
    }

    @x apply {}
}
"""),
    "operators": (
        "function bit<8> f(bit<8> x){return -x+ ~ (bit<8>)x*2 >>1^- - x[7:0]++h.a.lookahead<bit<8>>()?x..3:(x)&&& !y;}",
        """\
function bit<8> f(bit<8> x) {
    return -x + ~(bit<8>) x * 2 >> 1 ^ --x[7:0] ++ h.a.lookahead<bit<8>>() ? x..3 : (x) &&& !y;
}
"""),
    "statements are broken where their author broke them": (
        "const bool A = first&&\nsecond ||\n third(a\n,b,\nc) == (x ? y\n: z);",
        """\
const bool A = first
    && second
    || third(a, b,
        c) == (x ? y
                 : z);
"""),
    "time": (
        "timing T{every 125 ms jitter 500 us within 300 us{radio.on();}\non radio.rx_start(frame)within 100 us{t=frame.time;}"
        "energy{radio.on<=9%;}}protocol P version 1{on radio.rx_done:Rx->Tx within 4 ms;timing:T;}",
        """\
timing T {
    every 125 ms jitter 500 us within 300 us { radio.on(); }
    on radio.rx_start(frame) within 100 us { t = frame.time; }
    energy { radio.on <= 9 %; }
}
protocol P version 1 { on radio.rx_done : Rx -> Tx within 4 ms; timing : T; }
"""),
}


@pytest.mark.parametrize("name", CASES)
def test_style(name: str) -> None:
    text, expected = CASES[name]
    assert fmt(text) == expected
    assert fmt(expected) == expected


def test_long_lines_are_broken() -> None:
    long = " && ".join(f"h.field_{n} == {n}" for n in range(20))
    once = holds(f"function bool f() {{ if ({long}) {{ return true; }} return g({long}, false); }}"
                 f"enum bit<8> E {{ {', '.join(f'MEMBER_{n}' for n in range(40))} }}")
    assert max(map(len, once.split("\n"))) <= WIDTH
    assert once.count("\n") < 25


# ---------------------------------------------------------------- the command

@pytest.fixture
def messy(tmp_path: Path) -> Path:
    path = tmp_path / "tag.lpn"
    path.write_text(TAG.replace("    ", "\t "))
    return path


def test_in_place(messy: Path) -> None:
    messy.chmod(0o640)
    result = lpnc("fmt", messy)
    assert (result.exit_code, result.stdout) == (0, "1 file: 1 changed\n")
    assert messy.read_text() == fmt(TAG) and messy.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in messy.parent.iterdir()] == ["tag.lpn"]
    assert lpnc("fmt", messy).stdout == "1 file: none changed\n"


def test_through_a_link(messy: Path) -> None:
    link = messy.parent / "link.lpn"
    link.symlink_to(messy)
    lpnc("fmt", link)
    assert link.is_symlink() and messy.read_text() == fmt(TAG)


def test_standard_input() -> None:
    result = lpnc("fmt", "-", input=b"const bit<8>  A=1;")
    assert (result.exit_code, result.stdout) == (0, "const bit<8> A = 1;\n")


def test_check_and_diff_write_nothing(messy: Path) -> None:
    before = messy.read_text()
    result = lpnc("fmt", "--check", messy)
    assert result.exit_code == 1 and f"{messy} would change" in result.stdout
    result = lpnc("fmt", "--diff", messy)
    assert result.exit_code == 0 and "+    state start {\n" in result.stdout
    assert lpnc("fmt", "--check", "--diff", messy).exit_code == 1
    assert messy.read_text() == before
    messy.write_text(fmt(before))
    result = lpnc("fmt", "--check", messy)
    assert (result.exit_code, result.stdout) == (0, "1 file: none would change\n")


def test_json(messy: Path) -> None:
    result = lpnc("fmt", "--check", "--json", messy, messy.parent / "none.lpn")
    assert result.exit_code == 2
    assert '"changed": true' in result.stdout and '"error": "error: cannot read' in result.stdout
    assert lpnc("fmt", "--json", "-", input=b"").exit_code == 2


def test_syntax_errors_leave_the_file(messy: Path) -> None:
    bad = messy.parent / "bad.lpn"
    bad.write_text("const bit<8>  A=1\nstruct S { bit<8> a }")
    result = lpnc("fmt", bad, messy)
    assert result.exit_code == 1
    assert f"{bad}:1:18: error: expected ';' after the constant" in result.stderr
    assert bad.read_text() == "const bit<8>  A=1\nstruct S { bit<8> a }"
    assert messy.read_text() == fmt(TAG)


@pytest.mark.parametrize("text", ["", "\n\n", "// only\n\n\n// this", "/* a */", ";"[:0]])
def test_without_declarations(text: str) -> None:
    holds(text)
