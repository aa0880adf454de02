"""A node on a virtual clock: hooks, a radio, a world that happens to it, and a record of everything.

`Node` drives a `Dispatch`: the C node (`native_node`), or its second writing with the reference interpreter. It is the
platform of both, so that the same events must give the same records. Times are whole microseconds from the start; the
node's own clock has 32 bits and may start anywhere.

Time passes in a run for two reasons: each eBPF instruction takes `Costs.insn_ns`, and commands to the radio take theirs, as a rule
only a clear channel assessment, which waits for it. What a run does happens at that moment; what interrupts do meanwhile finds the run's changes of
state done already, as if it had made them at its start, and the thread goes on later by what they take.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace as dataclass_replace
from itertools import count

from lpn.compiler.bundle import Bundle, Entry
from lpn.lang.builtins import TX_RESULTS
from lpn.lang.persist import Plan
from lpn.runtime import radio as air
from lpn.runtime.dispatch import WORD, Dispatch, Event, Run, Stats, elapsed
from lpn.runtime.engines import Externs
from lpn.runtime.radio import Heard, Radio, Sending, TxPlan
from lpn.runtime.timeline import Effect, Given, Overrun, Ran, Received, Record, Replaced, Sent, clock, length

#: Nanoseconds of an eBPF instruction, interpreted on the 72 MHz Cortex-M3: 72 cycles. A round number between what straight
#: code and memory accesses take there; worst cases are the verifier's business.
INSN_NS = 1000


#: Things that may happen in the same microsecond before a node is said to run for ever.
AT_ONCE = 20_000


class NodeError(Exception):
    """The node cannot go on; one line."""


@dataclass(frozen=True)
class Costs:
    """How long things take: an eBPF instruction, a clear channel assessment, any other command to the radio; of the helpers in `declared`, microseconds by
    name, so long instead. A command is done at the end of that."""

    insn_ns: int = INSN_NS
    cca_us: int = air.CCA
    command_us: int = 0
    declared: Mapping[str, int] = field(default_factory=dict)

    def of(self, helper: str) -> int:
        return self.declared.get(helper, self.cca_us if helper == "radio_cca" else self.command_us if helper.startswith("radio_") else 0)


@dataclass(frozen=True)
class Summary:
    """One hook at the end."""

    name: str
    context: str
    within: int
    stats: Stats


class Node:
    """`make` is given this node as its platform. `start`: what the node's clock shows then, modulo 2**32."""

    def __init__(self, make: Callable[[Node], Dispatch], *, radio: Radio | None = None, costs: Costs = Costs(), seed: int = 0,
                 start: int = 0) -> None:
        self.time = 0
        self.records: list[Record] = []
        self.retired: list[list[Summary]] = []          #: of the hooks that were replaced, set by set
        self.traces: list[tuple[int, int, int]] = []    #: (time, a, b) of helper trace
        self.waiting = 0                                #: frames given to the radio that it has not begun to send
        self.radio_state = radio or Radio()
        self.hardware_timer: int | None = None          #: what the node asked its one timer for, by its own clock
        self._costs, self._seed, self._clock = costs, seed, start
        self._queue: list[tuple[int, int, int, Callable[[], None]]] = []
        self._order = count()
        self._busy = 0                                  # the thread runs until then
        self._step_at: int | None = None
        self._waited = 0                                # microseconds that the run going on has waited
        self._in_poll = False
        self._effects: list[Effect] = []
        self._sending: list[Sending] = []
        self._started: list[int] = []                   # hooks whose timers the run going on has started
        self._causes: dict[tuple[str, int], int] = {}   # (event, its time by the node's clock): number of a record
        self._timer_causes: dict[int, int] = {}
        self.dispatch = make(self)
        self.dispatch.settle()                          # a budget's radio is off; this is no run's effect
        self._effects.clear()
        self._rearm()

    # ------------------------------------------------------------ what happens to it

    def at(self, time: int, action: Callable[[], None]) -> None:
        """Do something at a time that has not passed."""
        self._push(time, 0, action)

    def post(self, time: int, event: str, selector: tuple[int, ...] = (), frame: bytes | None = None, rssi: int = 0, lqi: int = 0,
             iface: int = 0) -> None:
        """An event as it is, whatever the radio does."""
        self.at(time, lambda: self._given(event, selector, frame, rssi, lqi, iface))

    def hear(self, time: int, frame: bytes, rssi: int = 0, lqi: int = 0) -> None:
        """A frame is on the air from `time` on; the node receives it if its radio listens from its first bit to its last."""
        heard = Heard(frame, time, rssi, lqi)
        self.radio_state.air(heard)
        self.at(time, lambda: self._air_starts(heard))

    def plan(self, time: int, plans: Iterable[TxPlan], rest: TxPlan | None = None) -> None:
        """The results of the next frames to be sent, and of those behind them."""
        def change() -> None:
            self.radio_state.plans.extend(plans)
            if rest is not None:
                self.radio_state.plans.clear()
                self.radio_state.plan = rest
        self.at(time, change)

    def switch(self, time: int, on: bool) -> None:
        """Somebody else than a hook switches the radio."""
        self.at(time, lambda: self.radio_state.switch(time, on))

    def replace(self, time: int, swap: Callable[[], Plan], what: str) -> None:
        """`swap` puts other hooks in place, at that time or once the thread has ended what it does then. `what`: for the record."""
        self.at(time, lambda: self._replace(swap, what))

    def run(self, until: int) -> None:
        """Let time pass."""
        same = 0
        while self._queue and self._queue[0][0] <= until:
            time, _, _, action = heapq.heappop(self._queue)
            same = same + 1 if time == self.time else 0
            if same > AT_ONCE:
                raise NodeError(f"at {clock(time)} s more than {AT_ONCE:,} things happen at once: something starts itself again in no time")
            self.time = time
            action()
        self.time = max(self.time, until)

    # ------------------------------------------------------------ what is known

    def sorted_records(self) -> list[Record]:
        """The records by time."""
        return sorted(self.records, key=lambda r: (r.time, r.number))

    def summaries(self) -> list[Summary]:
        return [Summary(name, hook.context, hook.within, self.dispatch.stats(i))
                for i, (hook, name) in enumerate(zip(self.dispatch.hooks, self.dispatch.names))]

    # ------------------------------------------------------------ Platform

    def moment(self) -> int:
        """Now, within a run what has passed of it included."""
        insns = self.dispatch.insns() if hasattr(self, "dispatch") else 0
        return self.time + self._waited + self._instructions(insns)

    def _instructions(self, number: int) -> int:
        """Microseconds, rounded up."""
        return -(-number * self._costs.insn_ns // 1000)

    def now(self) -> int:
        return (self.moment() + self._clock) & WORD

    def set_timer(self, at: int | None) -> None:
        self.hardware_timer = at

    def radio(self, command: str, argument: int) -> int:
        now, detail, value = self.moment(), "", 0
        took = self._costs.of(f"radio_{command}")
        if command == "cca":
            clear = self.radio_state.clear(now + max(took - air.CCA, 0), now)
            detail, value = ("CLEAR", 0) if clear else ("BUSY", 1)
        elif command == "channel":
            self.radio_state.channel = argument
            detail = str(argument)
        elif command == "power":
            self.radio_state.power = argument - (argument >> 31 << 32)
            detail = f"{self.radio_state.power} dBm"
        else:
            self.radio_state.switch(now + took, command == "on")
        self._waited += took
        self._effects.append(Effect(now, f"radio.{command}", detail))
        return value

    def send(self, target: str, frame: bytes) -> int:
        now = self.moment()
        busy = False
        took = self._costs.of(f"{target}_send")
        if target == "radio":
            sending = self.radio_state.send(now + took, frame)
            busy = sending is None
            if sending is not None:
                self._sending.append(sending)
        self._waited += took
        self._effects.append(Effect(now, f"{target}.send", "BUSY" if busy else "", frame))
        return int(busy)

    def timer(self, hook: int, delay: int) -> None:
        self._started.append(hook)
        self._effects.append(Effect(self.moment(), "timer", f"{self.dispatch.names[hook]} in {length(delay)}"))

    def trace(self, a: int, b: int) -> None:
        self.traces.append((self.moment(), a, b))
        self._effects.append(Effect(self.moment(), "trace", f"{a} {b}"))

    def overrun(self, hook: int) -> None:
        self.records.append(Overrun(number=len(self.records), time=self.moment(), hook=self.dispatch.names[hook]))

    def ran(self, run: Run) -> None:
        took = (run.end - run.start) & WORD
        start = self.moment() - took
        hook = self.dispatch.hooks[run.hook]
        number = len(self.records)
        cause = self._causes.get((hook.event, run.due))
        if hook.event == "after":
            cause = self._timer_causes.get(run.hook)
        if hook.event == "buffer.complete":
            cause = next((r.number for r in reversed(self.records) if isinstance(r, Ran)), None)
        self.records.append(Ran(
            number=number, time=start, cause=cause, hook=self.dispatch.names[run.hook], due=start - ((run.start - run.due) & WORD),
            took=took, verdict=run.verdict, reason=run.reason, port=run.port, insns=run.insns,
            out=run.packet if run.rebuilt else None, delivered=run.packet[run.payload:] if run.verdict == "DELIVER" else None,
            unsent=run.unsent, late=0 < hook.within < took, fault=run.fault, effects=self._effects))
        for started in self._started:
            self._timer_causes[started] = number
        for sending in self._sending:
            self._send(sending, number)
        self._effects, self._sending, self._started = [], [], []
        self._waited += self._instructions(run.insns or 0)

    # ------------------------------------------------------------ inside

    def _push(self, time: int, rank: int, action: Callable[[], None]) -> None:
        if time < self.time:
            raise ValueError(f"{time} us has passed, it is {self.time} us")
        heapq.heappush(self._queue, (time, rank, next(self._order), action))

    def _event(self, event: str, cause: int | None, selector: tuple[int, ...] = (), frame: bytes | None = None, rssi: int = 0,
               lqi: int = 0, iface: int = 0) -> bool:
        """An interrupt, now. False when no hook wants it."""
        stamp = (self.time + self._clock) & WORD
        if cause is not None:
            self._causes[event, stamp] = cause
        ignored = self.dispatch.counts().ignored
        self._waited = 0
        more = self.dispatch.event(Event(event, stamp, selector, frame, rssi, lqi, iface))
        if self._waited:                                # an interrupt took it from the thread, which goes on that much later
            self._busy = max(self._busy, self.time) + self._waited
            self.radio_state.hold_up(self.time, self._waited)
        if more:
            self._step_by(self.time)
        return self.dispatch.counts().ignored == ignored

    def _given(self, event: str, selector: tuple[int, ...], frame: bytes | None, rssi: int, lqi: int, iface: int) -> None:
        record = Given(number=len(self.records), time=self.time, event=".".join([event, *map(str, selector)]), wanted=True, frame=frame)
        self.records.append(record)
        record.wanted = self._event(event, record.number, selector, frame, rssi, lqi, iface)

    def _air_starts(self, heard: Heard) -> None:
        record = Received(number=len(self.records), time=heard.start, frame=heard.frame, end=heard.end, fate="unfinished",
                          rssi=heard.rssi, lqi=heard.lqi)
        self.records.append(record)
        self.at(heard.start + air.SFD, lambda: self._air_delimiter(heard, record))
        self.at(heard.end, lambda: self._air_ends(heard, record))

    def _air_delimiter(self, heard: Heard, record: Received) -> None:
        if not heard.clash and self.radio_state.listening(heard.start, self.time):
            self._event("radio.rx_start", record.number, rssi=heard.rssi, lqi=heard.lqi)

    def _air_ends(self, heard: Heard, record: Received) -> None:
        if heard.clash:
            record.fate = "collided"
        elif not self.radio_state.listening(heard.start, heard.end):
            record.fate = "missed"
        else:
            record.fate = "heard"
            self._event("radio.rx_done", record.number, (), heard.frame, heard.rssi, heard.lqi)

    def _send(self, sending: Sending, cause: int) -> None:
        self.waiting += 1
        self.at(sending.start, lambda: self._begins(sending, cause))

    def _begins(self, sending: Sending, cause: int) -> None:
        self.waiting -= 1
        record = Sent(number=len(self.records), time=sending.start, cause=cause, frame=sending.frame, result="unfinished",
                      end=sending.end, done=sending.done)
        self.records.append(record)
        if sending.result != "BUSY":
            self.at(sending.start + air.SFD, lambda: self._event("radio.tx_start", record.number))
        self.at(sending.done, lambda: self._is_sent(sending, record))

    def _is_sent(self, sending: Sending, record: Sent) -> None:
        record.result = sending.result
        if sending.result == "NOACK":
            self._event("radio.ack_timeout", record.number)
        self._event("radio.tx_done", record.number, (TX_RESULTS.index(sending.result),))

    def _replace(self, swap: Callable[[], Plan], what: str) -> None:
        if self._busy > self.time:
            self._push(self._busy, 0, lambda: self._replace(swap, what))
            return
        retired = [dataclass_replace(s, stats=dataclass_replace(s.stats)) for s in self.summaries()]
        self._waited = 0
        becomes = [Effect(self.time, *one) for one in swap().told()]
        self.dispatch.settle()
        self.retired.append(retired)
        self.records.append(Replaced(number=len(self.records), time=self.time, what=what, effects=becomes + self._effects))
        self._effects, self._waited = [], 0
        self._timer_causes.clear()
        self._step_by(self.time)
        self._rearm()

    def _step_by(self, time: int) -> None:
        """The thread has something to do at `time`; it may be busy until later."""
        time = max(time, self._busy)
        if self._step_at is None or time < self._step_at:
            self._step_at = time
            self._push(time, 1, self._step)

    def _step(self) -> None:
        if self._step_at != self.time:              # an earlier one has been put in its place
            return
        self._step_at = None
        if self._busy > self.time:                      # an interrupt came since then
            self._step_by(self._busy)
            return
        self._waited = 0
        before = len(self.records)
        more = self.dispatch.poll()
        if len(self.records) > before:
            self._busy = max(self._busy, max((r.time + r.took for r in self.records[before:] if isinstance(r, Ran)), default=self.time))
        if more:
            self._step_by(self._busy)
        self._rearm()

    def _rearm(self) -> None:
        """The hardware timer wakes the thread; each hook may be later than its time by what its jitter allows."""
        now = (self.time + self._clock) & WORD
        due = [self.time + elapsed(at, now) + self._late(hook, at) for hook, at in self.dispatch.timers()]
        if due:
            self._step_by(max(min(due), self.time))

    def _late(self, hook: int, at: int) -> int:
        jitter = self.dispatch.hooks[hook].jitter
        return random.Random(f"{self._seed} {hook} {at}").randint(0, jitter) if jitter else 0


def native_node(bundle: Bundle, address: Mapping[str, int] | None = None, *, state: bytes | None = None,
                entries: Mapping[str, Iterable[Entry]] | None = None, externs: Externs | None = None, **options) -> Node:
    """A bundle on the C node; `options` are `Node`'s. EngineError when it is refused."""
    from lpn.runtime.engine.node_native import NativeDispatch
    return Node(lambda platform: NativeDispatch(bundle, platform, address, state=state, entries=entries, externs=externs), **options)
