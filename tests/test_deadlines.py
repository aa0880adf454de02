"""Worst-case times of whole chains: no run on the emulated core exceeds its bound, and a deadline that may be missed is refused."""
from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from cli import lpnc
from hypothesis import given, settings, strategies as st

from lpn.compiler import deadlines
from lpn.compiler.build import compile_program
from lpn.compiler.bundle import Buffer
from lpn.compiler.deadlines import times
from lpn.compiler.fuzz.bounds import Bounds, Way
from lpn.compiler.fuzz.differential import Loaded, Variant, checked, compile_variant, load_case
from lpn.compiler.image import Kind
from lpn.compiler.judge import seal
from lpn.lang import tables as control
from lpn.lang.check import check
from lpn.lang.hooks import LONGEST_FRAME
from lpn.lang.loader import load
from lpn.runtime import capture
from lpn.runtime.engines import EngineUnavailable, get_engine
from lpn.runtime.variants import SMALLEST
from lpn.verifier.cost import CostError, TableSize, load as load_costs

ROOT = Path(__file__).parents[1]
FRAMES = [frame.data for frame in capture.read(ROOT / "examples/udp/captures/riot_udp.pcap") if frame.data]


def objects(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(autouse=True)
def needs_the_core():
    try:
        get_engine("thumb2")
    except EngineUnavailable as e:
        pytest.skip(str(e))


LONGEST = 0x40001FFFFFFFFFFF, 0x107FFF          #: a quotient whose digits are corrected most often (runtime/m3/operands.py)


@cache
def proved(path: Path, fuse: bool):
    compiled = compile_program(check(load(path)), "lpn", fuse, 2)
    return compiled, *seal(compiled)


@cache
def timed(path: Path, fuse: bool, way: str):
    _, units, found = proved(path, fuse)
    return times(units, found, way, tight=not fuse)


class Bounded:
    """A program on the core, each run compared with its bound, that of its chain followed as a whole. `way`: translated or interpreted."""

    def __init__(self, path: Path, fuse: bool, way: str = "thumb2") -> None:
        compiled, _, _ = proved(path, fuse)
        self.times = timed(path, fuse, way)
        assert not self.times.unknown
        self.cost = next(each.cost for each in self.times.hooks if each.hook.event == "radio.rx_done")
        self.program = get_engine(way).load(compiled.bundle)
        self.worst = 0

    def run(self, frame: bytes, place: int = 0) -> None:
        """`place`: octets from a word's boundary to where the packet begins."""
        self.program.place_packet(place)
        result = self.program.run(frame[:LONGEST_FRAME])
        assert result.fault is None
        assert self.cost.fewest <= result.cycles
        assert result.flash_cycles <= self.cost.most
        self.worst = max(self.worst, result.flash_cycles)


@pytest.mark.parametrize("fuse", [False, True], ids=["chain", "fused"])
@pytest.mark.parametrize("name", ["examples/udp/udp.lpn", "examples/forwarding/forwarding.lpn", "tests/bench/udp_tx.lpn"])
def test_no_frame_takes_longer_than_the_bound(name, fuse):
    bounded = Bounded(ROOT / name, fuse)
    for n, frame in enumerate(FRAMES[::3]):
        bounded.run(frame, n % 4)


@pytest.fixture(scope="module")
def udp():
    try:
        get_engine("thumb2")
    except EngineUnavailable as e:
        pytest.skip(str(e))
    return [Bounded(ROOT / "examples/udp/udp.lpn", False), Bounded(ROOT / "examples/duty_cycle/duty_cycle.lpn", False, "m3")]


@given(st.data())
@settings(max_examples=60)
def test_no_packet_takes_longer_than_the_bound(udp, data):
    """Recorded frames with octets changed, cut and lengthened, wherever they begin, translated and interpreted, certified as they are."""
    frame = bytearray(data.draw(st.sampled_from(FRAMES)))
    for at, value in data.draw(st.lists(st.tuples(st.integers(0, 127), st.integers(0, 255)), max_size=4)):
        if at < len(frame):
            frame[at] = value
    given_frame = bytes(frame[:data.draw(st.integers(0, len(frame)))]) + data.draw(st.sampled_from([b"", bytes(64), b"\xff" * 127]))
    place = data.draw(st.integers(0, 3))
    for each in udp:
        each.run(given_frame, place)


@pytest.mark.parametrize("way", ["thumb2", "m3"])
@pytest.mark.parametrize("name", ["udp", "coap_sensor"])
def test_a_run_may_end_with_the_first_container(name, way):
    """A frame that is too short for the parser: the others do not run, and no run is said to take as long as all."""
    bounded = Bounded(ROOT / f"examples/{name}/{name}.lpn", False, way)
    for size in range(4):
        bounded.run(FRAMES[0][:size])


@pytest.mark.parametrize("way", ["thumb2", "m3"])
def test_every_container_of_a_chain_counts(way):
    """What the engine does around each of three, which take little themselves; the slowest run that a search found."""
    Bounded(ROOT / "examples/duty/duty.lpn", False, way).run(bytes.fromhex("6188367d190000905701"))


def test_the_interpreter_s_bound_is_that_of_its_certified_containers():
    """Their accesses are not checked: the bound without certificates is above."""
    _, units, found = proved(ROOT / "examples/udp/udp.lpn", False)
    certified = times(units, found, "m3").hooks[0].cost.most
    assert all(unit.certificate for unit in units.items)
    bare = [(replace(unit, certificate=b""), report, analysis) for unit, report, analysis in found]
    assert certified < times(units, bare, "m3").hooks[0].cost.most
    assert all("certified containers only" in str(why) for why in times(units, bare, SMALLEST).unknown.values()) and times(units, bare, SMALLEST).unknown


def test_the_smallest_interpreter_has_a_bound_of_its_own():
    path = ROOT / "examples/udp/udp.lpn"
    [usual], [smallest] = (objects(lpnc("verify", path, "--on", way, "--json").stdout)[0]["hooks"] for way in ("m3", SMALLEST))
    assert usual["wcet_cycles"] < smallest["wcet_cycles"]


def test_a_radio_s_frames_have_at_most_127_octets():
    """What depends on the packet's length takes as long as the event's longest packet: a frame, a buffer's entry, or any packet."""
    _, units, found = proved(ROOT / "examples/udp/udp.lpn", False)
    most = []
    for event, selector, size in ("radio.rx_done", (), 0), ("buffer.complete", (0,), 500), ("buffer.complete", (0,), 1280), ("net.rx", (), 0):
        hooks = [replace(units.bundle.hooks[0], event=event, selector=selector)]
        bundle = replace(units.bundle, hooks=hooks, buffers=[Buffer("b", size, 1, (16,))])
        most.append(times(replace(units, bundle=bundle), found).hooks[0].cost.most)
    assert most == sorted(set(most)) and most[-1] > 2 * most[0]


PROGRAM = """
header H {{ bit<8> n; bit<8> sum; }}
struct headers {{ H h; }}
parser P(packet pkt, out headers h) {{ state start {{ pkt.extract(h.h); transition accept; }} }}
processor Q(inout headers h, inout meta m) {{
    register<bit<8>>[200] seen;
    apply {{
        for (i in 0..200) {{ h.h.sum = h.h.sum + seen[i]; }}
        m.verdict = DELIVER;
    }}
}}
protocol N {{ on radio.rx_done : P -> Q within {within}; }}
"""


def test_a_deadline_that_may_be_missed_is_refused(tmp_path):
    path = tmp_path / "late.lpn"
    path.write_text(PROGRAM.format(within="30 us"))
    result = lpnc("verify", path)
    assert result.exit_code == 1
    assert "rule 36 (deadline): radio.rx_done: takes up to " in result.output and "its deadline is 30 us" in result.output
    assert "for (i in 0..200)" in result.output and "1 deadline not proved" in result.output
    rows = objects(lpnc("verify", path, "--json").stdout)
    assert [row["hooks"][0]["met"] for row in rows] == [False, False]
    assert all(row["accepted"] and row["wcet_cycles"] > 0 for row in rows)
    built = lpnc("build", path, "-o", tmp_path / "out")
    assert built.exit_code == 1 and "nothing is written" in built.output
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())


