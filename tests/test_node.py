"""The C node: dispatch, timers, what is counted."""

from dataclasses import replace

import pytest
from node_bench import Bench, held
from node_programs import bundle, native

from lpn.compiler.bundle import Hook
from lpn.compiler.image import Kind
from lpn.lang.hooks import EVENTS, LONGEST_FRAME
from lpn.runtime.dispatch import Stats
from lpn.runtime.engine.native import open_engine
from lpn.runtime.engines import EngineError
from lpn.runtime.node import Costs


# ---------------------------------------------------------------- events

def test_events_are_named_as_in_the_language():
    ffi, lib = open_engine()
    assert [ffi.string(lib.lpn_event_name(i)).decode() for i in range(len(EVENTS))] == list(EVENTS)
    assert ffi.string(lib.lpn_event_name(len(EVENTS))) == b"?"


def test_an_isr_hook_runs_at_once_and_others_wait_for_the_thread():
    bench = Bench([Hook("radio.rx_start", ("T0",), "isr"), Hook("radio.rx_done", ("C1",))], [[("count", 0)], [("count", 1)]])
    assert not bench.event("radio.rx_start")
    assert bench.log == ["T0"]
    assert bench.event("radio.rx_done", packet=b"frame")
    assert bench.log == ["T0"] and held(bench) == 1
    assert not bench.node.poll()
    assert bench.log == ["T0", "radio.rx_done"] and held(bench) == 0
    assert not bench.node.poll()                    # nothing is run twice
    assert len(bench.log) == 2


def test_at_most_one_is_pending_and_the_next_is_an_overrun():
    bench = Bench([Hook("app.tx", ("C0",), "net")], [[]])
    for n in range(3):
        bench.event("app.tx", 7, packet=bytes([n]))
    assert bench.log == ["overrun app.tx"] * 2 and held(bench) == 1
    bench.poll_all()
    assert bench.runs[0].packet == b"\0"            # the first one stays
    assert bench.node.stats(0) == Stats(events=3, runs=1, overruns=2, insns=3, insns_worst=3)


def test_an_event_may_come_again_while_its_hook_runs():
    bench = Bench([Hook("app.tx", ("C0",), "net")], [[("trace", 1, 2)]], lambda a, b: bench.event("app.tx", 7, packet=b"two"))
    bench.event("app.tx", 7, packet=b"one")
    assert bench.node.poll()
    assert [r.packet for r in bench.runs] == [b"one"] and bench.node.stats(0).pending == 1


def test_the_chain_that_names_an_event_most_exactly_takes_it():
    hooks = [Hook("net.rx", (f"C{i}",), "net", selector) for i, selector in enumerate([(), (41,), (41, 7)])]
    bench = Bench(hooks, [[]] * 3)
    for selector in ((41, 7), (41, 8), (58, 7)):
        bench.event("net.rx", *selector, packet=b"")
    bench.poll_all()
    assert sorted(bench.log) == ["net.rx", "net.rx.41", "net.rx.41.7"]
    assert not bench.event("net.tx", packet=b"x")
    assert bench.node.counts().ignored == 1 and held(bench) == 0


def test_a_frame_that_no_radio_can_hear_is_ignored():
    """Nor released twice; another event's packet may be longer."""
    bench = Bench([Hook("radio.rx_done", ("C0",)), Hook("net.rx", ("C1",), "net")], [[], []])
    assert not bench.event("radio.rx_done", packet=bytes(LONGEST_FRAME + 1))
    assert bench.node.counts().ignored == 1 and held(bench) == 0 and bench.node.stats(0).events == 0
    assert bench.event("radio.rx_done", packet=bytes(LONGEST_FRAME)) and bench.event("net.rx", packet=bytes(LONGEST_FRAME + 1))
    bench.poll_all()
    assert sorted(len(run.packet) for run in bench.runs) == [LONGEST_FRAME, LONGEST_FRAME + 1]


def test_a_timing_handler_sees_the_event_too_and_the_packet_is_held_for_both():
    bench = Bench([Hook("radio.rx_done", ("C0",)), Hook("radio.rx_done", ("T1",))], [[], []])
    bench.event("radio.rx_done", packet=b"abc")
    assert bench.node.poll() and held(bench) == 1
    assert not bench.node.poll() and held(bench) == 0
    assert [r.packet for r in bench.runs] == [b"abc", b"abc"]


