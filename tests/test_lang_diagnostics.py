"""How diagnostics look."""
from __future__ import annotations

from pathlib import Path

import pytest

from lpn.lang import ast
from lpn.lang.build import parse
from lpn.lang.check import check
from lpn.lang.diagnostics import Diagnostic, DiagnosticError, Diagnostics, render, rich_text
from lpn.lang.library import declared
from lpn.lang.loader import load
from lpn.lang.source import Source, Span
from lpn.lang.syntax import FORMS


def told(text: str) -> str:
    with pytest.raises(DiagnosticError) as caught:
        check(load(Source("x.lpn", text)))
    return str(caught.value)


def test_a_handler_is_not_told_of_the_parser():
    """No parser runs before it: where one accepts says nothing of the headers that it has."""
    with pytest.raises(DiagnosticError) as error:
        check(load(Source("x.lpn", """header H { bit<8> a; }
struct headers { H h; H g; }
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
deparser Tx(packet pkt, in headers h) { pkt.emit(h.h); }
timing T { register<bit<8>> n; every 1 s { headers h; if (n == 1) { h.g.setValid(); } n = h.g.a; radio.send(Tx(h)); } }
protocol P version 1 { on radio.rx_done : Rx; timing : T; }""")))
    [one] = error.value.diagnostics
    assert one.message == "'h.g' may not be valid here" and not one.notes


def test_a_diagnostic_shows_place_line_and_what_to_do() -> None:
    assert told("const bit<8> A = 1;\n\tconst bit<8> B = A + 16w2;\n") == (
        "x.lpn:2:19: error: the operands of '+' have different types, bit<8> and bit<16>\n"
        " 2 |     const bit<8> B = A + 16w2;\n"
        "   |                      ^^^^^^^^\n"
        "  help: widths never change silently: cast one, as in (bit<16>) ...")


def test_a_note_shows_the_other_place() -> None:
    assert told("const bit<8> A = 1;\nconst bit<8> A = 2;") == (
        "x.lpn:2:1: error: 'A' is declared twice\n"
        " 2 | const bit<8> A = 2;\n"
        "   | ^^^^^^^^^^^^^^^^^^^\n"
        "x.lpn:1:1: note: the first one is here\n"
        " 1 | const bit<8> A = 1;\n"
        "   | ^^^^^^^^^^^^^^^^^^^\n"
        "  help: rename one of the two")


def test_several_lines_are_underlined_to_the_end_of_the_first() -> None:
    assert told("header H {\n    bit<8> a;\n    bit<4> b;\n}\nparser P(packet pkt) {\n}") .count("^") == len("bit<4> b;") + len("parser P(packet pkt) {")


def test_long_lines_are_cut_around_the_place() -> None:
    text = "const bit<8> X = " + " + ".join(["1"] * 80) + " + oops;"
    shown = told(text).split("\n")
    assert "oops" in shown[1] and max(map(len, shown)) < 180
    assert shown[1].index("oops") == shown[2].index("^")


def test_control_characters_are_not_sent_to_the_terminal() -> None:
    assert "\x1b" not in told("const bit<8> X = \x1b[31m5;")
    assert "\x1b" not in told('const bit<128> X = ip6"\x1b[31m";')


def test_colour_says_the_same() -> None:
    source = Source("x.lpn", "const bit<8> A = 300;")
    one = Diagnostic("warning", "too large", Span(source, 1, 18, 1, 21), ["use less"], [("seen here", Span(source, 1, 1, 1, 6)), ("and somewhere", None)])
    assert rich_text([one, one]).plain.rstrip("\n") == render([one, one])
    error = Diagnostic("error", "wrong", None)
    assert rich_text([one] * 60 + [error]).plain.startswith("error: wrong\n") and rich_text([one] * 60 + [error]).plain.endswith("... and 11 more\n")
    assert "bold yellow" in {str(part.style) for part in rich_text([one]).spans}


def test_a_diagnostic_without_place() -> None:
    assert render([Diagnostic("error", "cannot read x", None)]) == "error: cannot read x"


def test_the_same_is_said_once() -> None:
    collected = Diagnostics()
    collected.error("a", None)
    collected.error("a", None)
    collected.warning("b", None)
    assert (len(collected.items), collected.errors) == (2, 1)


def test_warnings_do_not_stop_and_come_with_errors_in_order() -> None:
    program = check(load(Source("x.lpn", "parser P(packet pkt) { state start { transition accept; } state never { transition accept; } }")))
    assert [one.message for one in program.warnings] == ["state 'never' is never reached"]
    text = told("parser P(packet pkt) { state start { transition accept; }\nstate never { transition accept; } }\nconst bit<8> X = 300;")
    assert text.index("warning") < text.index("error")