@pytest.mark.parametrize("promised", ["jitter 500 us within 20 us", "jitter 20 us within 1 ms"])
def test_what_is_said_to_do_would_do(tmp_path, promised):
    """The help for a deadline names one that is met, the help for a jitter a jitter."""
    path = tmp_path / "late.lpn"
    text = """
        register<bit<8>> seen;
        register<bit<8>>[200] all;
        timing T {{ every 10 ms {promised} {{ if (seen == 7) {{ for (i in 0..200) {{ seen = seen + all[i]; }} }} }} }}
        protocol E version 1 {{ timing : T; }}"""
    path.write_text(text.format(promised=promised))
    result = lpnc("verify", path)
    assert result.exit_code == 1
    enough = re.search("allow more time: (.*) would do", result.output)[1]
    word = enough.split(" ")[0]
    assert word == ("within" if "20 us" in promised.split("within")[1] else "jitter")
    path.write_text(text.format(promised=re.sub(rf"{word} \d+ \w+", enough, promised)))
    assert lpnc("verify", path).exit_code == 0


@pytest.mark.parametrize("head, inside, told", [
    ("every 2 ms within 1 ms", "{}", r"run them less often: (every \d+ us within \d+ us) would do"),
    ("every 60 ms jitter 40 ms within 1 ms", "{}", r"run them less often: (every \d+ us jitter 40000 us within \d+ us) would do"),
    ("every 3 ms jitter 20 us", "{}", r"run them less often: (every \d+ us jitter \d+ us) would do"),
    ("every 2 ms within 1 ms", "{{ after 1 ms {{ after 1 ms {} }} }}", r"run them less often: (every \d+ us within \d+ us) would do"),
    ("every 9 s jitter 20 us within 1 ms", "{}", r"allow more time: (jitter \d+ us within \d+ us) would do"),
    ("on radio.tx_done within 1 ms", "{}", r"allow more time: (within \d+ us) would do"),
    ("slot 0 of 11 within 1 ms", "{}", "make these lines cheaper: a slot is over after 10,000 us"),
    ("slot 0 of 11 within 1 ms", "{{ after 1 ms {} }}", "make these lines cheaper: a slot is over after 10,000 us"),
])
def test_what_is_said_to_do_can_be_written(tmp_path, head, inside, told):
    """A period, a slot and a deadline bound each other."""
    path = tmp_path / "slow.lpn"
    work = "{ if (r[0] == 7) { for (i in 0..32) { if (radio.cca() == BUSY) { r[i & 7] = 1; } } } }"
    text = "register<bit<8>>[8] r;\ntiming T {{ {} {} }}\nprotocol X version 1 {{ timing : T; }}"
    path.write_text(text.format(head, inside.format(work)))
    result = lpnc("verify", path)
    assert result.exit_code == 1
    found = re.search(told, result.output)
    assert found, result.output
    if found.groups():
        begins = "on radio.tx_done " if head.startswith("on") else "" if found[1].startswith("every") else "every 9 s "
        path.write_text(text.format(begins + found[1], inside.format(work)))
        assert lpnc("verify", path).exit_code == 0


