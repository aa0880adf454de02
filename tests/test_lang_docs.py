"""The language reference says what is true: its examples check, and what it calls refused is refused in those words."""
from __future__ import annotations

import re
from pathlib import Path

import pytest

from test_lang_rules import cases

TEXT = (Path(__file__).parent.parent / "docs/language.md").read_text()
SECTIONS = [(title, body) for title, _, body in (part.partition("\n") for part in re.split(r"^## ", TEXT, flags=re.M)[1:])]
BLOCK = re.compile(r"^```(lpn\S*)\n(.*?)^```", re.M | re.S)

PROGRAMS = [pytest.param("".join(code for kind, code in BLOCK.findall(body) if kind == "lpn"), id=title.strip())
            for title, body in SECTIONS if "```lpn\n" in body]
REFUSED = [pytest.param(code, id=f"{title.strip()} {number}") for title, body in SECTIONS
           for number, (kind, code) in enumerate(BLOCK.findall(body)) if kind == "lpn-refused"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_examples_check(program: str) -> None:
    assert cases.said(program) == []


@pytest.mark.parametrize("program", REFUSED)
def test_what_is_refused(program: str, tmp_path: Path) -> None:
    path = tmp_path / "doc.cases"
    path.write_text(f"=== doc\n{program}")
    (case,) = cases.read(path)
    assert case.expected and cases.said(case.text) == case.expected


def test_links_lead_somewhere() -> None:
    anchors = {title.strip().lower().replace(" ", "-") for title, _ in SECTIONS}
    assert set(re.findall(r"\]\(#([^)]*)\)", TEXT)) <= anchors


def test_every_kind_of_block_is_known() -> None:
    assert set(kind for kind, _ in BLOCK.findall(TEXT)) == {"lpn", "lpn-refused"}
