"""Event files: what happens to a node, and when. The format is docs/events.md; mistakes point at file, line and column.

    node short=0x0002 pan=0x0023        // addresses
    until 2 s
    10 ms     air 4188...               // a frame on the air; the node hears it if its radio listens
    +5 ms     cca BUSY for 2 ms
    1 s       app.tx port=5683 "hello"
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from lpn.lang.diagnostics import Diagnostic, DiagnosticError, Diagnostics
from lpn.lang.builtins import TX_RESULTS
from lpn.lang.handler_names import whole
from lpn.lang.hooks import EVENTS
from lpn.lang.source import Source, Span
from lpn.lang.times import WRITTEN
from lpn.runtime.capture import MAX_FRAME, CaptureError, Frame, read
from lpn.runtime.node import Node
from lpn.runtime.radio import FOREVER, TxPlan

MAX_EVENTS = 1_000_000
MAX_TIME = 10**15               #: us; some thirty years
MAX_PACKET = 2048
REST = 1_000_000                #: us that a run goes on behind the last event when the file has no `until`

_TOKEN = re.compile(r'(?P<comment>(?:^|(?<=\s))//.*)|(?P<text>"[^"]*"?)|(?P<brace>[{}])|(?P<word>[^\s{}"]+)')
_OCTETS = re.compile(r"(?:[0-9a-fA-F]{2})+")
_DIGITS = "[0-9]{1,20}"           # more than a time or a count has
_TIME = re.compile(rf"(\+?)({_DIGITS}(?:\.{_DIGITS})?)(us|ms|s|min)?")

#: Numbers that a line may give by name: (lowest, highest).
_RANGES = {"rssi": (-128, 127), "lqi": (0, 255), "port": (0, 65535), "layer": (0, 2**32 - 1), "selector": (0, 2**32 - 1),
           "short": (0, 2**16 - 1), "pan": (0, 2**16 - 1), "ext": (0, 2**64 - 1), "clock": (0, 2**32 - 1)}


class EventsError(DiagnosticError):
    """An event file that is none: everything found, in the file's order."""

    status = 2                  #: of a command that was given it


@dataclass
class Script:
    """An event file, read. `node`: node_short, node_ext, node_pan, as given; `clock`: the node's at the start."""

    until: int = 0
    node: dict[str, int] = field(default_factory=dict)
    clock: int = 0
    radio_on: bool = True
    switches_on: bool = False   #: somebody else than a hook does, later
    actions: list[tuple[int, Callable[[Node, int], None]]] = field(default_factory=list)
    replacements: list[tuple[int, Path]] = field(default_factory=list)      #: when another version takes over, and its file
    skipped: int = 0            #: records of captures that are no frames, or have a wrong FCS
    warnings: list[Diagnostic] = field(default_factory=list)

    def apply(self, node: Node) -> None:
        """Tell the node all that will happen to it."""
        for time, action in sorted(self.actions, key=lambda each: each[0]):
            action(node, time)


@dataclass(frozen=True)
class _Token:
    text: str
    span: Span

    @property
    def quoted(self) -> bool:
        return self.text.startswith('"')

    @property
    def octets(self) -> bytes | None:
        """Of hex digits or text in quotes."""
        if self.quoted:
            return self.text[1:-1].encode()
        return bytes.fromhex(self.text) if _OCTETS.fullmatch(self.text) else None


class _Wrong(Exception):
    """One mistake; the line is given up."""

    def __init__(self, message: str, span: Span, *hints: str) -> None:
        super().__init__(message)
        self.span, self.hints = span, hints


def read_events(text: str, name: str, folder: Path | None = None) -> Script:
    """Reads the text of an event file; captures it names lie in `folder`. Raises EventsError or CaptureError."""
    return _Reader(Source(name, text), folder or Path()).read()