def test_a_deadline_that_is_met(tmp_path):
    path = tmp_path / "fine.lpn"
    path.write_text(PROGRAM.format(within="4 ms"))
    result = lpnc("verify", path, "--path")
    assert result.exit_code == 0
    assert "longest path" in result.output and "4,000 us" in result.output
    assert lpnc("build", path, "-o", tmp_path / "out").exit_code == 0
    assert all(row["hooks"][0]["met"] for row in objects(lpnc("verify", path, "--json").stdout))


def test_hooks_of_one_event_are_told_apart(tmp_path):
    path = tmp_path / "two.lpn"
    path.write_text("""
        processor P(inout meta m) { apply { m.verdict = TRANSMIT; } }
        processor Q(inout meta m) { buffer<64>[2] parts timeout 1 s; apply { m.verdict = parts.put(8w1, 0, sizeof(payload)) == COMPLETE ? CONSUMED : DROP; } }
        processor R(inout meta m) { apply { m.verdict = DELIVER; } }
        protocol E version 1 {
            on net.tx(41)       : P within 1 us;
            on net.tx(41, 7)    : Q;
            on Q.parts.complete : R;
        }""")
    result = lpnc("verify", path)
    assert [line.split("  ")[0] for line in result.output.splitlines() if re.match(r"(net|buffer)\.", line)] \
        == ["net.tx.41", "net.tx.41.7", "buffer.complete.0"]
    assert "rule 36 (deadline): net.tx.41: takes up to " in result.output
    hooks = [row["hooks"][0] for row in objects(lpnc("verify", path, "--json").stdout)]
    assert [(hook["event"], hook["selector"]) for hook in hooks] == [("net.tx", [41]), ("net.tx", [41, 7]), ("buffer.complete", [0])]


