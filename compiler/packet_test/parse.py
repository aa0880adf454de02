"""Tokens to the tree of a test file: tests and their steps. One mistake is reported for each step, then reading goes on behind it."""
from __future__ import annotations

from difflib import get_close_matches
from typing import Callable

from lpn.lang.builtins import VERDICTS
from lpn.lang.diagnostics import Diagnostics
from lpn.lang.limits import MAX_PRIORITY
from lpn.lang.source import Source, Span
from lpn.lang.times import WRITTEN

from . import model
from .cursor import MAX_ERRORS, STEPS, Mistake
from .parse_packet import PacketParser
from .words import Token, Words, shown

RECORDS = ("run", "overrun", "sent", "net.sent", "heard", "missed", "collided")
RESULTS = ("OK", "BUSY", "NOACK")
TOP = ("test", "packet", "program")
OPERATORS = ("==", "!=", "<", "<=", ">", ">=")
LONGEST = 1 << 32                               # us: the node's clock has 32 bits


def parse(source: Source, diagnostics: Diagnostics) -> model.File:
    """The tree of a test file; it is whole only if nothing was reported."""
    file = Parser(source, Words(source, diagnostics).tokens(), diagnostics).file()
    diagnostics.stopped(MAX_ERRORS)
    return file


class Parser(PacketParser):
    def __init__(self, source: Source, tokens: list[Token], diagnostics: Diagnostics) -> None:
        super().__init__(tokens, diagnostics)
        self.source = source
        self.steps: dict[str, Callable[[Span], model.Step]] = {
            "send": self.send, "events": self.events, "expect": self.expect, "check": self.check, "set": self.set_cell, "table": self.entries,
            "tables": self.tables_file, "node": self.settings, "meta": self.settings, "extern": self.answer, "wait": self.wait}

    def file(self) -> model.File:
        file = model.File(self.source)
        while self.here.kind != "end":
            self.guarded(0, lambda: self.item(file))
        return file

    def guarded(self, depth: int, read: Callable[[], None]) -> None:
        """Reads one step; after a mistake, goes on behind it."""
        start = self.at
        try:
            read()
        except Mistake:
            self.recover(start, depth)

    def recover(self, start: int, depth: int) -> None:
        """To the end of the step at `start`: behind its `;` or its closing brace, or to the word that begins another one."""
        self.at = max(self.at, start)
        while self.here.kind != "end":
            token = self.here
            words = TOP + STEPS if depth == 0 else STEPS
            if token.depth < depth or (self.at > start and token.depth <= depth and token.kind == "name" and token.text in words):
                break
            self.at += 1
            if token.depth <= depth and token.text in (";", "}"):
                if token.text == "}":
                    self.take(";")
                break
        if self.at == start and depth == 0 and self.here.kind != "end":
            self.at += 1

    def item(self, file: model.File) -> None:
        token = self.here
        if self.take("test"):
            self.test(file, token)
        elif self.take("packet"):
            name = self.name("the packet's name")
            if name.text in file.packets:
                self.diagnostics.error(f"packet {shown(name.text)} is here already", name.span)
            if name.text in ("hex", "frame", "via"):
                self.diagnostics.error(f"{shown(name.text)} cannot name a packet: it begins one", name.span)
            file.packets[name.text] = self.packet(sending=True)
            self.end()
        elif self.take("program"):
            if file.program:
                self.diagnostics.error("a test file has one program", token.span)
            file.program, file.program_span = self.text("the program's file")
            self.end()
        elif token.kind == "name" and token.text in ("send", "expect", "check"):
            self.diagnostics.error(f"'{token.text}' belongs into a test", token.span, 'write test "what it shows" { ... } around it')
            self.step()
        else:
            file.setup.append(self.step(TOP))

    def test(self, file: model.File, begin: Token) -> None:
        name, span = self.text("the test's name")
        if any(test.name == name for test in file.tests):
            self.diagnostics.error(f"a test called {shown(name)} is here already", span, "give it a name of its own")
        opened = self.mark("{", "behind the test's name")
        test = model.Test(begin.span.to(span), name, [])
        while not self.sees("}") and self.here.kind != "end":
            if self.sees(*TOP) and self.tokens[self.at + 1].kind != "mark":
                break
            self.guarded(opened.depth + 1, lambda: test.steps.append(self.step()))
        if not self.take("}"):
            self.diagnostics.error("this test is never closed", opened.span, "end it with '}'")
        self.take(";")
        file.tests.append(test)

    def step(self, more: tuple[str, ...] = ()) -> model.Step:
        token = self.here
        if token.kind != "name" or token.text not in self.steps:
            near = get_close_matches(token.text, (*STEPS, *more), 1) if token.kind == "name" else []
            raise self.fail("a step", f"did you mean {near[0]}?" if near else f"there are {', '.join((*more, *STEPS))}")
        self.next()
        step = self.steps[token.text](token.span)
        self.end()
        return step

    # ------------------------------------------------------------ steps

    def send(self, begin: Span) -> model.Send:
        out = model.Send(begin, self.packet(sending=True))
        if self.take("to"):
            out.to, out.to_span = self.qualified("a hook's name", numbers=True)
        out.span = self.since(begin)
        return out

    def events(self, begin: Span) -> model.Events:
        if self.here.kind == "block":
            source = self.next().value
            assert isinstance(source, Source)
            return model.Events(begin, "", source)
        path, _ = self.text("an event file, or { events }")
        return model.Events(self.since(begin), path)

    def recorded(self, ahead: int = 0) -> str:
        """The word, or the two with a point between them, that may name what is on a time line."""
        first, point, second = (self.tokens[self.at + ahead:self.at + ahead + 3] + [self.tokens[-1]] * 2)[:3]
        return f"{first.text}.{second.text}" if first.text == "net" and point.text == "." else first.text if first.kind == "name" else ""

    def record(self, begin: Span) -> model.ExpectRecord:
        """`run HOOK`, `sent PACKET`, ..., perhaps behind `no`; then `at`, `times`."""
        none = self.take("no") is not None
        out = model.ExpectRecord(begin, self.recorded())
        self.at += 1 + 2 * ("." in out.what)
        if out.what in ("run", "overrun"):
            out.name, out.name_span = self.qualified("a hook's name", numbers=True)
            out.word = self.next().text if out.what == "run" and self.sees(*VERDICTS) else ""
        else:
            out.word = self.next().text if out.what == "sent" and self.sees(*RESULTS) else ""
            if not self.sees(";", "at", "times"):
                out.packet = self.packet(sending=False)
        often = none                            # no X: never, whatever stands behind it
        if none:
            out.times = model.Numbers(0, -1)
        while True:                             # in either order
            if out.at is None and self.take("at"):
                low = high = self.time()
                if self.take(".."):
                    high = self.time()
                out.at = (low, high)
            elif not often and self.take("times"):
                number = self.number("how often").value
                assert isinstance(number, int)
                out.times, often = model.Numbers(number, -1), True
                if self.take(".."):
                    most = self.number("how often at most").value
                    assert isinstance(most, int)
                    out.times.high = most
            else:
                break
        out.span = self.since(begin)
        return out

    def radio(self, begin: Span) -> model.ExpectRadio:
        self.next()
        if not self.take("on"):
            raise self.fail("'on'", "write expect radio on <= 2 %;")
        if not self.sees("<", "<=", ">", ">="):
            raise self.fail("one of < <= > >=")
        op, number = self.next().text, self.number("a percentage")
        percent = f"{number.value}"
        if number.text.isdecimal() and self.take("."):
            if not self.here.text.isdecimal():
                raise self.fail("a digit behind the point")
            percent += "." + self.next().text
        self.mark("%", "behind the percentage")
        return model.ExpectRadio(self.since(begin), op, float(percent))

    def expect(self, begin: Span) -> model.Step:
        if self.sees("radio"):
            return self.radio(begin)
        if self.recorded(self.sees("no")) in RECORDS:
            return self.record(begin)
        out = model.Expect(begin, None)
        token = self.here
        if token.kind == "name" and token.text in VERDICTS:
            out.verdict = self.next().text
            if self.is_over():
                pass
            elif out.verdict == "DROP" and self.here.kind == "name" and not self.sees("no", "unchanged", "via", "frame"):
                out.reason, _ = self.qualified("a reason")
            elif out.verdict == "DROP" and self.here.kind == "text":
                out.reason, _ = self.text("a reason")
            elif out.verdict == "DELIVER" and (self.here.kind in ("number", "name") and not self.sees("no", "unchanged", "via", "frame")):
                out.port = self.pattern()
        elif token.kind == "name" and token.text.upper() in VERDICTS:
            raise self.fail("a verdict", f"did you mean {token.text.upper()}?")
        elif token.kind == "name" and self.tokens[self.at + 1].kind == "number" and (near := get_close_matches(token.text.upper(), VERDICTS, 1)):
            raise self.fail("a verdict", f"did you mean {near[0]}?")        # a packet's name has no number behind it
        out.span = self.since(begin)
        if self.sees("no") and self.tokens[self.at + 1].text == "packet":
            self.next()
            self.next()
            out.no_packet = True
        elif not self.sees(";") and not (out.verdict is not None and self.is_over()):
            out.packet = self.packet(sending=False)
        elif out.verdict is None:
            raise self.fail("a verdict or a packet", f"there are {', '.join(VERDICTS)}; hex {{ ... }}, {{ headers }}, no packet")
        return out

    def is_over(self) -> bool:
        """Whether what stands here is of no step that was begun: only its `;` was forgotten."""
        return self.here.kind == "end" or self.sees("}") or self.sees(*STEPS) and self.tokens[self.at + 1].text not in (";", "with")

    def answer(self, begin: Span) -> model.Answer:
        name = self.name("a function of the node's own")
        self.mark("=", "in front of what it answers")
        pattern = self.pattern()
        return model.Answer(self.since(begin), name.text, name.span, pattern)

    def check(self, begin: Span) -> model.Check:
        place = self.state_path()
        if not self.sees(*OPERATORS):
            raise self.fail(f"one of {' '.join(OPERATORS)}")
        op = self.next().text
        if not self.sees("{"):
            pattern = self.pattern()
            return model.Check(self.since(begin), place, op, pattern)
        if op != "==":
            self.diagnostics.error(f"'{op}' compares with one number", self.here.span, "fields are compared with ==")
        opened, parts = self.here, []
        if not (items := self.fields()):
            self.diagnostics.error("no field is compared", self.since(opened.span), "write { field = value, ... }")
        for item in items:
            at = model.StatePath(item.span, place.name, place.cell, f"{place.path}.{item.name}" if place.path else item.name)
            parts.append(model.Check(item.span, at, "==", item.pattern))
        return model.Check(self.since(begin), place, op, None, parts)

    def state_path(self) -> model.StatePath:
        name, span = self.qualified("a register or counter")
        cell, path = self.index(), ""
        if self.take("."):
            path, _ = self.qualified("a field")
        return model.StatePath(self.since(span), name, cell, path)

    def set_cell(self, begin: Span) -> model.SetCell:
        place = self.state_path()
        self.mark("=", "and a value")
        if not self.take("{"):
            return model.SetCell(self.since(begin), place, self.value())
        parts: list[tuple[str, model.Value]] = []
        while not self.take("}"):
            name, _ = self.qualified("a field")
            self.mark("=", "and a value")
            parts.append((name, self.value()))
            if not self.take(",") and not self.sees("}"):
                raise self.fail("',' or '}'")
        return model.SetCell(self.since(begin), place, parts)

    def entries(self, begin: Span) -> model.Entries:
        name, span = self.qualified("a table")
        out = model.Entries(begin.to(span), name, [])
        self.mark("{", "and the table's entries")
        while not self.take("}"):
            out.items.append(self.entry())
        return out

    def entry(self) -> model.EntryItem:
        begin = self.here.span
        priority = None
        if self.sees("priority") and self.tokens[self.at + 1].text == "=":
            self.next()
            self.next()
            token = self.number("a number")
            assert isinstance(token.value, int)
            priority = token.value
            if priority > MAX_PRIORITY:
                self.diagnostics.error(f"priorities are 0 to {MAX_PRIORITY}", token.span)
            self.mark(":", "behind the priority")
        keys = []
        if self.take("("):
            keys.append(self.pattern(key=True))
            while self.take(","):
                keys.append(self.pattern(key=True))
            self.mark(")", "behind the keys")
        else:
            keys.append(self.pattern(key=True))
            if self.sees(","):
                raise self.fail("':' and an action", "several keys stand in parentheses: (7, 1) : to(3);")
        self.mark(":", "and an action")
        action, _ = self.qualified("an action")
        args = []
        if self.take("("):
            while not self.take(")"):
                args.append(self.value())
                if not self.take(",") and not self.sees(")"):
                    raise self.fail("',' or ')'")
        span = self.since(begin)
        self.mark(";", "behind the entry")
        return model.EntryItem(span, keys, action, args, priority)

    def tables_file(self, begin: Span) -> model.TablesFile:
        path, _ = self.text("a tables file")
        return model.TablesFile(self.since(begin), path)

    def settings(self, begin: Span) -> model.Settings:
        what = self.tokens[self.at - 1].text
        return model.Settings(self.since(begin), what, self.fields())

    def wait(self, begin: Span) -> model.Wait:
        return model.Wait(self.since(begin), self.time())

    def time(self) -> int:
        value = self.value()
        if value.kind == "time" and isinstance(value.value, int) and 0 <= value.value < LONGEST:
            return value.value
        message, hint = "a time is expected", "write it with its unit, as in 20 ms, 1 s, 300 us"
        if value.kind == "time":
            message, hint = "this is too long", f"times are below 2^32 us, {LONGEST // 1_000_000} s; more is waited for in parts"
        elif value.kind == "number" and self.here.kind == "name":
            message, hint = f"there is no unit '{self.here.text}'", f"there are {', '.join(WRITTEN)}: 1500 us, 60 s"
        elif value.kind == "number" and self.here.text == ".":
            message, hint = "numbers are whole", "take a smaller unit, as in 1500 us"
        self.diagnostics.error(message, value.span, hint)
        raise Mistake()