def test_files_that_import_each_other(tmp_path: Path) -> None:
    (tmp_path / "a.lpn").write_text("import b;\nconst bit<8> A = 1;\n")
    (tmp_path / "b.lpn").write_text("import c;\n")
    (tmp_path / "c.lpn").write_text("import a;\n")
    with pytest.raises(DiagnosticError) as caught:
        load(tmp_path / "a.lpn")
    (one,) = caught.value.diagnostics
    assert one.message == "these files import each other in a circle"
    assert one.notes[0][0] == " -> ".join(str(tmp_path / f"{name}.lpn") for name in "abca")


def test_an_imported_file_is_called_as_its_importer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Imports of imports had the names that the system knows them by."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.lpn").write_text("import b;\n")
    (tmp_path / "src/b.lpn").write_text("import c;\n")
    (tmp_path / "src/c.lpn").write_text("const bit<8> C = 300;\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DiagnosticError, match="^src/c.lpn:1:18: error"):
        check(load("src/a.lpn"))


def test_imports_are_read_once_and_come_first(tmp_path: Path) -> None:
    (tmp_path / "a.lpn").write_text("import lib.b; import lib.c;\nconst bit<8> A = B + C;\n")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/b.lpn").write_text("import d;\nconst bit<8> B = D;\n")
    (tmp_path / "lib/c.lpn").write_text("import d;\nimport elsewhere;\nconst bit<8> C = D;\n")
    (tmp_path / "lib/d.lpn").write_text("const bit<8> D = 1;\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/elsewhere.lpn").write_text("const bit<8> E = 1;\n")
    with pytest.raises(DiagnosticError, match="there is no module elsewhere"):
        load(tmp_path / "a.lpn")
    program = check(load(tmp_path / "a.lpn", search=[tmp_path / "other"]))
    assert [decl.name for decl in program.decls] == ["D", "B", "E", "C", "A"]  # type: ignore[union-attr]
    assert [decl.name for decl in program.main] == ["A"]  # type: ignore[union-attr]


def test_an_error_in_an_imported_file_names_that_file(tmp_path: Path) -> None:
    (tmp_path / "a.lpn").write_text("import b;\n")
    (tmp_path / "b.lpn").write_text("const bit<8> B = 300;\nconst bit<8> C 5;")
    with pytest.raises(DiagnosticError) as caught:
        load(tmp_path / "a.lpn")
    assert [str(one.span) for one in caught.value.diagnostics] == [f"{tmp_path / 'b.lpn'}:2:15"]


@pytest.mark.parametrize("path", sorted((Path(__file__).parent.parent / "stdlib").glob("*.lpn")), ids=lambda path: path.name)
def test_each_file_of_the_library_checks_alone(path: Path) -> None:
    program = check(load(path))
    for decl in program.main:
        if not isinstance(decl, ast.ErrorDecl):
            assert declared()[decl.name][1] == path.stem, decl.name     # type: ignore[union-attr]


PLACES = {                                      # where each form stands
    "processor P(inout headers h, inout meta m) {{ {} apply {{ }} }}": ("registerDecl", "counterDecl", "meterDecl", "bufferDecl", "actionDecl"),
    "processor P(inout headers h, inout meta m) {{ table t {{ {} }} apply {{ }} }}": ("tableDecl",),
    "processor P(inout headers h, inout meta m) {{ table t {{ {} actions = {{ drop; }} }} apply {{ }} }}": ("tableKey", "tableEntry"),
    "header H {{ {} }}": ("choiceItem", "headerItem", "fieldDecl"),
    "codec C() <-> H {{ {} }}": ("codecTag", "codecRow"),
    "parser P(packet pkt, out headers h) {{ state start {{ {} }} }}": ("transition",),
    "parser P(packet pkt, out headers h) {{ state start {{ transition select(h.a) {{ {} }} }} }}": ("selectCase",),
    "parser P(packet pkt, out headers h) {{ state start {{ transition udp; }} {} }}": ("stateDecl",),
    "timing T {{ {} }}": ("handler",),
    "timing T {{ energy {{ {} }} }}": ("energyBudget",),
    "protocol P version 1 {{ {} }}": ("protocolItem",),
    "{}": ("externDecl", "enumDecl", "typedefDecl", "importDecl", "constDecl", "functionDecl"),
}


def test_forms_that_hints_show_are_right() -> None:
    assert sorted(FORMS) == sorted(rule for rules in PLACES.values() for rule in rules)
    for place, rules in PLACES.items():
        for rule in rules:
            found = Diagnostics()
            parse(Source("form.lpn", place.format(FORMS[rule])), found)
            assert found.items == [], rule


def test_where_reading_stops_is_told() -> None:
    with pytest.raises(DiagnosticError) as told:
        check(load(Source("x.lpn", "const bit<8> = 1;\n" * 30)))
    *others, last = told.value.diagnostics
    assert (len(others), last.span.line) == (19, 20)
    assert last.hints[-1] == "reading stops behind 20 errors: there may be more"
    assert not any("reading stops" in hint for one in others for hint in one.hints)