WIDE = """
header H { bit<64> a; bit<64> b; }
struct headers { H h; }
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
processor P(inout headers h, inout meta m) { apply { h.h.a = h.h.a / h.h.b; m.verdict = DELIVER; } }
protocol E version 1 { on radio.rx_done : Rx -> P within 1 ms; }
"""


@pytest.mark.parametrize("way", ["thumb2", "m3"])
def test_divisions_of_64_bits_have_a_time(tmp_path, way):
    """A function of the engine does them; the operands are those that take longest."""
    path = tmp_path / "wide.lpn"
    path.write_text(WIDE)
    bounded = Bounded(path, False, way)
    for a, b in product((0, 5, LONGEST[0], (1 << 64) - 1), (0, 1, LONGEST[1], 1 << 63)):
        bounded.run(a.to_bytes(8, "big") + b.to_bytes(8, "big"))
    assert bounded.cost.most < 1.3 * bounded.worst
    assert [row["hooks"][0]["met"] for row in objects(lpnc("verify", path, "--json").stdout)] == [True, True]


def test_a_deadline_of_which_nobody_knows_is_refused(tmp_path, monkeypatch):
    """Rule 36 asks for each to be proved: why a module's time is not known is said, and nothing is written."""
    path = tmp_path / "wide.lpn"
    path.write_text(WIDE)
    told = "rule 36 (deadline): radio.rx_done: its deadline of 1,000 us is not proved: the time of P is not known (the smallest interpreter runs certified "
    result = lpnc("verify", path, "--on", SMALLEST)
    assert result.exit_code == 1 and told in result.output.replace("\n", " ") and "1 deadline not proved" in result.output
    assert [row["hooks"][0]["met"] for row in objects(lpnc("verify", path, "--on", SMALLEST, "--json").stdout)] == [False, False]

    def nobody(*_):
        raise CostError("nobody measured it")
    monkeypatch.setattr(deadlines, "costs_of", nobody)
    built = lpnc("build", path, "-o", tmp_path / "out")
    assert built.exit_code == 1 and "the time of Rx is not known (nobody measured it) and P is not known" in built.stderr.replace("\n", " ")
    assert "1 deadline not proved: nothing is written" in built.stderr and not (tmp_path / "out").exists()
    path.write_text(WIDE.replace(" within 1 ms", ""))
    assert lpnc("build", path, "-o", tmp_path / "out").exit_code == 0


