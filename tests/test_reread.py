"""A text that is read again has the tree that it had, and places in the source that it is read from now."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from lpn.compiler.build import compile_program
from lpn.lang import reread
from lpn.lang.build import parse
from lpn.lang.check import check
from lpn.lang.diagnostics import DiagnosticError, Diagnostics
from lpn.lang.loader import load
from lpn.lang.source import Source

ROOT = Path(__file__).parents[1]
SOURCES = [path for folder in ("stdlib", "examples/*", "tests/constructs") for path in sorted(ROOT.glob(f"{folder}/*.lpn"))]
LONG = "const bit<32> N = " + " + ".join(["1"] * 40) + ";\n"


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reread, "_kept", type(reread._kept)())


def told(node: object, seen: dict[int, int]) -> Iterator[object]:
    """All that a tree has, in order; a node that was told before by its number."""
    if isinstance(node, Source):
        yield node.name
    elif is_dataclass(node):
        if id(node) in seen:
            yield seen[id(node)]
            return
        if type(node).__name__ != "Span":       # places have no identity
            seen[id(node)] = len(seen)
        yield type(node).__name__
        for field in fields(node):
            yield field.name
            yield from told(getattr(node, field.name), seen)
    elif isinstance(node, (list, tuple)):
        yield type(node).__name__, len(node)
        for each in node:
            yield from told(each, seen)
    else:
        yield repr(node)


def read(source: Source) -> list[object]:
    said = Diagnostics()
    items = parse(source, said)
    assert not said.items
    return list(told(items, {}))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_it_is_the_same_tree(path: Path) -> None:
    text = path.read_text()
    trees = [read(Source("x.lpn", text)) for _ in range(4)]
    assert trees[0] == trees[1] == trees[2] == trees[3] and reread._kept[text] is not None


def test_places_are_those_of_the_source_that_is_read() -> None:
    for name in ("a.lpn", "b.lpn", "c.lpn", "d.lpn"):
        source = Source(name, LONG)
        [decl] = parse(source, Diagnostics())[1]
        assert decl.span.source is source and decl.value.span.source is source


def test_who_changes_a_tree_changes_his_own() -> None:
    for _ in range(4):
        [decl] = parse(Source("x.lpn", LONG), Diagnostics())[1]
        assert decl.value is not None
        decl.value = None


def test_programs_mean_the_same() -> None:
    source = ROOT / "examples" / "udp" / "udp.lpn"
    codes = [[container.code.text for container in compile_program(check(load(source))).containers] for _ in range(3)]
    assert codes[0] == codes[1] == codes[2] and reread._kept[source.read_text()] is not None


@pytest.mark.parametrize("text", ["const bit<8> N = ;\n", "header h { bit<8> }\n", "£\n", "const bit<8> N = " + "(" * 200 + "1" + ")" * 200 + ";\n"],
                         ids=("value", "name", "character", "depth"))
def test_what_is_wrong_is_said_each_time(text: str) -> None:
    said = []
    for _ in range(4):
        with pytest.raises(DiagnosticError) as raised:
            load(Source("x.lpn", text))
        said.append([str(each) for each in raised.value.diagnostics])
    assert said[0] and said[0] == said[1] == said[2] == said[3] and not reread._kept


def test_no_more_than_so_many_are_kept() -> None:
    for at in range(reread.MOST + 20):
        for _ in range(2):
            parse(Source("x.lpn", f"const bit<32> N = {at};\n"), Diagnostics())
    assert len(reread._kept) == reread.MOST and f"const bit<32> N = {reread.MOST + 19};\n" in reread._kept


def test_what_is_too_deep_to_be_kept_is_parsed_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser goes deeper than what keeps its trees, in this version of Python."""
    def deep(*_: object) -> None:
        raise RecursionError
    monkeypatch.setattr(reread._Writer, "dump", deep)
    assert [len(parse(Source("x.lpn", LONG), Diagnostics())[1]) for _ in range(4)] == [1] * 4 and reread._kept[LONG] is None
