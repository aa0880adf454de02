"""`lpnc profile`: every Thumb instruction belongs to one eBPF instruction and to one part of the engine, and none is lost."""

import itertools
import json

import pytest
from cli import RECORDING, UDP, lpnc
from programs import ROOT, example

from lpn.compiler.build import compile_program
from lpn.compiler.judge import seal
from lpn.compiler.replay import happened
from lpn.runtime.capture import Writer, read
from lpn.runtime.engines import EngineUnavailable, get_engine
from lpn.runtime.events import read_events

try:
    get_engine("m3")
except EngineUnavailable as e:
    pytest.skip(str(e), allow_module_level=True)
from lpn.runtime.m3.profile import Profiled  # noqa: E402  needs the core

LIMIT = ("--limit", "12")


@pytest.fixture(scope="module")
def found() -> dict:
    return json.loads(lpnc("profile", UDP, "--in", RECORDING, *LIMIT, "--json").stdout)


@pytest.fixture(scope="module")
def frames() -> list[dict]:
    rows = [json.loads(line) for line in lpnc("run", UDP, "--in", RECORDING, *LIMIT, "--engine", "m3", "--json").stdout.splitlines()]
    return [row for row in rows if row["reason"] not in ("Fcs", "NotFrame")]


def test_sums_are_what_the_engine_counts(found, frames):
    """Two ways to count: instruction by instruction here, block by block there."""
    assert found["frames"] == len(frames)
    for unit in ("thumb", "cycles"):
        assert found[unit] == sum(row[unit] for row in frames)
        assert found[unit] == sum(row[unit] for row in found["parts"])
        assert found[unit] == sum(row[unit] for row in found["instructions"]) + found["outside"][unit]
        assert sum(row[unit] for row in found["modules"]) == sum(row[unit] for row in found["lines"]) == found[unit] - found["outside"][unit]


def test_each_ebpf_instruction_executed_is_there(found, frames):
    """Several that the interpreter does at once count as the first of them."""
    assert sum(row["insns"] for row in frames) / 2 < sum(row["executed"] for row in found["modules"]) <= sum(row["insns"] for row in frames)
    assert sum(row["executed"] for row in found["instructions"]) == sum(row["executed"] for row in found["lines"])
    assert [row["cycles"] for row in found["lines"]] == sorted((row["cycles"] for row in found["lines"]), reverse=True)


def test_parts(found):
    parts = {row["part"]: row["cycles"] for row in found["parts"]}
    assert {"instructions", "dispatch", "entering containers", "chain", "zeroing"} <= set(parts)
    assert "memory checks" not in parts         # every container has a certificate
    executed = sum(row["executed"] for row in found["modules"])
    assert 3 * executed < parts["dispatch"] < 7 * executed


@pytest.mark.parametrize("engine", ["m3", "thumb2"])
def test_what_lies_between_modules_is_no_modules(engine):
    """An `exit` has not what it takes to leave its container and to enter the next one."""
    found = json.loads(lpnc("profile", UDP, "--in", RECORDING, *LIMIT, "--engine", engine, "--json").stdout)
    exits = [row for row in found["instructions"] if row["text"] == "exit"]
    assert len({row["module"] for row in exits}) == 3 and all(row["cycles"] < 60 * row["executed"] for row in exits), exits
    between = sum(row["cycles"] for row in found["parts"] if row["part"] in ("chain", "entering containers"))
    assert found["outside"]["cycles"] >= between


def test_memory_checks_are_seen_where_they_are_made():
    """The same frames, once by certificates."""
    made, parts = compile_program(example("udp/udp"), "lpn", False, 2), []
    for certified in (False, True):
        if certified:
            seal(made)
        profiled = Profiled(made.bundle)
        profiled.set_state(made.initial_state(None))
        for frame in itertools.islice(read(RECORDING), 4):
            profiled.run(frame.data)
        parts.append({part: cost.cycles for part, cost in profiled.profile.parts.items()})
    unchecked, checked = parts[1], parts[0]
    assert "memory checks" not in unchecked and checked["memory checks"] > sum(unchecked.values())


def test_tables_and_listing():
    out = lpnc("profile", UDP, "--in", RECORDING, "--limit", "3", "--listing", "--top", "3").stdout
    assert "part of the engine" in out and "udp.lpn:" in out and "(between modules)" in out
    assert any(line.rstrip().endswith("exit") and "%" in line for line in out.splitlines())
    assert "; (no line)" in out and ":0\n" not in out          # what a container begins with


def test_errors(tmp_path):
    assert lpnc("profile", UDP, "--in", tmp_path / "none.pcap").exit_code == 2
    result = lpnc("profile", UDP, "--in", RECORDING, "--limit", "0")
    assert result.exit_code == 2 and "no frame reached the program" in result.stderr
    with Writer(tmp_path / "x.pcap", 1) as out:
        out.add_verbatim(bytes(60), 0)
    result = lpnc("profile", UDP, "--in", tmp_path / "x.pcap")
    assert result.exit_code == 2
    assert "no frame reached the program; dropped: 1 NotFrame; this capture has no 802.15.4 frames: what it has is of link type 1 (Ethernet)" in result.stderr


