"""Engine m3: chains, tables and whole programs as in the C engine on the host, and what it counts."""

import json

import pytest
import test_engine_chain as chains
import test_externs as externs
from cli import RECORDING as CAPTURE, UDP, lpnc
from test_engine_chain import *  # noqa: F403

from lpn.compiler.asm import assemble
from lpn.compiler.bundle import Bundle, Hook
from lpn.compiler.fuzz import differential
from lpn.compiler.image import Image, Kind
from lpn.runtime.engines import EngineUnavailable, get_engine

try:
    get_engine("m3")
except EngineUnavailable as e:
    pytest.skip(str(e), allow_module_level=True)



def objects(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(autouse=True)
def on_the_core(monkeypatch):
    """The chain's tests ask for `engine`: they get the same engine on the core."""
    monkeypatch.setattr(chains, "get_engine", lambda name: get_engine("m3" if name == "engine" else name))


@pytest.fixture(scope="module")
def rows() -> list[dict]:
    return objects(lpnc("run", UDP, "--in", CAPTURE, "--compare", "m3,engine", "--json").stdout)


def test_all_frames_as_on_the_host(rows):
    assert len(rows) == 277 and all(row["agree"] for row in rows)
    assert all(row["engines"]["m3"]["insns"] == row["engines"]["engine"]["insns"] for row in rows)


def test_counts_of_each_frame(rows):
    reached = [r for r in rows if r["reason"] not in ("Fcs", "NotFrame")]
    assert len(reached) > 200 and all(r["insns"] < r["thumb"] < r["cycles"] < r["flash_cycles"] for r in reached)
    assert all("thumb" not in r["engines"]["engine"] for r in reached)
    same = {}
    for r in reached:                           # the same way through the program takes the same time, but for operands
        same.setdefault((r["reason"], r["insns"], r["thumb"]), set()).add(r["cycles"])
    assert any(len(v) == 1 for v in same.values())


def test_totals_name_the_cycles():
    out = lpnc("run", UDP, "--in", CAPTURE, "--engine", "m3", "--limit", "30").stdout
    assert "Cortex-M3 cycles: " in out and "with the flash's wait states" in out


def test_bundles(tmp_path):
    assert lpnc("build", UDP, "-o", tmp_path, "--emit", "bundle").exit_code == 0
    path = next(tmp_path.glob("*.lpnb"))
    out = objects(lpnc("run", path, "--in", CAPTURE, "--engine", "m3", "--json", "--limit", "9").stdout)
    assert len(out) == 9 and all(row["cycles"] for row in out if row["reason"] not in ("Fcs", "NotFrame"))


@pytest.mark.parametrize("seed", range(2000, 2012))
def test_random_programs(seed):
    try:
        differential.run_case(differential.make_case(seed, 6), (differential.Variant("m3"), differential.Variant("m3", True)))
    except differential.Refused:
        pytest.skip("the compiler cannot do this yet")


def test_fuzz_takes_it_by_name(tmp_path):
    result = lpnc("fuzz", "--programs", "2", "--packets", "3", "--engine", "m3")
    assert result.exit_code == 0 and "compared m3" in result.output


def test_a_missing_compiler_is_said(monkeypatch):
    from lpn.runtime.m3 import core, firmware
    monkeypatch.setattr(firmware.shutil, "which", lambda _: None)
    firmware.engine.cache_clear()
    core._missing.cache_clear()
    try:
        assert "install Debian's gcc-arm-none-eabi" in json.loads(
            [line for line in lpnc("engines", "--json").stdout.splitlines() if '"m3"' in line][0])["why_not"]
        assert lpnc("run", UDP, "--in", CAPTURE, "--engine", "m3").exit_code == 2
    finally:
        core._missing.cache_clear()
        firmware.engine.cache_clear()


@pytest.mark.parametrize("engine", ["m3", "thumb2"])
@pytest.mark.parametrize("fuse", [False, True])
def test_functions_of_the_node(engine, fuse):
    externs.test_functions_of_the_node(engine, fuse)


@pytest.mark.parametrize("engine", ["m3", "thumb2"])
def test_functions_of_the_node_that_fail(engine):
    externs.test_unknown_functions_are_refused_by_name(engine)
    externs.test_an_exception_comes_back(engine)


CALLS = """
*(u64 *)(r10 - 8) = 7
call f
r1 = *(u64 *)(r10 - 8)
r2 = r0
call 3
w0 = 0
exit
f:
*(u64 *)(r10 - 8) = 9
r0 = *(u64 *)(r10 - 8)
exit
"""


@pytest.mark.parametrize("room", [None, 0, 64])
def test_what_has_no_room_for_its_code_is_interpreted_as_before(room):
    """Its image says how much stack all its functions use together, the interpreter gives each what it uses itself."""
    from lpn.runtime.m3.core import CODE
    from lpn.runtime.m3.engine import M3Program
    sizes = {"record_hash": 1, "record_size": 8, "state_hash": 2, "state_size": 8}
    image = Image("p", Kind.PROCESSOR, assemble(CALLS), stack_used=16, **sizes)
    program = M3Program(Bundle("p", 1, (image,), (Hook("radio.rx_done", ("p",)),), **sizes), 1000)
    host = program.host
    host.core.call("lpn_host_vouch", host.handle, 0)
    if room is not None:
        code_map = host.put("image", bytes(2 * len(image.text) // 8 + 2))
        error = host.core.call("lpn_host_translate", host.handle, 0, CODE, room, code_map, host.room("c"))
        assert host.error_name(error) == "not enough memory given"
    assert program.run(b"abc").traces == ((7, 9),)
