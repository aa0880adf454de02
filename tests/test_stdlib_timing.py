"""std.csma, std.duty_cycle and std.tsch_slot on a node: what they do when, the same in the engine and in the reference."""
from __future__ import annotations

from collections import Counter
from functools import lru_cache

import pytest
from programs import declared_in, program

from lpn.compiler.build import Compiled, compile_program
from lpn.runtime.node import Costs, Node, native_node
from lpn.runtime.node_reference import reference_node
from lpn.runtime.timeline import Ran, Sent

CSMA = """
import std.csma;
header Beacon { bit<8> kind; }
struct headers { Beacon beacon; }
deparser Tx(packet pkt, in headers h) { pkt.emit(h.beacon); }
timing Sender {
    counter<bit<16>>[8] first;                  // delays before the first look, in unit backoff periods
    counter<bit<32>> failures;
    every 50 ms within 1 ms { radio.on(); csma_begin(); first.count(csma.wait); }
    every UNIT_BACKOFF_PERIOD within 300 us {
        CsmaStep step = csma_step();
        if (step == CsmaStep.FAILED) { failures.count(); }
        if (step == CsmaStep.SEND) {
            after 1 us {                        // a run of its own: the handler's time is short
                headers h;
                h.beacon.setValid();
                h.beacon.kind = 1;
                radio.send(Tx(h));
            }
        }
    }
}
protocol P version 1 { timing : Sender; }
"""


@lru_cache
def compiled(text: str) -> Compiled:
    return compile_program(program(text), "lpn", False, 2)


def both(text: str, until: int, prepare=lambda node: None, **address: int) -> Node:
    """The program on the C node and on the reference's: the same records. Instructions take no time."""
    one = compiled(text)
    nodes = [native_node(one.bundle, address, state=one.initial_state(None), costs=Costs(0)), reference_node(program(text), None, address, costs=Costs(0))]
    for node in nodes:
        prepare(node)
        node.run(until)
    def seen(node: Node) -> list:
        return [(type(r).__name__, r.time, getattr(r, "hook", None), getattr(r, "frame", None), [(e.time, e.what, e.detail) for e in getattr(r, "effects", [])])
                for r in node.sorted_records()]
    assert seen(nodes[0]) == seen(nodes[1])
    return nodes[0]


def value(node: Node, text: str, name: str, index: int = 0) -> int | dict[str, int]:
    return compiled(text).state.read(node.dispatch.state(), declared_in(program(text), name), index)


def looks(node: Node) -> list[tuple[int, str]]:
    return [(effect.time, effect.detail) for record in node.sorted_records() if isinstance(record, Ran) for effect in record.effects if effect.what == "radio.cca"]


def test_csma_sends_after_a_random_delay_of_up_to_seven_units():
    node = both(CSMA, 3_000_000, node_ext=0x0200000000000007)
    sent = [record.time for record in node.records if isinstance(record, Sent)]
    assert len(sent) == 60                      # each at once where the channel is clear
    delays = Counter({n: value(node, CSMA, "first", n) for n in range(8)})
    assert sum(delays.values()) == 61 and min(delays.values()) > 1 and value(node, CSMA, "failures") == 0
    assert max(time % 50_000 for time in sent) <= 10 * 320 + 200