def test_translated_code():
    """As above: the sums are what the engine counts, and every Thumb instruction stands beside its eBPF instruction."""
    found = json.loads(lpnc("profile", UDP, "--in", RECORDING, *LIMIT, "--engine", "thumb2", "--json").stdout)
    rows = [json.loads(line) for line in lpnc("run", UDP, "--in", RECORDING, *LIMIT, "--engine", "thumb2", "--json").stdout.splitlines()]
    rows = [row for row in rows if row["reason"] not in ("Fcs", "NotFrame")]
    for unit in ("thumb", "cycles"):
        assert found[unit] == sum(row[unit] for row in rows) == sum(row[unit] for row in found["parts"])
        assert found[unit] == sum(row[unit] for row in found["instructions"]) + found["outside"][unit]
    assert all(row["code"] for row in found["instructions"] if row["text"] == "exit")
    assert {"translated code", "chain"} <= {row["part"] for row in found["parts"]}
    out = lpnc("profile", UDP, "--in", RECORDING, "--limit", "2", "--engine", "thumb2", "--listing", "--top", "1").stdout
    code = [line.split("  ")[-1].strip() for line in out.splitlines() if "exit" in line or "pop" in line]
    assert any(line.startswith("pop") for line in code) and "exit" in code


# ---------------------------------------------------------------- the runs of hooks

EXAMPLES = [("duty/duty", "duty/duty"), ("tsch_slot/tsch_slot", "tsch_slot/tsch_slot"), ("duty_cycle/duty_cycle", "duty_cycle/sink")]


def objects(*arguments) -> list[dict]:
    result = lpnc(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize(("name", "happens"), EXAMPLES)
def test_a_hooks_runs_are_those_of_the_node(name, happens):
    """Each, run once more, takes the instructions that `run --events` counts, and the profile is of so many; sums are sums."""
    given = ROOT / f"examples/{name}.lpn", "--events", ROOT / f"examples/{happens}.events"
    insns: dict[str, list[int]] = {}
    for record in objects("run", *given, "--insn-time", "0"):
        if record["kind"] == "ran":
            insns.setdefault(record["hook"], []).append(record["insns"])
    program = example(name)
    made = compile_program(program)
    path = ROOT / f"examples/{happens}.events"
    script = read_events(path.read_text(), path.name, path.parent)
    names, runs = happened(program, made, script, None, script.node, None)
    again: dict[str, list[int]] = {}
    for run in runs:
        again.setdefault(names[run.hook], []).append(run.once_more(get_engine("engine").load(made.bundle, hook=made.bundle.hooks[run.hook])).insns)
    assert again == insns
    found = {each["hook"]: each for each in objects("profile", *given)}
    assert found.keys() == insns.keys()
    for hook, each in found.items():
        assert each["frames"] == len(insns[hook])
        assert sum(insns[hook]) / 2 < sum(row["executed"] for row in each["modules"]) == sum(row["executed"] for row in each["lines"]) <= sum(insns[hook])
        assert each["cycles"] == sum(row["cycles"] for row in each["parts"]) == sum(row["cycles"] for row in each["lines"]) + each["outside"]["cycles"]


def test_one_hook_for_people():
    given = ROOT / "examples/duty/duty.lpn", "--events", ROOT / "examples/duty/duty.events"
    shown = lpnc("profile", *given, "--hook", "DutyCycle.every_125ms", "--limit", "5", "--engine", "thumb2", "--listing").stdout
    assert shown.startswith("DutyCycle.every_125ms\n\n5 runs: ") and "radio.cca() == CLEAR" in shown and "; DutyCycle.every_125ms\n" in shown
    assert "every_1s" not in shown and "; Rx\n" not in shown, "no other hook's containers"


@pytest.mark.parametrize(("more", "message"), [
    (["--hook", "Duty.x"], "there is no hook Duty.x: there are radio.rx_done, DutyCycle.every_125ms"),
    (["--in", RECORDING], "--in and --events exclude each other"), (["--fcs", "none"], "--fcs belongs to --in")])
def test_what_a_profile_of_hooks_does_not_take(more, message):
    result = lpnc("profile", ROOT / "examples/duty/duty.lpn", "--events", ROOT / "examples/duty/duty.events", *more)
    assert result.exit_code == 2 and message in result.stderr


def test_runs_that_do_something_else_by_themselves(tmp_path):
    """Nothing happens, another version takes over, or what a run needs is in a buffer that another hook filled."""
    assert "give --in X.pcap or --events EVENTS" in lpnc("profile", UDP).stderr
    duty = ROOT / "examples/duty/duty.lpn"
    assert "no hook ran" not in lpnc("profile", duty, "--events", "-", "--hook", "radio.rx_done", input="until 1 ms\n").stderr
    assert "--limit 0 leaves no run to profile" in lpnc("profile", duty, "--events", duty.with_suffix(".events"), "--limit", "0").stderr
    assert "radio.rx_done never ran" in lpnc("profile", duty, "--events", "-", "--hook", "radio.rx_done", input="until 1 ms\n").stderr
    assert "a profile is of one version" in lpnc("profile", duty, "--events", "-", input=f"1 ms replace {duty}\nuntil 2 ms\n").stderr
    (tmp_path / "x.lpn").write_text("""
        header H { bit<8> k; } struct headers { H h; }
        buffer<64>[2] kept timeout 60 s;
        parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
        processor Keep(inout headers h, inout meta m) { apply { kept.hold(8w1, Tx(h)); m.verdict = CONSUMED; } }
        processor Given(inout headers h, inout meta m) { apply { m.verdict = CONSUMED; } }
        deparser Tx(packet pkt, in headers h) { pkt.emit(h.h); }
        timing T { counter<bit<8>> empty; register<bit<8>> full; every 100 ms { if (kept.take(8w1) == 1) { full = full + 1; radio.on(); } else { empty.count(); radio.off(); } } }
        protocol P version 1 { on app.tx(7) : Rx -> Keep; on kept.complete : Rx -> Given; timing : T; }""")
    result = lpnc("profile", tmp_path / "x.lpn", "--events", "-", "--hook", "T.every_100ms", input="10 ms app.tx port=7 0102\nuntil 250 ms\n")
    assert result.exit_code == 1 and "T.every_100ms: a run of it does something else by itself than on the node" in result.stderr, result.stderr
