"""The tree of a test file: what `parse` makes and `resolve` completes (fields marked *resolved*)."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional, Union

from lpn.lang import ast, tables as control
from lpn.lang.source import Source, Span
from lpn.runtime.events import Script

Place = Union[ast.Field, ast.ChoiceArm]


@dataclass(eq=False)
class Node:
    span: Span = field(repr=False)


# ---------------------------------------------------------------- values

@dataclass(eq=False)
class Octets(Node):
    """`hex { 41 88 ** 4* 40/f0 "text" ... }`: (value, mask) of each octet; `open`: anything may follow."""

    pairs: list[tuple[int, int]]
    open: bool = False

    @property
    def exact(self) -> bool:
        return not self.open and all(mask == 0xFF for _, mask in self.pairs)

    @property
    def data(self) -> bytes:
        return bytes(value for value, _ in self.pairs)


@dataclass(eq=False)
class Value(Node):
    """kind: "number" (int), "time" (int, us), "address" (int of `bits`), "name" (dotted), "bool", "octets" (Octets)."""

    kind: str
    value: object
    bits: int = 0


@dataclass(eq=False)
class Pattern(Node):
    """What a number may be: `v`, `v &&& m`, `low..high`, `_`; in a table's key also `v / n`."""

    value: Optional[Value] = None               # None: anything
    mask: Optional[Value] = None
    high: Optional[Value] = None
    prefix: Optional[Value] = None


@dataclass
class Numbers:
    """A pattern in numbers: `x & mask == value`, or `low <= x <= high` where `high` is there."""

    value: int
    mask: int
    high: Optional[int] = None

    def holds(self, number: int) -> bool:
        return self.value <= number <= self.high if self.high is not None else number & self.mask == self.value


# ---------------------------------------------------------------- packets

@dataclass(eq=False)
class FieldItem(Node):
    """`dst.short = 2`."""

    name: str
    pattern: Pattern
    place: Optional[Place] = None               # resolved
    wanted: Union[Numbers, Octets, None] = None     # resolved; None: `_`


@dataclass(eq=False)
class HeaderItem(Node):
    """`mac { ... }`, `ext[1] { ... }`, `no udp`: a header of the program's headers, or of a type (`HeaderIe { ... }`)."""

    name: str
    cell: Optional[Value]
    fields: list[FieldItem]
    absent: bool = False
    base: list[FieldItem] = field(default_factory=list)         # of `fields`, those of the packet that others are given of with `with`
    header: Optional[ast.Header] = None         # resolved
    instance: Optional[ast.StructField] = None  # resolved; None: named by its type
    index: Optional[int] = None                 # resolved: of an element

    @property
    def label(self) -> str:
        return self.name if self.index is None else f"{self.name}[{self.index}]"


Piece = Union[HeaderItem, Octets]


@dataclass(eq=False)
class Packet(Node):
    """kind "octets": pieces are one Octets. "fields": headers and octets in order, made by deparser (read by parser) `via` if
    given. "frame": number `frame` of the capture `path`. "named": the packet `name`, with `pieces` on top. "unchanged"."""

    kind: str
    pieces: list[Piece] = field(default_factory=list)
    via: str = ""
    name: str = ""
    frame: int = 0
    path: str = ""
    module: Union[ast.Parser, ast.Deparser, None] = None    # resolved
    data: bytes = b""                           # resolved, of a frame
    meta: dict[str, int] = field(default_factory=dict)      # resolved, of a frame


# ---------------------------------------------------------------- steps

@dataclass(eq=False)
class Settings(Node):
    """`node { short = 2, ext = eui64"...", pan = 0x23 }`, `meta { rssi = -60 }`."""

    what: str
    fields: list[FieldItem]
    meta: dict[str, int] = field(default_factory=dict)      # resolved: by the engines' names


@dataclass(eq=False)
class Answer(Node):
    """`extern battery = 2900;`: from now on, what a function of the node's own answers."""

    name: str
    name_span: Span
    pattern: Pattern
    number: int = 0                             # resolved


@dataclass(eq=False)
class TablesFile(Node):
    """`tables "contexts.json";`"""

    path: str
    tables: Optional[control.Tables] = None     # resolved


