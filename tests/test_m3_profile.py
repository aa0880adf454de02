"""`lpnc profile`: every Thumb instruction belongs to one eBPF instruction and to one part of the engine, and none is lost."""

import itertools
import json

import pytest
from cli import RECORDING, UDP, lpnc
from programs import example

from lpn.compiler.build import compile_program
from lpn.compiler.judge import seal
from lpn.runtime.capture import read
from lpn.runtime.engines import EngineUnavailable, get_engine

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
