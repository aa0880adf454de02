"""The search for the slowest run: it finds what it must, no run exceeds its bound, and tables are full."""
from __future__ import annotations

import json
import random

import pytest
from cli import lpnc
from hypothesis import given, strategies as st

from lpn.compiler.build import compile_program
from lpn.compiler.bundle import KeyField, Table
from lpn.compiler.judge import seal
from lpn.lang.check import check
from lpn.lang.loader import load
from lpn.lang.source import Source
from lpn.runtime.engines import EngineUnavailable, Result, get_engine
from lpn.verifier.wcet import Step

try:
    get_engine("thumb2")
except EngineUnavailable as e:
    pytest.skip(str(e), allow_module_level=True)

from lpn.compiler.slowest.changes import Shapes, balanced, changed, words   # noqa: E402
from lpn.compiler.slowest.path import Row, beside, compare   # noqa: E402
from lpn.compiler.slowest.search import Input, Slowest, Subject, from_found, hook_name, of_alike, search, solved, subjects   # noqa: E402
from lpn.compiler.slowest.subject import Compared, full, near_misses   # noqa: E402

#: Few instructions around a loop that the packet's first octet turns on: the search must find the octet.
LOOP = """
header H { bit<8> n; bit<8> sum; }
struct headers { H h; }
parser P(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
processor Q(inout headers h, inout meta m) {
    register<bit<8>>[200] seen;
    apply {
        if (h.h.n[7:4] == 11) { for (i in 0..200) { h.h.sum = h.h.sum + seen[i]; } }
        m.verdict = DELIVER;
    }
}
protocol N { on radio.rx_done : P -> Q; }
"""


def only(text: str) -> Subject:
    [subject] = subjects(compile_program(check(load(Source("loop.lpn", text)))), random.Random(0))
    return subject


def test_the_slow_way_is_found_and_the_bound_is_near():
    subject, rng = only(LOOP), random.Random(1)
    found = search(subject, [Input(bytes(2))], rng, runs=150)
    assert not found.exceeded and found.input.frame[0] >> 4 == 11
    assert 1 <= found.ratio < 1.3 and found.runs == 150


def test_a_bound_that_is_exceeded_ends_the_search():
    subject = only(LOOP)
    subject.bound = 10
    found = search(subject, [Input(bytes(2))], random.Random(1), runs=50)
    assert found.exceeded and found.runs == 1 and found.ratio < 1


def test_what_a_search_begins_with_runs_on_the_core(monkeypatch):
    """Also where the instructions of this machine say that another one is slower, and no more than that one is kept."""
    from lpn.compiler.slowest import search as slowest
    monkeypatch.setattr(slowest, "KEPT", 1)
    subject = only(LOOP)
    estimate = subject.estimate
    subject.estimate = lambda given: (-(cost := estimate(given))[0], *cost[1:])
    fast, slow = Input(bytes(2)), Input(b"\xb0\x00")
    assert search(subject, [fast, slow], random.Random(1), runs=3).cycles >= subject.run(slow) > subject.run(fast)


def test_inputs_are_kept_as_they_are():
    given = Input(b"\x01\x02", {"lqi": 7}, b"\xff")
    assert Input.from_json(json.loads(json.dumps(given.as_json()))) == given
    rng = random.Random(3)
    neighbours = {changed(given, [given], rng, 0).frame for _ in range(50)}
    assert len(neighbours) > 10


def test_what_a_run_compares_is_made_equal():
    """Octets 2 and 3, read in network order, are compared with a constant: no search by chance finds it in 60 runs."""
    text = LOOP.replace("bit<8> n;", "bit<16> n;").replace("h.h.n[7:4] == 11", "h.h.n == 0xb5c7")
    subject, rng = only(text), random.Random(1)
    found = search(subject, [Input(bytes(range(7, 10)))], rng, runs=60)
    assert found.input.frame[:2] == b"\xb5\xc7" and 1 <= found.ratio < 1.3
    made = [each.frame for each in solved(Input(b"\x01\x12\x34\x05"), Compared(0x3412, 0x1234, False, True))]
    assert b"\x01\x34\x12\x05" in made


SUMMED = """
header H { bit<8> a; bit<8> b; bit<16> checksum = ~inet_sum(a ++ b, payload) deferred; }
struct headers { H h; }
parser P(packet pkt, out headers h) { state start { pkt.extract(h.h); verify(h.h.holds(), error.Wrong); verify(h.h.a == 0x5c, error.Other); transition accept; } }
processor Q(inout headers h, inout meta m) {
    register<bit<8>>[200] seen;
    apply { for (i in 0..200) { h.h.b = h.h.b + seen[i]; } m.verdict = DELIVER; }
}
error { Wrong, Other }
protocol N { on radio.rx_done : P -> Q; }
"""


