"""The driver around a node: frames on the air, time, what caused what; the radio's states."""

from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st
from node_bench import FREE, Bench
from node_programs import native

from lpn.compiler.bundle import Hook
from lpn.runtime.node import Costs
from lpn.runtime.radio import ACK, ACK_WAIT, CCA, SFD, TURNAROUND, Heard, Radio, TxPlan, airtime
from lpn.runtime.timeline import Given, Overrun, Ran, Received, Sent


def test_a_frame_is_heard_only_by_a_radio_that_listens_from_its_first_bit_to_its_last():
    frame = bytes(20)
    node = native([Hook("radio.rx_start", ("T0",), "isr"), Hook("radio.rx_done", ("C1",))], [[], []], radio=Radio(on=False), costs=FREE)
    length = airtime(20)
    assert length == 28 * 32
    for start, (on, off) in enumerate([(0, length), (1, length), (0, length - 1), (0, SFD)]):
        base = 10_000 * start
        node.switch(base + 1000 + on, True)
        node.switch(base + 1000 + off, False)
        node.hear(base + 1000, frame, -60, 200)
    node.run(50_000)
    assert [r.fate for r in node.records if isinstance(r, Received)] == ["heard", "missed", "missed", "missed"]
    assert [(r.hook, r.time) for r in node.records if isinstance(r, Ran)] == [
        ("T0", 1000 + SFD), ("radio.rx_done", 1000 + length), ("T0", 21_000 + SFD), ("T0", 31_000 + SFD)]


def test_two_frames_at_a_time_destroy_each_other():
    node = native([Hook("radio.rx_done", ("C0",))], [[]], costs=FREE)
    for time in (0, 100, 2000):
        node.hear(time, bytes(10))
    node.run(5000)
    assert [r.fate for r in node.records if isinstance(r, Received)] == ["collided", "collided", "heard"]


@pytest.mark.parametrize("plan,ack,start,end,done", [
    ("OK", 0, TURNAROUND, TURNAROUND + airtime(5), 0), ("OK", 0x20, TURNAROUND, TURNAROUND + airtime(5), 192 + 352),
    ("NOACK", 0x20, TURNAROUND, TURNAROUND + airtime(5), ACK_WAIT), ("BUSY", 0, CCA, CCA, 0)])
def test_the_times_of_a_frame_that_is_sent(plan, ack, start, end, done):
    hooks = [Hook("app.tx", ("C0",), "net"), Hook("radio.tx_start", ("T1",), "isr"), Hook("radio.ack_timeout", ("T2",)), Hook("radio.tx_done", ("T3",))]
    node = native(hooks, [[("verdict", 3, 0)], [], [], []], costs=FREE)
    node.plan(0, [TxPlan(plan, 1000)])
    node.post(100, "app.tx", (7,), bytes([ack, 0, 0, 0, 0]))
    node.run(9000)
    sent = next(r for r in node.records if isinstance(r, Sent))
    assert (sent.time, sent.end, sent.done) == (1100 + start, 1100 + end, 1100 + end + done)
    assert sent.result == plan
    ran = [(r.hook, r.time) for r in node.records if isinstance(r, Ran)][1:]
    expected = [("T1", sent.time + SFD)] * (plan != "BUSY") + [("T2", sent.done)] * (sent.result == "NOACK") + [("T3", sent.done)]
    assert ran == expected


@pytest.mark.parametrize("plan", ["OK", "NOACK", "BUSY"])
def test_a_frame_has_its_result_when_the_radio_knows(plan):
    """Up to the turnaround nothing is sent; then the frame is on its way, and what became of it is known at its end, or when no acknowledgement has come."""
    begins, ends = (CCA, CCA) if plan == "BUSY" else (TURNAROUND, TURNAROUND + airtime(5) + (ACK if plan == "OK" else ACK_WAIT))
    node = native([Hook("app.tx", ("C0",), "net")], [[("verdict", 3, 0)]], costs=FREE)
    node.plan(0, [TxPlan(plan)])
    node.post(0, "app.tx", (7,), bytes([0x20, 0, 0, 0, 0]))
    known = []
    for until in dict.fromkeys((begins - 1, begins, max(begins, ends - 1), ends)):
        node.run(until)
        known.append((node.waiting, [r.result for r in node.records if isinstance(r, Sent)]))
    assert known == [(1, []), *([(0, ["unfinished"])] * 2 if plan != "BUSY" else []), (0, [plan])]


def test_a_command_is_done_when_its_time_is_over():
    """The radio listens once it is awake, looks at the channel at the end of a CCA, and begins to send when it has the frame."""
    costs = Costs(0, declared={"radio_on": 600, "radio_off": 100, "radio_cca": 900, "radio_send": 300})
    node = native([Hook("every", ("T0",), period=10_000), Hook("app.tx", ("C1",), "net")], [[("on",), ("cca",), ("off",)], [("verdict", 3, 0)]],
                  radio=Radio(False), costs=costs)
    node.radio_state.occupy(600, 600 + 900 - CCA)
    node.post(5000, "app.tx", (7,), bytes(5))
    node.run(9000)
    assert [(e.time, e.what, e.detail) for e in node.records[0].effects] == [(0, "radio.on", ""), (600, "radio.cca", "CLEAR"), (1500, "radio.off", "")]
    assert [part for part in node.radio_state.states(0, 5000)] == [(0, 600, "off"), (600, 1600, "rx"), (1600, 5000, "off")]
    assert [r.took for r in node.records if isinstance(r, Ran)] == [1600, 300]
    assert [r.time for r in node.records if isinstance(r, Sent)] == [5000 + 300 + TURNAROUND]


