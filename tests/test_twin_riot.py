"""Unmodified RIOT firmware on emulated boards: GNRC's shell, ping with acknowledgements, losses, the same run twice.

LPN_IOTLAB_ELF names gnrc_networking.elf as built with BOARD=iotlab-m3; or RIOTBASE a RIOT checkout, and it is built.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("unicorn", reason="the emulated board needs unicorn: pip install 'lpn[m3]'")

from lpn.compiler.cli import cli
from lpn.runtime.twin.network import Network
from lpn.runtime.twin.program import Program, read
from lpn.runtime.twin.profile import Spent, watch
from lpn.runtime.twin.session import Session

APPLICATION = "examples/networking/gnrc/networking"


@pytest.fixture(scope="module")
def elf(tmp_path_factory) -> Path:
    given, base = os.environ.get("LPN_IOTLAB_ELF"), os.environ.get("RIOTBASE")
    if given:
        return Path(given)
    if not base:
        pytest.skip("set LPN_IOTLAB_ELF to gnrc_networking.elf built for iotlab-m3, or RIOTBASE to a RIOT checkout")
    out = tmp_path_factory.mktemp("riot")
    done = subprocess.run(["make", "-C", str(Path(base) / APPLICATION), "BOARD=iotlab-m3", f"BINDIRBASE={out}"],
                          capture_output=True, text=True, env={**os.environ, "DEVELHELP": "0"})
    if done.returncode:
        pytest.fail(f"RIOT does not build: {done.stderr.strip().splitlines()[-1:]}")
    return out / "iotlab-m3" / "gnrc_networking.elf"


@pytest.fixture(scope="module")
def program(elf) -> Program:
    return read(elf)


def session(program: Program, *commands: str, boards: int = 2, seconds: float = 5, **more) -> Session:
    made = Session(Network([program] * boards, more.pop("seed", 0), more.pop("loss", 0.0)), {0: list(commands)}, **more)
    made.run(seconds)
    return made


def console(of: Session, board: int = 0) -> str:
    return of.network.boards[board].console.decode()


def address(of: Session, board: int) -> str:
    eui = bytes.fromhex(of.summary(of.network.boards[board])["eui64"])
    raw = bytes((eui[0] ^ 2,)) + eui[1:]
    return "fe80::" + ":".join(f"{int.from_bytes(raw[i:i + 2], 'big'):x}" for i in range(0, 8, 2))


def test_it_boots_and_sleeps(program):
    made = session(program, "help", boards=1, seconds=1)
    assert "RIOT network stack example application" in console(made) and "Ping via ICMPv6" in console(made)
    found = made.summary(made.network.boards[0])
    assert found["unmodelled"] == [] and found["asleep"] > 0.9
    assert made.network.boards[0].rcc.core == 72_000_000


def test_ping_is_acknowledged(program):
    first = session(program, seconds=0.1)
    made = session(program, f"ping {address(first, 1)}", seconds=4)
    assert "3 packets transmitted, 3 packets received, 0% packet loss" in console(made)
    counts = made.network.boards[0].radio.counts
    assert counts["no acknowledgement"] == 0 and counts["acknowledged"] == 3
    acks = [s for s in made.sent if s.psdu[0] & 7 == 2]
    assert len(acks) == 6 and {a.sender for a in acks} == {"node1", "node2"}


def test_the_same_run_twice(program):
    runs = [session(program, "ping ff02::1", loss=0.2, seed=5, seconds=4) for _ in range(2)]
    assert runs[0].sent == runs[1].sent and console(runs[0]) == console(runs[1])
    assert [b.cpu.clock.insns for b in runs[0].network.boards] == [b.cpu.clock.insns for b in runs[1].network.boards]
    assert session(program, "ping ff02::1", loss=0.2, seed=6, seconds=4).sent != runs[0].sent


def test_losses_are_made_good_by_retries(program):
    first = session(program, seconds=0.1)
    made = session(program, f"ping -c 10 -i 200 {address(first, 1)}", loss=0.3, seconds=5)
    lost = sum(board.radio.counts["no acknowledgement"] for board in made.network.boards)
    assert lost > 3
    received = int(console(made).split("packets transmitted, ")[1].split()[0])
    assert received >= 8


def test_udp_between_two_boards(program):
    first = session(program, seconds=0.1)
    network = Network([program] * 2)
    made = Session(network, {1: ["udp server start 8808"], 0: ["version", f"udp send [{address(first, 1)}]:8808 hello"]})
    made.run(3)
    assert "Success: sent 5 byte" in console(made)
    assert "68  65  6C  6C  6F" in console(made, 1)


def test_reboot(program):
    made = session(program, "reboot", "version", boards=1, seconds=1)
    assert made.network.boards[0].resets == 1 and console(made).count("All up, running the shell now") == 2


def test_a_profile_adds_up(program):
    made = Session(Network([program]), profiled=True)
    entered = []
    watch(made.network.boards[0], "gnrc_netif_send" if "gnrc_netif_send" in program.symbols else "sched_run", lambda: entered.append(1))
    made.run(1)
    found = made.profiles[0].snapshot()
    assert sum(found.layers.values(), Spent()) == found.total
    by_function = made.profiles[0].functions()
    assert sum((spent for _, spent in by_function.values()), Spent()) == found.total
    assert entered
    assert {"driver", "MAC", "6LoWPAN", "network", "kernel", "interrupt"} <= {layer for layer, spent in found.layers.items() if spent.cycles}


def test_what_tshark_reads(program, tmp_path):
    if not shutil.which("tshark"):
        pytest.skip("needs tshark")
    made = session(program, "ping ff02::1", seconds=4)
    path = tmp_path / "air.pcap"
    made.capture(str(path))
    out = subprocess.run(["tshark", "-r", str(path), "-T", "fields", "-e", "wpan.fcs_ok", "-e", "icmpv6.type"], capture_output=True, text=True,
                         check=True).stdout
    rows = [line.split("\t") for line in out.splitlines()]
    assert len(rows) == len(made.sent) and {row[0] for row in rows} <= {"1", "True"}
    assert [row[1] for row in rows].count("128") == 3 and [row[1] for row in rows].count("129") == 3


def test_the_command(elf, tmp_path):
    out = tmp_path / "air.pcap"
    done = CliRunner().invoke(cli, ["twin", str(elf), "--boards", "2", "--shell", "ping ff02::1", "--seconds", "2.5", "--out", str(out), "--json",
                                    "--profile"], standalone_mode=False)
    found = json.loads(done.output)
    assert found["boards"][0]["frames"]["sent"] >= 3 and out.exists()
    assert sum(layer["cycles"] for layer in found["profile"][0]["layers"]) == found["boards"][0]["cycles"]
    assert found["boards"][0]["seconds"] >= 2.5


def test_frames_of_a_capture_reach_the_node(program, tmp_path):
    """A ping's request, heard from nobody of the boards, is answered."""
    from lpn.runtime.capture import Frame
    made = Session(Network([program] * 2), {1: ["ping ff02::1"]})
    made.run(0.5)
    request = next(s.psdu[:-2] for s in made.sent if s.sender == "node2" and b"\x3a\x01\x80\x00" in s.psdu)
    alone = Session(Network([program]), frames=[Frame(1, 0, request)], frames_at=1.0)
    alone.run(1.5)
    own = [s for s in alone.sent if s.sender == "node1" and s.time > 1_000_000]
    assert own and any(b"\x3a\x81\x00" in s.psdu for s in own)