def test_a_checksum_is_made_right():
    """And stays so when an octet is made what it is compared with."""
    found = search(only(SUMMED), [Input(bytes(range(3, 21)))], random.Random(1), runs=12_000)
    assert found.input.frame[0] == 0x5C and found.ratio < 1.3


@given(st.binary(min_size=12, max_size=40), st.data())
def test_a_change_that_is_balanced_leaves_the_sum(frame, data):
    place, rng = data.draw(st.integers(0, len(frame) - 2)), data.draw(st.randoms(use_true_random=False))
    at = data.draw(st.integers(0, len(frame) - 1).filter(lambda n: n not in (place, place + 1)))
    made, where = balanced(frame, frame[:at] + bytes([data.draw(st.integers(0, 255))]) + frame[at + 1:], place, rng)
    assert where in (None, place)
    assert where is None or (words(made, place) - words(frame, place)) % 0xFFFF == 0


def test_near_misses_match_nothing_and_fill_the_table():
    for kind, size in (("lpm", 300), ("ternary", 40), ("range", 40), ("exact", 40)):
        table = Table("t", 0, (KeyField(16, "exact"), KeyField(32, kind)), 4, size)
        entries = near_misses(table, bytes.fromhex("0102aabbcc07"))
        assert len({entry.match for entry in entries}) == size
        for first, second in (entry.match for entry in entries):
            assert first == (0x0102,)
            value = 0xAABBCC07
            assert not {"exact": lambda v: v == value, "lpm": lambda v, n: value >> 32 - n == v >> 32 - n,
                        "ternary": lambda v, mask: value & mask == v, "range": lambda low, high: low <= value <= high}[kind](*second)


def test_a_last_field_of_one_bit_is_missed_by_all_entries():
    """It has one value that misses: fields before it match in other ways."""
    key = (KeyField(32, "ternary"), KeyField(16, "range"), KeyField(1, "ternary"))
    entries = near_misses(Table("t", 0, key, 4, 40), bytes.fromhex("aabbcc07000501"))
    assert len({entry.match for entry in entries}) == 40
    for (value, mask), (low, high), last in (entry.match for entry in entries):
        assert 0xAABBCC07 & mask == value and low <= 5 <= high and last == (0, 1)


def test_the_last_entry_may_be_a_hit():
    table = Table("t", 0, (KeyField(16, "exact"), KeyField(32, "lpm")), 4, 40)
    entries = near_misses(table, bytes.fromhex("0102aabbcc07"), hit=True)
    assert len(entries) == 40 and entries[-1].match == ((0x0102,), (0xAABBCC00, 24))        # shorter than all others: it is looked at last
    assert min(length for _, (_, length) in (entry.match for entry in entries[:-1])) > 24
    assert len({entry.match for entry in entries}) == 40


def test_constant_entries_need_no_room_for_others():
    """And a lookup's bound counts them alone."""
    constant = " ".join(f"{n} : to({n});" for n in range(30))           # too many for the container to compare them itself
    text = LOOP.replace("    apply {", f"""
    action to(bit<16> port) {{ m.port = port; }}
    table fixed {{ key = {{ h.h.n : ternary; }} actions = {{ to; }} const entries = {{ {constant} }} }}
    table open  {{ key = {{ h.h.n : ternary; }} actions = {{ to; }} entries = {{ 9 : to(1); }} }}
    apply {{
        fixed.apply();
        open.apply();""", 1)
    tables = compile_program(check(load(Source("tables.lpn", text)))).bundle.tables
    assert {table.name: table.size for table in tables} == {"fixed": 30, "open": 64}


@pytest.mark.parametrize("way", ["thumb2", "m3"])
def test_keys_that_are_looked_up_are_known(way):
    """Else no table is filled with what they nearly match."""
    text = LOOP.replace("    apply {", """
    action to(bit<16> port) { m.port = port; }
    table open { key = { h.h.n : ternary; } actions = { to; } entries = { 9 : to(1); } }
    apply {
        open.apply();""", 1)
    [subject] = subjects(compile_program(check(load(Source("tables.lpn", text)))), random.Random(0), way)
    given = Input(bytes((7, 1)))
    before = subject.run(given)
    subject.miss(given, False)
    assert subject.keys == {0: b"\7"} and subject.run(given) > before + 300


def test_tables_are_filled():
    key = (KeyField(16, "exact"), KeyField(32, "lpm"), KeyField(8, "ternary"), KeyField(16, "range"))
    entries = full(Table("t", 0, key, 4, 40), random.Random(1))
    assert len({entry.match for entry in entries}) == 40
    assert Slowest("x", 10).ratio == float("inf")