def test_a_second_frame_while_one_is_sent_is_lost():
    node = native([Hook("app.tx", ("C0",), "net")], [[("verdict", 3, 0)]], costs=FREE)
    node.post(0, "app.tx", (7,), bytes(9))
    node.post(300, "app.tx", (7,), bytes(9))
    node.run(9000)
    assert sum(isinstance(r, Sent) for r in node.records) == 1 and node.dispatch.counts().busy == 1


def test_instructions_and_assessments_take_time_and_deadlines_are_measured():
    hook = Hook("every", ("T0",), period=10_000, within=135)
    program = [("cca",), ("count", 0)]
    node = native([hook], [program], costs=Costs(insn_ns=1000))
    node.run(5000)
    ran = node.records[0]
    assert ran.insns == 8 and ran.took == 128 + 8 and ran.late and node.dispatch.stats(0).misses == 1
    node = native([replace(hook, within=136)], [program], costs=Costs(insn_ns=1000))
    node.run(5000)
    assert not node.records[0].late and node.dispatch.stats(0).misses == 0


def test_an_event_waits_for_a_thread_that_is_busy():
    node = native([Hook("every", ("T0",), period=10_000), Hook("app.tx", ("C1",), "net")], [[("cca",)], []], costs=Costs(0, 500, 0))
    node.post(100, "app.tx", (7,), b"")
    node.post(200, "app.tx", (7,), b"")
    node.run(5000)
    assert [(type(r), r.time) for r in node.sorted_records() if not isinstance(r, Given)] == [(Ran, 0), (Overrun, 200), (Ran, 500)]


def test_jitter_stays_in_its_bounds_and_follows_the_seed():
    def times(seed):
        node = native([Hook("every", ("T0",), period=1000, jitter=300)], [[]], seed=seed, costs=FREE)
        node.run(50_000)
        return [r.time - r.due for r in node.records], [r.due for r in node.records]
    late, due = times(1)
    assert due == list(range(0, 50_000, 1000))
    assert 0 <= min(late) < 60 and 240 < max(late) <= 300
    assert times(1)[0] == late != times(2)[0]


def test_causes_lead_from_a_frame_to_what_it_started():
    hooks = [Hook("radio.rx_done", ("C0",)), Hook("after", ("T1",)), Hook("radio.tx_done", ("T2",))]
    node = native(hooks, [[("timer", 1, 700), ("verdict", 3, 0)], [], []], costs=FREE)
    node.hear(0, bytes(9))
    node.run(9000)
    chain = {type(r).__name__ + getattr(r, "hook", ""): r for r in node.records}
    received, ran, sent = chain["Received"], chain["Ranradio.rx_done"], chain["Sent"]
    assert (ran.cause, sent.cause) == (received.number, ran.number)
    assert chain["RanT1"].cause == ran.number and chain["RanT2"].cause == sent.number


def test_a_callback_that_fails_comes_out_of_the_call():
    bench = Bench([Hook("app.tx", ("C0",), "net")], [[("trace", 1, 2)]], lambda a, b: 1 // 0)
    bench.event("app.tx", 7, packet=b"")
    with pytest.raises(ZeroDivisionError):
        bench.node.poll()


# ---------------------------------------------------------------- the radio

@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 3000), st.booleans()), max_size=8), st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 20), st.sampled_from(["OK", "BUSY", "NOACK"])), max_size=4),
       st.booleans(), st.integers(0, 3000), st.integers(0, 3000))
def test_states_of_the_radio_have_no_gap_and_agree_with_each_moment(switches, sends, on, a, b):
    radio = Radio(on=on)
    for time, state in switches:
        radio.switch(time, state)
    sent = []
    for time, octets, result in sorted(sends):
        radio.plans.append(TxPlan(result))
        one = radio.send(time, bytes([0x20] * octets))
        if one is None:
            radio.plans.pop()
        sent += [one] if one else []
    a, b = min(a, b), max(a, b)
    states = list(radio.states(a, b))
    assert [s[0] for s in states] + [b] == ([a] + [s[1] for s in states] if states else [b])
    assert all(x[2] != y[2] for x, y in zip(states, states[1:]))
    for at in range(a, b, 97):
        commanded = next((state for time, state in reversed(sorted(switches, key=lambda s: s[0])) if time <= at), on)
        now = next((s for s in sent if s.start <= at < s.done), None)
        expected = ("tx" if at < now.end else "rx") if now else "rx" if commanded else "off"
        assert next(s[2] for s in states if s[0] <= at < s[1]) == expected
    assert radio.listening(a, b) == all(s[2] == "rx" for s in states)


def test_the_channel_is_busy_while_the_script_or_a_frame_says_so():
    radio = Radio()
    radio.occupy(1000, 2000)
    radio.air(Heard(bytes(2), 5000))
    clear = [t for t in range(0, 7000, 10) if not radio.clear(t)]
    assert (clear[0], clear[-1]) == (880, 5000 + airtime(2) - 10)
    assert [t for t in clear if 2000 <= t <= 5000 - CCA] == []
    radio.release(1500)
    assert radio.clear(1500) and not radio.clear(1499)
