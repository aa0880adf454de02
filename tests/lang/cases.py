"""Cases: small programs with what the front end says of them written beside the lines.

A file holds cases, each begun by `=== title`. What is expected follows a line as `//! column: message` (an error) or
`//w column: message` (a warning), and `//? help`; a case without any must check. `python tests/lang/cases.py FILE...`
writes the expectations anew from what is said now: read the difference before you believe it.
"""
from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from lpn.lang.check import check
from lpn.lang.diagnostics import Diagnostic, DiagnosticError
from lpn.lang.loader import load
from lpn.lang.source import Source

FOLDER = Path(__file__).parent
EXPECTATION = re.compile(r"^\s*//[!w?]")


@dataclass
class Case:
    title: str
    lines: list[str]                            # as written, expectations included
    expected: list[str]                         # with line numbers of the program

    @property
    def text(self) -> str:
        return "\n".join(line for line in self.lines if not EXPECTATION.match(line)) + "\n"


def read(path: Path) -> list[Case]:
    cases: list[Case] = []
    for block in re.split(r"^=== ", path.read_text(), flags=re.M)[1:]:
        title, _, body = block.partition("\n")
        lines = body.rstrip("\n").split("\n") if body.strip() else []
        expected, number = [], 0
        for line in lines:
            if EXPECTATION.match(line):
                expected.append(f"{number}{line.strip()[2:]}")
            else:
                number += 1
        cases.append(Case(title.strip(), lines, expected))
    return cases


def said(text: str) -> list[str]:
    """What the front end says of a program, in the form of the expectations."""
    diagnostics: list[Diagnostic]
    try:
        diagnostics = check(load(Source("case.lpn", text))).warnings
    except DiagnosticError as error:
        diagnostics = error.diagnostics
    out = []
    for one in diagnostics:
        line, column = (one.span.line, one.span.column) if one.span is not None else (0, 0)
        out.append(f"{line}{'!' if one.severity == 'error' else 'w'} {column}: {one.message}")
        out += [f"{line}? {hint}" for hint in one.hints]
    return out


def with_expectations(case: Case) -> list[str]:
    spoken = said(case.text)
    out, number = [], 0
    for line in case.text.rstrip("\n").split("\n"):
        number += 1
        out.append(line)
        for one in spoken:
            match = re.match(r"(\d+)(.*)", one)
            assert match is not None
            if int(match[1]) == number:
                out.append(f"//{match[2]}")
    return out


def write(path: Path) -> None:
    head = path.read_text().partition("=== ")[0]
    blocks = [f"=== {case.title}\n" + "\n".join(with_expectations(case)) + "\n" for case in read(path)]
    path.write_text(head + "\n".join(blocks))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        write(Path(name))