def test_radio_hooks_go_before_net_hooks_and_older_events_before_younger():
    hooks = [Hook("app.tx", ("C0",), "net"), Hook("radio.ack_timeout", ("T1",)), Hook("radio.rx_done", ("C2",))]
    bench = Bench(hooks, [[]] * 3)
    bench.clock = 2**32 + 50
    bench.event("app.tx", 1, packet=b"", time=2**32 - 100)
    bench.event("radio.rx_done", packet=b"", time=2**32 - 50)
    bench.event("radio.ack_timeout", time=20)
    bench.poll_all()
    assert bench.log == ["radio.rx_done", "T1", "app.tx"]
    assert [bench.node.stats(i).wait_worst for i in range(3)] == [150, 30, 100]


def test_an_interrupt_in_the_middle_of_a_run():
    """The isr chain has its own memory: the thread's run goes on as if nothing had been."""
    hooks = [Hook("app.tx", ("C0",), "net"), Hook("radio.rx_start", ("T1",), "isr")]
    bench = Bench(hooks, [[("trace", 0, 0), ("tail", 1, 2), ("count", 3)], [("count", 2)]], lambda a, b: bench.event("radio.rx_start"))
    bench.event("app.tx", 7, packet=b"abc")
    bench.poll_all()
    assert bench.log == ["T1", ("radio", b"bc"), "app.tx"]
    assert bench.node.state()[8:16] == bytes([1, 0, 0, 0, 1, 0, 0, 0])


def test_an_interrupt_in_an_interrupt_is_an_overrun():
    hooks = [Hook("radio.rx_start", ("T0",), "isr")]
    bench = Bench(hooks, [[("trace", 0, 0)]], lambda a, b: bench.event("radio.rx_start"))
    bench.event("radio.rx_start")
    assert bench.log == ["overrun T0", "T0"]


# ---------------------------------------------------------------- timers

def test_every_and_slot_start_at_their_offset_and_keep_their_beat_through_the_clocks_wrap():
    bench = Bench([], [])
    bench.clock = 2**32 - 2500
    bench.node.swap(bundle([Hook("every", ("T0",), period=1000), Hook("slot", ("T1",), selector=(1, 2), period=2000, offset=1500)], [[], []]))
    seen = []
    for _ in range(60):
        bench.poll_all()
        seen += [(bench.clock - 2**32 + 2500, name) for name in bench.log]
        bench.log.clear()
        bench.clock += 100
    assert seen == sorted([(t, "T0") for t in range(0, 6000, 1000)] + [(1500 + t, "T1") for t in (0, 2000, 4000)])
    assert bench.at == (6000 - 2500) % 2**32


def test_the_one_hardware_timer_is_set_for_the_first_of_all():
    bench = Bench([Hook("app.tx", ("C0",), "net"), Hook("after", ("T1",)), Hook("after", ("T2",))], [[("timer", 1, 150), ("timer", 2, 50)], [], []])
    bench.clock = 2**32 - 100                       # one before the clock's wrap, one behind it
    bench.event("app.tx", 7, packet=b"")
    assert bench.node.poll() is False and bench.at == 2**32 - 50
    bench.clock = 2**32 - 50
    assert bench.node.poll() is False and bench.at == 50


def test_periods_that_nobody_polled_in_are_overruns():
    bench = Bench([Hook("every", ("T0",), period=1000)], [[]])
    bench.poll_all()
    bench.clock = 4200
    bench.poll_all()
    assert bench.log == ["T0", "overrun T0", "overrun T0", "overrun T0", "T0"]
    assert bench.at == 5000 and bench.node.stats(0).wait_worst == 3200


def test_after_counts_from_the_call_and_starts_anew():
    bench = Bench([Hook("app.tx", ("C0",), "net"), Hook("after", ("T1",))], [[("timer", 1, 500)], []])
    for time in (0, 300):
        bench.clock = time
        bench.event("app.tx", 7, packet=b"")
        bench.poll_all()
    assert bench.at == 800
    bench.clock = 799
    bench.poll_all()
    assert bench.log == ["app.tx", "app.tx"]
    bench.clock = 800
    bench.poll_all()
    assert bench.log[2:] == ["T1"]


def test_after_counts_from_the_call_not_from_the_runs_end():
    node = native([Hook("every", ("T0",), period=10_000), Hook("after", ("T1",))], [[("timer", 1, 1000), ("cca",), ("cca",)], []], costs=Costs(0, 128, 0))
    node.run(5000)
    assert [(r.time, r.hook) for r in node.records] == [(0, "T0"), (1000, "T1")]


def test_an_isr_hook_may_start_a_timer_and_the_thread_is_told():
    bench = Bench([Hook("radio.rx_start", ("T0",), "isr"), Hook("after", ("T1",))], [[("timer", 1, 50)], []])
    assert bench.event("radio.rx_start")
    bench.clock = 20
    assert not bench.node.poll() and bench.at == 50


