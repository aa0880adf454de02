"""The C node: dispatch, timers, what is counted, sets that are swapped, buffers; and the driver around it."""

from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st
from node_programs import STATE, bundle, native

from lpn.compiler.bundle import Hook
from lpn.compiler.image import Kind
from lpn.compiler.kept import Kept, KeptTable
from lpn.compiler.build import compile_program
from lpn.lang.check import check
from lpn.lang.hooks import EVENTS, LONGEST_FRAME
from lpn.lang.loader import load
from lpn.runtime.dispatch import Event, Stats
from lpn.runtime.engine.native import open_engine
from lpn.runtime.engine.node_native import NativeDispatch
from lpn.runtime.engines import EngineError
from lpn.runtime.node import Costs, native_node
from lpn.runtime.node_reference import reference_node
from lpn.runtime.radio import ACK_WAIT, CCA, SFD, TURNAROUND, Heard, Radio, TxPlan, airtime
from lpn.runtime.timeline import Given, Overrun, Ran, Received, Sent, meaning

FREE = Costs(0, 0, 0)


class Bench:
    """A platform without a world: time is set, what the node does is written down."""

    def __init__(self, hooks, programs, on_trace=lambda a, b: None):
        self.clock, self.log, self.at, self.busy, self.on_trace = 0, [], None, 0, on_trace
        self.runs = []
        self.node = NativeDispatch(bundle(hooks, programs), self)

    def now(self):
        return self.clock & 0xFFFFFFFF

    def set_timer(self, at):
        self.at = at

    def radio(self, command, argument):
        self.log.append((command, argument))
        return 0

    def send(self, target, frame):
        self.log.append((target, frame))
        return self.busy

    def ran(self, run):
        self.runs.append(run)
        self.log.append(self.node.names[run.hook])

    def overrun(self, hook):
        self.log.append(f"overrun {self.node.names[hook]}")

    def timer(self, hook, delay):
        pass

    def trace(self, a, b):
        self.on_trace(a, b)

    def event(self, name, *selector, packet=None, time=None):
        return self.node.event(Event(name, self.now() if time is None else time, selector, packet))

    def poll_all(self):
        while self.node.poll():
            pass


def held(bench):
    return bench.node.counts().held


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
    bench = Bench([Hook("radio.tx_start", ("T0",), "isr")], [[op]])
    bench.event("radio.tx_start")
    assert bench.runs[0].reason == "engine: helper not allowed in this context" and bench.log == ["T0"]


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


# ---------------------------------------------------------------- buffers

REASSEMBLY = """
header Piece { bit<8> key; bit<8> offset; bit<8> size; bit<8> next; }
struct headers { Piece piece; }
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.piece); transition accept; } }
processor Keep(inout headers h, inout meta m) {
    buffer<64>[2] whole timeout 5 ms;
    apply {
        m.verdict = CONSUMED;
        whole.put(h.piece.key, (bit<16>) h.piece.offset, (bit<16>) h.piece.size);
    }
}
processor Take(inout headers h, inout meta m) { apply { radio.channel((bit<8>) sizeof(payload)); m.verdict = DELIVER; m.port = 3; } }
protocol P version 1 {
    on radio.rx_done : Rx -> Keep;
    on Keep.whole.complete : Rx -> Take;
}
"""


@pytest.fixture(scope="module")
def reassembly(tmp_path_factory):
    path = tmp_path_factory.mktemp("buffers") / "p.lpn"
    path.write_text(REASSEMBLY)
    program = check(load(path))
    return program, compile_program(program).bundle


def lives(reassembly, pieces):
    """The same pieces in the engine and in the reference."""
    program, made = reassembly
    nodes = [native_node(made, costs=Costs(0, 0, 100)), reference_node(program, costs=Costs(0, 0, 100))]
    for node in nodes:
        for time, piece in pieces:
            node.post(time, "radio.rx_done", (), piece)
        node.run(50_000)
    assert [meaning(r) for r in nodes[0].records] == [meaning(r) for r in nodes[1].records]
    return nodes[0]


def test_a_completed_buffer_runs_after_the_chain_and_before_anything_else(reassembly):
    first, last = bytes([1, 0, 12, 0]) + bytes(range(8)), bytes([1, 8, 12, 0]) + b"last"
    node = lives(reassembly, [(0, last), (10, first), (10, b"\2\0\1\0x")])
    ran = [(r.hook, r.time, r.delivered) for r in node.records if isinstance(r, Ran)]
    assert ran == [("radio.rx_done", 0, None), ("radio.rx_done", 10, None), ("buffer.complete.0", 10, bytes(range(4, 8)) + b"last")]
    assert [r.hook for r in node.records if isinstance(r, Overrun)] == ["radio.rx_done"]
    runs = [r for r in node.records if isinstance(r, Ran)]
    assert runs[2].cause == runs[1].number
    node = lives(reassembly, [(0, last), (6000, first)])        # timed out
    assert "buffer.complete.0" not in [r.hook for r in node.records if isinstance(r, Ran)]


def test_the_entry_is_free_again_once_its_chain_has_run(reassembly):
    whole = bytes([1, 0, 8, 9]) + bytes(8)
    node = lives(reassembly, [(1000 * i, whole) for i in range(9)])
    assert [node.dispatch.stats(i).runs for i in (0, 1)] == [9, 9]


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.sampled_from(range(0, 20_000, 250)), st.tuples(st.integers(0, 2), st.sampled_from([0, 8, 16]), st.sampled_from([8, 12, 20]), st.sampled_from([0, 0, 9]))), max_size=25))
def test_buffers_in_engine_and_reference(reassembly, pieces):
    lives(reassembly, [(time, bytes(head) + bytes(min(8, max(head[2] - head[1], 0)))) for time, head in pieces])


