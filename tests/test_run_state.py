"""`lpnc run --state`: what registers, counters and meters hold in the end, the same in every engine, as a tables file has it."""
from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from cli import lpnc
from hypothesis import given, settings
from hypothesis import strategies as st

from lpn.compiler import runner
from lpn.compiler.commands.engines import missing
from lpn.compiler.contents import as_json
from lpn.compiler.runner import make_runner
from lpn.lang import tables
from lpn.lang.check import check
from lpn.lang.loader import load
from lpn.lang.source import Source
from lpn.runtime.capture import Writer

ENGINES = [name for name in ("engine", "reference", "rbpf", "m3", "thumb2", "kernel") if name == "engine" or missing(name) is None]
PROGRAM = """
error { Odd }
enum bit<8> Kind { data = 2, ping = 3 }
header H { bit<16> a; }
struct headers { H h; }
struct Place { bit<16> row; bool free; }
struct Peer { bit<64> address; Place place; Kind kind; }
persistent register<bit<32>> total;
register<bit<128>> last;
register<int<16>> low;
register<error> why;
register<Peer>[4] peers;
register<bit<8>>[300] marks;
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
processor Count(inout headers h, inout meta m) {
    counter<bit<16>>[4] sizes;
    meter<bit<8>> rate(1 ms, 3);
    apply {
        total = total + 1;
        last = ip6"fe80::1";
        low = low - 3;
        why = error.Odd;
        if (h.h.a == 9) {
            peers[2].address = eui64"00-12-4b-00-01-02-03-04"; peers[2].place.free = true; peers[2].kind = Kind.ping;
            marks[299] = 7;
        }
        sizes.count(h.h.a[1:0]);
        if (rate.execute() == RED) { m.verdict = DROP; }
    }
}
protocol Node version 1 { on radio.rx_done : Rx -> Count; }
"""
KEPT = {"registers": {"total": 3, "last": "fe80::1", "low": -9, "why": "Odd",
                      "peers": {"2": {"address": 0x00124b0001020304, "place": {"row": 0, "free": True}, "kind": "ping"}}, "marks": {"299": 7}},
        "counters": {"Count.sizes": {"1": 2, "2": 1}}, "meters": {"Count.rate": {"committed": 3000, "excess": 0, "time": 5_000_000}}}


@pytest.fixture
def given_files(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "x.lpn").write_text(PROGRAM)
    with Writer(tmp_path / "x.pcap", 230) as writer:
        for number in (1, 2, 9):
            writer.add(struct.pack(">H", number), 5_000_000)
    return tmp_path / "x.lpn", tmp_path / "x.pcap"


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_shows_its_state(given_files, engine):
    program, packets = given_files
    done = lpnc("run", program, "--in", packets, "--engine", engine, "--state", "--json")
    assert done.exit_code == 0, done.stderr
    *frames, last = map(json.loads, done.stdout.splitlines())
    assert len(frames) == 3 and last == {"state": KEPT}


def test_the_state_for_people(given_files):
    """Numbers that stand alone, and of arrays those that are not 0."""
    program, packets = given_files
    done = lpnc("run", program, "--in", packets, "--state", "--compare", "engine,reference")
    _, *shown = [line.split(None, 2) for line in done.stdout.split("\n\n")[-1].splitlines()]
    assert shown == [
        ["total", "register", "3"], ["last", "register", "fe80::1"], ["low", "register", "-9"], ["why", "register", "Odd"],
        ["peers[2].address", "register", "00:12:4b:00:01:02:03:04"], ["peers[2].place.free", "register", "true"], ["peers[2].kind", "register", "ping"],
        ["marks[299]", "register", "7"], ["Count.sizes[1]", "counter", "2"], ["Count.sizes[2]", "counter", "1"],
        ["Count.rate.committed", "meter", "3000 (0xbb8)"], ["Count.rate.excess", "meter", "0"], ["Count.rate.time", "meter", "5000000 (0x4c4b40)"],
        ["engine", "and", "reference agree in the state"]]


