"""How long an event waits on a node until its hook runs, and behind whom.

One thread runs all hooks but those of interrupts: those of context radio before those of net, the oldest event first, each to its end (docs/node.md). So when an event of
context radio comes, one hook may be at work, of whatever context, and behind that go the events of context radio that are older. A hook keeps one; of
`radio.rx_done` two may come first: a frame is as old as its delimiter, so one is pending and one on the air. What comes later is younger. A run that completes
an entry of a buffer is followed at once by the buffer's chain. Interrupts come once a frame, in between.

What one clock starts, a handler of `every` or the slots of one slotframe, with their `after` blocks, has its times: who is over before another one is due,
or due later, does not hold it up. These times depend on how long each waits, which begins with what is true without them.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from lpn.lang import ast
from lpn.lang import hooks as lang
from lpn.lang.hooks import BUFFER_COMPLETE, PERIODIC, RX_DONE, longest
from lpn.lang.instances import children
from lpn.runtime.engines import MAX_COMPLETIONS

from .bundle import Hook

SHORTEST_FRAME_US = 6 * 32                      #: SHR and PHR alone, at 250 kbit/s: what is between the delimiters of two frames at least (IEEE 802.15.4, O-QPSK PHY)
ROUNDS = 8                                      # in which times and waits become smaller; each is true


@dataclass(frozen=True)
class Wait:
    """Microseconds at most from a hook's event to its run. `behind`: by the index of a hook, how many runs of it come first, and how long each takes; of
    `interrupts`, in between, only the number. `late`: how long those take whose timers may be as late as its own."""

    us: float
    behind: dict[int, tuple[int, float]] = field(default_factory=dict)
    interrupts: int = 0
    late: float = 0.0


@dataclass(frozen=True)
class Start:
    """Of an `after` block: the hook that starts it, by index, and how long it waits, microseconds."""

    by: int
    least: int
    most: int


@dataclass(frozen=True)
class Window:
    """When a hook is due after its clock's beat, earliest and latest, and when its run is over at the latest; microseconds. `clock`: whose beat, each `period`."""

    clock: Hashable
    period: int
    first: float
    last: float
    over: float

    def may_hold_up(self, other: Window, started: bool = False) -> bool:
        """Whether a run of it may be due before the other one is, and not be over when that is. `started`: by the other one, so not in the same beat."""
        if self.clock != other.clock:
            return True
        beats = (other.last - self.first) // self.period            # of the last run of it that may be due before
        return (min(beats, -1) if started else beats) * self.period > other.first - self.over

    def may_be_late(self) -> bool:
        """Whether a run of it may still be at work when the next one is due."""
        return self.over - self.first > self.period


def starts(hooks: Sequence[lang.Hook]) -> list[Start | None]:
    """Who starts each hook that is an `after`; None for the others."""
    index = {id(hook.chain[0]): i for i, hook in enumerate(hooks) if hook.timed}
    out: list[Start | None] = [None] * len(hooks)
    for i, hook in enumerate(hooks):
        if not hook.timed:
            continue
        handler = hook.chain[0]
        assert isinstance(handler, ast.Handler)
        for one in started_in(handler.body):
            if one.handler is not None:
                out[index[id(one.handler)]] = Start(i, int(one.delay.const or 0), longest(one))
    return out


def started_in(node: object) -> Iterator[ast.After]:
    """The `after` blocks that a body starts, without those that they start."""
    if isinstance(node, ast.After):
        yield node
    elif isinstance(node, (list, tuple)):
        for one in node:
            yield from started_in(one)
    elif isinstance(node, ast.Node):
        for name in children(type(node)):
            yield from started_in(getattr(node, name))


