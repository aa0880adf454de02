"""Every rule of the language by a program that breaks it, with the exact words; see `lang/cases.py`."""
from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "lang"
spec = importlib.util.spec_from_file_location("lang_cases", FOLDER / "cases.py")
assert spec is not None and spec.loader is not None
cases = importlib.util.module_from_spec(spec)
sys.modules["lang_cases"] = cases
spec.loader.exec_module(cases)

ALL = [pytest.param(case, id=f"{path.stem}: {case.title}") for path in sorted(FOLDER.glob("*.cases")) for case in cases.read(path)]


@pytest.mark.parametrize("case", ALL)
def test_rule(case: "cases.Case") -> None:
    assert cases.said(case.text) == case.expected


def test_titles_are_unique() -> None:
    for path in FOLDER.glob("*.cases"):
        titles = [case.title for case in cases.read(path)]
        assert len(titles) == len(set(titles)), path.name