def test_engines_that_leave_another_state_differ(given_files, monkeypatch):
    program, packets = given_files
    real = runner.reference_cells

    def other(state):
        found = real(state)
        next(iter(found.values()))[0][""] += 1
        return found
    monkeypatch.setattr(runner, "reference_cells", other)
    done = lpnc("run", program, "--in", packets, "--state", "--compare", "engine,reference")
    assert done.exit_code == 1 and "total: 3 in engine, 4 in reference" in done.stdout and "engine and reference differ in the state" in done.stdout
    last = json.loads(lpnc("run", program, "--in", packets, "--state", "--compare", "engine,reference", "--json").stdout.splitlines()[-1])
    assert last["agree"] is False and [each["registers"]["total"] for each in last["engines"].values()] == [3, 4]


def test_the_state_of_the_version_that_took_over(given_files, tmp_path):
    program, packets = given_files
    (tmp_path / "y.lpn").write_text(PROGRAM.replace("version 1", "version 2").replace("total + 1", "total + 10"))
    done = lpnc("run", program, "--in", packets, "--then", tmp_path / "y.lpn", "--at", "3", "--state", "--json")
    assert json.loads(done.stdout.splitlines()[-1])["state"]["registers"]["total"] == 12
    (tmp_path / "t.lpn").write_text("persistent register<bit<8>> n; timing T { register<bit<8>> own; every 1 s { n = n + 1; own = n; } } protocol P version 1 { timing : T; }")
    (tmp_path / "u.lpn").write_text("persistent register<bit<8>> n; timing T { every 1 s { n = n + 10; } } protocol P version 2 { timing : T; }")
    for replaced, registers in (("", {"n": 4, "T.own": 4}), (f"1500 ms replace {tmp_path}/u.lpn\n", {"n": 22}), (f"9 s replace {tmp_path}/u.lpn\n", {"n": 4, "T.own": 4})):
        done = lpnc("run", tmp_path / "t.lpn", "--events", "-", "--state", "--json", "--compare", "engine,reference", input=f"{replaced}until 3500 ms\n")
        assert done.exit_code == 0 and json.loads(done.stdout.splitlines()[-1])["state"]["registers"] == registers


def test_a_bundle_does_not_know_its_types(given_files, tmp_path):
    program, packets = given_files
    assert lpnc("build", program, "-o", tmp_path / "out").exit_code == 0
    done = lpnc("run", tmp_path / "out/x.lpnb", "--in", packets, "--state")
    assert done.exit_code == 2 and "--state needs the program's source" in done.stderr
    assert lpnc("run", program, "--in", packets, "--state", "--out", "-").exit_code == 2


CHECKED = check(load(Source("x.lpn", PROGRAM)))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_what_is_shown_of_registers_can_be_given_back(data):
    """Whatever registers hold, `--tables` takes the `registers` that `--state` shows, and they hold the same again."""
    before = make_runner("reference", CHECKED)
    numbers = {"total": st.integers(0, 2**32 - 1), "last": st.integers(0, 2**128 - 1), "low": st.integers(-2**15, 2**15 - 1)}
    content = {name: data.draw(each) for name, each in numbers.items()} | {"why": data.draw(st.sampled_from(["NoError", "Odd"]))}
    peer = st.fixed_dictionaries({"address": st.integers(0, 2**64 - 1), "place": st.fixed_dictionaries({"row": st.integers(0, 65535), "free": st.booleans()}),
                                  "kind": st.sampled_from(["data", "ping"])})
    content["peers"] = data.draw(st.dictionaries(st.sampled_from("0123"), peer))
    for cell in tables.from_json(content, CHECKED).cells:
        before.set_cell(cell)
    shown = as_json(CHECKED, before.cells())["registers"]
    after = make_runner("reference", CHECKED, tables.from_text(json.dumps(shown), CHECKED))
    assert after.cells() == before.cells()
