"""`lpnc run --events`: from source to time line, in both engines; the trace that Perfetto opens; what is told of mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from cli import UDP, lpnc
from lpn.compiler.build import compile_program
from lpn.compiler.deadlines import declared
from lpn.lang.check import check
from lpn.lang.loader import load
from lpn.runtime.capture import Frame, read, write
from lpn.runtime.node import Costs, native_node
from lpn.runtime.node_reference import reference_node
from lpn.runtime.perfetto import trace
from lpn.runtime.radio import Radio, TxPlan
from lpn.runtime.timeline import Ran, meaning

ROOT = Path(__file__).parent.parent
DUTY, EVENTS = ROOT / "examples/duty/duty.lpn", ROOT / "examples/duty/duty.events"

#: Every kind of hook and effect that a source can name.
MUCH = """
header Tag { bit<8> kind; bit<8> seq; }
struct headers { Tag tag; }
register<bit<32>> last;
register<bit<32>> seen;
register<bit<8>> n;
extern bit<32> clock_us();
extern void trace(bit<32> a, bit<32> b);
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.tag); transition accept; } }
processor Work(inout headers h, inout meta m) {
    apply {
        if (h.tag.kind == 1) { h.tag.seq = h.tag.seq + 1; m.verdict = TRANSMIT; }
        else if (h.tag.kind == 2) { m.verdict = DELIVER; m.port = 7; }
        else if (h.tag.kind == 3) { radio.send(Tx(h), 1, 2); net.send(Tx(h)); radio.channel(15); radio.power(-3); m.verdict = CONSUMED; }
        else if (h.tag.kind == 4) { seen = clock_us(); if (radio.cca() == BUSY) { seen = 1; } else { seen = clock_us() - seen; } trace(seen, last); }
        else { m.verdict = DROP; }
    }
}
deparser Tx(packet pkt, in headers h) { pkt.emit(h.tag); }
timing T {
    register<bit<32>> turns;
    counter<bit<32>>[3] results;
    every 2 ms jitter 100 us within 500 us {
        radio.on();
        if (radio.cca() == CLEAR) { after 300 us { radio.off(); turns = turns + 1; } }
        else { after 3 ms { radio.off(); } }
    }
    slot 1 of 2 within 2 ms { headers h; h.tag.setValid(); h.tag.kind = 9; h.tag.seq = n; if (radio.send(Tx(h)) == OK) { n = n + 1; } }
    on radio.rx_start(frame) { last = frame.time; }
    on radio.rx_done(frame) { seen = seen + (bit<32>) frame.length; }
    on radio.tx_done(result) { results.count((bit<32>) result); }
    on radio.ack_timeout { n = n + 16; }
}
protocol Much version 1 {
    on radio.rx_done : Rx -> Work -> Tx within 1 ms;
    on app.tx : Rx -> Work -> Tx;
    on app.tx(7) : Rx -> Work;
    on net.rx(41) : Rx -> Work -> Tx;
    timing : T;
}
"""


@pytest.fixture(scope="module")
def much(tmp_path_factory):
    path = tmp_path_factory.mktemp("much") / "much.lpn"
    path.write_text(MUCH)
    program = check(load(path))
    return program, compile_program(program), compile_program(program, fuse=True)


frames = st.tuples(st.integers(1, 5), st.binary(max_size=8)).map(lambda p: bytes([p[0]]) + p[1])
happenings = st.lists(st.tuples(st.sampled_from(range(0, 30_000, 50)), st.one_of(
    st.tuples(st.just("hear"), frames), st.tuples(st.just("post"), st.sampled_from([("app.tx", (7,)), ("app.tx", (8,)), ("net.rx", (41, 3)), ("net.rx", (58, 3)), ("radio.rx_done", ())]), frames),
    st.tuples(st.just("plan"), st.sampled_from(["OK", "BUSY", "NOACK"])), st.tuples(st.just("busy"), st.integers(1, 5000)))), max_size=20)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(happenings, st.booleans(), st.sampled_from([0, 2**32 - 12_000]), st.sampled_from([Costs(0, 128, 0), Costs(0, 128, 60), Costs(0, declared=declared())]), st.booleans())
def test_engine_and_reference_have_the_same_time_line(much, happens, on, start, costs, fused):
    program, separate, whole = much
    made = whole if fused else separate
    address = {"node_short": 2, "node_ext": 3, "node_pan": 4}
    nodes = []
    for make in (lambda **o: native_node(made.bundle, address, **o), lambda **o: reference_node(program, None, address, **o)):
        node = make(radio=Radio(on), costs=costs, start=start)
        for time, (what, *rest) in happens:
            if what == "hear":
                node.hear(time, rest[0], -60, 200)
            elif what == "post":
                (event, selector), frame = rest
                node.post(time, event, selector, frame)
            elif what == "plan":
                node.plan(time, [TxPlan(rest[0])])
            else:
                node.radio_state.occupy(time, time + rest[0])
        node.run(35_000)
        nodes.append(node)
    a, b = nodes
    assert [meaning(r) for r in a.records] == [meaning(r) for r in b.records]
    assert a.traces == b.traces and a.dispatch.drops() == b.dispatch.drops()
    assert a.radio_state.channel == b.radio_state.channel and a.radio_state.power == b.radio_state.power
    assert all(r.fault is None for r in a.records if isinstance(r, Ran))
    for i in range(len(a.dispatch.hooks)):
        x, y = vars(a.dispatch.stats(i)), vars(b.dispatch.stats(i))
        assert x | {"insns": 0, "insns_worst": 0} == y
    validate(trace(a, "much"))


# ---------------------------------------------------------------- the trace

def validate(made: dict) -> None:
    """The rules of the Trace Event Format that viewers rely on."""
    assert set(made) == {"displayTimeUnit", "traceEvents"}
    slices: dict[int, list[tuple[int, int]]] = {}
    arrows: dict[int, list[dict]] = {}
    named = set()
    for event in made["traceEvents"]:
        assert event["pid"] == 1 and isinstance(event["tid"], int)
        if event["ph"] == "M":
            assert set(event) == {"ph", "pid", "tid", "name", "args"} and event["name"] in ("process_name", "thread_name", "thread_sort_index")
            named |= {event["tid"]} if event["name"] == "thread_name" else set()
            continue
        assert isinstance(event["ts"], int) and event["ts"] >= 0 and event["name"] and event["cat"] == "lpn"
        assert event["tid"] in named                # a track is named before its first event
        if event["ph"] == "X":
            assert isinstance(event["dur"], int) and event["dur"] > 0 and isinstance(event["args"], dict)
            slices.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
        elif event["ph"] in "sf":
            assert event.get("bp") == ("e" if event["ph"] == "f" else None)
            arrows.setdefault(event["id"], []).append(event)
        else:
            assert event["ph"] == "i" and event["s"] in "tg"
    for track in slices.values():                   # slices of a track lie one behind the other, or one in the other
        open_until: list[int] = []
        for start, end in sorted(track, key=lambda s: (s[0], -s[1])):
            while open_until and open_until[-1] <= start:
                open_until.pop()
            assert not open_until or end <= open_until[-1]
            open_until.append(end)
    for pair in arrows.values():                    # an arrow has two ends, each in a slice of its track, and points to the future
        assert [e["ph"] for e in pair] == ["s", "f"] and pair[0]["ts"] <= pair[1]["ts"]
        for event in pair:
            assert any(start <= event["ts"] < end for start, end in slices[event["tid"]])


def test_the_trace_of_the_example(tmp_path):
    out = tmp_path / "duty.json"
    assert lpnc("run", DUTY, "--events", EVENTS, "--trace", out).exit_code == 0
    made = json.loads(out.read_text())
    validate(made)
    events = made["traceEvents"]
    tracks = {e["args"]["name"]: e["tid"] for e in events if e["name"] == "thread_name"}
    assert list(tracks)[0] == "radio" and {"DutyCycle.every_125ms", "radio.rx_done", "sent", "on the air"} <= set(tracks)
    # The frame that is heard starts two runs, one of them sends the answer, whose end starts another.
    follow = {(s["tid"], f["tid"]) for s, f in zip([e for e in events if e["ph"] == "s"], [e for e in events if e["ph"] == "f"])}
    for cause, effect in (("on the air", "radio.rx_done"), ("on the air", "DutyCycle.on_rx_start"), ("radio.rx_done", "sent"),
                          ("sent", "DutyCycle.on_tx_done"), ("DutyCycle.every_125ms", "DutyCycle.after_9201")):
        assert (tracks[cause], tracks[effect]) in follow, (cause, effect)
    listening = [e for e in events if e["tid"] == tracks["radio"] and e["name"] == "listening"]
    assert any(e["dur"] > 8000 for e in listening) and any(e["dur"] < 200 for e in listening)


def test_frames_that_collide_have_tracks_of_their_own(much):
    node = native_node(much[1].bundle)
    for time in (0, 100, 2000):
        node.hear(time, b"\2\0")
    node.run(5000)
    made = trace(node, "much")
    validate(made)
    assert {"on the air", "on the air (2)"} <= {e["args"]["name"] for e in made["traceEvents"] if e["name"] == "thread_name"}


# ---------------------------------------------------------------- the command

def test_the_example():
    result = lpnc("run", DUTY, "--events", EVENTS)
    assert result.exit_code == 0 and result.stderr == ""
    lines = result.stdout.splitlines()
    assert any("radio.rx_done" in line and "TRANSMIT" in line for line in lines)
    assert any("DROP NotForUs" in line for line in lines) and "dropped: 1 NotForUs" in lines
    assert "sent: 3 frames, 2 OK, 1 NOACK" in lines
    assert any(line.startswith("radio on: 1.6") and "DutyCycle promises at most 15.1 %" in line for line in lines)


SENDS = """
header H { bit<16> fc; bit<8> seq; }
struct headers { H h; }
deparser Tx(packet pkt, in headers h) { pkt.emit(h.h); }
timing T { every 100 ms within 2 ms { headers h; h.h.setValid(); h.h.fc = 0x6188; h.h.seq = 5; radio.send(Tx(h)); } }
"""


@pytest.mark.parametrize(("until", "told", "results", "waiting", "whole"), [
    ("100 us", "not begun to be sent: 1 frame", {}, 1, 0),
    ("300 us", "sent: 1 frame, 1 unfinished", {"unfinished": 1}, 0, 0),
    ("900 us", "sent: 1 frame, 1 unfinished", {"unfinished": 1}, 0, 1),     # it is sent, and no acknowledgement has come so far
    ("2 ms", "sent: 1 frame, 1 NOACK", {"NOACK": 1}, 0, 1)])
def test_a_frame_that_the_end_finds_on_its_way_has_no_result(tmp_path, until, told, results, waiting, whole):
    (tmp_path / "x.lpn").write_text(SENDS)
    given = {"input": f"tx NOACK\nuntil {until}\n"}
    shown = lpnc("run", tmp_path / "x.lpn", "--events", "-", "--out", tmp_path / "x.pcap", **given)
    assert told in shown.stdout.splitlines() and len(list(read(tmp_path / "x.pcap"))) == whole
    summary = json.loads(lpnc("run", tmp_path / "x.lpn", "--events", "-", "--json", **given).stdout.splitlines()[-1])
    assert (summary["sent"], summary["waiting"]) == (results, waiting)


def test_what_is_behind_the_end_is_told():
    """The lines that begin there; a block whose end is cut off happens as far as it does."""
    result = lpnc("run", DUTY, "--events", "-", input="radio off\nuntil 100 ms\n99 ms repeat 9 every 1 ms {\nair 00\n}\n+2 ms air 00\n1 s radio on\n")
    assert result.exit_code == 0
    assert [line.split(": ")[0] for line in result.stderr.splitlines() if "behind the end of the run" in line] == ["<stdin>:6:1", "<stdin>:7:1"]
    assert "until 100ms is what the file says" in result.stderr


def test_engines_are_compared():
    result = lpnc("run", DUTY, "--events", EVENTS, "--compare", "engine,reference")
    assert result.exit_code == 0 and "engine, reference agree in all 36 records" in result.stdout


def test_json_and_what_is_sent(tmp_path):
    out = tmp_path / "sent.pcap"
    result = lpnc("run", DUTY, "--events", EVENTS, "--json", "--out", out)
    assert result.exit_code == 0 and result.stderr == ""
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    summary = rows.pop()
    assert summary["kind"] == "summary" and summary["time"] == 1_500_000 and summary["drops"] == {"NotForUs": 1}
    assert [(p["block"], p["promised"], p["kept"]) for p in summary["promises"]] == [("DutyCycle", 15.1, True)]
    assert {row["kind"] for row in rows} == {"ran", "sent", "received"}
    assert sum(hook["runs"] for hook in summary["hooks"]) == sum(row["kind"] == "ran" for row in rows)
    sent = [row for row in rows if row["kind"] == "sent"]
    assert [frame.data.hex() for frame in read(out)] == [row["frame"] for row in sent] and len(sent) == 3
    assert rows[sent[1]["cause"]]["kind"] in ("ran", "sent", "received")


GATEWAY = """
header H { bit<8> kind; }
struct headers { H h; }
register<bit<8>> turn;
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
processor Pass(inout headers h, inout meta m) { apply { net.send(Tx(h)); m.verdict = CONSUMED; } }
deparser Tx(packet pkt, in headers h) { pkt.emit(h.h); }
timing Polls { every 100 ms within 5 ms { turn = turn + 1; if (turn == 5) { radio.on(); } else { radio.cca(); } } }
protocol Gateway version 1 { on radio.rx_done : Rx -> Pass; timing : Polls; }
"""


@pytest.mark.parametrize("packets, linktype", [(["01ff", "02"], 230), ([(b"\x60" + bytes(4) + b"\1" + bytes(34) + b"x").hex()], 229), ([], 230)])
def test_what_the_stack_is_given_is_counted_and_written(tmp_path, packets, linktype):
    """It goes to no radio: it is not among the frames sent."""
    (tmp_path / "x.lpn").write_text(GATEWAY)
    (tmp_path / "x.events").write_text("".join(f"+10 ms radio.rx_done {each}\n" for each in packets) + "until 1 s\n")
    args = ("run", tmp_path / "x.lpn", "--events", tmp_path / "x.events", "--out", tmp_path / "radio.pcap", "--out-net", tmp_path / "net.pcap")
    text = lpnc(*args).stdout
    name = "packet" if len(packets) == 1 else "packets"
    assert (f"given to the network stack: {len(packets)} {name}\n" in text) == bool(packets) and "sent: " not in text
    assert f"wrote {len(packets)} {name} to {tmp_path / 'net.pcap'}, link type {linktype} (" in text
    found = list(read(tmp_path / "net.pcap"))
    assert [frame.data.hex() for frame in found] == packets and {frame.linktype for frame in found} <= {linktype} and not list(read(tmp_path / "radio.pcap"))
    summary = json.loads(lpnc(*args, "--json").stdout.splitlines()[-1])
    assert summary["net_sent"] == len(packets) and summary["sent"] == {} and "left_out" not in summary


def test_what_frames_of_a_capture_give_to_the_stack_is_written(tmp_path):
    (tmp_path / "x.lpn").write_text(GATEWAY)
    write(tmp_path / "x.pcap", [Frame(number, 1000 * number, data) for number, data in enumerate((b"\1\xff", b"", b"\2"), 1)], 230)
    args = ("run", tmp_path / "x.lpn", "--in", tmp_path / "x.pcap", "--out-net")
    assert f"wrote 2 packets to {tmp_path / 'net.pcap'}, link type 230" in lpnc(*args, tmp_path / "net.pcap").stdout
    assert [(frame.time_us, frame.data) for frame in read(tmp_path / "net.pcap")] == [(1000, b"\1\xff"), (3000, b"\2")]
    assert lpnc(*args, "-").stdout_bytes == (tmp_path / "net.pcap").read_bytes()
    for other, said in (("-", "--out - leaves no room for anything else"), (tmp_path / "net.pcap", f"--out and --out-net cannot both be {tmp_path / 'net.pcap'}")):
        refused = lpnc(*args, other, "--out", other)
        assert refused.exit_code == 2 and said in refused.output, refused.output
    assert "--out-net - leaves no room for --json" in lpnc(*args, "-", "--json").output


def test_runs_that_tell_nothing_new_are_left_out(tmp_path):
    """The first one of its kind stays, and so does whatever has a packet in it; how many are left out is said."""
    (tmp_path / "x.lpn").write_text(GATEWAY)
    (tmp_path / "x.events").write_text("10 ms radio.rx_done 01\n+200 ms radio.rx_done 01\nuntil 1050 ms\n")
    args = ("run", tmp_path / "x.lpn", "--events", tmp_path / "x.events")
    whole, brief = ([json.loads(line) for line in lpnc(*args, *more, "--json").stdout.splitlines()] for more in ((), ("--brief",)))
    polls = [[row["effects"][0]["what"] for row in rows if row.get("hook", "").startswith("Polls")] for rows in (whole[:-1], brief[:-1])]
    assert polls == [["radio.cca"] * 4 + ["radio.on"] + ["radio.cca"] * 6, ["radio.cca", "radio.on", "radio.cca"]]
    assert [row for row in whole[:-1] if not row.get("hook", "").startswith("Polls")] == [row for row in brief[:-1] if not row.get("hook", "").startswith("Polls")]
    assert len(whole) - len(brief) == brief[-1]["left_out"] == 8 and brief[-1] == whole[-1] | {"left_out": 8}
    text = lpnc(*args, "--brief").stdout
    assert text.count("Polls.every_100ms  ") == 4 and "left out: 8 runs that did the same as the last one of their hook" in text
    assert " agree in all " in lpnc(*args, "--brief", "--compare", "engine,reference").stdout


def test_what_a_timer_takes_has_the_timers_time(tmp_path):
    """Held at 1.2 s, taken by the handler that was due at 2 s: in both engines, and so say semantics.md and node.md."""
    (tmp_path / "x.lpn").write_text("""header A { bit<8> a; }