# ---------------------------------------------------------------- sets

def test_a_swap_keeps_beat_state_and_what_is_pending():
    hooks = [Hook("every", ("T0",), period=1000), Hook("app.tx", ("C1",), "net")]
    bench = Bench(hooks, [[("count", 0)], [("count", 1)]])
    bench.poll_all()
    bench.clock = 400
    bench.event("app.tx", 7, packet=b"old")
    bench.node.swap(bundle(list(reversed(hooks)), [[("count", 2)], [("count", 0)]]))
    bench.poll_all()
    assert bench.runs[-1].packet == b"old" and bench.log == ["T0", "app.tx"]
    assert bench.at == 1000
    bench.clock = 1000
    bench.poll_all()
    assert cells_of(bench)[:3] == [2, 0, 1]


def cells_of(bench):
    raw = bench.node.state()
    return [int.from_bytes(raw[i:i + 4], "little") for i in range(0, len(raw), 4)]


def test_persistent_registers_move_and_the_rest_begins_anew():
    hooks = [Hook("app.tx", ("C0",), "net")]
    bench = Bench(hooks, [[("count", 0), ("count", 9)]])
    bench.event("app.tx", 7, packet=b"")
    bench.poll_all()
    assert cells_of(bench)[0] == cells_of(bench)[9] == 1
    moved = KeptTable((Kept("cell0", "bit<32>", 20, 4),))
    bench.node.swap(bundle(hooks, [[("count", 5)]], state_hash=9, kept=moved), state=bytes([7] * STATE))
    assert cells_of(bench)[5] == 1 and cells_of(bench)[0] == cells_of(bench)[9] == 0x07070707


def test_a_register_of_another_type_is_refused_and_the_old_set_goes_on():
    hooks = [Hook("app.tx", ("C0",), "net")]
    bench = Bench(hooks, [[("count", 0)]])
    with pytest.raises(EngineError, match="persistent register 'cell0' is bit<16>"):
        bench.node.swap(bundle(hooks, [[]], kept=KeptTable((Kept("cell0", "bit<16>", 0, 2),))))
    bench.event("app.tx", 7, packet=b"")
    bench.poll_all()
    assert cells_of(bench)[0] == 1


def test_what_loses_its_hook_is_counted_and_released_once():
    hooks = [Hook("radio.rx_done", ("C0",)), Hook("radio.rx_done", ("T1",)), Hook("radio.rx_done", ("T2",))]
    bench = Bench(hooks, [[]] * 3)
    bench.event("radio.rx_done", packet=b"abc")
    bench.node.swap(bundle(hooks[2:], [[]]))
    assert bench.node.counts().lost == 2 and held(bench) == 1
    bench.poll_all()
    assert bench.log == ["T2"] and held(bench) == 0
    bench.event("radio.rx_done", packet=b"abc")
    bench.node.swap(bundle([], []))
    assert bench.node.counts().lost == 3 and held(bench) == 0


def test_a_timer_that_runs_goes_on_after_a_swap():
    hooks = [Hook("app.tx", ("C0",), "net"), Hook("after", ("T1",))]
    bench = Bench(hooks, [[("timer", 1, 500)], []])
    bench.event("app.tx", 7, packet=b"")
    bench.poll_all()
    bench.node.swap(bundle(list(reversed(hooks)), [[], [("timer", 0, 500)]]))
    bench.clock = 500
    bench.poll_all()
    assert bench.log == ["app.tx", "T1"]


@pytest.mark.parametrize("hooks,message", [
    ([Hook("every", ("T0",), period=0)], r"hook 0 \(every\): bad hook"),
    ([Hook("app.tx", ("C0",), "net"), Hook("every", ("C1",), period=5)], r"hook 1 \(every\): bad hook"),
    ([Hook("every", ("T0",), "isr", period=5)], r"hook 0 \(every\): bad hook"),
    ([Hook("every", ("T0",), period=2**31)], r"hook 0 \(every\): bad hook"),
])
def test_hooks_that_are_none_are_refused_and_the_old_ones_stay(hooks, message):
    bench = Bench([Hook("app.tx", ("C0",), "net")], [[]])
    with pytest.raises(EngineError, match=message):
        bench.node.swap(bundle(hooks, [[]] * len(hooks)))
    bench.event("app.tx", 7, packet=b"")
    bench.poll_all()
    assert bench.log == ["app.tx"]


def test_chains_that_do_not_fit_are_refused():
    made = bundle([Hook("app.tx", ("C0",), "net"), Hook("app.tx", ("T1",), "net")], [[], []])
    bench = Bench([], [])
    with pytest.raises(EngineError, match=r"hook 0 \(app.tx\): bad chain"):
        bench.node.swap(replace(made, hooks=(Hook("app.tx", ("C0", "T1"), "net"),)))
    other = replace(made.modules[1], state_hash=7)
    with pytest.raises(EngineError, match=r"hook 1 \(app.tx\): record or state hashes differ"):
        bench.node.swap(replace(made, modules=(made.modules[0], other)))


# ---------------------------------------------------------------- the driver

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
    ran = [(r.hook, r.time) for r in node.records if isinstance(r, Ran)][1:]
    expected = [("T1", sent.time + SFD)] * (plan != "BUSY") + [("T2", sent.done)] * (plan == "NOACK") + [("T3", sent.done)]
    assert ran == expected


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
