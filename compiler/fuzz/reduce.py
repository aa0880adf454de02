"""Makes a failing program small: on its text, because whatever is no longer a program is simply refused by the checker."""
from __future__ import annotations

import re
from collections.abc import Callable, Iterator

Fails = Callable[[str], bool]


def reduce_text(text: str, fails: Fails, rounds: int = 6) -> str:
    """A shorter program that still fails. `fails` says whether a candidate shows the same failure."""
    for _ in range(rounds):
        before = text
        text = without(text, fails, blocks)
        text = without(text, fails, expressions)
        if text == before:
            break
    return text


def without(text: str, fails: Fails, candidates: Callable[[str], Iterator[str]]) -> str:
    """Takes the first candidate that still fails, until none does."""
    again = True
    skip = 0
    while again:
        again = False
        for at, shorter in enumerate(candidates(text)):
            if at < skip:
                continue
            if len(shorter) < len(text) and fails(shorter):
                text, again = shorter, True
                skip = max(0, at - 1)           # what could not go before mostly cannot go now
                break
        else:
            if skip:
                skip, again = 0, True
    return text


def blocks(text: str) -> Iterator[str]:
    """Without a whole block, without its first and last line, without one line."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if line.rstrip().endswith("{") and not line.lstrip().startswith("}"):
            indent = len(line) - len(line.lstrip())
            end = next((n for n in range(at + 1, len(lines)) if len(lines[n]) - len(lines[n].lstrip()) <= indent
                        and lines[n].lstrip().startswith("}")), None)
            if end is None:
                continue
            if lines[end].rstrip().endswith("{"):                           # } else {
                last = next((n for n in range(end + 1, len(lines)) if len(lines[n]) - len(lines[n].lstrip()) <= indent
                             and lines[n].lstrip().startswith("}")), end)
                yield joined(lines[:at] + lines[last + 1:])
                yield joined(lines[:end] + [lines[end][:indent] + "}"] + lines[last + 1:])
                yield joined(lines[:at] + lines[at + 1:end] + lines[last + 1:])
                yield joined(lines[:at] + lines[end + 1:last] + lines[last + 1:])
                continue
            yield joined(lines[:at] + lines[end + 1:])
            yield joined(lines[:at] + lines[at + 1:end] + lines[end + 1:])
    for at in range(len(lines)):
        yield joined(lines[:at] + lines[at + 1:])


def joined(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def expressions(text: str) -> Iterator[str]:
    """A parenthesised expression becomes one of its operands or none; a list loses an element; a number becomes 0."""
    for match in re.finditer(r"\(", text):
        end = closing(text, match.start())
        if end is None or "\n" in text[match.start():end]:
            continue
        inside = text[match.start() + 1:end]
        parts = split(inside)
        for part in parts:
            if part and part != inside:
                yield text[:match.start()] + part + text[end + 1:]
        if inside:
            yield text[:match.start()] + "()" + text[end + 1:]
        yield text[:match.start()] + inside + text[end + 1:]
    for match in re.finditer(r"(?<=[={(]) [^{}();]*?;| -> \w+|, [\w: \[\]]+|\w+ [\w.]+;| (?:max|default_action =) [^;{]*;?", text):
        if not match.group().startswith(" ->") and match.group().startswith("protocol"):
            continue
        yield text[:match.start()] + (";" if match.group().startswith(" =") else "") + text[match.end():]
    for match in re.finditer(r" = [^;{}]+;", text):
        yield text[:match.start()] + ";" + text[match.end():]
        yield text[:match.start()] + " = 0;" + text[match.end():]
    for match in re.finditer(r"0x[0-9a-f]+|(?<=w)[1-9][0-9]*", text):
        yield text[:match.start()] + "0" + text[match.end():]
    for match in re.finditer(r"~(?=\()|\[\d+:\d+\]|\((bit|int)<\d+>\) ?| when [^;]*| in \{[^}]*\}| deferred", text):
        yield text[:match.start()] + text[match.end():]


def closing(text: str, at: int) -> int | None:
    depth = 0
    for n in range(at, len(text)):
        depth += (text[n] == "(") - (text[n] == ")")
        if depth == 0:
            return n
    return None


def split(text: str) -> list[str]:
    """The operands of the expression's outermost operators, or a call's arguments."""
    parts, depth, start = [], 0, 0
    n = 0
    while n < len(text):
        depth += (text[n] in "([{") - (text[n] in ")]}")
        if depth == 0:
            operator = re.match(r" (?:\+\+|&&&?|\|\||\|[+-]\||<<|>>|[<>=!]=|[-+*/%&|^<>?:]) |, ", text[n:])
            if operator:
                parts.append(text[start:n])
                n += operator.end()
                start = n
                continue
        n += 1
    return [*parts, text[start:]]