struct headers { A a; }
buffer<64>[2] kept timeout 60 s;
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.a); transition accept; } }
processor Hold(inout headers h, inout meta m) { apply { kept.hold(8w1, Tx(h)); m.verdict = CONSUMED; } }
processor Late(inout headers h, inout meta m) { apply { m.port = (bit<16>) (m.time / 1000); m.verdict = DELIVER; } }
deparser Tx(packet pkt, in headers h) { pkt.emit(h.a); }
timing T { every 1 s jitter 500 ms within 1 ms { kept.take(8w1); } }
protocol N version 1 { on radio.rx_done : Rx -> Hold; on kept.complete : Rx -> Late; timing : T; }
""")
    (tmp_path / "x.events").write_text("until 3 s\n1.2 s radio.rx_done 01\n")
    args = ("run", tmp_path / "x.lpn", "--events", tmp_path / "x.events")
    assert " agree in all " in lpnc(*args, "--compare", "engine,reference").stdout
    rows = [json.loads(line) for line in lpnc(*args, "--json").stdout.splitlines()]
    [taken] = [row for row in rows if row.get("hook", "").startswith("buffer.complete")]
    assert (taken["verdict"], taken["port"], taken["due"]) == ("DELIVER", 2000, 2_000_000) and rows[taken["cause"]]["due"] == taken["due"] < taken["time"]
    waits = {hook["hook"]: hook["wait_worst"] for hook in rows[-1]["hooks"]}
    assert waits[taken["hook"]] == taken["time"] - taken["due"]


def test_an_address_of_the_command_line_counts_before_that_of_the_events(tmp_path):
    """0 too: it was taken for none."""
    (tmp_path / "x.lpn").write_text("""header H { bit<16> from; }
