"""Another name for a declaration of a file: where it is written, and why not. What a new name would change is found by trying it."""
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from .. import ast
from ..grammar.LpnParser import LpnParser
from ..source import Span
from .analysis import Analysis, analyse
from .index import Mention, key

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
CAN_BE_NAMES = LpnParser.atn.nextTokens(LpnParser.atn.ruleToStartState[LpnParser.RULE_identifier])
WORDS = {text.strip("'") for kind, text in enumerate(LpnParser.literalNames) if kind not in CAN_BE_NAMES}

Place = tuple[int, int]


def refusal(analysis: Analysis, found: Mention) -> str:
    """Why a name cannot be changed here."""
    assert analysis.index is not None
    if not isinstance(found.decl, ast.Node):
        return "this name is built in"
    own = analysis.index.declaration(found.decl)
    if own is None or own.span.source is not analysis.source:
        return "this is declared in another file; rename it there"
    if isinstance(found.decl, ast.State) and found.decl.name == "start":
        return "a parser begins in the state of this name"
    if isinstance(found.decl, ast.Register) and isinstance(analysis.index.owner.get(id(found.decl)), ast.Migrate):
        return "the version that is replaced calls its register so"
    if isinstance(found.decl, ast.ChoiceArm):
        return "an arm has the name of an enum's member"
    if isinstance(found.decl, ast.EnumMember) and any(isinstance(one.decl, ast.ChoiceArm) and one.decl.name == found.decl.name
                                                      for one in analysis.index.mentions):
        return "a choice has an arm of this name"
    return ""


def no_name(new: str) -> str:
    """Why a text is no name."""
    if new in WORDS:
        return f"'{new}' is a word of the language and cannot be a name"
    return "" if NAME.fullmatch(new) and new != "_" else f"'{new}' cannot be a name: these are letters, digits and _, and do not begin with a digit"


def places(analysis: Analysis, decl: object) -> list[Span]:
    """Where a name stands in the text, in order."""
    assert analysis.index is not None
    found = [one.span for one in analysis.index.of(decl) if one.span.source is analysis.source]
    return sorted(found, key=lambda span: (span.line, span.column))


def replaced(lines: list[str], spans: list[Span], new: str) -> str:
    """A text with another name at these places."""
    lines = list(lines)
    for span in reversed(spans):
        line = lines[span.line - 1]
        lines[span.line - 1] = line[:span.column - 1] + new + line[span.end_column - 1:]
    return "\n".join(lines)


def clash(analysis: Analysis, found: Mention, new: str, path: Path | None, texts: Mapping[str, str]) -> str:
    """What would be wrong with the new name, or mean something else."""
    assert analysis.index is not None
    old, spans = found.span.text, places(analysis, found.decl)
    after = analyse(analysis.source.name, replaced(analysis.source.lines, spans, new), path, texts)
    had = Counter(re.sub(rf"\b{re.escape(old)}\b", new, one.message) for one in analysis.diagnostics)
    for one in after.diagnostics:
        had[one.message] -= 1
        if had[one.message] < 0:
            return one.message

    def shifted(span: Span) -> Place:
        before = sum(other.line == span.line and other.column < span.column for other in spans)
        return span.line, span.column + before * (len(new) - len(old))
    if after.index is not None and meanings(analysis, shifted) == meanings(after, lambda span: (span.line, span.column)):
        return ""
    return f"'{new}' would mean something else in one of these places"


def meanings(analysis: Analysis, place: Callable[[Span], Place]) -> dict[Place, object]:
    """What each name in the text stands for: where that is declared."""
    assert analysis.index is not None
    declared = {key(one.decl): one.span for one in analysis.index.mentions if one.declares}

    def what(decl: object) -> object:
        span = declared.get(key(decl))
        if span is None:
            return decl if isinstance(decl, str) else getattr(decl, "name", "")
        return place(span) if span.source is analysis.source else (span.source.name, span.line, span.column)
    return {place(one.span): what(one.decl) for one in analysis.index.mentions if one.span.source is analysis.source}