class Waits:
    """Of a node's hooks. `took`: microseconds of each one's run at most; `completing`: whether that may complete an entry of a buffer."""

    def __init__(self, hooks: Sequence[Hook], took: Sequence[float], completing: Sequence[bool], started: Sequence[Start | None] = ()) -> None:
        self.hooks, self.started = hooks, list(started) or [None] * len(hooks)
        ends = [i for i, hook in enumerate(hooks) if hook.event == BUFFER_COMPLETE]
        chained = max((took[i] for i in ends), default=0.0) * (MAX_COMPLETIONS if any(completing[i] for i in ends) else 1)
        self.runs = [us + chained * completes for us, completes in zip(took, completing)]
        self.thread = [i for i, hook in enumerate(hooks) if hook.context != "isr" and hook.event != BUFFER_COMPLETE]
        self.interrupt = sum(took[i] for i, hook in enumerate(hooks) if hook.context == "isr")

    def found(self) -> list[Wait | None]:
        """Of each hook; None for those that may be held up for ever, and where there is nothing to tell: interrupts run at once, what is of context net waits for as
        long as the radio has events, and the chain of a buffer is part of the run that completes it."""
        windows: list[Window | None] = [None] * len(self.hooks)
        found = self.with_windows(windows)
        for _ in range(ROUNDS):
            windows = self.windows(found)
            before, found = found, self.with_windows(windows)
            if found == before:
                break
        return found

    def with_windows(self, windows: list[Window | None]) -> list[Wait | None]:
        return [self.wait(i, windows) if hook.context == "radio" and i in self.thread else None for i, hook in enumerate(self.hooks)]

    def wait(self, index: int, windows: list[Window | None]) -> Wait | None:
        own = windows[index]
        ahead = [i for i in self.thread if i != index and ((its := windows[i]) is None or own is None or its.may_hold_up(own, self.starts(index, i)))]
        steady = {i for i in self.thread if (its := windows[i]) is not None and not its.may_be_late()}
        runs = Counter({i: 2 if self.hooks[i].event == RX_DONE else 1 for i in ahead if self.hooks[i].context == "radio"})
        late = sum(self.runs[i] for i in runs if self.hooks[i].jitter)
        at_work = [i for i in (*ahead, index) if i not in steady or i != index and i not in runs]       # else it is the older run that is at work
        if at_work:
            runs[max(at_work, key=lambda i: self.runs[i])] += 1
        behind = {i: (number, self.runs[i]) for i, number in runs.items()}
        us = sum(number * us for number, us in behind.values())
        more = interrupts(us, self.interrupt)
        return None if more is None else Wait(us + more * self.interrupt, behind, more, late)

    def starts(self, starter: int, index: int) -> bool:
        """Whether a hook is started by another one, or by what that starts."""
        start = self.started[index]
        return start is not None and (start.by == starter or self.starts(starter, start.by))

    def windows(self, found: list[Wait | None]) -> list[Window | None]:
        """Of what a clock starts; None for the others."""
        out: list[Window | None] = [None] * len(self.hooks)
        for i, hook in enumerate(self.hooks):
            if hook.event in PERIODIC and hook.period:
                clock = ("slotframe", hook.period) if hook.event == "slot" else i
                self.place(out, found, i, Window(clock, hook.period, hook.offset, hook.offset, hook.offset), hook.jitter)
        return out

    def place(self, out: list[Window | None], found: list[Wait | None], index: int, due: Window, jitter: int) -> None:
        """`due`: when it is due, not yet how long its run takes."""
        wait = found[index]
        if wait is None:
            return
        # when a timer comes late by its jitter nobody is at work, but older ones may be as late; an `after` has no jitter of its own
        late = max(wait.us - wait.interrupts * self.interrupt, jitter + wait.late * (self.started[index] is None))
        its = out[index] = replace(due, over=due.last + interrupted(late + self.runs[index], self.interrupt))
        for i, start in enumerate(self.started):
            if start is not None and start.by == index:
                self.place(out, found, i, replace(its, first=its.first + start.least, last=its.over + start.most), jitter)


def interrupted(us: float, each: float) -> float:
    """So long a time of the thread, with the interrupts of `each` microseconds in it; there is an end to them."""
    return us + (interrupts(us, each) or 0) * each


def interrupts(us: float, each: float) -> int | None:
    """How many interrupts of `each` microseconds come in so long a time of the thread, and in theirs; one may be at work when it begins. None: so many that the thread
    does not go on."""
    if not each:
        return 0
    if each >= SHORTEST_FRAME_US:
        return None
    number = 0
    while (more := 1 + int((us + number * each) // SHORTEST_FRAME_US)) > number:
        number = more
    return number