struct headers { H h; }
deparser Tx(packet pkt, in headers h) { pkt.emit(h.h); }
timing T { every 10 ms { headers h; h.h.setValid(); h.h.from = node.short; radio.on(); radio.send(Tx(h)); } }
protocol P version 1 { timing : T; }
""")
    (tmp_path / "x.events").write_text("node short=2\nuntil 15 ms\n")
    for options, sent in (((), "0002"), (("--node-short", 5), "0005"), (("--node-short", 0), "0000")):
        assert lpnc("run", tmp_path / "x.lpn", "--events", tmp_path / "x.events", "--json", "--out", tmp_path / "y.pcap", *options).exit_code == 0
        assert [frame.data.hex() for frame in read(tmp_path / "y.pcap")] == [sent, sent]


def test_a_bundle_runs_as_its_source_does(tmp_path):
    assert lpnc("build", DUTY, "-o", tmp_path).exit_code == 0
    assert lpnc("run", tmp_path / "duty.lpnb", "--events", EVENTS).stdout == lpnc("run", DUTY, "--events", EVENTS).stdout
    result = lpnc("run", tmp_path / "duty.lpnb", "--events", EVENTS, "--engine", "reference")
    assert result.exit_code == 2 and "need the program's source" in result.stderr


def test_commands_to_the_radio_take_what_is_declared():
    """No hook takes longer than the verifier says, and none misses its deadline; a radio that wakes hears less."""
    proved = {each["chain"][0]: each["wcet_us"] for line in lpnc("verify", DUTY, "--json").stdout.splitlines() for each in json.loads(line)["hooks"]}
    given = ("run", DUTY, "--events", EVENTS, "--insn-time", "0", "--json")
    *_, summary = map(json.loads, lpnc(*given, "--declared").stdout.splitlines())
    took = {each["hook"]: each["time_worst"] for each in summary["hooks"]}
    assert took["DutyCycle.every_125ms"] == 600 + 917 + 112 and took["DutyCycle.every_1s"] == 903
    sends = took.pop("radio.rx_done")           # its answer: the node sends it, behind the chain
    assert sends == 903 and all(us <= proved[hook] for hook, us in took.items())
    assert not any(each["misses"] for each in summary["hooks"])
    *_, before = map(json.loads, lpnc(*given).stdout.splitlines())
    assert summary["radio_on_us"] < before["radio_on_us"]
    assert "agree in all" in lpnc("run", DUTY, "--events", EVENTS, "--declared", "--compare", "engine,reference").stdout


def test_the_seed_moves_what_has_jitter_and_instructions_take_their_time():
    runs = [lpnc("run", DUTY, "--events", EVENTS, *more).stdout for more in ((), ("--seed", "0"), ("--seed", "1"), ("--insn-time", "0"), ("--insn-time", "100000"))]
    assert runs[0] == runs[1] and len(set(runs[1:])) == 4
    assert "DEADLINE MISSED" in runs[4] and "DEADLINE MISSED" not in runs[0]


def test_a_capture_is_played(tmp_path):
    events = tmp_path / "play.events"
    (tmp_path / "x.pcap").write_bytes((ROOT / "examples/udp/captures/riot_udp.pcap").read_bytes())
    events.write_text("node ext=0x024C504E00000002\ncapture x.pcap\n")
    result = lpnc("run", UDP, "--events", events, "--compare", "engine,reference")
    assert result.exit_code == 0 and "agree in all" in result.stdout


@pytest.mark.parametrize("arguments,status,text", [
    ((DUTY,), 2, "what is to happen? give --in X.pcap or --events EVENTS"),
    ((DUTY, "--events", EVENTS, "--in", "x.pcap"), 2, "--in and --events exclude each other"),
    ((DUTY, "--in", "x.pcap", "--trace", "t.json"), 2, "--trace belongs to --events"),
    ((DUTY, "--in", "x.pcap", "--out-linktype", "230"), 2, "--out-linktype belongs to --out"),
    ((DUTY, "--events", EVENTS, "--limit", "3"), 2, "--limit belongs to --in, not --events"),
    ((DUTY, "--events", EVENTS, "--engine", "rbpf"), 2, "engine rbpf runs no node: there are engine, reference"),
    ((DUTY, "--events", "nowhere.events"), 2, "cannot read nowhere.events: No such file or directory"),
    (("-", "--events", "-"), 2, "the program and the events cannot both be on standard input"),
    ((DUTY, "--events", EVENTS, "--out", "-", "--json"), 2, "--out - leaves no room"),
    ((DUTY, "--events", EVENTS, "--out", "-", "--trace", "-"), 2, "--out - leaves no room for anything else on standard output"),
    ((DUTY, "--events", EVENTS, "--out-net", "-", "--trace", "-"), 2, "--out-net - leaves no room for anything else on standard output"),
    ((DUTY, "--events", EVENTS, "--trace", "-", "--json"), 2, "--trace - leaves no room for --json on standard output"),
    ((DUTY, "--in", "x.pcap", "--brief"), 2, "--brief belongs to --events"),
    ((DUTY, "--in", "x.pcap", "--brief"), 2, "--brief belongs to --events"),
    ((DUTY, "--events", EVENTS, "--trace", "."), 2, "cannot write .: Is a directory"),
])
def test_usage(arguments, status, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = lpnc("run", *arguments, input=b"")
    assert result.exit_code == status and text in result.stderr and "Traceback" not in result.stderr


def test_mistakes_in_events_point_at_them(tmp_path):
    events = tmp_path / "bad.events"
    events.write_text("10 ms air 00\n20 ms aier 00\n")
    result = lpnc("run", DUTY, "--events", events)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"{events}:2:7: error: there is no event 'aier'") and "did you mean air?" in result.stderr


def test_a_program_in_which_nothing_runs(tmp_path):
    path = tmp_path / "empty.lpn"
    path.write_text("const bit<8> X = 1;\n")
    result = lpnc("run", path, "--events", EVENTS)
    assert result.exit_code == 1 and "nothing runs" in result.stderr


V1 = """
timing T {
    persistent register<bit<16>> total;
    register<bit<16>> other;
    every 1 ms { total = total + 1; other = other + 1; }
    every 5 ms { radio.channel((bit<8>) total); }
}
protocol P version 1 { timing : T; }
"""
V2 = """
timing T {
    persistent register<bit<16>> total;
    register<bit<16>> other;
    every 1 ms { total = total + 1; other = other + 1; after 100 us { radio.channel((bit<8>) other); } }
    every 7 ms { radio.channel((bit<8>) total); }
}
protocol P version 2 { timing : T; }
"""


@pytest.mark.parametrize("suffix", ["lpn", "lpnb"])
def test_another_version_takes_over(tmp_path, suffix):
    for name, text in (("v1", V1), ("v2", V2)):
        (tmp_path / f"{name}.lpn").write_text(text)
        assert lpnc("build", tmp_path / f"{name}.lpn", "-o", tmp_path).exit_code == 0
    events = tmp_path / "x.events"
    events.write_text(f"until 20 ms\n10500 us replace v2.{suffix}\n")
    engines = ["--compare", "engine,reference"] if suffix == "lpn" else []
    result = lpnc("run", tmp_path / f"v1.{suffix}", "--events", events, *engines, "--insn-time", "0")
    assert result.exit_code == 0, result.stdout + result.stderr
    rows = [line.split(None, 3) for line in result.stdout.splitlines()]
    channels = [(row[0], row[3].split()[-1]) for row in rows if len(row) == 4 and "radio.channel" in row[3]]
    # Version 1 tells its total at 5 and 10 ms; version 2 keeps the total and the beat of each 1 ms, its other register begins anew.
    assert channels[:3] == [("0.000000", "1"), ("0.005000", "6"), ("0.010000", "11")]
    assert ("0.010500", "11") in channels and ("0.011100", "1") in channels and ("0.017500", "18") in channels
    validate(json.loads(lpnc("run", tmp_path / f"v1.{suffix}", "--events", events, "--trace", "-").stdout))


def test_a_node_goes_back_to_an_earlier_version(tmp_path):
    """Version 1, made again with a migration from version 2, takes back what that keeps in another type; as it was, it is refused, and told what to write."""
    def version(number: int, bits: int, migrate: str = "") -> str:
        return (f"persistent register<bit<{bits}>> total; {migrate} extern void trace(bit<32> a, bit<32> b); "
                f"timing T {{ every 1 s {{ total = total + 1; trace({number}, (bit<32>) total); }} }} protocol P version {number} {{ timing : T; }}")
    for name, text in {"v2": version(2, 32), "as_it_was": version(1, 16),
                       "v1": version(1, 16, "migrate version 2 { register<bit<32>> total; total = (bit<16>) old.total; }")}.items():
        (tmp_path / f"{name}.lpn").write_text(text)

    def back(name: str):
        return lpnc("run", tmp_path / "v2.lpn", "--events", "-", "--compare", "engine,reference", input=f"1500 ms replace {tmp_path}/{name}.lpn\nuntil 3500 ms\n")
    done = back("v1")
    assert done.exit_code == 0 and [line.split("trace ")[1] for line in done.stdout.splitlines() if "trace " in line] == ["2 1", "2 2", "1 3", "1 4"], done.stdout
    assert "write migrate version 2 { register<bit<32>> total; total = (bit<16>) old.total; } where it stands" in back("as_it_was").stderr


def test_a_version_that_cannot_take_over(tmp_path):
    (tmp_path / "v1.lpn").write_text(V1)
    (tmp_path / "v2.lpn").write_text(V2.replace("persistent register<bit<16>>", "persistent register<bit<32>>").replace("(bit<8>) total", "(bit<8>) total"))
    (tmp_path / "x.events").write_text("10 ms replace v2.lpn\n")
    for engine in ("engine", "reference"):
        result = lpnc("run", tmp_path / "v1.lpn", "--events", tmp_path / "x.events", "--engine", engine)
        assert result.exit_code == 1 and "v2.lpn cannot take over at 0.010000 s: persistent register 'T.total'" in result.stderr


def timeline(tmp_path, events: str, **versions: str) -> tuple[list[list[str]], list[str]]:
    """(rows of the time line: time, what, verdict and effects, what is said at the end), alike in both engines."""
    for name, text in versions.items():
        (tmp_path / f"{name}.lpn").write_text(text)
    (tmp_path / "x.events").write_text(events)
    result = lpnc("run", tmp_path / "v1.lpn", "--events", tmp_path / "x.events", "--insn-time", "0", "--compare", "engine,reference")
    assert result.exit_code == 0, result.stdout + result.stderr
    rows = [line.split(None, 3) for line in result.stdout.replace(f"{tmp_path}/", "").split("\n\n")[0].splitlines()[1:]]
    return rows, [line for line in result.stdout.splitlines() if line.startswith("radio on")]


SWITCHED = "timing T { every 100 ms within 1 ms { radio.on(); after 10 ms { radio.off(); } } energy { radio.on <= 13 %; } } protocol P version 1 { timing : T; }"
TAKE_OVER = "radio off\n205 ms replace v2.lpn\nuntil 1 s\n"


def test_an_after_is_known_again_by_what_started_it(tmp_path):
    """Not by its number in the block: another body would run, and the radio stay on."""
    v2 = """timing T { counter<bit<32>> n; on radio.tx_done(result) { after 10 ms { n.count(); } }
        every 100 ms within 1 ms { radio.on(); after 10 ms { radio.off(); n.count(); } } } protocol P version 2 { timing : T; }"""
    rows, _ = timeline(tmp_path, TAKE_OVER, v1=SWITCHED, v2=v2)
    assert [row for row in rows if "0.205000" <= row[0] < "0.300000"] == [
        ["0.205000", "replaced", "v2.lpn"], ["0.210000", "T.after_1e8d", "ACCEPT", "radio.off"]]


@pytest.mark.parametrize(("body", "radio"), [
    ("on radio.tx_done(result) { radio.off(); }", "off"),               # it switches the radio, and would leave it as it is
    ("slot 1 of 9 within 1 ms { } energy { radio.on <= 0 %; }", "off"), # nothing may switch it on
    ("slot 1 of 9 { }", "on")])                                         # nothing ever switches it
def test_an_after_that_is_lost_does_not_leave_the_radio_on(tmp_path, body, radio):
    rows, promised = timeline(tmp_path, TAKE_OVER, v1=SWITCHED, v2=f"timing T {{ {body} }} protocol P version 2 {{ timing : T; }}")
    assert ["0.205000", "replaced", "v2.lpn;", f"radio.{radio}"] in rows
    assert promised[0].startswith("radio on: 12.20 % of 205 ms; T promises at most 13 %")
    assert promised[1].startswith(f"radio on: {'100.00' if radio == 'on' else '0.00'} % of 795 ms from 0.205000 s on") and ("T promises" in promised[1]) == ("energy" in body)


BUDGET = "energy {{ radio.on <= {} %; }}".format


@pytest.mark.parametrize(("blocks", "switched"), [
    # the same `after` as before counts now, and another one behind it would have switched off
    ("every 100 ms within 1 ms { after 10 ms { n.count(); } radio.on(); after 10 ms { radio.off(); } }" + BUDGET(13), True),
    ("every 100 ms within 1 ms { after 10 ms { n.count(); } radio.on(); after 10 ms { radio.off(); } }", True),
    ("every 100 ms within 1 ms { after 10 ms { n.count(); } if (r == 9) { radio.on(); radio.off(); } }" + BUDGET(13), True),
    # it goes on, and switches off on one path only
    ("every 100 ms within 1 ms { if (r == 9) { radio.on(); } after 10 ms { if (r == 9) { radio.off(); } n.count(); radio.off(); } }" + BUDGET(13), False),
    ("every 100 ms within 1 ms { after 10 ms { if (r == 9) { radio.off(); } n.count(); } }" + BUDGET(13), True),
    # another one is lost, which has nothing to do with the radio
    ("every 100 ms within 1 ms { radio.on(); after 10 ms { radio.off(); n.count(); } }" + BUDGET(13), False)])
def test_a_budget_is_kept_from_the_swap_on(tmp_path, blocks, switched):
    v1 = SWITCHED.replace("energy", "every 100 ms within 1 ms { after 50 ms { last = 1; } } energy").replace("timing T {", "timing T { register<bit<32>> last;")
    rows, radio = timeline(tmp_path, TAKE_OVER, v1=v1, v2=f"timing T {{ counter<bit<32>> n; register<bit<32>> r; {blocks} }} protocol P version 2 {{ timing : T; }}")
    assert ["0.205000", "replaced", "v2.lpn;" if switched else "v2.lpn", *(["radio.off"] if switched else [])] in rows
    assert "not part of that" not in radio[1]


ANSWERS = """timing T { every 100 ms within 1 ms { radio.on(); after 1 ms { radio.off(); } } energy { radio.on <= 6 %; } }
parser Rx(packet pkt) { state start { transition accept; } }
processor Echo(inout meta m) { apply { m.verdict = TRANSMIT; } }
deparser Tx(packet pkt) { }
"""


@pytest.mark.parametrize(("chain", "events", "why"), [
    ("", "20 ms radio on\n90 ms radio off", "what the events switched on, how long handlers took and waited here"),
    ("on app.tx(7) : Rx -> Echo -> Tx;", "1 ms repeat 40 every 10 ms {\napp.tx port=7 " + "11" * 100 + "\n}", "what chains sent, how long handlers took and waited here"),
    ("on app.tx(7) : Rx -> Echo -> Tx;", "20 ms radio on\n90 ms radio off", "what the events switched on, how long handlers took and waited here"),
    ("", "", None)])
def test_what_a_budget_does_not_count_is_told_where_it_happened(tmp_path, chain, events, why):
    _, [radio, *_] = timeline(tmp_path, f"{events}\nuntil 1 s\n", v1=f"{ANSWERS} protocol P version 1 {{ {chain} timing : T; }}")
    assert radio.partition("; not part of that: ")[2] == (why or ""), radio


@pytest.mark.parametrize(("promise", "share"), [("<= 99", "0.00"), ("< 100", "0.00"), ("<= 100", "100.00")])
def test_a_budget_finds_the_radio_off(tmp_path, promise, share):
    """From the beginning, and where the version before left it on."""
    idle = f"timing T {{ counter<bit<32>> n; every 1 s {{ n.count(); }} energy {{ radio.on {promise} %; }} }} protocol P version 1 {{ timing : T; }}"
    assert timeline(tmp_path, "until 1 s\n", v1=idle)[1][0].startswith(f"radio on: {share} % of 1 s")
    on = "timing T { every 1 s { radio.on(); } } protocol P version 1 { timing : T; }"
    first, then = timeline(tmp_path, TAKE_OVER, v1=on, v2=idle.replace("version 1", "version 2"))[1]
    assert first.startswith("radio on: 100.00 %") and then.startswith(f"radio on: {share} %")


def test_a_migration_takes_none_of_the_next_runs_time(tmp_path):
    (tmp_path / "v1.lpn").write_text("persistent register<bit<8>>[99] seen; timing T { every 1 s { seen[1] = seen[1] + 1; } } protocol P version 1 { timing : T; }")
    (tmp_path / "v2.lpn").write_text("""persistent register<bit<16>>[99] seen; extern void trace(bit<32> a, bit<32> b);
        migrate version 1 { register<bit<8>>[99] seen; for (i in 0..99) { seen[i] = (bit<16>) old.seen[i]; } }
        timing T { every 1 s within 1 ms { trace(node.clock, (bit<32>) seen[1]); } } protocol P version 2 { timing : T; }""")
    result = lpnc("run", tmp_path / "v1.lpn", "--events", "-", "--json", input=f"radio off\n1500 ms replace {tmp_path}/v2.lpn\nuntil 3500 ms\n")
    *records, summary = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(record["time"], record["took"] < 30, record["late"]) for record in records if record["kind"] == "ran" and record["time"] > 1_500_000] == [
        (2_000_000, True, False), (3_000_000, True, False)]
    assert summary["hooks"][0]["wait_worst"] == 0 and summary["hooks"][0]["misses"] == 0


def test_a_radio_that_nobody_switches_stays_as_it_is(tmp_path):
    text = "timing T { every 100 ms { after 10 ms { } } } protocol P version 1 { timing : T; }"
    rows, _ = timeline(tmp_path, TAKE_OVER, v1=text, v2=text.replace("10 ms", "20 ms"))
    assert ["0.205000", "replaced", "v2.lpn"] in rows


def test_a_replacement_tells_what_becomes_of_registers(tmp_path):
    """What it keeps, which migrations run, what begins anew, and what is gone; nothing where nothing was persistent."""
    first = """persistent register<bit<8>> n; persistent register<bit<16>> total; persistent register<bit<8>> gone; persistent register<bit<8>> read;
        timing T { every 100 ms { n = n + 1; total = 1; gone = 1; read = 1; } } protocol P version 1 { timing : T; }"""
    then = """persistent register<bit<8>> n; persistent register<bit<32>> total; persistent register<bit<8>> other;
        migrate version 1 { register<bit<8>> read; other = old.read; }
        timing T { every 100 ms { n = n + 1; total = 1; other = 1; } } protocol P version 2 { timing : T; }"""
    rows, _ = timeline(tmp_path, TAKE_OVER, v1=first, v2=then)
    assert [row[2] + " " + row[3] for row in rows if row[1] == "replaced"] == [
        "v2.lpn; keeps n; runs migrate.1; begins total anew, which had another type and no migration reads; "
        "loses gone, which it does not have and no migration reads"]
    result = lpnc("run", tmp_path / "v1.lpn", "--events", tmp_path / "x.events", "--json")
    replaced = next(one for one in map(json.loads, result.stdout.splitlines()) if one["kind"] == "replaced")
    assert [(one["what"], one["detail"].split()[0].rstrip(",")) for one in replaced["effects"]] == [
        ("keeps", "n"), ("runs", "migrate.1"), ("begins", "total"), ("loses", "gone")]


def test_slots_keep_one_beat(tmp_path):
    """A new one stands where it stands in the slotframe, and one that is gone moves none of the others."""
    text = "timing T {{ {} }} protocol P version 1 {{ timing : T; }}"
    slots = {n: f"slot {n} of 11 {{ }} " for n in range(11)}
    rows, _ = timeline(tmp_path, "165 ms replace v2.lpn\n250 ms replace v3.lpn\nuntil 400 ms\n", v1=text.format(slots[0] + slots[4] + slots[5]),
                       v2=text.format(slots[0] + slots[2] + slots[4]), v3=text.format(slots[3] + slots[4]))
    assert [row[0] for row in rows if row[1].startswith("T.")] == [
        f"0.{10 * at:03}000" for at in (0, 4, 5, 11, 15, 16, 22, 24, 26, 37 - 1, 37)]


def test_the_slot_number_goes_on_in_the_next_version(tmp_path):
    """The beacons of the example tell it; replaced by itself, they go on."""
    source = (ROOT / "examples/tsch_slot/tsch_slot.lpn").read_text()
    (tmp_path / "v1.lpn").write_text(source)
    sent = []
    for more in ("", "200 ms replace v1.lpn\n"):
        (tmp_path / "x.events").write_text(f"node short=0x0001 pan=0x0023\nradio off\nuntil 500 ms\n{more}")
        assert lpnc("run", tmp_path / "v1.lpn", "--events", tmp_path / "x.events", "--out", tmp_path / "y.pcap").exit_code == 0
        beacons = [frame.data for frame in read(tmp_path / "y.pcap")]
        sent.append([int.from_bytes(data.partition(b"\x06\x1a")[2][:5], "little") for data in beacons])      # IEEE 802.15.4, 7.4.4.2
    assert sent[0] == sent[1] == [0, 11, 22, 33, 44]


def test_what_is_longer_than_a_frame_is_not_sent(tmp_path):
    text = """header B {{ bit<128> a; {more} b; }} struct headers {{ B[{n}] b; }} deparser Tx(packet pkt, in headers h) {{ pkt.emit(h.b); }}
        timing T {{ every 20 ms {{ headers h; for (i in 0..{n}) {{ h.b[i].setValid(); }} radio.send(Tx(h)); }} }} protocol P version 1 {{ timing : T; }}"""
    for n, more, sent in ((5, "bit<72>", 1), (6, "bit<40>", 0)):         # 125, 126 octets
        rows, _ = timeline(tmp_path, "until 10 ms\n", v1=text.format(n=n, more=more))
        assert [row[1:3] for row in rows].count(["radio", "sends"]) == sent and ("radio.send BUSY" in str(rows)) == (not sent)
