"""The slowest run of a hook: a search over packets, circumstances, state and full tables, on the emulated Cortex-M3.

What took longest so far, and what went otherwise than anything before, is changed a little, in the packet, in the circumstances, in one cell of the
state or in all cells of an array. The engine of this machine tells by the instructions it executes what is worth the emulated core's time. A
run there is also asked what it compares, first of all where the bound's longest path branches: where one of two compared numbers stands in the
packet, the state or the circumstances, it is made the other one. Later tables are filled with entries that the keys looked up miss in their last
bits, but for the last one, and always buffers as their helpers take longest. The bound of `lpnc verify` must never be
exceeded; how near the worst run comes to it says how tight the bound is.
"""
from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lpn.lang import ast
from lpn.lang.hooks import EVENTS
from lpn.lang.reference import Reference
from ..build import Compiled
from ..bundle import Entry, Hook
from ..generate.base import RandomChoose
from ..generate.packets import Packets
from .changes import META, Shapes, changed, with_sum, words
from .keys import matched
from .subject import DECISIVE, PLACES, Cells, Compared, Input, Subject, subjects

__all__ = ["Input", "Slowest", "Subject", "beginnings", "changed", "hook_name", "search", "solved", "subjects"]

KEPT = 24                                       #: inputs that are changed further
FIRST = 4                                       #: inputs that a search begins with that the core runs in any case
NEW = 60                                        #: inputs of one end kept to be asked what they compare
SOLVED, CHANGES = 2000, 1000                    #: inputs made of one that was asked, random ones in between
RIGHTED = 12                                    #: of these, whose checksum is made right on the core
STAGES = ((0.3, True), (0.5, True), (0.8, False))       #: from which part on tables are filled with near misses, and whether the last entry is a hit
MEASURED = 2                                    #: of the likely ones, on the core each time
MATCHED = 3                                     #: of its neighbours that constant entries match, on the core each time, where there are some
POLISHED = 4                                    #: of the slowest run's neighbours, on the core each time, where there are buffers
DRAWN = 12                                      #: packets drawn along the parser to begin with
LOOKED_AT = 160                                 #: octets of a frame where a compared octet is looked for
PROGRESS_EVERY = 2.0


@dataclass
class Slowest:
    """Of one hook. `cycles`, with wait states, as the bound has them."""

    hook: str
    bound: int
    cycles: int = 0
    runs: int = 0
    input: Input = field(default_factory=Input)
    entries: dict[str, list[Entry]] = field(default_factory=dict)       # of the tables then
    slow: list[Input] = field(default_factory=list)     # the slowest ones, as far as they were estimated

    @property
    def ratio(self) -> float:
        """The bound over the worst run found."""
        return self.bound / self.cycles if self.cycles else float("inf")

    @property
    def exceeded(self) -> bool:
        return self.cycles > self.bound


def beginnings(compiled: Compiled, hook: Hook, frames: Iterable[bytes], rng: random.Random) -> list[Input]:
    """Frames given, packets drawn along the parser, the same ones long."""
    program = compiled.program
    longest = compiled.bundle.longest(hook)
    out = [Input(frame[:longest]) for frame in frames]
    taker, _ = compiled.hooks[compiled.bundle.hooks.index(hook)]
    if any(isinstance(module, ast.Parser) for module in taker.chain):
        reference = Reference(program, {})
        source = Packets(reference, reference.state(None), hook=taker)
        out += [Input(source.packet(RandomChoose(rng.getrandbits(32)))[:longest]) for _ in range(DRAWN)]
        rng.shuffle(out)
        out += [Input(each.frame + bytes([rng.choice((0, 1, 0xFF))]) * (longest - len(each.frame))) for each in out[:DRAWN]]
    return out or [Input()]


def summed(given: Input, compared: Compared, places: Iterable[int]) -> Iterator[Input]:
    """Inputs in which two octets, at one of `places`, make a checksum that was compared the one that it was compared with; first where it stands itself."""
    if compared.bits or not 0xFF < max(compared.left, compared.right) <= 0xFFFF:
        return
    itself = {number.to_bytes(2, order) for number in (compared.left, compared.right) for order in ("big", "little")}     # type: ignore[arg-type]
    places = sorted(places, key=lambda place: given.frame[place:place + 2] not in itself)
    more = compared.left - compared.right
    differ = compared.left ^ compared.right             # a sum is compared with its complement
    for place in places:
        for each in {differ, (differ << 8 | differ >> 8) & 0xFFFF}:
            word = int.from_bytes(given.frame[place:place + 2], "big") ^ each
            yield replace(given, frame=given.frame[:place] + word.to_bytes(2, "big") + given.frame[place + 2:], balance=place)
        for each in {more % 0xFFFF, -more % 0xFFFF, 256 * more % 0xFFFF, -256 * more % 0xFFFF}:     # 256 times as much: the octets swapped
            yield replace(given, frame=with_sum(given.frame, place, each), balance=place)


