"""Hand-written C, compiled by clang, is accepted: realistic optimiser output. Needs clang-19 and the peers' sources
(LPN_PEERS, or ../shared/peers beside the checkout); without them it says so."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from lpn.compiler.bench.verifier import PEER
from lpn.verifier import HelperSpec, verify

SOURCES = Path(os.environ.get("LPN_PEERS", Path(__file__).parents[2] / "shared" / "peers")) / "c"

LOOKUP = HelperSpec(1, "lookup", (("region", "state"), ("read", 8)), ("nullable", "entry", 8))

# udp_tx masks its count of contexts with 31, so it may read 31 rows of 32 bytes: the state is given that size here.
PROGRAMS = {"decompress": [], "udp_rx": [127, 3], "udp_tx": [128, 3, 31, 31, 31], "forward": []}


def compile_peer(name, tmp_path, *flags):
    if not shutil.which("clang-19"):
        pytest.skip("clang-19 is not installed")
    if not (SOURCES / f"{name}.c").exists():
        pytest.skip(f"no {name}.c in {SOURCES}")
    out = tmp_path / f"{name}.o"
    subprocess.run(["clang-19", "-O2", "-target", "bpf", "-mcpu=v3", "-ffreestanding", "-fno-strict-aliasing", "-idirafter",
                    "/usr/include/x86_64-linux-gnu", *flags, "-c", SOURCES / f"{name}.c", "-o", out], check=True)
    with out.open("rb") as f:
        return ELFFile(f).get_section_by_name(".text").data()


@pytest.mark.parametrize("name", PROGRAMS)
def test_peer_is_accepted(name, tmp_path):
    text = compile_peer(name, tmp_path)
    report = verify(text, PEER, record_size=72, state_size=1024, helpers=[LOOKUP])
    assert report.accepted, report.message
    assert sorted(b.bound for b in report.loops) == sorted(PROGRAMS[name])


@pytest.mark.parametrize("name", ["decompress", "udp_rx"])
def test_variants(name, tmp_path):
    for flag in ("-DLPN_FAST", "-DLPN_CLEAN32"):
        report = verify(compile_peer(name, tmp_path, flag), PEER, record_size=72, state_size=1024)
        assert report.accepted, report.message


def test_the_window_is_needed(tmp_path):
    """The same bytecode without the window, or with one byte less, is refused: the longest header ends exactly at its end."""
    from dataclasses import replace
    text = compile_peer("decompress", tmp_path)
    report = verify(text, replace(PEER, window=63), record_size=72, state_size=1024)
    assert report.rule == 19 and "beyond the proven 7 bytes, 63 more are readable" in report.message
    assert verify(text, replace(PEER, window=0), record_size=72, state_size=1024).rule == 19


def test_state_too_small_is_found(tmp_path):
    """udp_tx with its real state of 520 bytes: a count over 16 would be read past the end."""
    report = verify(compile_peer("udp_tx", tmp_path), PEER, record_size=72, state_size=520)
    assert report.rule == 22 and "of state, which has 520 bytes" in report.message
