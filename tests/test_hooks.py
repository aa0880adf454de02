"""What a protocol runs: several chains that share modules, state, tables and reasons, in one bundle."""
from __future__ import annotations

import pytest
from programs import program

from lpn.compiler.build import compile_program
from lpn.compiler.bundle import Bundle, Hook
from lpn.compiler.image import Kind
from lpn.runtime.engines import get_engine

SEVERAL = """
header H { bit<8> a; bit<8> b; }
struct headers { H h; }
parser Short(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
parser Long(packet pkt, out headers h) { state start { pkt.advance(8); pkt.extract(h.h); transition accept; } }
processor Count(inout headers h, inout meta m) {
    counter<bit<32>> seen;
    action to(bit<16> port) { m.port = port; m.verdict = DELIVER; }
    table ports { key = { h.h.a : exact; } actions = { to; } entries = { 9 : to(99); } }
    apply { seen.count(); h.h.b = h.h.b + 1; ports.apply(); }
}
processor Began() { register<bit<32>> at; apply { at = node.clock; } }
processor Tally() { counter<bit<32>> sent; apply { sent.count(); } }
deparser Tx(packet pkt, in headers h) { pkt.emit(h.h); }
protocol Several version 3 {
    on net.rx(41, 7)          : Long -> Count -> Tx within 4 ms;
    on radio.rx_done          : Short -> Count -> Tx;
    on radio.tx_done(NOACK)   : Tally within 100 us;
    on radio.tx_start         : Began;
}
"""
HOOKS = (("net.rx", "net", (41, 7), 4000), ("radio.rx_done", "radio", (), 0), ("radio.tx_done", "radio", (2,), 100),
         ("radio.tx_start", "isr", (), 0))


def built(fuse: bool) -> Bundle:
    return Bundle.from_bytes(compile_program(program(SEVERAL), fuse=fuse).bundle.to_bytes())


def facts(hook: Hook) -> tuple:
    return hook.event, hook.context, hook.selector, hook.within


def test_modules_are_shared():
    bundle = built(False)
    assert tuple(map(facts, bundle.hooks)) == HOOKS
    assert [hook.chain for hook in bundle.hooks] == [("Long", "Count", "Tx"), ("Short", "Count", "Tx"), ("Tally",), ("Began",)]
    assert [m.name for m in bundle.modules] == ["Long", "Count", "Tx", "Short", "Tally", "Began"]
    assert bundle.contexts("Count") == ("net", "radio") and bundle.contexts("Tally") == ("radio",)
    assert [slot["name"] for slot in bundle.state_layout] == ["Count.seen", "Began.at", "Tally.sent"]
    assert [table.name for table in bundle.tables] == ["ports"]


def test_fused_each_chain_is_a_container():
    bundle = built(True)
    assert tuple(map(facts, bundle.hooks)) == HOOKS
    names = ["Several.net.rx.41.7", "Several.radio.rx_done", "Several.radio.tx_done.2", "Several.radio.tx_start"]
    assert [m.name for m in bundle.modules] == names and {m.kind for m in bundle.modules} == {Kind.FUSED}
    assert [hook.chain for hook in bundle.hooks] == [(name,) for name in names]


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("name", ["engine", "rbpf"])
def test_a_frame_takes_the_chain_of_rx_done(fuse, name):
    loaded = get_engine(name).load(built(fuse))
    assert loaded.run(b"\x01\x02rest").out == b"\x01\x03rest"
    result = loaded.run(b"\x09\x02")
    assert (result.verdict, result.port) == ("DELIVER", 99)
    assert loaded.state() == (2).to_bytes(8, "little") + bytes(16)


@pytest.mark.parametrize("fuse", [False, True])
def test_the_other_chains_run_too(fuse):
    """As a bundle whose only chain they are: the state and the tables are the same."""
    from dataclasses import replace
    bundle = built(fuse)
    hook = replace(bundle.hooks[0], event="radio.rx_done", context="radio", selector=())
    loaded = get_engine("engine").load(replace(bundle, hooks=(hook,)))
    assert loaded.run(b"!\x01\x02rest").out == b"\x01\x03rest"
    assert loaded.run(b"!\x09\x02").port == 99