@pytest.mark.parametrize("parts", [("SENT",), ("DROPPED",), ("CUT",), ("SENT", "SENT"), ("CUT", "CUT"), ("EMPTY", "CUT", "SENT")], ids="-".join)
@pytest.mark.parametrize("last", [Kind.PROCESSOR, Kind.DEPARSER], ids=["processor", "deparser"])
def test_a_chain_takes_what_its_ends_take(parts, last):
    """A verdict that the chain goes on with, a packet cut off, a packet rebuilt: each takes the engine's time."""
    from lpn.runtime.m3 import measure
    table, sources = load_costs("thumb2"), [getattr(measure, part) for part in parts]
    took = measure.run(*sources, record=0, last=last).most
    said = table.chain_of(0, (), len(parts), False, last == Kind.DEPARSER, parts.count("CUT")).most + len(parts) * table.module.most
    undone = table.deparses if last == Kind.DEPARSER and parts[-1] == "DROPPED" else 0      # nobody rebuilds what is dropped
    assert took <= said <= took + undone + 40


ENDS = """
header H { bit<8> n; }
struct headers { H h; }
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
processor P(inout headers h, inout meta m) {
    apply {
        payload.truncate((bit<16>) h.h.n);
        m.verdict = TRANSMIT;
    }
}
deparser Tx(packet pkt, in headers h) { pkt.emit(h.h); }
protocol E version 1 { on radio.rx_done : Rx -> P -> Tx within 1 ms; }
"""


@pytest.mark.parametrize("way", ["thumb2", "m3"])
@pytest.mark.parametrize("fuse", [False, True], ids=["chain", "fused"])
def test_a_packet_that_is_cut_off_and_sent_is_within_its_bound(tmp_path, fuse, way):
    path = tmp_path / "ends.lpn"
    path.write_text(ENDS)
    bounded = Bounded(path, fuse, way)
    for n in range(12):
        bounded.run(bytes([n]) + bytes(10))
    assert bounded.cost.most <= 1.2 * bounded.worst


@pytest.mark.parametrize("tight", [False, True], ids=["sums", "whole"])
@pytest.mark.parametrize("certified", [False, True], ids=["checked", "certified"])
@pytest.mark.parametrize("name,engine,fuse", [("bound-of-a-chain-half-certified", "m3", False), ("bound-of-a-packet-sent", "thumb2", True)])
def test_runs_of_random_programs_that_were_outside_their_bounds(name, engine, fuse, certified, tight):
    case = load_case(ROOT / f"tests/regressions/{name}.lpn")
    program = checked(case.program.text)
    compiled, tally = compile_variant(program, Variant(engine, fuse)), Counter()
    bounds, loaded = Bounds(compiled, engine, Way(certified, tight)), Loaded(compiled, engine, control.from_json(case.program.tables, program))
    assert [bounds.broken(meta.get("hook"), frame, loaded.run(frame, meta), tally) for frame, meta in case.packets] == [None] * len(case.packets)
    assert tally["bounded"] > 2


PIECES = """
header Piece { bit<8> key; bit<8> offset; }
header Whole { bit<8> kind; bit<8> n; }
struct headers { Piece piece; Whole whole; }
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.piece); transition accept; } }
parser Again(packet pkt, out headers h) { state start { pkt.extract(h.whole); transition accept; } }
processor Put(inout headers h, inout meta m) {
    buffer<64>[2] short timeout 5 s;
    buffer<128>[2] long timeout 5 s;
    apply {
        if (h.piece.key[0:0] == 0) { short.put(h.piece.key, (bit<16>) h.piece.offset, 16); } else { long.put(h.piece.key, (bit<16>) h.piece.offset, 24); }
    }
}
processor Count(inout headers h, inout meta m) {
    register<bit<16>> sum;
    apply { for (i in 0..60) { if (payload[i] == h.whole.kind) { sum = sum + 3; } } m.verdict = TRANSMIT; }
}
deparser Tx(packet pkt, in headers h) { pkt.emit(h.whole); }
protocol Pieces version 1 { on radio.rx_done : Rx -> Put; on Put.short.complete : Again -> Tx; on Put.long.complete : Again -> Count -> Tx; }
"""


