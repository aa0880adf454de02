"""The colours of editors: the TextMate grammar knows the words of the language, and a real engine colours the sources by it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from shutil import which

import pytest
from antlr4 import Token

from lpn.lang import builtins
from lpn.lang.diagnostics import Diagnostics
from lpn.lang.format.pieces import COMMENT, leaves
from lpn.lang.grammar.LpnParser import LpnParser
from lpn.lang.source import Source
from lpn.lang.syntax import parse_tree

ROOT = Path(__file__).resolve().parents[1]
EXTENSION = ROOT / "docs/editor/vscode"
GRAMMAR = EXTENSION / "syntaxes/lpn.tmLanguage.json"
SOURCES = sorted([*ROOT.glob("stdlib/*.lpn"), *ROOT.glob("examples/*/*.lpn")])
# Where the engine that editors use may be: npm install --prefix build/editor vscode-textmate vscode-oniguruma
MODULES = Path(os.environ.get("LPN_NODE_MODULES", ROOT / "build/editor/node_modules"))
MISSING = ("there is no node" if which("node") is None else
           "npm install --prefix build/editor vscode-textmate vscode-oniguruma" if not (MODULES / "vscode-textmate").is_dir() else "")
WORD = re.compile(r"[a-z_]+")


def words(*entries: str) -> set[str]:
    """The words that entries of the TextMate grammar's repository list."""
    repository = json.loads(GRAMMAR.read_text())["repository"]
    found: set[str] = set()
    for entry in entries:
        for rule in repository[entry].get("patterns", [repository[entry]]):
            for listed in re.findall(r"\\b\(\?:([a-z_|]+)\)\\b|\\b\(([a-z]+(?:\|[a-z]+)+)\)\\b", rule["match"]):
                found |= set("|".join(listed).split("|")) - {""}
    return found


def test_words_are_those_of_the_language() -> None:
    literals = {name.strip("'") for name in LpnParser.literalNames if WORD.fullmatch(name.strip("'"))}
    text = (ROOT / "lang/grammar/Lpn.g4").read_text()
    soft = set(re.findall(r"'([a-z_]+)'", text[text.index("\nidentifier"):text.index("\nqualified")]))
    assert words("types", "constants", "keywords", "soft-words", "number") == literals, f"add them to {GRAMMAR.relative_to(ROOT)}"
    assert words("soft-words", "number") == soft
    repository = json.loads(GRAMMAR.read_text())["repository"]
    names = set(re.findall(r"\w+", repository["builtins"]["patterns"][1]["match"])) - {"b"}
    assert names == {*builtins.VERDICTS, *builtins.RADIO_RESULTS, *builtins.COLOURS, *builtins.PUT_RESULTS}


def test_manifest_names_what_is_there() -> None:
    manifest = json.loads((EXTENSION / "package.json").read_text())
    contributed = manifest["contributes"]
    assert manifest["version"] in (ROOT / "setup.cfg").read_text()
    for path in (manifest["main"], contributed["languages"][0]["configuration"], contributed["grammars"][0]["path"]):
        assert (EXTENSION / path).is_file()
    assert contributed["grammars"][0]["scopeName"] == json.loads(GRAMMAR.read_text())["scopeName"]
    json.loads((EXTENSION / "language-configuration.json").read_text())
    assert "lpnc" == contributed["configuration"]["properties"]["lpn.command"]["default"]


@pytest.mark.skipif(MISSING != "", reason=MISSING)
def test_a_real_engine_colours_every_word_and_comment() -> None:
    """Each token of the parser, and each comment, has the scope that it should have."""
    made = subprocess.run(["node", ROOT / "tests/textmate.js", MODULES, GRAMMAR, *SOURCES], capture_output=True, text=True, check=True)
    scopes = json.loads(made.stdout)
    wrong, seen = [], 0
    for path in SOURCES:
        text = path.read_text()

        def scope(line: int, column: int) -> list[str]:
            return next(names for start, end, names in scopes[str(path)][line - 1] if start <= column < end)

        def expect(line: int, column: int, kinds: tuple[str, ...], there: bool = True) -> None:
            nonlocal seen
            seen += 1
            if any(name.startswith(kinds) for name in scope(line, column)) is not there:
                wrong.append(f"{path.name}:{line}:{column + 1} {scope(line, column)}: {text.split(chr(10))[line - 1].strip()}")
        end = 0
        tree = parse_tree(Source(str(path), text), Diagnostics())
        assert tree is not None
        for leaf in leaves(tree):
            token = leaf.symbol
            stop = len(text) if token.type == Token.EOF else token.start
            for found in COMMENT.finditer(text, end, stop):
                line = text.count("\n", 0, found.start())
                expect(line + 1, found.start() - (text.rfind("\n", 0, found.start()) + 1), ("comment", "meta.annotation"))
            end = token.stop + 1
            if token.type == LpnParser.NUMBER:
                expect(token.line, token.column, ("constant.numeric",))
            elif token.type == LpnParser.ADDRESS:
                expect(token.line, token.column + len(token.text) - 1, ("string",))
            elif token.type != Token.EOF and token.text[0].isalpha():
                name = token.type == LpnParser.IDENT or isinstance(leaf.parentCtx, LpnParser.IdentifierContext)
                expect(token.line, token.column, ("keyword", "storage", "constant.language"), not name)
    assert seen > 5000 and not wrong, "\n".join(wrong)
