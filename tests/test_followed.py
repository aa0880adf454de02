"""Packets for parsers that count: what a variable makes of lengths is known as far as the condition that asks for it."""
from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from cli import lpnc
from hypothesis import HealthCheck, Phase, given, settings

from lpn.compiler.generate.base import RandomChoose
from lpn.compiler.generate.followed import Asked, Followed, FollowedRun
from lpn.compiler.generate.packets import Packets
from lpn.compiler.generate.solve import solve
from lpn.lang.reference import Reference
from lpn.lang.reference.modules import run_module
from lpn.lang.source import Source
from lpn.testing import NothingValid, Protocol, protocol

BEHIND = """
processor P(inout headers h, inout meta m) { apply { m.verdict = DELIVER; } }
protocol X version 1 { on radio.rx_done : Rx -> P; }
"""

# How much payload there is, asked for behind the parser: as it is, through a variable, and where a length in front of it has to agree.
TILES = """
header Tile { bit<8> kind; %s }
struct headers { Tile tile; }
error { Wrong }
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.tile); %s transition accept; } }
processor P(inout headers h, inout meta m) { apply { bit<16> n = sizeof(payload); %s } }
protocol X version 1 { on radio.rx_done : Rx -> P; }
"""
AGREES = "bit<8> length;", "verify((bit<16>) h.tile.length == sizeof(payload), error.Wrong);"


@pytest.mark.parametrize("field, check, asked, most", [
    ("", "", "m.verdict = sizeof(payload) == 61 ? DELIVER : DROP;", 61), ("", "", "if (n != 77) { m.verdict = DROP; } else { m.verdict = DELIVER; }", 77),
    ("", "", "m.verdict = 90 < sizeof(payload) ? DELIVER : DROP;", 91), (*AGREES, "m.verdict = n == 61 ? DELIVER : DROP;", 61)], ids=["==", "variable", "<", "length"])