def test_csma_gives_up_after_five_looks_whose_delays_grow():
    def busy(node: Node) -> None:
        node.radio_state.occupy(0, 10_000_000)
    node = both(CSMA, 1_990_000, busy, node_ext=0x0200000000000007)
    found = looks(node)
    assert {detail for _, detail in found} == {"BUSY"} and not any(isinstance(record, Sent) for record in node.records)
    tries = Counter(time // 50_000 for time, _ in found)
    assert set(tries.values()) == {5} and value(node, CSMA, "failures") == len(tries)
    gaps = [b - a for (a, _), (b, _) in zip(found, found[1:]) if a // 50_000 == b // 50_000]
    assert max(gaps) <= 32 * 320 and max(gaps) > 16 * 320


def test_csma_waits_while_others_send():
    def busy(node: Node) -> None:
        for start in range(0, 1_000_000, 50_000):
            node.radio_state.occupy(start, start + 3_000)
    node = both(CSMA, 1_000_000, busy, node_ext=0x0200000000000007)
    sent = [record.time % 50_000 for record in node.records if isinstance(record, Sent)]
    assert len(sent) == 20 and min(sent) >= 3_000


LPL = "import std.duty_cycle; protocol P version 1 { timing : LowPowerListening; }"


def test_a_quiet_channel_costs_three_looks_an_interval():
    node = both(LPL, 10_000_000, lambda node: node.switch(0, False))
    assert value(node, LPL, "lpl") | {"looks": 0} == {"looking": 0, "awake": 0, "held": 0, "looks": 0, "detected": 0, "received": 0}
    assert value(node, LPL, "lpl")["looks"] == 80
    assert len(looks(node)) == 240
    assert node.radio_state.on_time(0, 10_000_000) <= 80 * (2 * 600 + 3 * 130)


@pytest.mark.parametrize("offset", range(0, 125_000, 24_691))
def test_who_strobes_for_an_interval_is_heard(offset):
    frame = bytes.fromhex("41880723000100020052070866")
    def strobe(node: Node) -> None:
        node.switch(0, False)
        for n in range(130):
            node.hear(1_000_000 + offset + 1_000 * n, frame)
    node = both(LPL, 2_000_000, strobe, node_short=1)
    state = value(node, LPL, "lpl")
    assert state["received"] >= 1 and state["awake"] == 0


@pytest.mark.parametrize("octets, pause", [(13, 1_056), (40, 1_056), (125, 1_056), (13, 326)])
def test_no_copy_begins_where_nobody_listens(octets, pause):
    """Strobes that begin at all offsets of a period, from the shortest frames to the longest, with the wait for an acknowledgement between them."""
    frame = bytes.fromhex("41880723000100020052070866").ljust(octets, b"\0")
    period = (6 + octets + 2) * 32 + pause
    offsets = range(0, period, 61)

    def strobe(node: Node) -> None:
        node.switch(0, False)
        for k, offset in enumerate(offsets):
            for n in range(140_000 // period):
                node.hear(k * 250_000 + 7_000 + offset + period * n, frame)
    node = both(LPL, len(offsets) * 250_000, strobe, node_short=1)
    heard = {record.time // 250_000 for record in node.sorted_records() if isinstance(record, Ran) and record.hook == "LowPowerListening.on_rx_done"}
    assert heard == set(range(len(offsets)))


TSCH = """
import std.tsch_slot;
timing Slots {
    register<bit<40>>[4] asn;
    register<bit<8>>[4] channel;
    slot 0 of 7 within 1 ms { tsch_begin(7, 0); asn[0] = tsch_asn; channel[0] = tsch_channel(0); radio.channel(tsch_channel(0)); }
    slot 3 of 7 within 1 ms { tsch_begin(7, 3); asn[1] = tsch_asn; channel[1] = tsch_channel(5); radio.channel(tsch_channel(5)); }
}
protocol P version 1 { timing : Slots; }
"""
SEQUENCE = [16, 17, 23, 18, 26, 15, 25, 22, 19, 11, 12, 13, 24, 14, 20, 21]     # RFC 8180, 4.4 and IEEE 802.15.4-2020, 6.2.10


def test_slots_have_numbers_and_channels():
    node = both(TSCH, 9_995_000)
    chosen = [(effect.time, int(effect.detail)) for record in node.sorted_records() if isinstance(record, Ran)
              for effect in record.effects if effect.what == "radio.channel"]
    assert len(chosen) == 2 * 143
    for time, channel in chosen:
        asn = time // 10_000
        assert asn % 7 in (0, 3)
        assert channel == SEQUENCE[(asn + (5 if asn % 7 == 3 else 0)) % 16]
    assert value(node, TSCH, "asn", 1) == 142 * 7 + 3
