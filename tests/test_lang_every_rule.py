"""Every message of the front end has a program in `lang/*.cases` that brings it about: no rule is untested."""
from __future__ import annotations

import ast
import sys
from pathlib import Path

from test_lang_rules import ALL, cases

import lpn.lang
from lpn.lang.check import check
from lpn.lang.check.unsent import unsent
from lpn.lang.diagnostics import DiagnosticError, Diagnostics
from lpn.lang.loader import load
from lpn.lang.source import Source

LANG = Path(lpn.lang.__file__ or lpn.lang.__path__[0]).resolve()
LANG = LANG.parent if LANG.is_file() else LANG
PASSES = [LANG / "syntax.py", LANG / "loader.py", *sorted(LANG.glob("build*.py")), *sorted((LANG / "check").glob("*.py"))]
REPORTS = ("error", "warning", "refuse")


def sites() -> dict[tuple[str, int, int], str]:
    """(file, first line, last line) of each place that reports something -> the call as written."""
    found = {}
    for path in PASSES:
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and node.args:
                name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
                if name in REPORTS and not (isinstance(node.args[0], ast.Name) and node.args[0].id == "message"):
                    found[str(path), node.lineno, node.end_lineno or node.lineno] = ast.get_source_segment(text, node) or name
    return found


def several_files(folder: Path) -> list[str]:
    """Programs whose mistake is in how files import each other, or in how deep they are; what is said of them."""
    folder.joinpath("a.lpn").write_text("import b;\n")
    folder.joinpath("b.lpn").write_text("import a;\n")
    folder.joinpath("c.lpn").write_text("import d;\n")
    folder.joinpath("ending.lpn").write_text("import d.lpn;\n")
    folder.joinpath("d.lpn").mkdir()
    for n in range(70):
        folder.joinpath(f"deep{n}.lpn").write_text(f"import deep{n + 1};\n")
    folder.joinpath("deep70.lpn").write_text("")
    folder.joinpath("nested.lpn").write_text("const bit<8> A = " + "(" * 3000 + "1" + ")" * 3000 + ";\n")
    folder.joinpath("e.lpn").write_text("import f;\n")
    folder.joinpath("f.lpn").write_bytes(b"\xff\xfe")
    folder.joinpath("long.lpn").write_text("const bit<32> A = " + " + ".join(["1"] * 3000) + ";\n")
    functions = [f"function bit<8> f{n}(bit<8> x) {{ return f{n - 1}(x); }}\n" for n in range(1, 300)]
    folder.joinpath("calls.lpn").write_text("".join(["function bit<8> f0(bit<8> x) { return x; }\n", *functions]))
    said = []
    for name in ("a", "c", "e", "deep0", "nested", "long", "ending", "calls"):
        try:
            check(load(folder / f"{name}.lpn"))
            said.append("")
        except DiagnosticError as error:
            said.append(error.diagnostics[0].message)
    return said


def test_mistakes_between_files(tmp_path: Path) -> None:
    assert several_files(tmp_path) == [
        "these files import each other in a circle", "there is no module d", f"cannot read {tmp_path / 'f.lpn'}: it is not UTF-8 text (byte 0)", "imports are nested too deeply",
        "this is nested too deeply", "this has 2999 operators in a row, and at most 512 are read",
        "there is no module d.lpn", "'f256' calls what calls others, 257 in each other, and at most 256 are put in line"]


def for_a_node() -> list[str]:
    """What only those are told who build for a node."""
    found = unsent(check(load(Source("x.lpn", "processor P(inout meta m) { apply { m.verdict = TRANSMIT; } }\nprotocol X version 1 { on radio.tx_start : P; on radio.tx_done : P; }\n"))))
    return [line for one in found for line in (one.message, *one.hints)]


def test_what_a_node_does_not_send() -> None:
    """From an interrupt nothing is sent at all."""
    assert for_a_node() == ["a node sends nothing here: the chain of radio.tx_start has no deparser", "a node sends nothing here: the chain of radio.tx_done has no deparser",
                            "put one behind it: P -> Tx"]


def lines_that_report(folder: Path) -> set[tuple[str, int]]:
    """The lines of the front end on the stack whenever a diagnostic is made, over all cases."""
    seen: set[tuple[str, int]] = set()
    add = Diagnostics._add

    def recorded(self: Diagnostics, new: object) -> None:
        frame = sys._getframe(1)
        while frame is not None:
            seen.add((frame.f_code.co_filename, frame.f_lineno))
            frame = frame.f_back            # type: ignore[assignment]
        add(self, new)                      # type: ignore[arg-type]

    Diagnostics._add = recorded             # type: ignore[method-assign]
    try:
        for case in ALL:
            cases.said(case.values[0].text)
        several_files(folder)
        for_a_node()
    finally:
        Diagnostics._add = add              # type: ignore[method-assign]
    return seen


def test_every_message_has_a_case(tmp_path: Path) -> None:
    seen = lines_that_report(tmp_path)
    silent = [f"{Path(file).name}:{first}: {' '.join(call.split())[:140]}" for (file, first, last), call in sorted(sites().items())
              if not any((file, line) in seen for line in range(first, last + 1))]
    assert not silent, f"{len(silent)} messages without a program:\n" + "\n".join(silent)