@dataclass(eq=False)
class StatePath(Node):
    """`Serve.echoed`, `contexts[0].length`: an object of the program's state, or part of it."""

    name: str
    cell: Optional[Value]
    path: str
    decl: Union[ast.Register, ast.Counter, ast.Meter, None] = None     # resolved
    type: object = None                         # resolved: of what is named
    index: Optional[int] = None                 # resolved: of a cell

    @property
    def text(self) -> str:
        index = "" if self.index is None else f"[{self.index}]"
        inside = f".{self.path}" if self.path and not self.name.endswith(self.path) else ""
        return f"{self.name}{index}{inside}"


@dataclass(eq=False)
class SetCell(Node):
    """`set limit = 5;`, `set contexts[0] = { prefix = ip6"2001:db8::", length = 64 };`"""

    place: StatePath
    value: Union[Value, list[tuple[str, Value]]]
    cell: Optional[control.Cell] = None         # resolved


@dataclass(eq=False)
class EntryItem(Node):
    keys: list[Pattern]
    action: str
    args: list[Value]
    priority: Optional[int] = None


@dataclass(eq=False)
class Entries(Node):
    """`table routes { ip6"2001:db8::" / 32 : send_to(7); }`: from now on, the table's entries."""

    name: str
    items: list[EntryItem]
    table: Optional[ast.Table] = None           # resolved
    entries: list[control.Entry] = field(default_factory=list)      # resolved


@dataclass(eq=False)
class Wait(Node):
    """`wait 20 ms;`"""

    time: int


@dataclass(eq=False)
class Send(Node):
    """`send PACKET;`, `send PACKET to net.tx.7;`"""

    packet: Packet
    to: str = ""
    to_span: Optional[Span] = None
    hook: Optional[int] = None                  # resolved: whose chain takes it; None: that of radio.rx_done


@dataclass(eq=False)
class Expect(Node):
    """`expect DELIVER 7;`, `expect DROP BadChecksum;`, `expect TRANSMIT hex { ... };`, `expect no packet;`"""

    verdict: Optional[str]
    reason: str = ""
    port: Optional[Pattern] = None
    packet: Optional[Packet] = None
    no_packet: bool = False
    ports: Optional[Numbers] = None             # resolved


@dataclass(eq=False)
class Check(Node):
    """`check Serve.echoed == 1;`, `check peers[0] == { seen = 5, known = true };`, whose `parts` are checks of fields."""

    place: StatePath
    op: str
    pattern: Optional[Pattern]
    parts: list[Check] = field(default_factory=list)
    wanted: Optional[Numbers] = None            # resolved


@dataclass(eq=False)
class Events(Node):
    """`events "duty.events";`, `events { 10 ms air ... }`: a node runs through them. `source`: the text, in its place."""

    path: str
    source: Optional[Source] = None
    script: Optional[Script] = None             # resolved


@dataclass(eq=False)
class ExpectRecord(Node):
    """`expect sent OK hex { ... } at 250 ms..252 ms;`: what the time line has. `what`: run, overrun (of hook `name`), sent, net.sent,
    heard, missed, collided. `word`: the verdict of a run, the result of a frame sent. `times`: how often; None: at least once.
    Without a time line, of what the packet that was sent last made the program send."""

    what: str
    name: str = ""
    name_span: Optional[Span] = None
    word: str = ""
    packet: Optional[Packet] = None
    at: Optional[tuple[int, int]] = None
    times: Optional[Numbers] = None

    @property
    def timeless(self) -> bool:
        """Whether it can be asked of one packet's run, which has no time, and of whose frames nobody knows what becomes."""
        return self.what in ("sent", "net.sent") and not self.word and self.at is None


@dataclass(eq=False)
class ExpectRadio(Node):
    """`expect radio on <= 2 %;` of the time."""

    op: str
    percent: float
    timeless = False


Step = Union[Settings, Answer, TablesFile, SetCell, Entries, Wait, Send, Expect, Check, Events, ExpectRecord, ExpectRadio]


@dataclass(eq=False)
class Test(Node):
    name: str
    steps: list[Step]

    __test__ = False                            # pytest: not one of yours


@dataclass(eq=False)
class File:
    """A test file. `setup`: the steps outside of tests, done before each."""

    source: Source
    program: str = ""                           # as written; "" is the file's own name with .lpn
    program_span: Optional[Span] = None
    setup: list[Step] = field(default_factory=list)
    packets: dict[str, Packet] = field(default_factory=dict)
    tests: list[Test] = field(default_factory=list)