CHAINED = """
header H { bit<8> next; bit<8> size; varbit<64> data sized (8 * (bit<16>) size); }
struct headers { H[4] h; }
parser P(packet pkt, out headers h) {
    state start max 4 { pkt.extract(h.h.next); transition select(h.h.last.next) { 0x5c: start; default: accept; } }
}
processor Q(inout headers h, inout meta m) {
    register<bit<8>>[100] seen;
    apply { if (h.h[3].isValid()) { for (i in 0..100) { h.h[3].next = h.h[3].next + seen[i]; } } m.verdict = DELIVER; }
}
protocol N { on radio.rx_done : P -> Q; }
"""


def test_a_header_is_put_behind_itself():
    """Four are found where one was, each with its length."""
    subject = only(CHAINED)
    shapes = Shapes(subject.compiled.program, subject.parser)
    assert shapes.cuts(bytes.fromhex("5c02aaaa5c010700007777")) == [0, 4, 7, 9]
    found = search(subject, [Input(bytes.fromhex("5c02aaaa0000"))], random.Random(1), runs=3_000)
    assert len(shapes.cuts(found.input.frame)) == 5 and found.ratio < 1.3


KEPT = """
header H { bit<16> tag; bit<16> at; bit<8> size; }
struct headers { H h; }
parser P(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
deparser Rest(packet pkt, in headers h) { }
processor Q(inout headers h, inout meta m) {
    buffer<512>[4] partial timeout 60 s;
    apply {
        m.verdict = DROP;
        m.reason = error.NoRoom;
        if (partial.put(h.h.tag, h.h.at, 8 * (bit<16>) h.h.size, Rest(h)) == COMPLETE) { m.verdict = CONSUMED; }
    }
}
processor Done(inout headers h, inout meta m) { apply { m.verdict = DELIVER; } }
error { NoRoom }
protocol N { on radio.rx_done : P -> Q; on Q.partial.complete : P -> Done; }
"""


def test_buffers_are_filled_as_their_helpers_take_longest():
    """A datagram lacks one piece, or an entry of another key gives way."""
    subject = next(subjects(compile_program(check(load(Source("kept.lpn", KEPT)))), random.Random(0)))
    given = Input(bytes.fromhex("0007 0000 40") + bytes(8))        # the first 8 octets of 512
    runs: list[Result] = []

    def run() -> int:
        runs.append(subject.play(subject.program, given))
        return runs[-1].flash_cycles or 0
    empty, others, last = subject.buffers.fillings(run)
    assert empty + 100 < others < last <= subject.bound
    assert [each.verdict for each in runs] == ["DROP", "DROP", "CONSUMED"]     # in the last one it was the last piece
    found = search(subject, [Input(bytes(30))], random.Random(1), runs=2000)
    assert found.cycles >= last and not found.exceeded and found.ratio < 1.6


@pytest.mark.parametrize("name, example", [("coap_sensor", "coap_sensor/coap_sensor"), ("forwarding", "forwarding/forwarding")])
def test_bounds_are_near_what_was_found(name, example):
    """Within 1.3 of the slowest runs that searches found before, and no run is above. `forwarding`: its tables are full of what is nearly looked up."""
    hooks = json.loads(lpnc("fuzz", "--slowest", f"examples/{example}.lpn", "--from", f"tests/slowest/{name}.json", "--seconds", "0", "--json").stdout)["hooks"]
    assert {each["on"] for each in hooks} == {"thumb2", "m3"}
    assert all(1 <= each["bound"] / each["cycles"] <= 1.3 for each in hooks), hooks


def test_a_search_begins_with_what_another_one_found():
    given = Input(b"\xb5", {"lqi": 7}, b"\1", 3)
    text = json.dumps({"hooks": [{"hook": "radio.rx_done: P -> Q", "on": "thumb2", "bound": 9, "cycles": 8, "runs": 1, "input": given.as_json()}]})
    assert from_found(text) == {"radio.rx_done: P -> Q": [given]}
    for wrong in ("[]", '{"hooks": [{}]}', "not JSON", "[" * 100_000):
        with pytest.raises(ValueError):
            from_found(wrong)


def test_what_is_no_text_is_refused_by_name(tmp_path):
    (tmp_path / "r.json").write_bytes(b"\x96\xff")
    refused = lpnc("fuzz", "--slowest", "examples/udp/udp.lpn", "--from", tmp_path / "r.json")
    assert refused.exit_code == 2 and f"{tmp_path / 'r.json'}: not what lpnc fuzz --slowest --json prints" in refused.stderr


