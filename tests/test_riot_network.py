"""Containers in RIOT's network stack: nodes on this machine, over emulated IEEE 802.15.4."""
from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli import lpnc
from riot_network import Node, build, line, needs_riot, network

ROOT = Path(__file__).parent.parent
pytestmark = needs_riot


@pytest.fixture(scope="session")
def elf() -> Path:
    return build()


def pack(source: str, tmp_path: Path, *options: str) -> bytes:
    """A program of the examples in the form that nodes take."""
    out = tmp_path / "pack.lpnn"
    lpnc("pack", str(ROOT / source), "-o", str(out), *options)
    return out.read_bytes()


def received(text: str) -> int:
    """Of the answer to a ping."""
    found = re.search(r"(\d+) packets received", text)
    assert found, text
    return int(found[1])


def ping(a: Node, b: Node, count: int = 5) -> int:
    return received(a.ask(f"ping -c {count} -i 200 {b.link_local}", r"packet loss", 15))


def test_without_containers_the_stack_is_as_before(elf: Path) -> None:
    with network([elf, elf], line(2)) as (a, b):
        assert ping(a, b) == 5 and ping(b, a) == 5
        assert "radio: radio HAL" in a.ask("lpn list")
        assert a.buffer_is_empty() and b.buffer_is_empty()


def test_udp_is_served_by_containers_and_checksums_are_optional(elf: Path, tmp_path: Path) -> None:
    """An unmodified GNRC node talks to one whose containers are all there is above the MAC."""
    with network([elf, elf], line(2)) as (gnrc, lpn):
        lpn.run(pack("examples/udp/udp.lpn", tmp_path))
        gnrc.ask("udp server start 9000")
        for _ in range(10):
            gnrc.ask(f"udp send {lpn.link_local} 7 hello")
            gnrc.ask(f"udp send {lpn.link_local} 9 hello")
        gnrc.read(0.5)
        stats = lpn.stats()
        assert stats["frames"]["received"] == 20 and stats["frames"]["undelivered"] == 10 and stats["frames"]["ok"] == 10
        assert stats["hook 0 radio.rx_done"]["runs"] == 20
        with_checksum = stats["hook 0 radio.rx_done"]["insns-worst"]

        assert "lpn: ok" in lpn.ask("lpn detach Checksum", r"^lpn: .*$")
        assert "Rx -> Serve -> Tx" in lpn.ask("lpn list")
        lpn.ask("lpn stats reset")
        gnrc.ask(f"udp send {lpn.link_local} 7 hello")
        gnrc.read(0.3)
        without = lpn.stats()["hook 0 radio.rx_done"]
        assert without["runs"] == 1 and without["insns-worst"] < with_checksum
        assert "lpn: ok" in lpn.ask("lpn attach Checksum", r"^lpn: .*$")
        assert "Rx -> Checksum -> Serve -> Tx" in lpn.ask("lpn list")

        assert "lpn: ok" in lpn.ask("lpn detach", r"^lpn: .*$")     # GNRC has the node again
        assert ping(gnrc, lpn) == 5
        assert lpn.buffer_is_empty() and gnrc.buffer_is_empty()
