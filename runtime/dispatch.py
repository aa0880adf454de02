"""What a node does with events, behind one interface: `runtime/engine/node.c`, or a second writing of it in Python.

A `Dispatch` knows a bundle's hooks. Events come in through `event`, `poll` runs at most one hook, and everything that hooks
do to the world goes out through a `Platform`. Times are microseconds modulo 2**32, as on a node.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from lpn.compiler.bundle import Hook
from lpn.lang.hooks import CONTEXTS, EVENTS, PERIODIC, RadioPart, name_of, taker, wants

from .engines import MAX_COMPLETIONS, MAX_PACKET

WORD = 0xFFFF_FFFF
MAX_DELAY = (1 << 31) - 1       #: microseconds

#: In counts of drops: all reasons that are the engine's own.
ENGINE_REASON = "engine"


@dataclass(frozen=True)
class Event:
    """One occurrence. `selector`: layer and selector, port, result or buffer."""

    event: str
    time: int
    selector: tuple[int, ...] = ()
    packet: bytes | None = None
    rssi: int = 0
    lqi: int = 0
    iface: int = 0


@dataclass(frozen=True)
class Run:
    """One run of a hook's chain that has ended. `due`: the event's time. `packet` is as the chain left it."""

    hook: int
    due: int
    start: int
    end: int
    verdict: str
    reason: str | None = None
    port: int | None = None
    insns: int | None = None
    packet: bytes = b""
    payload: int = 0            #: offset of what the parser left, in the packet as it came
    rebuilt: bool = False
    unsent: bool = False        #: TRANSMIT, but no deparser made a packet, or the radio had one already
    fault: str | None = None


@dataclass
class Stats:
    """Of one hook: events = runs + overruns + moved + pending. Instructions are 0 where nobody counts them."""

    events: int = 0
    runs: int = 0
    overruns: int = 0
    moved: int = 0
    pending: int = 0
    drops: int = 0
    errors: int = 0
    misses: int = 0
    insns: int = 0
    insns_worst: int = 0
    time_worst: int = 0
    wait_worst: int = 0


@dataclass
class Counts:
    """Of a node: events that no hook wanted, events lost by a swap, packets the radio had no room for, packets held."""

    ignored: int = 0
    lost: int = 0
    busy: int = 0
    held: int = 0


class Platform(Protocol):
    """The machine a node is on; see lpn_platform."""

    def now(self) -> int: ...
    def set_timer(self, at: int | None) -> None: ...
    def radio(self, command: str, argument: int) -> int:
        """on, off, cca (0 clear, 1 busy), channel, power."""
    def send(self, target: str, frame: bytes) -> int:
        """To `radio` or `net`; 0 taken, 1 busy."""
    def ran(self, run: Run) -> None: ...
    def overrun(self, hook: int) -> None: ...
    def timer(self, hook: int, delay: int) -> None:
        """A chain has started the timer of an `after` hook."""
    def trace(self, a: int, b: int) -> None: ...


class Dispatch(ABC):
    """A node's hooks. `names`: what each hook is called, `Block.every_125ms` or `radio.rx_done`."""

    hooks: Sequence[Hook]
    names: Sequence[str]

    @abstractmethod
    def event(self, event: Event) -> bool:
        """An interrupt: isr hooks run, others become pending. True when the thread has something to do."""

    @abstractmethod
    def poll(self) -> bool:
        """Run at most one hook; true when there is more to do now."""

    @abstractmethod
    def settle(self) -> None:
        """Do with the radio what a swap asks for; `poll` does it otherwise."""

    @abstractmethod
    def insns(self) -> int:
        """Instructions that the run going on has executed so far."""

    @abstractmethod
    def timers(self) -> list[tuple[int, int]]:
        """(hook, time) of each timer that is set."""

    @abstractmethod
    def stats(self, hook: int) -> Stats: ...

    @abstractmethod
    def counts(self) -> Counts: ...

    @abstractmethod
    def drops(self) -> Counter[str]:
        """Packets dropped, by reason."""


@dataclass(frozen=True)
class Outcome:
    """What an `Executor` says of a run."""

    verdict: str = "ACCEPT"
    reason: str | None = None
    port: int | None = None
    packet: bytes = b""
    payload: int = 0
    rebuilt: bool = False
    fault: str | None = None


class Executor(Protocol):
    """Runs the chains for a `ModelDispatch`: the reference interpreter, or functions of a test."""

    def run(self, hook: int, event: Event, clock: int, dispatch: "ModelDispatch") -> Outcome: ...


@dataclass
class _State:
    """What the model keeps of a hook."""

    pending: Event | None = None
    due: int | None = None
    stats: Stats = field(default_factory=Stats)


def _waits_for(hook: Hook, timed: bool, name: str) -> tuple:
    """What tells hooks apart when a set replaces another: handlers of timing blocks by their names, too."""
    return hook.event, hook.context, tuple(hook.selector), hook.period, hook.offset, name if timed else None


