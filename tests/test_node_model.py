"""The C node against its second writing in Python: random hooks, programs and events give the same time line."""

import os
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from node_programs import IN_ISR, REASONS, cells, model, native, swapped

from lpn.compiler.bundle import Hook
from lpn.runtime.node import Costs, NodeError
from lpn.runtime.radio import Radio, TxPlan
from lpn.runtime.timeline import meaning

SEARCH = os.environ.get("LPN_HYPOTHESIS") == "search"
CHECK = settings(max_examples=3000 if SEARCH else 60 if "LPN_ENGINE" in os.environ else 120, deadline=None, derandomize=not SEARCH,
                 suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

short = st.integers(0, 3000)
CONTEXT = {"radio.rx_start": "isr", "radio.tx_start": "isr", "net.rx": "net", "net.tx": "net", "app.tx": "net"}
SELECTORS = {"radio.tx_done": (0, 1, 2), "app.tx": (5683, 7), "net.rx": (41, 58)}


def op(afters: list[int]) -> st.SearchStrategy:
    choices = [st.sampled_from([("on",), ("off",), ("on",), ("off",), ("cca",), ("cca",), ("fault",), ("promises",), ("quiets",)]), st.tuples(st.just("count"), st.integers(0, 15)),
               st.tuples(st.just("channel"), st.integers(11, 26)), st.tuples(st.just("power"), st.integers(-20, 5)),
               st.tuples(st.just("send"), st.integers(0, 60)), st.tuples(st.just("net"), st.integers(0, 5)),
               st.tuples(st.just("tail"), st.integers(0, 9), st.integers(0, 9)), st.tuples(st.just("trace"), short, short),
               st.tuples(st.just("verdict"), st.integers(0, 4), st.integers(0, len(REASONS) - 1))]
    if afters:
        choices.append(st.tuples(st.just("timer"), st.sampled_from(afters), st.integers(1, 4000)))
    return st.one_of(choices)


@st.composite
def worlds(draw):
    """(hooks, programs, options of the node, what happens)."""
    hooks = []
    for i in range(draw(st.integers(2, 7))):
        event = draw(st.sampled_from(["every", "every", "slot", "after", "after", "radio.rx_start", "radio.rx_done", "radio.tx_start",
                                      "radio.tx_done", "radio.ack_timeout", "app.tx", "app.tx", "net.rx"]))
        timed = event in ("every", "after", "slot") or draw(st.booleans())
        times = {}
        if event in ("every", "slot"):
            period = draw(st.sampled_from([500, 777, 1000, 2500]))
            times = {"period": period, "offset": draw(st.integers(0, period - 1)), "jitter": draw(st.sampled_from([0, 0, 100]))}
        selector = ()
        if event in SELECTORS and draw(st.booleans()):
            selector = (draw(st.sampled_from(SELECTORS[event])),)
        hooks.append(Hook(event, (f"{'T' if timed else 'C'}{i}",), CONTEXT.get(event, "radio"), selector, within=draw(st.sampled_from([0, 100, 300])), **times))
    afters = [i for i, hook in enumerate(hooks) if hook.event == "after"]
    programs = [draw(st.lists(op(afters).filter(lambda o: o[0] in IN_ISR) if hook.context == "isr" else op(afters), min_size=1, max_size=5)) for hook in hooks]
    options = {"start": draw(st.sampled_from([0, 2**32 - 5000, 2**31 - 3000, 2**32 - 1])), "seed": draw(st.integers(0, 3)),
               "costs": Costs(0, draw(st.sampled_from([0, 128])), draw(st.sampled_from([0, 400, 400])))}
    happens = draw(st.lists(st.tuples(st.sampled_from(range(0, 9_000, 100)), st.one_of(
        st.tuples(st.just("air"), st.binary(max_size=20)),
        st.tuples(st.just("post"), st.sampled_from(["radio.rx_done", "radio.rx_start", "app.tx", "net.rx", "net.tx"]), st.sampled_from([41, 58, 7, 5683]),
                  st.one_of(st.none(), st.binary(max_size=8), st.just(bytes(128)))),
        st.tuples(st.just("plan"), st.sampled_from(["OK", "BUSY", "NOACK"]), st.sampled_from([0, 2000])),
        st.tuples(st.just("busy"), st.integers(1, 4000)),
        st.tuples(st.just("switch"), st.booleans()))), min_size=4, max_size=16))
    return hooks, programs, options, happens, draw(st.booleans()), draw(st.one_of(st.none(), successors(hooks, programs)))


@st.composite
def successors(draw, hooks, programs):
    """(when they take over, hooks, programs): some go on, slots elsewhere in their frame, some are new."""
    chosen = draw(st.lists(st.sampled_from(range(len(hooks))), unique=True, max_size=len(hooks)))
    after, numbers = [], {old: new for new, old in enumerate(chosen)}
    for i in chosen:
        hook = hooks[i]
        change = draw(st.sampled_from(["", "", "name", "offset"]))
        if change == "name":
            hook = replace(hook, chain=(f"{hook.chain[0]}b",))
        elif change == "offset" and hook.event == "slot":
            hook = replace(hook, offset=draw(st.integers(0, hook.period - 1)))
        after.append(hook)
    code = [[op for op in programs[i] if op[0] != "timer"] + [("timer", numbers[op[1]], op[2]) for op in programs[i] if op[0] == "timer" and op[1] in numbers]
            for i in chosen]
    still = [[op for op in program if op[0] not in ("on", "off")] for program in code]
    others = [[op for op in program if draw(st.booleans())] + draw(st.sampled_from([[], [], [("quiets",)]])) for program in code]
    return draw(st.sampled_from(range(0, 9_000, 100))), after, draw(st.sampled_from([code, still, others]))


def live(make, world):
    hooks, programs, options, happens, on, then = world
    node = make(hooks, programs, radio=Radio(on), **options)
    for time, (what, *rest) in happens:
        if what == "air":
            node.hear(time, rest[0], -60, 200)
        elif what == "post":
            node.post(time, rest[0], (rest[1],), rest[2])
        elif what == "plan":
            node.plan(time, [TxPlan(*rest)])
        elif what == "busy":
            node.radio_state.occupy(time, time + rest[0])
        else:
            node.switch(time, rest[0])
    if then is not None:
        node.replace(then[0], lambda: swapped(node, *then[1:]), "others")
    node.run(12_000)
    return node


@CHECK
@given(worlds())
def test_both_nodes_have_the_same_time_line(world):
    a, b = live(native, world), live(model, world)
    assert [meaning(r) for r in a.records] == [meaning(r) for r in b.records]
    assert cells(a) == cells(b) and a.traces == b.traces
    assert a.alarms == b.alarms and a.dispatch.timers() == b.dispatch.timers()
    assert a.dispatch.drops() == b.dispatch.drops()
    for i in range(len(a.dispatch.hooks)):
        x, y = a.dispatch.stats(i), b.dispatch.stats(i)
        assert vars(x) | {"insns": 0, "insns_worst": 0} == vars(y)
        assert x.events == x.runs + x.overruns + x.moved + x.pending
        assert x.insns_worst <= x.insns
    x, y = a.dispatch.counts(), b.dispatch.counts()
    assert (x.ignored, x.lost, x.busy) == (y.ignored, y.lost, y.busy)
    assert x.held <= len(a.dispatch.hooks)                  # packets are held for pending hooks only
    assert list(a.radio_state.states(0, 12_000)) == list(b.radio_state.states(0, 12_000))


@pytest.mark.parametrize("make", [native, model])
def test_a_program_that_starts_itself_in_no_time_is_stopped(make):
    node = make([Hook("every", ("T0",), period=1000), Hook("after", ("T1",))], [[("timer", 1, 0)]] * 2, costs=Costs(0, 0, 0))
    with pytest.raises(NodeError, match="at 0.000000 s more than 20,000 things happen at once"):
        node.run(10)