@pytest.mark.parametrize("fuse", [False, True], ids=["chain", "fused"])
@pytest.mark.parametrize("engine", ["thumb2", "m3"])
def test_what_a_buffer_puts_together_is_compared_with_its_own_chain(engine, fuse):
    program = checked(PIECES)
    compiled, tally = compile_variant(program, Variant(engine, fuse)), Counter()
    bounds, loaded = Bounds(compiled, engine, Way()), Loaded(compiled, engine, control.from_json({}, program))
    ran = [(frame, loaded.run(frame, {})) for key in range(4) for frame in (bytes([key, 8 * at]) + bytes([at]) * 8 for at in range(2 + key % 2))]
    assert [[one.buffer for one in got.completed] for _, got in ran if got.completed] == [[0], [1], [0], [1]]
    assert [bounds.broken(None, frame, got, tally) for frame, got in ran] == [None] * len(ran) and tally["bounded behind a buffer"] == 4
    for number in range(2):                     # each is asked: one that took longer than is said would be noticed
        timed = bounds.of_buffer(number)
        proved, timed.cost = timed.cost, replace(timed.cost, most=timed.cost.fewest)
        assert any(f"buffer.complete.{number} takes" in (bounds.broken(None, frame, got, tally) or "") for frame, got in ran)
        timed.cost = proved
        assert proved.most <= 2 * max(one.flash_cycles for _, got in ran for one in got.completed if one.buffer == number)


def test_the_table_is_what_is_measured():
    """The figures hold for the engine as it is: measured anew, none is above the table."""
    from lpn.runtime.m3 import measure
    table = load_costs("thumb2")
    one = measure.most(measure.EMPTY, record=0)
    assert one <= table.chain.most + table.module.most
    assert measure.most(measure.EMPTY, measure.EMPTY, record=0) - one <= table.module.most
    able = measure.most(measure.IDLE, record=0)
    assert able <= table.chain_of(0, []).most + table.module.most and measure.most(measure.IDLE, measure.IDLE, record=0) - able <= table.module.most
    for record, output in product((7, 64, 300), (0, 64, 256)):
        assert measure.most(measure.EMPTY, record=record, output=output) <= table.chain_of(record, [output], calls=False).most + table.module.most
    for shape in ((("lpm", 4), ("lpm", 4)), (("range", 4), ("range", 4)), (("exact", 4), ("exact", 4)), (("exact", 4), ("exact", 2), ("ternary", 1)),
                  (("lpm", 3), ("ternary", 3)), (("exact", 3),), (("range", 7), ("exact", 3))):
        size = TableSize(11, sum(octets for _, octets in shape), len(shape), kinds=shape, data=0, room=0)
        assert measure.lookup(shape, 11) <= table.helper("lookup", 0, [size]).most
    large = TableSize(3, 4, 1, kinds=(("lpm", 4),))
    assert measure.lookup((("lpm", 4),), 3, 256, 256, hit=True) <= table.helper("lookup", 0, [large]).most


def test_what_is_copied_of_an_action_takes_its_time():
    """256 octets of action data take longer to be copied than to be zeroed: a bound must have them."""
    table = load_costs("thumb2")
    cost = [table.helper("lookup", 0, [TableSize(4, 4, 1, kinds=(("lpm", 4),), data=data, room=256)]).most for data in (0, 4, 256)]
    assert cost[0] < cost[1] < cost[2] - 900