def elapsed(now: int, at: int) -> int:
    """Microseconds from `at` to `now`, negative when `at` is to come."""
    return ((now - at + (1 << 31)) & WORD) - (1 << 31)


class ModelDispatch(Dispatch):
    """node.c once more, in Python, for chains that an `Executor` runs. `timing`: which hooks are handlers of timing blocks; `radio`: the part of each in how
    long the radio is on."""

    def __init__(self, hooks: Sequence[Hook], timing: Sequence[bool], radio: Sequence[RadioPart], names: Sequence[str], executor: Executor,
                 platform: Platform) -> None:
        self.hooks, self.timing, self.radio, self.names = hooks, timing, radio, names
        self.executor, self.platform = executor, platform
        self._states = [_State() for _ in hooks]
        self._counts = Counts()
        self._drops: Counter[str] = Counter()
        self._timer: int | None = None
        self._isr = False
        self._asked = "off" if any(RadioPart.PROMISES in part for part in radio) else None
        self._completed: tuple[Event, Callable[[], None]] | None = None
        now = platform.now()
        for hook, state in zip(hooks, self._states):
            if hook.event in PERIODIC:
                state.due = (now + hook.offset) & WORD
        self._set_timer(now)

    def swap(self, hooks: Sequence[Hook], timing: Sequence[bool], radio: Sequence[RadioPart], names: Sequence[str], executor: Executor) -> None:
        """Other hooks from now on. Those that wait for the same keep their timers, and what is pending; slots of one slotframe keep one beat."""
        before = list(zip(self.hooks, self.timing, self.radio, self.names, self._states))
        self.hooks, self.timing, self.radio, self.names, self.executor = hooks, timing, radio, names, executor
        self._states, self._drops = [_State() for _ in hooks], Counter()
        now = self.platform.now()
        waits = [_waits_for(*each) for each in zip(hooks, timing, names)]
        for hook, state in zip(hooks, self._states):
            state.due = (now + hook.offset) & WORD if hook.event in PERIODIC else None
            for slot, *_, old in before:
                if hook.event == slot.event == "slot" and hook.period == slot.period and old.due is not None:
                    ahead = hook.offset - slot.offset - elapsed(now, old.due)
                    state.due = (now + 1 + (ahead - 1) % hook.period) & WORD
        lost = quieted = False
        for hook, timed, part, name, old in before:
            same = _waits_for(hook, timed, name)
            index = waits.index(same) if same in waits else None
            if hook.event == "after" and (old.due is not None or old.pending is not None):
                lost |= RadioPart.SWITCHES in part and (index is None or RadioPart.SWITCHES not in radio[index])
                quieted |= index is not None and RadioPart.QUIETS in radio[index]
            if index is None:
                self._counts.lost += old.pending is not None
                continue
            self._states[index].due = old.due
            if old.pending is not None and not self._mark(index, old.pending):
                self._counts.lost += 1
        self._asked = self._asks(any(RadioPart.SWITCHES in part for _, _, part, *_ in before), lost, quieted) or self._asked
        self._set_timer(now)

    def _asks(self, switched: bool, lost: bool, quieted: bool) -> str | None:
        """What another set asks of the radio. `switched`: something in the old one did that; `lost`: an `after` that was to, and does not any more; `quieted`: one goes
        on that will switch it off."""
        switches = any(RadioPart.SWITCHES in part for part in self.radio)
        if any(RadioPart.PROMISES in part for part in self.radio):
            return None if quieted else "off"
        if switched and (lost or not switches):
            return "off" if switches else "on"
        return None

    # ------------------------------------------------------------ what chains ask for

    def start_timer(self, hook: int, delay: int) -> None:
        """Helper timer_start."""
        if self.hooks[hook].event != "after" or not 0 <= delay <= MAX_DELAY:
            raise ValueError(f"no timer can be started for hook {hook} in {delay} us")
        self._states[hook].due = (self.platform.now() + delay) & WORD
        self.platform.timer(hook, delay)

    def send(self, target: str, frame: bytes) -> int:
        """Helpers radio_send and net_send."""
        busy = self.platform.send(target, frame)
        self._counts.busy += busy
        return busy

    def complete(self, buffer: int, content: bytes, like: Event, release: Callable[[], None]) -> None:
        """The chain that runs has completed an entry of a buffer; the buffer's hook runs after it, with what is known of the
        packet that completed it, then `release`."""
        self._completed = replace(like, event="buffer.complete", selector=(buffer,), packet=content), release

    # ------------------------------------------------------------ events

    def _wants(self, index: int, event: Event) -> bool:
        return wants(self.hooks[index], event.event, event.selector)

    def _chain(self, event: Event) -> int | None:
        return taker({i: hook for i, hook in enumerate(self.hooks) if not self.timing[i]}, event.event, event.selector)

    def _mark(self, index: int, event: Event) -> bool:
        state = self._states[index]
        state.stats.events += 1
        if state.pending is not None:
            self._overrun(index)
            return False
        state.pending = event
        return True

    def _overrun(self, index: int) -> None:
        self._states[index].stats.overruns += 1
        self.platform.overrun(index)

    def event(self, event: Event) -> bool:
        if len(event.packet or b"") > (EVENTS[event.event].longest or MAX_PACKET):
            self._counts.ignored += 1
            return False
        chain = self._chain(event)
        takers = [i for i in range(len(self.hooks)) if i == chain or self.timing[i] and self._wants(i, event)]
        self._counts.ignored += not takers
        todo = False
        for index in takers:
            if self.hooks[index].context != "isr":
                todo |= self._mark(index, event)
                continue
            self._states[index].stats.events += 1
            before = [state.due for state in self._states]
            self._run(index, event)
            todo |= before != [state.due for state in self._states]
        return todo

    # ------------------------------------------------------------ runs

    def _run(self, index: int, event: Event) -> None:
        self._completed = None
        self._run_once(index, event)
        followed = 0
        while self._completed is not None:
            (done, release), self._completed = self._completed, None
            taker = self._chain(done)
            if taker is None:
                self._counts.ignored += 1
            else:
                self._states[taker].stats.events += 1
                if followed < MAX_COMPLETIONS:
                    self._run_once(taker, done)
                else:
                    self._states[taker].stats.overruns += 1
            followed += 1
            release()

    def _run_once(self, index: int, event: Event) -> None:
        hook, stats, platform = self.hooks[index], self._states[index].stats, self.platform
        start = platform.now()
        outcome = self.executor.run(index, event, start, self)
        unsent = outcome.verdict == "TRANSMIT" and (not outcome.rebuilt or bool(self.send("radio", outcome.packet)))
        end = platform.now()
        took = (end - start) & WORD
        stats.runs += 1
        stats.time_worst = max(stats.time_worst, took)
        stats.wait_worst = max(stats.wait_worst, (start - event.time) & WORD)
        stats.misses += hook.within != 0 and took > hook.within
        if outcome.verdict == "DROP":
            stats.drops += 1
            stats.errors += outcome.fault is not None
            self._drops[ENGINE_REASON if outcome.fault else outcome.reason or "none"] += 1
        platform.ran(Run(index, event.time, start, end, outcome.verdict, outcome.reason, outcome.port, None, outcome.packet,
                         outcome.payload, outcome.rebuilt, unsent, outcome.fault))

    # ------------------------------------------------------------ the thread

    def _run_timers(self, now: int) -> None:
        for index, (hook, state) in enumerate(zip(self.hooks, self._states)):
            if state.due is None or elapsed(now, state.due) < 0:
                continue
            self._mark(index, Event(hook.event, state.due))
            if hook.event not in PERIODIC:
                state.due = None
                continue
            missed = elapsed(now, state.due) // hook.period
            state.due = (state.due + (missed + 1) * hook.period) & WORD
            for _ in range(missed):
                state.stats.events += 1
                self._overrun(index)

    def _next(self, now: int) -> int | None:
        """Radio before net, then the oldest event, then the first in the bundle."""
        waiting = [i for i, state in enumerate(self._states) if state.pending is not None]
        return min(waiting, key=lambda i: (CONTEXTS.index(self.hooks[i].context), -((now - self._at(i)) & WORD), i), default=None)

    def _at(self, index: int) -> int:
        event = self._states[index].pending
        assert event is not None
        return event.time

    def settle(self) -> None:
        asked, self._asked = self._asked, None
        if asked is not None:
            self.platform.radio(asked, 0)

    def poll(self) -> bool:
        self.settle()
        now = self.platform.now()
        if self._timer is not None and elapsed(now, self._timer) >= 0:
            self._timer = None
        self._run_timers(now)
        index = self._next(now)
        if index is not None:
            event, self._states[index].pending = self._states[index].pending, None
            assert event is not None
            self._run(index, event)
            now = self.platform.now()
            self._run_timers(now)
        self._set_timer(now)
        return self._next(now) is not None

    def _set_timer(self, now: int) -> None:
        due = [state.due for state in self._states if state.due is not None]
        first = min(due, key=lambda at: elapsed(at, now), default=None)
        if first != self._timer:
            self.platform.set_timer(first)
        self._timer = first

    # ------------------------------------------------------------ what is known

    def insns(self) -> int:
        return 0

    def timers(self) -> list[tuple[int, int]]:
        return [(i, state.due) for i, state in enumerate(self._states) if state.due is not None]

    def stats(self, hook: int) -> Stats:
        state = self._states[hook]
        state.stats.pending = int(state.pending is not None)
        return state.stats

    def counts(self) -> Counts:
        return self._counts

    def drops(self) -> Counter[str]:
        return +self._drops


def hook_names(hooks: Sequence[Hook], timing: Callable[[str], bool]) -> list[str]:
    """What hooks are called: a timing block's handler by its container, a chain by its event and selector."""
    return [hook.chain[0] if timing(hook.chain[0]) else name_of(hook) for hook in hooks]
