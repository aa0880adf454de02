"""Packets of packet tests for other chains than that of radio.rx_done."""
from __future__ import annotations

from pathlib import Path

import pytest
from cli import lpnc

HOOKS = """
header Tag { bit<8> kind; bit<8> length = sizeof(payload)[7:0]; }
struct headers { Tag tag; }
register<bit<16>> seen;
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.tag); transition accept; } }
parser Raw(packet pkt, out headers h) { state start { transition accept; } }
processor Up(inout headers h, inout meta m) {
    action to(bit<16> port) { m.port = port; }
    table ports { key = { h.tag.kind : exact; } actions = { to; } }
    apply { seen = seen + 1; m.port = seen; ports.apply(); m.verdict = DELIVER; }
}
processor Count(inout meta m) { apply { seen = seen + 1; m.port = seen; m.verdict = DELIVER; } }
processor Down(inout headers h, inout meta m) { apply { seen = seen + 10; h.tag.setValid(); h.tag.kind = 7; m.verdict = TRANSMIT; } }
deparser Tx(packet pkt, in headers h) { pkt.emit(h.tag); }
protocol P version 1 {
    on radio.rx_done : Rx -> Up;
    on app.tx(7)     : Raw -> Down -> Tx;
    on app.tx        : Raw -> Count;
    on net.tx(41)    : Rx -> Up;
    on net.tx(41, 3) : Raw -> Count;
}
"""


@pytest.fixture
def beside(tmp_path: Path):
    """Writes a test file beside its program, and runs it; (status, what was printed)."""
    def write(text: str, program: str, *options: str) -> tuple[int, str]:
        (tmp_path / "chains.lpn").write_text(program)
        (tmp_path / "chains.test").write_text(text)
        result = lpnc("test", tmp_path / "chains.test", *options)
        return result.exit_code, result.stdout + result.stderr
    return write


def passed(outcome: tuple[int, str]) -> None:
    assert outcome[0] == 0, outcome[1]


EACH_CHAIN = """
test "each chain, one state" {
    send hex { "hello" } to app.tx.7;
    expect TRANSMIT { tag { kind = 7 } payload "hello" };
    check seen == 10;
    send { tag { kind = 3 } "abc" };
    expect DELIVER 11;
    send hex { "x" } to app.tx.300;
    expect DELIVER 12;
    set seen = 100;
    send { tag { } } to net.tx.41;
    expect DELIVER 101;
    send { tag { } } to net.tx.41.3;
    expect DELIVER 102;
    table ports { 5 : to(555); }
    send { tag { kind = 5 } } to net.tx.41.4;
    expect DELIVER 555;
    send { tag { length = 4 } } to net.tx.41.7;
    expect DROP Tag.length;
    send { tag { kind = 5 } } to radio.rx_done;
    expect DELIVER 555;
    check seen == 104;
}
"""


@pytest.mark.parametrize("options", [[], ["--fuse"], ["--engine", "engine,reference,rbpf"], ["--engine", "reference"]], ids=" ".join)
def test_packets_go_to_the_chain_that_takes_them(beside, options):
    """The one that names the event most exactly, as on a node; cells and entries are the same for all."""
    passed(beside(EACH_CHAIN, HOOKS, *options))


def test_a_program_that_no_received_frame_starts(beside):
    without = HOOKS.replace("on radio.rx_done : Rx -> Up;", "")
    status, text = beside('test "a" { send hex { 00 }; expect DROP; }', without)
    assert status == 1 and "the program has no chain for received frames" in text and "help: say which one takes it, as in send ... to app.tx.7;" in text, text
    passed(beside('test "a" { send hex { 00 } to app.tx; expect DELIVER 1; check seen == 1; send hex { 01 } to app.tx.7; expect TRANSMIT; check seen == 11; }', without))
    passed(beside('test "a" { check seen == 0; set seen = 4; check seen == 4; }', without))


def test_of_one_chain_none_need_be_named(beside):
    one = """header Tag { bit<8> kind; } struct headers { Tag tag; }
        parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.tag); transition accept; } }
        processor Port(inout headers h, inout meta m) { apply { m.port = (bit<16>) h.tag.kind; m.verdict = DELIVER; } }
        timing Clock { register<bit<8>> turns; every 1 s { turns = turns + 1; } }
        protocol Up version 1 { on net.rx(41) : Rx -> Port; timing : Clock; }"""
    passed(beside('test "a" { send { tag { kind = 7 } }; expect DELIVER 7; }', one))
    passed(beside('test "a" { send { tag { kind = 7 } } to net.rx.41; expect DELIVER 7; }', one))


def test_what_a_buffer_keeps_stays_with_its_chain(beside):
    """Each chain is loaded for itself: the reference's buffers are those of all."""
    program = """
buffer<64>[2] queue;
parser Rx(packet pkt) { state start { transition accept; } }
processor Hold(inout meta m) { apply { if (queue.hold(8w1) == STORED) { m.verdict = CONSUMED; } } }
processor Take(inout meta m) { apply { if (queue.take(8w1) == 1) { m.verdict = DELIVER; } else { m.verdict = DROP; } } }
processor Out(inout meta m) { apply { m.verdict = DELIVER; } }
protocol P version 1 { on radio.rx_done : Rx -> Hold; on net.tx(1) : Rx -> Take; on queue.complete : Rx -> Out; }
"""
    steps = 'test "a" { send hex { 00 }; expect CONSUMED; send hex { 01 } to net.tx.1; expect DELIVER; }'
    status, text = beside(steps, program)
    assert status == 1 and "what is kept in buffers would not reach another chain here: a node has them in common (events)" in text, text
    passed(beside(steps, program, "--engine", "reference"))