LONG = """
header H {{ bit<8> n; bit<8> sum; }}
struct headers {{ H h; }}
parser P(packet pkt, out headers h) {{ state start {{ pkt.extract(h.h); transition accept; }} }}
processor Q(inout headers h, inout meta m) {{
    register<bit<8>>[200] seen;
    apply {{ if (h.h.n == 1) {{ for (i in 0..200) {{ h.h.sum = h.h.sum + seen[i]; }} }} }}
}}
processor R(inout headers h, inout meta m) {{
    register<bit<8>>[200] seen;
    apply {{ if (h.h.n == 2) {{ for (i in 0..200) {{ h.h.sum = h.h.sum + seen[i]; }} }} m.verdict = DELIVER; }}
}}
protocol N {{ on radio.rx_done : P -> Q -> R within {within}; }}
"""


def test_a_deadline_that_only_an_impossible_way_misses_is_met(tmp_path):
    """Two modules are long, each for another value of one field."""
    path = tmp_path / "long.lpn"
    path.write_text(LONG.format(within="4 ms"))
    def cycles(*more):
        return objects(lpnc("verify", path, "--json", *more).stdout)[0]["hooks"][0]["wcet_cycles"]
    alone, followed = cycles(), cycles("--tight")
    assert followed < 0.7 * alone
    path.write_text(LONG.format(within=f"{int((followed + 0.1 * alone) / 72)} us"))
    result = lpnc("verify", path)
    assert result.exit_code == 0 and f"{followed:,} cycles" in result.output
    assert lpnc("build", path, "-o", tmp_path / "out").exit_code == 0
    path.write_text(LONG.format(within=f"{int(followed / 72) - 1} us"))
    assert lpnc("verify", path).exit_code == 1


MANY_HEADERS = """
header Ip {
    bit<4> version;
    bit<20> flow;
    bit<8> hops;
    bit<128> src;
    bit<128> dst;
}
header Icmp(Ip ip) {
    bit<8> type;
    bit<8> code;
    bit<16> checksum;
}
header Rs { bit<32> _; }
header Ra { bit<1> managed; bit<1> other; bit<6> _; bit<16> lifetime; bit<32> reachable; bit<32> retransmit; }
header Ns { bit<32> _; bit<128> target; where target != 0; }
header Na { bit<1> router; bit<1> solicited; bit<1> override; bit<29> _; bit<128> target; }
header LinkOption { bit<8> length; bit<16> short when length == 1; bit<32> pad when length == 1; bit<64> ext when length == 2; bit<48> pad2; }
header Aro { bit<16> lifetime; bit<64> eui; }
header Pio { bit<8> length; bit<8> bits; bit<1> on_link; bit<1> auto; bit<6> _; bit<32> valid; bit<32> preferred; bit<32> _; bit<128> prefix; }
header Cid { bit<8> type; bit<8> length; bit<8> bits; bit<3> _; bit<1> compress; bit<4> id; bit<16> _; bit<16> lifetime; varbit<128> prefix sized 64 * length - 1; where bits <= 64 || length == 3; }
header Abro { bit<128> border; }
struct headers { Ip ip; Icmp(ip) icmp; Rs rs; Ra ra; Ns ns; Na na; LinkOption source; Aro aro; Pio pio; Cid[3] cids; Abro abro; }
deparser Tx(packet pkt, in headers h) {
    pkt.emit(h.ip); pkt.emit(h.icmp); pkt.emit(h.rs); pkt.emit(h.ra); pkt.emit(h.ns); pkt.emit(h.na);
    pkt.emit(h.source); pkt.emit(h.aro); pkt.emit(h.pio); pkt.emit(h.cids); pkt.emit(h.abro);
}
"""


def test_an_instruction_that_fills_many_places_is_followed(tmp_path):
    """What one instruction of a deparser loads is in more than a dozen places at a time, of those that the walk remembers."""
    (tmp_path / "x.lpn").write_text(MANY_HEADERS)
    result = lpnc("verify", "--tight", tmp_path / "x.lpn")
    assert result.exit_code == 0, result.output
