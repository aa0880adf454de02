"""A place in the tokens of a test file."""
from __future__ import annotations

from lpn.lang.diagnostics import Diagnostics
from lpn.lang.source import Span

from .words import Token, shown

MAX_ERRORS = 20
STEPS = ("send", "events", "expect", "check", "set", "table", "tables", "node", "meta", "extern", "wait")


class Mistake(Exception):
    """What stands here is reported; this step cannot be read further."""


class Cursor:
    def __init__(self, tokens: list[Token], diagnostics: Diagnostics) -> None:
        self.tokens, self.diagnostics = tokens, diagnostics
        self.at = 0

    @property
    def here(self) -> Token:
        return self.tokens[self.at]

    def next(self) -> Token:
        token = self.here
        self.at += token.kind != "end"
        return token

    def sees(self, *words: str) -> bool:
        return self.here.kind in ("name", "mark") and self.here.text in words

    def take(self, *words: str) -> Token | None:
        return self.next() if self.sees(*words) else None

    def fail(self, expected: str, *hints: str) -> Mistake:
        token = self.here
        found = "the end of the file" if token.kind == "end" else shown(token.text)
        if self.diagnostics.errors < MAX_ERRORS:
            self.diagnostics.error(f"{expected} is expected, not {found}", token.span, *hints)
        return Mistake()

    def mark(self, word: str, where: str) -> Token:
        token = self.take(word)
        if token is None:
            raise self.fail(f"'{word}' {where}")
        return token

    def name(self, what: str) -> Token:
        if self.here.kind != "name":
            raise self.fail(what)
        return self.next()

    def qualified(self, what: str, numbers: bool = False) -> tuple[str, Span]:
        """`a.b`; with `numbers` also `a.b.0`."""
        first = self.name(what)
        text, span = first.text, first.span
        while self.sees("."):
            self.next()
            part = self.next() if numbers and self.here.kind == "number" else self.name("a name behind '.'")
            text, span = f"{text}.{part.text}", span.to(part.span)
        return text, span

    def number(self, what: str) -> Token:
        if self.here.kind != "number":
            raise self.fail(what)
        return self.next()

    def text(self, what: str) -> tuple[str, Span]:
        if self.here.kind != "text":
            raise self.fail(f"{what} in quotes")
        token = self.next()
        assert isinstance(token.value, bytes)
        return token.value.decode("utf-8", "replace").replace("\0", "?"), token.span

    def since(self, span: Span) -> Span:
        """From `span` to the token before this one."""
        return span.to(self.tokens[self.at - 1].span)

    def end(self) -> None:
        """`;`, which may be left out behind a block."""
        if not self.take(";") and not (self.tokens[self.at - 1].text == "}" or self.tokens[self.at - 1].kind in ("octets", "block")):
            raise self.fail("';'", "put it behind the step before" if self.sees("}", *STEPS) else "")