def test_payloads_are_as_long_as_a_processor_asks(field: str, check: str, asked: str, most: int) -> None:
    """A length that chance gives to none of a hundred packets."""
    p = protocol(Source("tiles.lpn", TILES % (field, check, asked)))
    reference, seen = Reference(p.program), Counter()
    packets = Packets(reference, reference.state(None), True)
    for number in range(100):
        seen["fuzz"] += p.run(packets.packet(RandomChoose(number)), "reference").verdict == "DELIVER"

    @settings(max_examples=100, deadline=None, derandomize=True, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(p.valid())
    def valid(packet: bytes) -> None:
        result = p.run(packet, "reference")
        seen["valid"] += result.verdict == "DELIVER"
        assert len(packet) <= 1 + bool(field) + max(most, 40)

    if not field:                               # there the length in front is drawn first, and is any
        valid()
        assert seen["valid"] >= (5 if "<" in asked else 15), seen    # one of the three numbers beside an order
    assert seen["fuzz"] >= 8, seen


# A length bounds what follows, and is looked at twice.
LENGTH = """
error { Short, Wrong }
header Ie    { bit<8> length; }
header Six   { bit<8> code; bit<8> seq; }
header Count { bit<16> meta; bit<8> options; }
struct headers { Ie ie; Six six; Count count; }
parser Rx(packet pkt, out headers h) {
    bit<16> left;
    state start {
        pkt.extract(h.ie);
        left = (bit<16>) h.ie.length;
        verify(left >= 2, error.Short);
        pkt.extract(h.six);
        left = left - 2;
        transition select(h.six.code) { 4: count; }
    }
    state count { pkt.extract(h.count); verify(left == 3, error.Wrong); transition accept; }
}
""" + BEHIND

# Cells of four octets each, until the length of the element is used up; that may not be longer than the packet.
CELLS = """
error { Wrong }
header Ie   { bit<11> length; bit<5> group; }
header Six  { bit<8> code; bit<16> meta; }
header Cell { bit<16> slot; bit<16> channel; }
header End  { bit<16> end; }
struct headers { Ie ie; Six six; Cell[6] cells; End end; }
parser Rx(packet pkt, out headers h) {
    bit<16> left;
    state start {
        pkt.extract(h.ie);
        left = (bit<16>) h.ie.length;
        verify(left >= 3 && left <= sizeof(payload), error.Wrong);
        pkt.extract(h.six);
        left = left - 3;
        verify(h.six.code == 1 && left % 4 == 0, error.Wrong);
        transition cells;
    }
    state cells { transition select(left) { 0: end; default: cell; } }
    state cell  { pkt.extract(h.cells.next); left = left - sizeof(h.cells.last); transition cells; }
    state end   { transition select(sizeof(payload)) { 0: accept; 1: reject(error.Wrong); default: more; } }
    state more  { pkt.extract(h.end); verify(h.end.end == 0xf800, error.Wrong); transition accept; }
}
""" + BEHIND

# Elements in an element: each says how long it is, and all together are as long as the one around them says.
NESTED = """
error { Wrong }
header Outer { bit<16> length; }
header Inner { bit<8> id; bit<8> length; }
header Sync  { bit<40> asn; bit<8> metric; }
header Links { bit<8> count; }
header Link  { bit<16> slot; bit<8> options; }
header Walk  { bit<8> inner; bit<8> skipped; }
struct headers { Walk walk; Outer outer; Sync sync; Links links; Link[4] link; }
parser Rx(packet pkt, out headers h) {
    bit<16> left;
    bit<16> length;
    bit<8>  links;
    state start { h.walk.setValid(); pkt.extract(h.outer); left = h.outer.length; verify(left <= sizeof(payload), error.Wrong); transition nested; }
    state nested max 8 { transition select(left) { 0: accept; 1: reject(error.Wrong); default: form; } }
    state form {
        Inner one;
        pkt.extract(one);
        length = (bit<16>) one.length;
        verify(length + 2 <= left, error.Wrong);
        left = left - 2 - length;
        h.walk.inner = h.walk.inner + 1;
        transition select(one.id, length) { (1, 6): sync; (1, _): reject(error.Wrong); (2, 1..0xff): links; default: skip; }
    }
    state sync max 1  { pkt.extract(h.sync); transition nested; }
    state links max 1 { pkt.extract(h.links); verify(length == 1 + 3 * (bit<16>) h.links.count, error.Wrong); links = h.links.count; transition some; }
    state some        { transition select(links) { 0: nested; default: link; } }
    state link        { pkt.extract(h.link.next); links = links - 1; transition some; }
    state skip        { h.walk.skipped = h.walk.skipped + 1; pkt.advance(8 * length); transition nested; }
}
""" + BEHIND

# Options until the packet ends: what the parser asks the size of has what it finds there.
OPTIONS = """
header Option { bit<8> type; bit<8> length; varbit<128> data sized 8 * length; }
header Target { bit<8> type; bit<32> prefix; }
struct headers { Target[3] targets; Option[3] others; }
parser Rx(packet pkt, out headers h) {
    state start { transition select(sizeof(payload)) { 0: accept; default: option; } }
    state option { transition select(pkt.lookahead<bit<8>>()) { 5: target; 0: pad; default: other; } }
    state target { pkt.extract(h.targets.next); transition start; }
    state pad    { pkt.advance(8); transition start; }
    state other  { pkt.extract(h.others.next); transition start; }
}
""" + BEHIND


def drawn(p: Protocol, number: int = 150) -> list[bytes]:
    """Packets that are said to be valid; the reference takes each of them."""
    frames: list[bytes] = []

    @settings(max_examples=number, derandomize=True, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(p.valid())
    def draw(packet: bytes) -> None:
        assert p.reference.run(packet).verdict == "DELIVER"
        frames.append(packet)

    draw()
    return frames


def amounts(p: Protocol, frames: list[bytes], count) -> Counter[int]:
    """How often the packets have so many of something."""
    return Counter(count(p.found(frame)) for frame in frames)


def test_a_length_that_is_asked_twice_is_found() -> None:
    p = protocol(Source("length.lpn", LENGTH))
    frames = drawn(p)
    assert len(frames) == 150 and {(frame[0], frame[1]) for frame in frames} == {(5, 4)}


def test_a_list_has_no_one_and_several_cells() -> None:
    p = protocol(Source("cells.lpn", CELLS))
    frames = drawn(p)
    cells = amounts(p, frames, lambda found: sum(name.endswith(".slot") for name in found))
    assert cells[0] >= 20 and cells[1] >= 10 and sum(cells[n] for n in range(2, 7)) >= 10, cells
    assert amounts(p, frames, lambda found: "end.end" in found)[True] >= 20


def test_elements_in_an_element_fill_it() -> None:
    p = protocol(Source("nested.lpn", NESTED))
    frames = drawn(p)
    inner = amounts(p, frames, lambda found: found["walk.inner"])
    assert inner[0] >= 20 and inner[1] >= 10 and sum(inner[n] for n in range(2, 9)) >= 10, inner
    assert amounts(p, frames, lambda found: "sync.asn" in found)[True] >= 10
    links = amounts(p, frames, lambda found: sum(name.endswith(".slot") for name in found) if "links.count" in found else -1)
    assert links[0] >= 3 and sum(links[n] for n in range(1, 5)) >= 3, links


def test_options_reach_to_the_end() -> None:
    p = protocol(Source("options.lpn", OPTIONS))
    frames = drawn(p)
    targets = amounts(p, frames, lambda found: sum(name.endswith(".prefix") for name in found))
    others = amounts(p, frames, lambda found: sum(name.endswith(".data") for name in found))
    assert targets[0] >= 20 and targets[1] >= 10 and targets[2] + targets[3] >= 5 and others[1] >= 10, (targets, others)


@pytest.mark.parametrize("text", [LENGTH, CELLS, NESTED, OPTIONS], ids=["length", "cells", "nested", "options"])
def test_the_fuzzer_finds_them_too(text: str) -> None:
    p = protocol(Source("x.lpn", text))
    packets, choose = Packets(Reference(p.program), p.state(), True), RandomChoose(1)
    assert sum(p.accepts(packets.packet(choose)) for _ in range(100)) >= 50


def test_all_that_was_asked_holds_of_what_is_found() -> None:
    """The last condition alone would be met by 1."""
    p = protocol(Source("length.lpn", LENGTH))
    run = FollowedRun(p.program, p.reference.derived, bytes([9, 4, 0, 0, 0, 0]), {}, p.state())
    assert run_module(run, p.subject.parser).reason == "Wrong" and isinstance(run.refusing, Followed)
    found = solve(run, [*run.path, Asked(run.refusing, True)], lambda fitting: fitting[0])
    assert found is not None and [(origin.located.field.name, value) for origin, value in found.items()] == [("length", 5)]      # type: ignore[union-attr]
    assert solve(run, [*run.path, Asked(run.refusing, True), Asked(run.path[0].found, False)], lambda fitting: fitting[0]) is None


NEVER = LENGTH.replace("left == 3", "left * left == 3")


def test_what_refuses_all_packets_is_named(tmp_path: Path) -> None:
    p = protocol(Source("never.lpn", NEVER))
    with pytest.raises(NothingValid) as raised:
        drawn(p)
    text = str(raised.value)
    assert "protocol('never.lpn'): its parser takes none of 45 packets" in text, text
    assert "45 at never.lpn:17:41: Wrong: verify(left * left == 3, error.Wrong)" in text, text

    path = tmp_path / "never.lpn"
    path.write_text(NEVER)
    done = lpnc("fuzz", str(path), "--changes", "0", "--programs", "2", "--engine", "engine")
    warned = done.stdout[done.stdout.index("warning: "):].splitlines()
    assert "all 40 packets for radio.rx_done were dropped" in warned[0] and f" at {path}:17:41: Wrong: verify(left * left == 3, error.Wrong)" in warned[1]


def test_one_that_is_taken_is_enough() -> None:
    """What is refused later is Hypothesis's to judge: it was drawn among others."""
    p = protocol(Source("length.lpn", LENGTH))
    drawn(p, 5)
    assert p._judged.taken
