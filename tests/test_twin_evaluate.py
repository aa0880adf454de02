"""Measuring packets on the emulated board: the station's frames, and firmware that runtime/riot/measure builds.

LPN_MEASURE_ELF names lpn_measure.elf as built with BOARD=iotlab-m3; or RIOTBASE a RIOT checkout, and it is built.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("unicorn", reason="the emulated board needs unicorn: pip install 'lpn[m3]'")

from scapy.all import IPv6, UDP, Dot15d4, conf

from lpn.compiler.output import Failure
from lpn.compiler.pages import sections
from lpn.runtime.twin import evaluate, page, sizes
from lpn.runtime.twin.air import Air
from lpn.runtime.twin.clock import SECOND, US
from lpn.runtime.twin.program import ProgramError, read
from lpn.runtime.twin.station import Station

NODE = 0x0A0B_0C0D_0102_0304


def built(firmware: page.Firmware, where: Path) -> Path:
    """Its ELF. Skips without RIOT."""
    base = os.environ.get("RIOTBASE")
    if not base:
        pytest.skip("needs RIOT: set RIOTBASE to a checkout of https://github.com/RIOT-OS/RIOT")
    return page.measured(firmware, page.UDP, where, base)


@pytest.fixture(scope="module")
def elf(tmp_path_factory) -> Path:
    given = os.environ.get("LPN_MEASURE_ELF")
    if given:
        return Path(given)
    if not os.environ.get("RIOTBASE"):
        pytest.skip("set LPN_MEASURE_ELF to lpn_measure.elf built for iotlab-m3, or RIOTBASE to a RIOT checkout")
    return built(page.FIRMWARES["gnrc"], tmp_path_factory.mktemp("riot"))


@pytest.mark.parametrize("payload", [b"odd", b"even", bytes(40)])
def test_the_stations_frame_is_what_scapy_reads(payload):
    conf.dot15d4_protocol = "sixlowpan"
    raw = evaluate.frame(NODE, 8808, 7, payload)
    packet = Dot15d4(raw)
    assert packet.dest_addr == NODE and packet.src_addr == evaluate.EUI64 and packet.seqnum == 7
    ip = packet[IPv6]
    assert (ip.src, ip.dst) == ("fe80::1234:1", "fe80::80b:c0d:102:304") and ip.hlim == 64
    built = bytes(IPv6(src=ip.src, dst=ip.dst, hlim=64) / UDP(sport=8808, dport=8808) / payload)
    assert raw.endswith(built[40:])             # UDP with scapy's checksum


def test_stations_talk():
    air, heard = Air(), []
    a = Station(air, evaluate.EUI64)
    b = Station(air, NODE, received=heard.append)
    frames = [evaluate.frame(NODE, 7, i, b"hello") for i in range(5)]
    for i, frame in enumerate(frames):
        a.at((i + 1) * SECOND // 50, lambda frame=frame: a.send(frame))
    for us in range(0, 200_000, 16):
        for station in (a, b):
            station.run(us * US)
    assert heard == frames
    assert a.radio.counts["success"] == 5 and b.radio.counts["acknowledged"] == 5


def test_a_distribution():
    found = evaluate.distribution(range(1, 101))
    assert (found["least"], found["median"], found["mean"], found["p99"], found["most"]) == (1, 50.5, 50.5, 100, 100)
    assert evaluate.distribution([]) == {}


def test_packets_are_delivered_and_answered(elf):
    program = read(elf)
    received = evaluate.measure(program, 5, evaluate.RECEIVE_PORT)
    answered = evaluate.measure(program, 5, evaluate.ANSWER_PORT)
    found = evaluate.result(program, received, answered)
    assert found["packets"] == {"received": 5, "delivered": 5, "answered": 5}
    part = found["to_delivery"]
    assert sum(part["layers"].values()) == pytest.approx(part["cycles"]["mean"])
    assert part["cycles"]["most"] < found["receive"]["cycles"]["least"] < found["receive_and_answer"]["cycles"]["least"]
    entered = {layer: d["median"] for layer, d in found["entered_us"].items()}
    assert entered["interrupt"] == 0 < entered["driver"] < entered["application"]
    assert 9 <= found["interrupt_us"]["least"] < 12         # t_IRQ and the way into the handler
    assert "interrupt to delivery" in evaluate.tables({"x": found})
    again = evaluate.measure(program, 5, evaluate.RECEIVE_PORT)
    assert [p.whole.total for p in again] == [p.whole.total for p in received]


@pytest.mark.parametrize("name", [name for name, firmware in page.FIRMWARES.items() if firmware.pack])
def test_containers_deliver_and_answer_as_gnrc_does(name, elf, tmp_path):
    """Every column of the page: each packet delivered and answered, containers' layers in place of GNRC's, and the time that the page promises."""
    program, gnrc = read(built(page.FIRMWARES[name], tmp_path)), read(elf)
    found, other = (evaluate.result(p, evaluate.measure(p, 3, evaluate.RECEIVE_PORT), evaluate.measure(p, 3, evaluate.ANSWER_PORT)) for p in (program, gnrc))
    assert found["packets"] == other["packets"] == {"received": 3, "delivered": 3, "answered": 3}
    layers = found["to_delivery"]["layers"]
    assert layers["containers"] > 0 and not {"transport", "6LoWPAN", "network", "packet buffer"} & layers.keys()
    assert ("code in RAM" in layers) == (name == "translated") and ("code in flash" in layers) == (name in ("in flash", "linked"))
    assert found["to_delivery"]["cycles"]["most"] < other["to_delivery"]["cycles"]["least"]        # containers are no slower
    assert found["to_answer"]["cycles"]["most"] < other["to_answer"]["cycles"]["least"]
    by_part = sizes.sizes(program.path)
    assert (sum(by_part["rom"].values()), sum(by_part["ram"].values())) == (found["rom"], found["ram"]) and abs(by_part["rom"][sizes.REST]) < 256
    if name == "linked":
        assert found["rom"] <= 1.02 * other["rom"] and found["ram"] <= 0.9 * other["ram"]


def test_the_page_is_made_as_it_says():
    """A place for all that is measured, and the commands that it shows are those of the table."""
    text = page.PAGE.read_text("utf-8")
    assert sections(page.PAGE) == {"times", "parts", "nodes", "node_parts", "hooks"}
    for firmware in (*page.FIRMWARES.values(), page.LATENCY):
        variables = " ".join(firmware.variables).replace("PACK", f"$PWD/build/{firmware.pack}")
        assert f" {variables}\n".replace("  ", " ") in text or not variables
        assert not firmware.pack or " ".join((*firmware.options, f"-o build/{firmware.pack}\n")) in text


def test_a_page_without_riot_is_refused(tmp_path):
    done = CliRunner().invoke(page.main, ["--riot", str(tmp_path / "none")])
    assert done.exit_code == 2 and "does not exist" in done.output
    with pytest.raises(Failure, match="does not build: .*RIOTBASE is to name a checkout of RIOT"):
        page.measured(page.FIRMWARES["gnrc"], page.UDP, tmp_path, str(tmp_path))


def test_firmware_without_the_mark(tmp_path):
    given = os.environ.get("LPN_IOTLAB_ELF")
    if not given:
        pytest.skip("set LPN_IOTLAB_ELF to gnrc_networking.elf built for iotlab-m3")
    with pytest.raises(ProgramError, match="measure_delivered"):
        evaluate.measure(read(given), 1, 7)