def solved(given: Input, compared: Compared, arrays: Sequence[Cells] = ()) -> Iterator[Input]:
    """Inputs in which a compared number that stands in this one is the one it was compared with, or next to it; in an array's cell, the others too."""
    for value, other in ((compared.left, compared.right), (compared.right, compared.left)):
        wanted = {value & ~other, value | other, value ^ (other & -other)} if compared.bits else {other, other + 1, other - 1}
        for size in (1, 2, 4):
            if value >> 8 * size or size > 1 and not value >> 8 * (size // 2):
                continue
            for order in ("big", "little")[:size]:
                old = value.to_bytes(size, order)       # type: ignore[arg-type]
                news = [(new & (1 << 8 * size) - 1).to_bytes(size, order) for new in wanted if new & 0xFFFFFFFF != value]   # type: ignore[arg-type]
                for name in ("frame", "state"):
                    content = getattr(given, name)
                    until = LOOKED_AT if size == 1 else len(content)
                    at = content.find(old, 0, until)
                    while at >= 0:
                        for new in news:
                            made = content[:at] + new + content[at + size:]
                            if name == "frame":
                                if given.balance is not None and 0 <= given.balance <= len(made) - 2:
                                    made = with_sum(made, given.balance, words(content, given.balance) - words(made, given.balance))
                                yield replace(given, frame=made)
                                continue
                            yield replace(given, state=made)
                            for cells in arrays:
                                if cells.offset <= at and at + size <= cells.end and (at - cells.offset) % cells.stride + size <= cells.stride:
                                    yield replace(given, state=cells.alike(given.state, at, new))
                        at = content.find(old, at + 1, until)
        for name, bits in META.items():
            if given.meta.get(name, 0) & 0xFFFFFFFF == value:
                for new in wanted:
                    yield replace(given, meta={**given.meta, name: new & (1 << bits) - 1})


def from_found(text: str) -> dict[str, list[Input]]:
    """The inputs of what `lpnc fuzz --slowest --json` printed, by hook. Raises ValueError."""
    out: dict[str, list[Input]] = {}
    try:
        for each in json.loads(text)["hooks"]:
            out.setdefault(each["hook"], []).append(Input.from_json(each["input"]))
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
        raise ValueError("not what lpnc fuzz --slowest --json prints") from None
    return out


def of_alike(hook: Hook, longest: int, found: Mapping[str, Sequence[Input]]) -> list[Input]:
    """What was found of this hook, then of others whose chains begin with the same module: that takes the same packets, of at most so many octets."""
    own, first = hook_name(hook), hook.chain[0]
    others = [each for name, inputs in found.items() if name != own and name.partition(": ")[2].split(" -> ")[0] == first for each in inputs]
    return [replace(each, frame=each.frame[:longest]) for each in [*found.get(own, ()), *others]]


def search(subject: Subject, start: list[Input], rng: random.Random, runs: int | None = None, seconds: float | None = None,
           progress: Callable[[Slowest], None] = lambda found: None) -> Slowest:
    """The slowest run found."""
    return Search(subject, rng, runs, seconds, progress).run(start)


class Search:
    """As `search`."""

    def __init__(self, subject: Subject, rng: random.Random, runs: int | None, seconds: float | None, progress: Callable[[Slowest], None]) -> None:
        self.subject, self.rng, self.runs, self.seconds, self.progress = subject, rng, runs, seconds, progress
        self.found = Slowest(hook_name(subject.hook), subject.bound)
        self.slow: list[tuple[int, int, Input]] = []    # likely cycles, number, input
        self.new: dict[Hashable, list[tuple[int, int, Input]]] = {}     # by how they end, those not asked yet what they compare
        self.ways: set[Hashable] = set()
        self.seen: set[tuple[int, int]] = set()
        self.measured: set[int] = set()                 # numbers of inputs that the core ran
        self.polished = 0                               # neighbours of the slowest one that the core ran
        self.asked: set[tuple] = set()                  # compared numbers that were tried
        self.began, self.shown = time.monotonic(), 0.0
        self.events = len(EVENTS[subject.hook.event].outcomes)
        self.shapes = Shapes(subject.compiled.program, subject.parser)

    def part(self) -> float:
        """Of what the search may take."""
        parts = [self.found.runs / self.runs] if self.runs else []
        return max([*parts, (time.monotonic() - self.began) / self.seconds] if self.seconds else parts or [0.0])

    def going(self) -> bool:
        return self.part() < 1 and not self.found.exceeded

    def attempt(self, given: Input) -> None:
        if len(given.state) != len(self.subject.initial):
            given.state = self.subject.initial
        found = self.found
        found.runs += 1
        likely, way, end = self.subject.estimate(given)
        if way not in self.ways:
            self.ways.add(way)
            group = self.new.setdefault(end, [])
            group.append((likely, found.runs, given))
            if len(group) > 2 * NEW:
                group[:] = best_of(group, NEW)
        if (likely, len(given.frame)) not in self.seen:
            self.seen.add((likely, len(given.frame)))
            if len(self.slow) < KEPT or likely > self.slow[-1][0]:
                self.slow = best_of([*self.slow, (likely, found.runs, given)], KEPT)
                if self.slow[0][1] == found.runs:
                    self.measure(self.slow[0])
        if time.monotonic() - self.shown > PROGRESS_EVERY:
            self.shown = time.monotonic()
            self.progress(found)

    def measure(self, one: tuple[int, int, Input]) -> None:
        """What it takes on the core, the packet where that of the slowest run lies; of one that takes longer, wherever it may lie."""
        _, number, given = one
        self.measured.add(number)
        best, longest = self.found.input.place, self.found.cycles
        for place in (best, *(place for place in range(PLACES) if place != best)):
            cycles = self.subject.run(placed := replace(given, place=place))
            if cycles > self.found.cycles:
                self.found.cycles, self.found.input, self.found.entries = cycles, placed, dict(self.subject.entries)
            if self.found.cycles == longest:
                break

    def solve(self, given: Input) -> None:
        """Makes compared numbers the ones they are compared with."""
        made: list[Input] = []
        sums: list[Input] = []
        for compared in self.subject.compared(given):
            key = (compared.left, compared.right, compared.bits, given.balance is None)
            if key not in self.asked:
                self.asked.add(key)
                made += solved(given, compared, self.subject.arrays)
                sums += summed(given, compared, range(len(given.frame) - 1))
        for each in sums[:SOLVED] + made[:SOLVED]:      # of inputs that go one way the first is kept: one that says where its sum was made right
            if self.going():
                each.frame = each.frame[:self.subject.longest]
                self.attempt(each)
        if len(given.frame) > 1:                        # what is not in the frame may be summed, too: the sum is made right anew
            places = range(len(given.frame) - 1) if given.balance is None else [given.balance]
            for each in [one for one in made if one.frame == given.frame][:RIGHTED]:
                for again in self.subject.compared(each)[:DECISIVE] if self.going() else ():
                    for one in summed(each, again, places):
                        self.attempt(one)

    def changed(self, given: Input, others: list[Input]) -> Input:
        return changed(given, others, self.rng, self.events, self.subject.lengths, self.subject.arrays, self.shapes)

    def unasked(self) -> Input:
        """One that was not asked yet what it compares: the slowest of all or of one end, the newest, any."""
        way = self.rng.choice("SSEENR")
        ends = list(self.new)
        end = max(ends, key=lambda each: max(self.new[each])[0]) if way == "S" else self.rng.choice(ends)
        group = self.new[end] = best_of(self.new[end], NEW)
        latest = max(range(len(group)), key=lambda i: group[i][1])
        _, _, given = group.pop(0 if way in "SE" else latest if way == "N" else self.rng.randrange(len(group)))
        if not group:
            del self.new[end]
        return given

    def run(self, start: list[Input]) -> Slowest:
        for n, given in enumerate(start):
            if self.going():
                self.attempt(given)
                if n < FIRST and self.found.runs not in self.measured and self.going():     # slow ones, perhaps, of which the instructions do not tell it
                    self.measure((0, self.found.runs, given))
        stages = list(STAGES) if self.subject.tables else []
        while self.going():
            if stages and self.part() > stages[0][0]:
                best = self.slow[0][2]
                self.subject.miss(best, stages.pop(0)[1])
                self.slow, self.seen = [], set()
                self.attempt(best)
            elif self.new:
                self.solve(self.unasked())
            others = [each[2] for each in self.slow]
            for one in [each for each in self.slow if each[1] not in self.measured][:MEASURED]:
                self.measure(one)
            if self.subject.buffers is not None:            # of what their helpers take the instructions say nothing
                for group in list(self.new.values()):
                    for one in [each for each in best_of(group, 1) if each[1] not in self.measured]:
                        self.measure(one)
                for n in range(POLISHED if self.going() else 0):
                    given = self.found.input if n % 2 else self.rng.choice(others)
                    self.measure((0, -1 - self.polished - n, self.changed(given, others)))
                self.polished += POLISHED
            for n in range(MATCHED if any(table.constant for table in self.subject.tables.values()) else 0):
                one = matched(self.subject, self.found.input if n else self.rng.choice(others), self.rng) if self.going() else None
                if one is not None:
                    self.attempt(one)
                    self.measure((0, -1 - self.polished, one))
            for _ in range(CHANGES):
                if self.going():
                    group = self.new[self.rng.choice(list(self.new))] if self.new and self.rng.random() < 0.3 else self.slow
                    given = self.rng.choice(group)[2]
                    self.attempt(self.changed(given, others))
        for _, hit in stages if not self.found.exceeded else ():    # of a search that ended before them
            self.subject.miss(self.found.input, hit)
            self.measure((0, self.found.runs, self.found.input))
        for one in self.slow:
            if one[1] not in self.measured and not self.found.exceeded:
                self.measure(one)
        self.found.slow = [each[2] for each in self.slow]
        return self.found


def best_of(inputs: list[tuple[int, int, Input]], most: int) -> list[tuple[int, int, Input]]:
    """The slowest ones, later ones first among equals."""
    return sorted(inputs, key=lambda each: (-each[0], -each[1]))[:most]


def hook_name(hook: Hook) -> str:
    chain = " -> ".join(hook.chain)
    return f"{hook.event}{'(' + ', '.join(map(str, hook.selector)) + ')' if hook.selector else ''}: {chain}"