class _Line:
    """The words of a line, taken from left to right."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens, self.at = tokens, 0

    def peek(self) -> _Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def next(self, what: str) -> _Token:
        token = self.peek()
        if token is None:
            last = self.tokens[-1].span
            raise _Wrong(f"{what} is missing", Span(last.source, last.line, last.end_column, last.line, last.end_column + 1))
        self.at += 1
        return token

    def take(self, *words: str) -> _Token | None:
        """The next word if it is one of these."""
        token = self.peek()
        if token is None or token.text not in words:
            return None
        self.at += 1
        return token

    def one_of(self, what: str, words: tuple[str, ...]) -> str:
        token = self.next(what)
        if token.text not in words:
            raise _Wrong(f"{token.text} is no {what}", token.span, _suggest(token.text, words))
        return token.text

    def end(self) -> None:
        token = self.peek()
        if token is not None:
            raise _Wrong(f"{token.text} is not expected here", token.span, "a line says one thing")

    def time(self, what: str) -> tuple[int, bool]:
        """(us, relative): `10 ms`, `1.5s`, `+20 us`."""
        token = self.next(what)
        match = _TIME.fullmatch(token.text)
        if match is None:
            raise _Wrong(f"{token.text} is no {what}", token.span, "a time is a number and a unit: 250 us, 12.5 ms, 10 s, 2 min")
        plus, number, unit = match.groups()
        if unit is None:
            word = self.peek()
            if word is None or word.text not in WRITTEN:
                raise _Wrong(f"{token.text} has no unit", token.span, f"one of {', '.join(WRITTEN)}")
            self.at += 1
            unit = word.text
        whole, _, fraction = number.partition(".")
        scale = 10 ** len(fraction)
        us, rest = divmod(int(whole + fraction) * WRITTEN[unit], scale)
        if rest:
            raise _Wrong(f"{number} {unit} is not a whole number of microseconds", token.span, "the clock counts microseconds")
        if us > MAX_TIME:
            raise _Wrong(f"{number} {unit} is too far away", token.span, "thirty years are the limit")
        return us, bool(plus)

    def named(self, *names: str) -> dict[str, int]:
        """`name=number` words, as many as there are; others stay."""
        found: dict[str, int] = {}
        while (token := self.peek()) is not None and "=" in token.text and not token.quoted:
            name, _, value = token.text.partition("=")
            if name not in names:
                raise _Wrong(f"there is no '{name}' here", token.span, _suggest(name, names))
            if name in found:
                raise _Wrong(f"{name} is given twice", token.span)
            found[name] = _number(name, value, token.span)
            self.at += 1
        return found


def _suggest(word: str, words: tuple[str, ...]) -> str:
    near = get_close_matches(word, words, 1)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(words)}"


def _number(name: str, text: str, span: Span) -> int:
    """A decimal or hexadecimal number; an EUI-64 may be octets with colons or dashes."""
    octets = re.split("[:-]", text)
    try:
        value = int("".join(octets), 16) if name == "ext" and len(octets) == 8 and all(len(o) == 2 for o in octets) else int(text, 0)
    except ValueError:
        raise _Wrong(f"{text or 'nothing'} is no number", span, f"{name}= is followed by a number such as 12 or 0x1f") from None
    low, high = _RANGES[name]
    if not low <= value <= high:
        raise _Wrong(f"{name}={text} is out of range", span, f"{name} is {low} to {high}")
    return value


@dataclass
class _Block:
    """A `repeat` block that is open."""

    span: Span
    base: int
    times: int
    every: int
    inside: list[tuple[int, Callable[[Node, int], None]]] = field(default_factory=list)


class _Reader:
    def __init__(self, source: Source, folder: Path) -> None:
        self.source, self.folder = source, folder
        self.found = Diagnostics()
        self.script = Script()
        self.until: int | None = None
        self.now = 0                            # the time of the line before, from the block's start
        self.block: _Block | None = None
        self.captures: dict[Path, list[Frame]] = {}
        self.full = False
        self.timed: list[tuple[int, Span]] = []     # lines that say when something begins to happen
        #: the commands, each with what reads its line
        self.commands: dict[str, Callable[[_Line, _Token], None]] = {
            "node": self.node, "radio": self.radio, "until": self.until_line, "air": self.air, "cca": self.cca, "tx": self.tx,
            "capture": self.capture, "repeat": self.repeat,
            "replace": self.replace,
            **{name: self.event for name, event in EVENTS.items() if event.bound},
        }

    def read(self) -> Script:
        for number, text in enumerate(self.source.lines, 1):
            try:
                tokens = list(self.tokens(number, text))
                if tokens:
                    self.line(_Line(tokens))
            except _Wrong as e:
                self.found.error(str(e), e.span, *e.hints)
        if self.block is not None:
            self.found.error("this block has no end", self.block.span, "close it with }")
        if self.found.errors:
            raise EventsError(self.found.items)
        script = self.script
        if self.until is not None:
            for time, span in self.timed:
                if time > self.until:
                    self.found.warning("this is behind the end of the run, and does not happen", span, f"until {whole(self.until)} is what the file says")
        script.warnings = self.found.items
        script.until = self.until if self.until is not None else max((t for t, _ in [*script.actions, *script.replacements]), default=0) + REST
        return script

    def tokens(self, number: int, text: str) -> Iterator[_Token]:
        for match in _TOKEN.finditer(text):
            if match["comment"] is not None:
                return
            token = _Token(match[0], Span(self.source, number, match.start() + 1, number, match.end() + 1))
            if token.quoted and (len(token.text) < 2 or not token.text.endswith('"')):
                raise _Wrong("this text has no end", token.span, 'close it with "')
            if "\0" in token.text:              # no file's name has it, either
                raise _Wrong("unexpected character U+0000", token.span, "remove it")
            yield token

    def line(self, line: _Line) -> None:
        if (brace := line.take("}")) is not None:
            line.end()
            self.close(brace)
            return
        first = line.peek()
        assert first is not None
        if first.text[0] in "+0123456789" and not first.quoted:
            time, relative = line.time("time")
            self.now = self.now + time if relative else time
            if self.block is None:
                self.timed.append((self.now, first.span))
        command = line.next("what happens")
        if re.match("-[0-9.]", command.text):
            raise _Wrong(f"{command.text} is no time: nothing happens before 0", command.span, "times are counted from the start, or with + from the line before")
        if command.text not in self.commands:
            raise _Wrong(f"there is no event '{command.text}'", command.span, _suggest(command.text, tuple(self.commands)))
        self.commands[command.text](line, command)
        line.end()

    def add(self, action: Callable[[Node, int], None], span: Span, at: int | None = None) -> None:
        time = self.now if at is None else at
        into = self.block.inside if self.block is not None else self.script.actions
        into.append((time, action))
        self.limit(len(into), span)

    def limit(self, number: int, span: Span) -> None:
        if number > MAX_EVENTS and not self.full:
            self.full = True
            raise _Wrong(f"there are more than {MAX_EVENTS:,} events", span, "repeat less often, or play fewer frames")

    def outside(self, command: _Token) -> None:
        if self.block is not None:
            raise _Wrong(f"'{command.text}' cannot be repeated", command.span, "put it before the block")

    # ------------------------------------------------------------ about the whole run

    def node(self, line: _Line, command: _Token) -> None:
        self.outside(command)
        line_node = line.named("short", "ext", "pan", "clock")
        if not line_node:
            raise _Wrong("nothing is said of the node", command.span, "such as node short=0x0002 pan=0x0023")
        self.script.clock = line_node.pop("clock", self.script.clock)
        self.script.node |= {f"node_{name}": value for name, value in line_node.items()}

    def until_line(self, line: _Line, command: _Token) -> None:
        self.outside(command)
        if self.until is not None:
            raise _Wrong("the end is given twice", command.span)
        self.until, relative = line.time("time")
        if relative:
            raise _Wrong("the end is counted from the start", command.span, "leave out the +")

    # ------------------------------------------------------------ what happens

    def frame(self, line: _Line, most: int = MAX_PACKET) -> bytes:
        """Hex digits in whole octets and text in quotes, as many as there are, or `file.pcap#number`."""
        token = line.next("a frame")
        data = token.octets
        if data is not None:
            while (more := line.peek()) is not None and more.octets is not None:
                data += more.octets
                line.next("octets")
            if more is not None and re.fullmatch("[0-9a-fA-F]+", more.text):
                raise _Wrong(f"{more.text} ends with half an octet", more.span, "an octet is two hex digits, as in 08")
        elif (match := re.fullmatch(rf"(.+)#({_DIGITS})", token.text)) is not None:
            frames = self.frames(match[1], token.span)
            number = int(match[2])
            if not 1 <= number <= len(frames):
                raise _Wrong(f"{match[1]} has no frame {number}", token.span, f"it has frames 1 to {len(frames)}" if frames else "it has none")
            data = frames[number - 1].data
        else:
            odd = re.fullmatch(r"[0-9a-fA-F]+", token.text) is not None
            raise _Wrong(f"{token.text} is no frame", token.span, "its last octet has one digit only" if odd else
                         'a frame is hex digits, FILE.pcap#NUMBER, or text in "quotes"')
        if len(data) > most:
            raise _Wrong(f"a frame of {len(data)} octets is too long", token.span, f"{most} is the limit")
        return data

    def frames(self, name: str, span: Span) -> list[Frame]:
        path = self.folder / name
        if path not in self.captures:
            try:
                self.captures[path] = list(read(path))
            except CaptureError as e:
                raise _Wrong(str(e), span) from None
        return self.captures[path]

    def air(self, line: _Line, command: _Token) -> None:
        frame = self.frame(line, MAX_FRAME)
        given = line.named("rssi", "lqi")
        self.add(lambda node, time: node.hear(time, frame, **given), command.span)

    def event(self, line: _Line, command: _Token) -> None:
        """An event of the language as it is, whatever the radio does."""
        name, event = command.text, EVENTS[command.text]
        if event.outcomes:
            selector: tuple[int, ...] = (event.outcomes.index(line.one_of("result", event.outcomes)),)
            given: dict[str, int] = {}
        else:
            names = (*event.selectors, *(("rssi", "lqi") if name.startswith("radio.rx") else ()))
            given = line.named(*names)
            selector = ()
        frame = self.frame(line) if event.packet else None
        if not event.outcomes:
            given |= line.named(*(n for n in names if n not in given))
            if event.selectors and event.selectors[0] not in given:
                raise _Wrong(f"{name} has no {event.selectors[0]}=", command.span, f"such as {event.selectors[0]}=1")
            selector = tuple(given.pop(n, 0) for n in event.selectors)      # what is left out behind it is 0
        self.add(lambda node, time: node.post(time, name, selector, frame, **given), command.span)

    def radio(self, line: _Line, command: _Token) -> None:
        on = line.one_of("state", ("on", "off")) == "on"
        if self.now == 0 and self.block is None:
            self.script.radio_on = on
        else:
            self.script.switches_on |= on
            self.add(lambda node, time: node.switch(time, on), command.span)

    def cca(self, line: _Line, command: _Token) -> None:
        if line.one_of("answer", ("BUSY", "CLEAR")) == "CLEAR":
            self.add(lambda node, time: node.radio_state.release(time), command.span)
            return
        length = line.time("time")[0] if line.take("for") else None
        self.add(lambda node, time: node.radio_state.occupy(time, FOREVER if length is None else time + length), command.span)

    def tx(self, line: _Line, command: _Token) -> None:
        result = line.one_of("result", TX_RESULTS)
        plan = TxPlan(result, line.time("time")[0] if line.take("delay") else 0)
        token = line.peek()
        if token is None:
            self.add(lambda node, time: node.plan(time, [plan]), command.span)
        elif line.take("always"):
            self.add(lambda node, time: node.plan(time, [], plan), command.span)
        elif (match := re.fullmatch(r"x(\d{1,6})", token.text)) is not None:
            line.at += 1
            self.add(lambda node, time: node.plan(time, [plan] * int(match[1])), command.span)
        else:
            raise _Wrong(f"{token.text} is not expected here", token.span, "behind the result stands nothing, delay TIME, x3 or always")

    def capture(self, line: _Line, command: _Token) -> None:
        """The frames of a capture, each as long after this line's time as it was after the first one."""
        token = line.next("a capture")
        frames = self.frames(token.text.strip('"'), token.span)
        part = line.peek()
        if part is not None:
            match = re.fullmatch(rf"({_DIGITS})\.\.({_DIGITS})", part.text)
            if match is None or not 1 <= int(match[1]) <= int(match[2]) <= len(frames):
                raise _Wrong(f"{part.text} is no part of {token.text}", part.span, f"such as 1..{len(frames)}, all its frames")
            frames = frames[int(match[1]) - 1:int(match[2])]
            line.at += 1
        for frame in frames:
            at = self.now + frame.time_us - frames[0].time_us
            if not frame.whole or at < 0:
                self.script.skipped += 1
                continue
            self.add(lambda node, time, f=frame: node.hear(time, f.data, f.rssi or 0, f.lqi or 0), command.span, at)

    def replace(self, line: _Line, command: _Token) -> None:
        self.outside(command)
        self.script.replacements.append((self.now, self.folder / line.next("a program").text.strip('"')))

    # ------------------------------------------------------------ repeat

    def repeat(self, line: _Line, command: _Token) -> None:
        self.outside(command)
        number = line.next("a number")
        if not re.fullmatch(_DIGITS, number.text) or not 1 <= int(number.text) <= MAX_EVENTS:
            raise _Wrong(f"{number.text} is no number of times", number.span, f"it is 1 to {MAX_EVENTS:,}")
        line.one_of("word", ("every",))
        every = line.time("time")[0]
        line.one_of("word", ("{",))
        if (more := line.peek()) is not None:
            raise _Wrong("what is repeated begins on the next line", more.span, "each event on a line of its own, and behind the last one a line with }")
        self.block = _Block(command.span, self.now, int(number.text), every)
        self.now = 0

    def close(self, brace: _Token) -> None:
        block, self.block = self.block, None
        if block is None:
            raise _Wrong("there is no block to close", brace.span)
        self.now = block.base + block.times * block.every
        self.limit(len(self.script.actions) + block.times * len(block.inside), block.span)
        if not self.full:
            self.script.actions += [(block.base + i * block.every + time, action) for i in range(block.times) for time, action in block.inside]