@pytest.mark.parametrize("hook,delay", [(0, 5), (1, 2**31), (2, 1)])
def test_only_after_hooks_are_started_by_delays_below_half_the_clock(hook, delay):
    bench = Bench([Hook("app.tx", ("C0",), "net"), Hook("after", ("T1",))], [[("timer", hook, delay)], []])
    bench.event("app.tx", 7, packet=b"")
    bench.poll_all()
    # 2**31 as an immediate is sign-extended to 64 bits: larger than any delay
    assert bench.runs[0].reason == "engine: bad helper argument" and bench.at is None


# ---------------------------------------------------------------- what chains do

def test_transmit_without_a_deparser_sends_nothing():
    made = bundle([Hook("app.tx", ("C0",), "net")], [[("verdict", 3, 0)]])
    bench = Bench([], [])
    bench.node.swap(replace(made, modules=(replace(made.modules[0], kind=Kind.PROCESSOR),)))
    bench.event("app.tx", 7, packet=b"x")
    bench.poll_all()
    assert bench.runs[0].unsent and bench.log == ["app.tx"] and bench.node.counts().busy == 0


def test_transmit_sends_the_packet_and_a_busy_radio_is_counted():
    bench = Bench([Hook("radio.rx_done", ("C0",))], [[("verdict", 3, 0)]])
    for busy in (0, 1):
        bench.busy = busy
        bench.event("radio.rx_done", packet=b"frame")
        bench.poll_all()
    assert bench.log == [("radio", b"frame"), "radio.rx_done"] * 2
    assert [r.unsent for r in bench.runs] == [False, True] and bench.node.counts().busy == 1


@pytest.mark.parametrize("start,length,fits", [(0, 5, True), (5, 0, True), (2, 3, True), (2, 4, False), (6, 0, False), (0, -1, False), (-1, 1, False)])
def test_a_part_of_the_packet_that_is_sent_lies_in_it(start, length, fits):
    bench = Bench([Hook("radio.rx_done", ("C0",))], [[("tail", start, length)]])
    bench.event("radio.rx_done", packet=b"frame")
    bench.poll_all()
    sent = [("radio", b"frame"[start:start + length])] if fits else []
    assert [each for each in bench.log if isinstance(each, tuple)] == sent
    assert bench.runs[0].fault is None or not fits and bench.runs[0].fault.endswith("bad helper argument")


@pytest.mark.parametrize("length,fits", [(256, True), (257, False), (-1, False)])
def test_no_more_is_sent_than_the_output_buffer_holds(length, fits):
    bench = Bench([Hook("radio.rx_done", ("C0",))], [[("net", length)]])
    bench.event("radio.rx_done", packet=b"frame")
    bench.poll_all()
    assert bench.log == ([("net", bytes(256))] if fits else []) + ["radio.rx_done"]


@pytest.mark.parametrize("op", [("on",), ("off",), ("cca",), ("channel", 11), ("power", 0), ("send", 1), ("net", 1)])
def test_an_interrupt_does_not_touch_the_radio(op):
    with pytest.raises(EngineError, match=r"hook 0 \(radio.tx_start\): helper not allowed in this context"):
        Bench([Hook("radio.tx_start", ("T0",), "isr")], [[op]])


def test_drops_are_counted_by_reason():
    bench = Bench([Hook("app.tx", (f"C{i}",), "net", (i,)) for i in range(4)], [[("verdict", 1, 1)], [("verdict", 1, 2)], [("fault",)], [("verdict", 1, 77)]])
    for port in (0, 1, 1, 2, 3):
        bench.event("app.tx", port, packet=b"")
        bench.poll_all()
    assert bench.node.drops() == {"SHORT": 1, "OTHER": 2, "engine": 2}
    assert [bench.node.stats(i).drops for i in range(4)] == [1, 2, 1, 1] and bench.node.stats(2).errors == 1
    assert bench.runs[3].fault == "module C2, instruction 2: load out of bounds"


def test_tx_done_tells_its_result_to_the_chain():
    hook = Hook("radio.tx_done", ("T0",))
    made = bundle([hook], [[]])
    text = bytes.fromhex("6110580000000000" "6700000010000000" "4700000002000000" "9500000000000000")    # DELIVER, port = event
    bench = Bench([], [])
    bench.node.swap(replace(made, modules=(replace(made.modules[0], text=text),)))
    for result in (0, 1, 2):
        bench.event("radio.tx_done", result)
        bench.poll_all()
    assert [r.port for r in bench.runs] == [0, 1, 2]
