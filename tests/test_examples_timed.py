"""The examples with time in them, on a node: what the events beside them bring about."""
from __future__ import annotations

import pytest
from judge import ABSENT, IEEE802154_NOFCS, TSHARK, fields
from programs import ROOT, declared_in, example

from lpn.compiler.build import compile_program
from lpn.lang import tables
from lpn.runtime.events import read_events
from lpn.runtime.node import Node, native_node
from lpn.runtime.radio import Radio
from lpn.runtime.timeline import Ran, Received, Sent

EXAMPLES = ROOT / "examples"


class Played:
    """An example after its events. `value`: a register or counter at the end."""

    def __init__(self, name: str, events: str, given: str | None = None) -> None:
        folder = EXAMPLES / name
        self.program = example(f"{name}/{name}")
        self.compiled = compile_program(self.program, "lpn", False, 2)
        script = read_events((folder / events).read_text(), events, folder)
        state = self.compiled.initial_state(tables.load(folder / given, self.program) if given else None)
        self.node: Node = native_node(self.compiled.bundle, script.node, state=state, radio=Radio(on=script.radio_on), start=script.clock)
        script.apply(self.node)
        self.node.run(script.until)
        self.records = self.node.sorted_records()
        self.sent = [record for record in self.records if isinstance(record, Sent)]

    def value(self, name: str) -> int:
        return self.compiled.state.read(self.node.dispatch.state(), declared_in(self.program, name))


def test_a_sleeping_sink_hears_who_strobes():
    sink = Played("duty_cycle", "sink.events")
    heard = [record for record in sink.records if isinstance(record, Received) and record.fate == "heard"]
    delivered = [record for record in sink.records if isinstance(record, Ran) and record.verdict == "DELIVER"]
    assert 1 <= len(heard) <= 3 and len(delivered) == 1 and delivered[0].port == 0x0866
    assert (sink.value("readings"), sink.value("unheard")) == (1, 0)
    assert sink.node.radio_state.on_time(0, 1_000_000) < 13_000      # 1.3 %


def test_a_sensor_strobes_until_it_is_heard():
    sensor = Played("duty_cycle", "sensor.events", "sensor.json")
    assert [record.result for record in sensor.sent] == 19 * ["NOACK"] + ["OK"] + 2 * ["NOACK"] + ["OK"]
    assert [record.frame[-3] for record in sensor.sent] == 20 * [1] + 3 * [2]
    assert (sensor.value("told"), sensor.value("unheard"), sensor.value("busy")) == (2, 0, 1)


def test_a_sensor_waits_until_the_sink_looks():
    """Once a copy was heard, the next reading's first one begins up to GUARD before a whole number of intervals later."""
    sensor = Played("duty_cycle", "sensor.events", "sensor.json")
    heard, next_one = (record.time for record in sensor.sent[19:21])
    assert 119_000 <= (next_one - heard) % 125_000 < 125_000


@pytest.mark.skipif(TSHARK is None, reason=ABSENT)
def test_tshark_reads_the_coordinators_beacons():
    slots = Played("tsch_slot", "tsch_slot.events")
    names = ["wpan.frame_type", "wpan.tsch.asn", "wpan.tsch.join_metric", "wpan.tsch.slotframe_size", "wpan.tsch.link_timeslot",
             "wpan.tsch.channel_offset", "wpan.tsch.timeslot.id", "wpan.tsch.hopping_sequence_id", "wpan.seq_no"]
    for n, found in enumerate(fields([record.frame for record in slots.sent], IEEE802154_NOFCS, names)):
        assert found == {"wpan.frame_type": [0], "wpan.tsch.asn": [11 * n], "wpan.tsch.join_metric": [0], "wpan.tsch.slotframe_size": [11],
                         "wpan.tsch.link_timeslot": [0, 4], "wpan.tsch.channel_offset": [0, 3], "wpan.tsch.timeslot.id": [0],
                         "wpan.tsch.hopping_sequence_id": [0], "wpan.seq_no": [n]}
    assert len(slots.sent) == 5
    starts = [record.time % 110_000 for record in slots.sent]
    assert all(2120 <= start < 2120 + 600 for start in starts)       # TxOffset, the run's instructions, the radio's turnaround


def test_the_shared_cell_is_listened_to_as_long_as_it_must():
    slots = Played("tsch_slot", "tsch_slot.events")
    assert (slots.value("frames"), slots.value("idle"), slots.value("beacons")) == (1, 4, 5)
    heard = [record.fate for record in slots.records if isinstance(record, Received)]
    assert heard == ["heard", "missed"]


def test_a_newcomer_asks_and_then_tells():
    node = Played("rpl_dio", "newcomer.events")
    codes = [(record.time, record.frame[record.frame.index(b"\x9b") + 1]) for record in node.sent]
    assert codes[0][1] == 0 and codes[0][0] < 10_500_000            # a DIS
    assert [code for _, code in codes[1:]] == 5 * [1]               # DIOs, each interval twice as long
    gaps = [b - a for (a, _), (b, _) in zip(codes[1:], codes[2:])]
    assert gaps == sorted(gaps) and (node.value("rank"), node.value("sent")) == (1024, 5)
