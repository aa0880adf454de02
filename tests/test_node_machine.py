"""The C node under random calls: events, time that passes, polls, sets that are swapped, events inside runs."""

import os
from collections import Counter

from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from node_programs import bundle

from lpn.compiler.bundle import Hook
from lpn.runtime.dispatch import Event, elapsed
from lpn.runtime.engine.node_native import NativeDispatch

#: (hook, program): sets are made of some of these. `trace` lets an event happen in the middle of the run.
HOOKS = [
    (Hook("every", ("T0",), period=1000, within=50), [("count", 0)]),
    (Hook("every", ("T1",), period=700, offset=300), [("cca",), ("trace", 1, 0), ("off",)]),
    (Hook("slot", ("T2",), selector=(1, 2), period=2000, offset=1000), [("send", 5)]),
    (Hook("radio.rx_start", ("T4",), "isr"), [("count", 2), ("trace", 2, 0)]),
    (Hook("radio.rx_done", ("C5",)), [("verdict", 3, 0)]),
    (Hook("radio.rx_done", ("T6",)), [("count", 3)]),
    (Hook("app.tx", ("C7",), "net"), [("trace", 3, 0), ("verdict", 1, 1)]),
    (Hook("app.tx", ("C8",), "net", (7,)), [("fault",)]),
    (Hook("radio.tx_done", ("T9",), "radio", (2,)), [("on",)]),
]
#: Events, with the hooks that they may start: those of timing blocks, and of the chains one.
EVENTS = {"radio.rx_start": ("",), "radio.rx_done": ("",), "app.tx": (7, 8), "radio.tx_done": (0, 2), "net.rx": (1,)}
PACKETS = ("radio.rx_done", "app.tx", "net.rx")


class NodeMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.clock = 2**32 - 3000                   # it wraps soon
        self.inside: list[tuple[str, int]] = []     # events that happen at the next `trace`
        self.given = Counter()                      # what the hooks were meant to get, as their selectors say
        self.nested = self.ignored = 0
        self.last_end: int | None = None
        self.alarm: int | None = None
        self.node = NativeDispatch(bundle([], []), self)

    # ------------------------------------------------------------ Platform

    def now(self):
        return self.clock & 0xFFFFFFFF

    def set_timer(self, at):
        self.alarm = at

    def radio(self, command, argument):
        self.clock += 7
        return 0

    def send(self, target, frame):
        return self.clock & 1

    def ran(self, run):
        assert elapsed(run.end, run.start) >= 0 and elapsed(run.start, run.due) >= 0
        if self.node.hooks[run.hook].context != "isr":
            assert self.last_end is None or elapsed(run.start, self.last_end) >= 0       # one thread, and time never goes back
            self.last_end = run.end

    def overrun(self, hook):
        pass

    def timer(self, hook, delay):
        pass

    def trace(self, a, b):
        """In the middle of a run, an interrupt."""
        self.clock += 3
        if self.inside and self.nested < 3:
            self.nested += 1
            self.happen(*self.inside.pop())
            self.nested -= 1

    # ------------------------------------------------------------ rules

    def happen(self, name, selector):
        given = (selector,) if selector != "" else ()
        packet = b"packet" if name in PACKETS else None
        wanted = self.takers(name, given)
        self.given += Counter(wanted)
        self.ignored += not wanted
        self.node.event(Event(name, self.now(), given, packet))

    def takers(self, name, selector):
        """Numbers of the hooks that an event is for."""
        fits = [i for i, h in enumerate(self.node.hooks) if h.event == name and h.selector == selector[:len(h.selector)]]
        chains = [i for i in fits if self.node.names[i][0] != "T"]
        best = max(chains, key=lambda i: len(self.node.hooks[i].selector), default=None)
        return [i for i in fits if i == best or self.node.names[i][0] == "T"]

    @rule(event=st.sampled_from([(name, s) for name, choices in EVENTS.items() for s in choices]))
    def event(self, event):
        self.happen(*event)

    @rule(event=st.sampled_from([("radio.rx_start", ""), ("radio.rx_done", ""), ("app.tx", 7), ("app.tx", 8)]))
    def event_inside_a_run(self, event):
        self.inside.append(event)

    @rule(us=st.sampled_from([1, 50, 300, 1000, 5000]))
    def time_passes(self, us):
        self.clock += us

    @rule()
    def poll(self):
        more = self.node.poll()
        assert more == any(self.node.stats(i).pending for i in range(len(self.node.hooks)))

    @rule()
    def poll_all(self):
        for _ in range(50):
            if not self.node.poll():
                break
        due = [at for _, at in self.node.timers()]
        assert (self.alarm is not None and self.alarm in due) if due else True

    @rule(chosen=st.sets(st.sampled_from(range(len(HOOKS)))), order=st.randoms(use_true_random=False))
    def swap(self, chosen, order):
        chosen = list(chosen)
        order.shuffle(chosen)
        pending = {self.key(i): self.node.stats(i).pending for i in range(len(self.node.hooks))}
        lost = self.node.counts().lost
        self.node.swap(bundle([HOOKS[i][0] for i in chosen], [HOOKS[i][1] for i in chosen]))
        self.given.clear()
        kept = 0
        for i in range(len(self.node.hooks)):
            assert self.node.stats(i).pending == pending.get(self.key(i), 0)
            self.given[i] += self.node.stats(i).pending
            kept += self.node.stats(i).pending
        assert self.node.counts().lost - lost == sum(pending.values()) - kept

    def key(self, hook):
        return self.node.hooks[hook].chain[0]

    # ------------------------------------------------------------ what holds between any two calls

    @invariant()
    def statistics_add_up(self):
        for i, hook in enumerate(self.node.hooks):
            s = self.node.stats(i)
            assert s.events == s.runs + s.overruns + s.moved + s.pending and s.pending in (0, 1)
            if hook.event not in ("every", "slot", "after"):
                assert s.events == self.given[i]            # no event is lost without being counted
            assert s.errors <= s.drops <= s.runs and s.misses <= s.runs

    @invariant()
    def what_nobody_wants_is_counted(self):
        assert self.node.counts().ignored == self.ignored

    @invariant()
    def packets_are_held_for_pending_hooks_only(self):
        waiting = [i for i, h in enumerate(self.node.hooks) if h.event in PACKETS and self.node.stats(i).pending]
        held = self.node.counts().held
        assert (held == 0) == (not waiting) and held <= len(waiting)


NodeMachine.TestCase.settings = settings(
    max_examples=3000 if os.environ.get("LPN_HYPOTHESIS") == "search" else 20 if "LPN_ENGINE" in os.environ else 60,
    stateful_step_count=40, deadline=None, derandomize=os.environ.get("LPN_HYPOTHESIS") != "search")
test_random_calls = NodeMachine.TestCase
