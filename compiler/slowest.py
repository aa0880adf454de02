"""The slowest run of a hook: a search over packets, circumstances, state and full tables, on the emulated Cortex-M3.

A hill climb: what took longest so far is changed a little, and what takes longer is kept. The bound of `lpnc verify` must
never be exceeded; how near the worst run comes to it says how tight the bound is.
"""
from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from lpn.lang import ast
from lpn.lang.reference import Reference
from lpn.runtime.engines import MAX_PACKET, EngineError, get_engine

from .build import Compiled
from .bundle import Entry, Hook, Table
from .commands.deadlines import HookTime, times
from .commands.judge import analysed, of_compiled, sealed
from .generate import RandomChoose
from .helpers import BY_NAME
from .generate_packets import Packets
from .target import MAX_PACKET as LONGEST

KEPT = 6                                        #: inputs that are changed further
DRAWN = 12                                      #: packets drawn along the parser to begin with
PROGRESS_EVERY = 2.0
META = {"rssi": 32, "lqi": 32, "time": 32, "node_short": 16, "node_ext": 64, "node_pan": 16, "clock": 32}
EVENTS = {"radio.tx_done": 3}                   #: how many outcomes an event can have


@dataclass
class Input:
    """What a run depends on."""

    frame: bytes = b""
    meta: dict[str, int] = field(default_factory=dict)
    state: bytes = b""
    answers: int = 0                            #: what the platform answers, a bit for each time it is asked

    def as_json(self) -> dict:
        return {"frame": self.frame.hex(), "meta": self.meta, "state": self.state.hex(), "answers": self.answers}

    @classmethod
    def from_json(cls, given: dict) -> Input:
        return cls(bytes.fromhex(given["frame"]), dict(given["meta"]), bytes.fromhex(given["state"]), given["answers"])


@dataclass
class Slowest:
    """Of one hook. `cycles`, with wait states, as the bound has them."""

    hook: str
    bound: int
    cycles: int = 0
    runs: int = 0
    input: Input = field(default_factory=Input)

    @property
    def ratio(self) -> float:
        """The bound over the worst run found."""
        return self.bound / self.cycles if self.cycles else float("inf")

    @property
    def exceeded(self) -> bool:
        return self.cycles > self.bound


def full(table: Table, rng: random.Random) -> list[Entry]:
    """As many entries as the table has room for."""
    entries: dict[tuple, Entry] = {}
    for n in range(4 * table.size):
        match = []
        for key in table.key:
            top = (1 << key.width_bits) - 1
            value = rng.getrandbits(key.width_bits) if key.width_bits > 16 else (n * 7 + 1) & top
            if key.kind == "lpm":
                plen = rng.randint(0, key.width_bits)
                match.append((value >> key.width_bits - plen << key.width_bits - plen, plen))
            elif key.kind == "ternary":
                mask = rng.getrandbits(key.width_bits)
                match.append((value & mask, mask))
            elif key.kind == "range":
                match.append((value, min(value + rng.getrandbits(8), top)))
            else:
                match.append((value,))
        entries.setdefault(tuple(match), Entry(tuple(match), 1, bytes(table.action_data_bytes), n))
        if len(entries) == table.size:
            break
    return list(entries.values())


class Subject:
    """One hook of a compiled program on the core, translated. Raises EngineError, EngineUnavailable."""

    def __init__(self, compiled: Compiled, timed: HookTime, rng: random.Random) -> None:
        assert timed.cost is not None
        self.compiled, self.hook, self.bound = compiled, timed.hook, timed.cost.most
        self.program = get_engine("thumb2").load(compiled.bundle, hook=timed.hook)
        self.initial = compiled.initial_state(None)
        for table in compiled.bundle.tables:
            if not table.entries:
                try:
                    self.program.set_entries(table.name, full(table, rng))
                except EngineError:
                    pass                        # a value set, or entries of its own: as they are

    def run(self, given: Input) -> int:
        """Cycles, with the flash's wait states; what the platform does, which is not emulated, as it is declared."""
        self.program.set_state(given.state or self.initial)
        self.program.answer = lambda name, number: given.answers >> number & 1
        result = self.program.run(given.frame, given.meta)
        return result.flash_cycles + sum(BY_NAME[effect[0]].cost_cycles for effect in result.effects)


