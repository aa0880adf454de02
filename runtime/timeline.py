"""What happened on a node, in order: the records a `Node` keeps, as text and as JSON.

Times are microseconds from the start. `cause` is the number of the record that made this one happen, or None.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from lpn.lang.times import unit_of


@dataclass(frozen=True)
class Effect:
    """Something that a run did. `what`: radio.on, radio.off, radio.cca, radio.channel, radio.power, radio.send, net.send,
    timer, trace; of a replacement keeps, runs, begins, loses. `frame`: what was sent."""

    time: int
    what: str
    detail: str = ""
    frame: bytes | None = None


@dataclass(kw_only=True)
class Record:
    """`number` counts from 0, in the order in which things were recorded."""

    number: int
    time: int
    cause: int | None = None

    @property
    def kind(self) -> str:
        return type(self).__name__.lower()


@dataclass(kw_only=True)
class Ran(Record):
    """A hook's chain ran. `time` is the start of its run, `due` its event's, `took` microseconds."""

    hook: str
    due: int
    took: int
    verdict: str
    reason: str | None = None
    port: int | None = None
    insns: int | None = None
    out: bytes | None = None        #: the packet as rebuilt
    delivered: bytes | None = None  #: DELIVER: what the parser left
    unsent: bool = False            #: TRANSMIT, but no deparser made a packet, or the radio had one already
    late: bool = False              #: it took longer than `within`
    fault: str | None = None
    effects: list[Effect] = field(default_factory=list)


@dataclass(kw_only=True)
class Overrun(Record):
    """An event found its hook pending, and was lost."""

    hook: str


@dataclass(kw_only=True)
class Sent(Record):
    """A frame was sent, from `time` to `end`; `result` is known at `done`, and "unfinished" till then. BUSY: it was not, the channel was in use."""

    frame: bytes
    result: str
    end: int
    done: int


@dataclass(kw_only=True)
class Received(Record):
    """A frame was on the air, from `time` to `end`. `fate`: heard, missed (the radio did not listen), collided."""

    frame: bytes
    end: int
    fate: str
    rssi: int = 0
    lqi: int = 0


@dataclass(kw_only=True)
class Given(Record):
    """An event of the script reached the node as it is. `wanted`: a hook took it, or counted it as an overrun."""

    event: str
    wanted: bool
    frame: bytes | None = None


@dataclass(kw_only=True)
class Replaced(Record):
    """Another version took the program's place; `effects`: what became of persistent registers and of the radio."""

    what: str
    effects: list[Effect] = field(default_factory=list)


def plain(record: Record) -> dict[str, Any]:
    """The record for JSON; bytes in hex."""
    def simple(value: Any) -> Any:
        if isinstance(value, bytes):
            return value.hex()
        if isinstance(value, list):
            return [simple(each) for each in value]
        return {k: simple(v) for k, v in value.items()} if isinstance(value, dict) else value
    return {"kind": record.kind, **simple(asdict(record))}


def meaning(record: Record) -> dict[str, Any]:
    """What every engine must agree on: not how many instructions it took, nor where it stopped."""
    return {k: v for k, v in plain(record).items() if k not in ("insns", "fault")}


# ---------------------------------------------------------------- text

def clock(time: int) -> str:
    """Seconds with microseconds."""
    return f"{time // 1_000_000}.{time % 1_000_000:06d}"


def length(us: int) -> str:
    """`250 us`, `12.5 ms`, `1.25 s`."""
    unit, size = unit_of(us)
    return f"{us / size:.6g} {unit}" if size > 1 else f"{us} {unit}"


def shown(frame: bytes, most: int = 12) -> str:
    """A frame's first octets and its length."""
    text = frame[:most].hex() + ("..." if len(frame) > most else "")
    return f"{text} ({len(frame)} B)" if text else "empty"


def row(record: Record) -> tuple[str, str, str, str]:
    """(time, what, verdict, effects)."""
    if isinstance(record, Ran):
        what, verdict, parts = record.hook, record.verdict, [effect_text(e) for e in record.effects]
        if record.reason or record.port is not None:
            verdict += f" {record.reason or record.port}"
        if record.delivered is not None:
            parts.append(shown(record.delivered))
        if record.unsent:
            parts.append("not sent: " + ("the radio had a frame already" if record.out is not None else "the chain has no deparser"))
        if record.late:
            parts.append(f"DEADLINE MISSED: it took {length(record.took)}")
        if record.fault:
            parts.append(record.fault)
        return clock(record.time), what, verdict, "; ".join(parts)
    if isinstance(record, Sent):
        return clock(record.time), "  radio sends", record.result, shown(record.frame)
    if isinstance(record, Received):
        return clock(record.time), "  on the air", record.fate, shown(record.frame)
    if isinstance(record, Overrun):
        return clock(record.time), record.hook, "OVERRUN", "it was pending, this event is lost"
    if isinstance(record, Replaced):
        return clock(record.time), "  replaced", "", "; ".join([record.what, *map(effect_text, record.effects)])
    assert isinstance(record, Given)
    text = shown(record.frame) if record.frame is not None else ""
    return clock(record.time), f"  {record.event}", "" if record.wanted else "ignored", text


def effect_text(effect: Effect) -> str:
    text = f"{effect.what} {effect.detail}".rstrip()
    return f"{text} {shown(effect.frame)}" if effect.frame is not None else text