def test_hooks_that_take_the_same_packets_share_what_was_found():
    """Their own first; a frame is cut to what the hook may meet."""
    hooks = {hook_name(each): each for each in compile_program(check(load(Source("kept.lpn", KEPT.replace(
        "P -> Q;", "P -> Q; on net.tx : P -> Done; on radio.rx_start : Done;"))))).bundle.hooks}
    own, other, elsewhere = (Input(bytes([n]) * 200) for n in range(3))
    found = {"net.tx: P -> Done": [other], "radio.rx_start: Done": [elsewhere], "radio.rx_done: P -> Q": [own]}
    assert [each.frame for each in of_alike(hooks["radio.rx_done: P -> Q"], 127, found)] == [bytes(127), b"\1" * 127]
    assert of_alike(hooks["radio.rx_start: Done"], 2048, found) == [elsewhere]


@pytest.mark.parametrize("way", ["thumb2", "m3"])
def test_the_bound_and_the_run_are_compared_line_by_line(way):
    """The rows add up to both; a way the run does not take is all more, and the loop of the slowest run takes what the bound says."""
    made = compile_program(check(load(Source("loop.lpn", LOOP))))
    proved = seal(made)
    [subject] = subjects(made, random.Random(0), way, proved)
    lines = {unit.name: unit.lines for unit in proved[0].items}
    loop = LOOP.split("\n").index(next(line for line in LOOP.split("\n") if "for (i" in line)) + 1

    def rows(frame: bytes) -> tuple[list[Row], Row, Slowest]:
        found = search(subject, [Input(frame)], random.Random(1), runs=1)
        rows = compare(subject, found, lines)
        assert sum(row.bound for row in rows) == subject.bound and sum(row.cycles for row in rows) == found.cycles
        assert [row.more for row in rows] == sorted((row.more for row in rows), reverse=True)
        return rows, next(row for row in rows if isinstance(row.line, tuple) and row.line[1] == loop), found
    slow, turned, _ = rows(b"\xb0\0")
    assert turned.executed > 200 and turned.insns >= turned.executed and turned.bound >= turned.cycles > 400
    fast, skipped, _ = rows(b"\0\0")
    assert skipped.executed < 10 and fast[0] == skipped and skipped.bound == turned.bound
    assert {"module", "file", "line", "bound", "bound_executed", "cycles", "executed"} == fast[0].as_json().keys()


@pytest.mark.parametrize("way", ["thumb2", "m3"])
def test_each_chain_is_compared_by_itself(way):
    """Of what a buffer completes the first one has nothing, and what runs it has its own lines."""
    made = compile_program(check(load(Source("kept.lpn", KEPT))))
    proved = seal(made)
    lines = {unit.name: unit.lines for unit in proved[0].items}
    for subject, modules in zip(subjects(made, random.Random(0), way, proved), ({"P", "Q", ""}, {"P", "Done", ""}), strict=True):
        rows = compare(subject, search(subject, [Input(bytes.fromhex("0007 0000 40") + bytes(8))], random.Random(1), runs=1), lines)
        assert {row.module for row in rows} == modules == {row.module for row in rows if row.cycles > 0}


def test_what_neither_has_in_a_line_is_the_engines():
    path = [("A", Step(("x.lpn", 3), 10, 2)), ("A", Step(None, 4, 1)), ("B", Step(("x.lpn", 3), 1, 1))]
    slots = {("A", 0): (7, 1), ("A", 1): (1, 1), ("B", 0): (9, 1), ("", -1): (50, 0)}
    assert beside(path, slots, {"A": lambda slot: ("x.lpn", 3 + slot), "B": lambda slot: ("x.lpn", 3)}, 100, 60) == [
        Row("", None, 85, 0, 43, 0), Row("A", None, 4, 1, 0, 0), Row("A", ("x.lpn", 3), 10, 2, 7, 1), Row("A", ("x.lpn", 4), 0, 0, 1, 1),
        Row("B", ("x.lpn", 3), 1, 1, 9, 1)]


def test_the_command_shows_the_path(tmp_path):
    source = tmp_path / "loop.lpn"
    source.write_text(LOOP)
    out = lpnc("fuzz", "--slowest", source, "--seconds", "0.5", "--path").stdout
    assert "more" in out and "for (i in 0..200)" in out and "waiting for the flash" in out
    hooks = json.loads(lpnc("fuzz", "--slowest", source, "--seconds", "0.5", "--path", "--json").stdout)["hooks"]
    for hook in hooks:
        assert sum(row["bound"] for row in hook["lines"]) == hook["bound"] and sum(row["cycles"] for row in hook["lines"]) == hook["cycles"]
    assert "lines" not in json.loads(lpnc("fuzz", "--slowest", source, "--seconds", "0.5", "--json").stdout)["hooks"][0]