def beginnings(compiled: Compiled, hook: Hook, frames: Iterable[bytes], rng: random.Random) -> list[Input]:
    """Frames given, packets drawn along the parser, the same ones long."""
    program = compiled.program
    out = [Input(frame[:MAX_PACKET]) for frame in frames]
    if any(isinstance(module, ast.Parser) for each in program.hooks for module in each.chain if each.event == hook.event):
        source = Packets(program, Reference(program, {}).state(None))
        out += [Input(source.packet(RandomChoose(rng.getrandbits(32)))[:MAX_PACKET]) for _ in range(DRAWN)]
        rng.shuffle(out)
        out += [Input(each.frame + bytes([rng.choice((0, 1, 0xFF))]) * (LONGEST - len(each.frame))) for each in out[:DRAWN]]
    return out or [Input()]


def changed(given: Input, others: list[Input], rng: random.Random, events: int) -> Input:
    """A neighbour."""
    frame, meta, state = bytearray(given.frame), dict(given.meta), bytearray(given.state)
    answers = given.answers
    for _ in range(rng.choice((1, 1, 2, 4))):
        way = rng.randrange(12)
        at = rng.randrange(min(len(frame), 100)) if frame and way < 9 else rng.randrange(len(frame)) if frame else 0
        if way < 4 and frame:
            frame[at] = rng.choice((rng.randrange(256), frame[at] ^ 1 << rng.randrange(8), 0, 0xFF, frame[at] + 1 & 255))
        elif way == 4 and frame:
            del frame[at:at + rng.choice((1, 2, 8))]
        elif way == 5:
            frame[at:at] = rng.randbytes(rng.choice((1, 2, 8)))
        elif way == 6 and len(frame) < LONGEST:
            frame += rng.choice((bytes(8), b"\xff" * 64, rng.randbytes(rng.randrange(1, 64)), bytes([rng.randrange(256)]) * (LONGEST - len(frame))))
        elif way == 7 and others:
            other = rng.choice(others).frame
            frame[at:] = other[min(at, len(other)):]
        elif way == 8:
            name = rng.choice(list(META))
            meta[name] = rng.getrandbits(META[name])
        elif way == 9 and state:
            place = rng.randrange(len(state))
            state[place:place + 1] = bytes([rng.choice((0, 1, 0xFF, rng.randrange(256)))])
        elif way == 10:
            answers = rng.getrandbits(8)
            if events:
                meta["event"] = rng.randrange(events)
        elif way == 11 and len(frame) > 30:
            del frame[-rng.choice((1, 2, 16)):]
    return Input(bytes(frame[:LONGEST]), meta, bytes(state), answers)


def search(subject: Subject, start: list[Input], rng: random.Random, runs: int | None = None, seconds: float | None = None,
           progress: Callable[[Slowest], None] = lambda found: None) -> Slowest:
    """The slowest run found."""
    found = Slowest(hook_name(subject.hook), subject.bound)
    kept: list[tuple[int, int, Input]] = []
    events, began, shown = EVENTS.get(subject.hook.event, 0), time.monotonic(), 0.0
    seen: set[tuple[int, int]] = set()

    def attempt(given: Input) -> None:
        given.state = given.state or subject.initial
        cycles = subject.run(given)
        found.runs += 1
        if cycles > found.cycles:
            found.cycles, found.input = cycles, given
        if (cycles, len(given.frame)) not in seen:
            seen.add((cycles, len(given.frame)))
            kept.append((cycles, found.runs, given))
            kept.sort(key=lambda each: (-each[0], -each[1]))
            del kept[KEPT:]

    def going() -> bool:
        return (runs is None or found.runs < runs) and (seconds is None or time.monotonic() - began < seconds) and not found.exceeded
    for given in start:
        if going():
            attempt(given)
    while going():
        attempt(changed(rng.choice(kept)[2], [each[2] for each in kept], rng, events))
        if time.monotonic() - shown > PROGRESS_EVERY:
            shown = time.monotonic()
            progress(found)
    return found


def hook_name(hook: Hook) -> str:
    chain = " -> ".join(hook.chain)
    return f"{hook.event}{'(' + ', '.join(map(str, hook.selector)) + ')' if hook.selector else ''}: {chain}"


def subjects(compiled: Compiled, rng: random.Random) -> Iterable[Subject]:
    """A subject for each hook whose time is known."""
    sealed(compiled)
    units = of_compiled(compiled)
    for timed in times(units, analysed(units)).hooks:
        if timed.cost is not None:
            yield Subject(compiled, timed, rng)
