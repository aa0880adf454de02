"""The committed parser is the one that the grammar gives, and the shipped sources parse quickly."""
from __future__ import annotations

from pathlib import Path

import pytest

from lpn.lang.grammar import generate
from lpn.lang.loader import load
from work import calls

ROOT = Path(__file__).parent.parent
SOURCES = sorted(ROOT.glob("stdlib/*.lpn")) + sorted(ROOT.glob("examples/*/*.lpn"))


@pytest.mark.skipif(generate.missing() is not None, reason=str(generate.missing()))
def test_parser_is_generated_from_grammar(tmp_path: Path) -> None:
    generate.generate(tmp_path)
    for name in generate.FILES:
        assert (tmp_path / name).read_text() == (ROOT / "lang/grammar" / name).read_text(), f"run python -m lpn.lang.grammar.generate for {name}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_shipped_sources_parse(path: Path) -> None:
    assert load(path).decls


def test_parsing_takes_well_under_a_second() -> None:
    path = ROOT / "examples/udp/udp.lpn"
    load(path)
    assert calls(lambda: load(path)) < 1_200_000
