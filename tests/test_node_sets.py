"""Sets that are swapped on the C node."""

from dataclasses import replace

import pytest
from node_bench import Bench, held
from node_programs import STATE, bundle

from lpn.compiler.bundle import Hook
from lpn.compiler.kept import Kept, KeptTable
from lpn.runtime.engines import EngineError


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
    ([Hook("slot", ("T0",), period=5, offset=5)], r"hook 0 \(slot\): bad hook"),
    ([Hook("every", ("T0",), "net", period=5)], r"hook 0 \(every\): bad hook"),
    ([Hook("radio.rx_done", ("T0",), "net")], r"hook 0 \(radio.rx_done\): bad hook"),
    ([Hook("net.rx", ("C0",), "isr")], r"hook 0 \(net.rx\): bad hook"),
    ([Hook("radio.tx_start", ("T0",), "radio")], r"hook 0 \(radio.tx_start\): bad hook"),
    ([Hook("buffer.complete", ("C0",), "isr")], r"hook 0 \(buffer.complete\): bad hook"),
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


def test_an_interrupt_has_no_chain_that_sends():
    """TRANSMIT has the node send what a deparser made, and the radio takes a frame from its thread only."""
    made = bundle([Hook("app.tx", ("C0",), "net")], [[("verdict", 3, 0)]])
    bench = Bench([], [])
    with pytest.raises(EngineError, match=r"hook 0 \(radio.tx_start\): helper not allowed in this context"):
        bench.node.swap(replace(made, hooks=(Hook("radio.tx_start", ("C0",), "isr"),)))
    bench.event("radio.tx_start")
    assert bench.log == []
