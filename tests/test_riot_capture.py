"""What containers did in RIOT nodes, they do here: frames that went over an emulated air between nodes, each with what the node's
containers made of it. `tests/captures` has the recordings; with RIOTBASE set they are made anew, and compared in the same way.

LPN_RECORD=1 writes them into tests/captures.
"""
from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from riot_air import Sniffer, ext
from riot_network import Node, build, line, needs_riot, network
from test_riot_network import PEER, ROUTES, gnrc, got, ok, own_frame, pack, udp  # noqa: F401 (gnrc is a fixture)

from cli import lpnc
from lpn.runtime.capture import Writer, read

ROOT = Path(__file__).parent.parent
CAPTURES = Path(__file__).parent / "captures"
NODE = 2                                        # whose containers these are


def addresses(frame: bytes) -> tuple[int | None, int | None]:
    """The numbers of the nodes that a data frame is for and from; 0: everybody, None: nobody's. The source's PAN is left out."""
    at, found = 3, []
    for shift, pan in ((10, 2), (14, 0)):
        size = {2: 2, 3: 8}.get(int.from_bytes(frame[:2], "little") >> shift & 3, 0)
        raw = frame[at + pan:at + pan + size]
        at += pan + size if size else 0
        found.append(0 if raw == b"\xff\xff" else raw[0] if raw and raw[::-1] in (ext(raw[0]), bytes([0, raw[0]])) else None)
    return found[0], found[1]


def heard(frames: Sequence[bytes], number: int) -> list[int]:
    """Which frames (from 1) are for a node: its own address, or everybody's."""
    return [i + 1 for i, f in enumerate(frames) if addresses(f)[0] in (0, number) and addresses(f)[1] != number]


def replay(folder: Path, name: str, tmp_path: Path, engine: str) -> None:
    """The node's frames through the same program: verdicts, ports, and the frames that it sent."""
    known = json.loads((folder / f"{name}.json").read_text())
    frames = [f.data for f in read(folder / f"{name}.pcap")]
    chosen = [frames[i - 1] for i in known["heard"]]
    with Writer(tmp_path / "heard.pcap") as writer:
        for i, frame in enumerate(chosen):
            writer.add(frame, i)
    (tmp_path / "tables.json").write_text(json.dumps(known["tables"]))
    options = ["--tables", str(tmp_path / "tables.json"), "--node-ext", known["ext"], "--node-pan", "0x0023", "--node-short", str(NODE), "--engine", engine, "--json"]
    then = ["--then", str(ROOT / known["then"]), "--at", str(known["at"])] if "then" in known else []
    result = lpnc("run", str(ROOT / known["program"]), "--in", str(tmp_path / "heard.pcap"), *options, *then)
    assert result.exit_code == 0, result.output
    rows = [json.loads(row) for row in result.output.splitlines() if row.startswith('{"frame"')]
    assert [f"{r['verdict']} {r['port']}" if r["verdict"] == "DELIVER" else r["verdict"] for r in rows] == known["verdicts"]
    made = [r["out"] for r in rows if r["verdict"] == "TRANSMIT"]
    if known["sends"]:
        script = f"node ext={known['ext']} short={NODE} pan=0x0023\n" + "".join(f'{100 * i + 10} ms app.tx port=9000 "{text}"\n' for i, text in enumerate(known["sends"]))
        (tmp_path / "sends.events").write_text(script + "until 60 s\n")
        result = lpnc("run", str(ROOT / known["program"]), "--events", str(tmp_path / "sends.events"), "--tables", str(tmp_path / "tables.json"),
                      "--engine", engine, "--out", str(tmp_path / "sent.pcap"))
        assert result.exit_code == 0, result.output
        made += [f.data.hex() for f in read(tmp_path / "sent.pcap")]
    assert made == [frames[i - 1].hex() for i in known["sent"]]


@pytest.mark.parametrize("name", ["udp", "forwarding", "swap"])
def test_containers_do_what_they_did_in_a_riot_node(name: str, tmp_path: Path) -> None:
    for engine in ("engine", "reference"):
        replay(CAPTURES, name, tmp_path, engine)


# ------------------------------------------------------------ recording

def verdicts(node: Node, count: int) -> list[str]:
    """The first `count` of the chain for frames, from the node's trace: a busy machine's node may still be at them."""
    until, rows = time.monotonic() + 5, []
    while len(rows) < count and time.monotonic() < until:
        rows = re.findall(r"radio.rx_done (\w+)(?: (\d+))? insns", node.ask("lpn trace"))
    return [f"{word} {port}" if word == "DELIVER" else word for word, port in rows[:count]]


def keep(folder: Path, name: str, frames: Sequence[bytes], known: dict) -> None:
    frames = list(frames)
    folder.mkdir(exist_ok=True)
    with Writer(folder / f"{name}.pcap") as writer:
        for i, frame in enumerate(frames):
            writer.add(frame, 1_790_000_000_000_000 + 10_000 * i)
    (folder / f"{name}.json").write_text(json.dumps(known, indent=1) + "\n")


@pytest.fixture(scope="module")
def tracing() -> Path:
    return build(CFLAGS="-DCONFIG_LPN_TRACE=200")


def recorded(name: str, frames: Sequence[bytes], node: Node, tmp_path: Path, **known: object) -> None:
    """Into a folder, then the same comparison as above."""
    found = heard(frames, NODE)
    facts = {"ext": node.eui64, "tables": {}, "sends": [], "sent": [], "heard": found, **known}
    if "verdicts" not in facts:
        facts["verdicts"] = verdicts(node, len(found))
    print(f"{name}: {len(frames)} frames, {len(found)} heard by the node, {len(facts['sent'])} sent by its containers")
    folder = CAPTURES if os.environ.get("LPN_RECORD") else tmp_path / "made"
    keep(folder, name, frames, facts)
    replay(folder, name, tmp_path, "engine")


def sniffed_from_the_start(node: Node, raw: bytes) -> Sniffer:
    """Who hears all frames from when the pack runs, with which the node's trace begins."""
    ok(node.load(0, raw))
    air = Sniffer(node.port)
    time.sleep(0.2)
    air.frames()
    ok(node.ask("lpn attach 0", r"^lpn: .*$"))
    return air


def from_node(frames: Sequence[bytes], first: int) -> list[int]:
    """Frames (from 1) that node 2 sent, of those whose MAC sequence numbers count up from `first`: its containers'."""
    found = []
    for i, frame in enumerate(frames):
        if addresses(frame)[1] == NODE and frame[2] == first & 0xff:
            found.append(i + 1)
            first += 1
    return found


@needs_riot
def test_udp_is_recorded(gnrc: Path, tracing: Path, tmp_path: Path) -> None:  # noqa: F811
    with network([gnrc, tracing], line(2)) as (a, b):
        a.ask("udp server start 9000")
        udp(a, b.link_local, 9000, "first", 1)          # so that neighbours know each other
        air = sniffed_from_the_start(b, pack("tests/riot/udp_app.lpn", tmp_path, PEER))
        sends = [f"answer{i}" for i in range(6)]
        udp(a, b.link_local, 9000, "hello", 6, 40)
        for text in sends:
            b.ask(f"lpn send 9000 {text}", r"^lpn: sent$")
            b.read(0.05)
        assert got(a) == 6
        frames = air.frames()
        air.close()
        sent = from_node(frames, 0)
        assert len(sent) == 6
        recorded("udp", frames, b, tmp_path, program="tests/riot/udp_app.lpn", tables=PEER, sends=sends, sent=sent)
        assert b.buffer_is_empty()


@needs_riot
def test_forwarding_is_recorded(gnrc: Path, tracing: Path, tmp_path: Path) -> None:  # noqa: F811
    with network([gnrc, tracing, gnrc], line(3)) as (a, router, c):
        for node, other in ((a, c), (c, a)):
            i = node.interface()
            node.ask(f"ifconfig {i} add 2001:db8:{node.number}::{node.number}/64")
            node.ask(f"nib route add {i} 2001:db8:{other.number}::/64 {router.link_local}")
        c.ask("udp server start 9")
        air = sniffed_from_the_start(router, pack("examples/forwarding/forwarding.lpn", tmp_path, ROUTES))
        udp(a, "2001:db8:3::3", 9, "hop", 6, 60)
        assert got(c) == 6
        frames = air.frames()
        air.close()
        sent = [i + 1 for i, f in enumerate(frames) if addresses(f) == (3, NODE) and f.endswith(b"hop")]
        assert len(sent) == 6
        recorded("forwarding", frames, router, tmp_path, program="examples/forwarding/forwarding.lpn", tables=ROUTES, sent=sent)
        assert router.buffer_is_empty()


@needs_riot
def test_a_swap_under_traffic_is_recorded(tracing: Path, tmp_path: Path) -> None:
    with network([None, tracing], line(2)) as (air, b):
        b.run(pack("tests/riot/count.lpn", tmp_path))
        ok(b.load(1, pack("tests/riot/count2.lpn", tmp_path)))
        frames = [own_frame(n) for n in range(20)]
        found = []
        for half, swap in ((frames[:10], True), (frames[10:], False)):
            for frame in half:
                air.send(frame)
                time.sleep(0.02)
            found += verdicts(b, len(half))
            if swap:
                ok(b.ask("lpn swap 1", r"^lpn: .*$"))   # the trace begins anew
        recorded("swap", frames, b, tmp_path, program="tests/riot/count.lpn", then="tests/riot/count2.lpn", at=11, verdicts=found)
        assert b.buffer_is_empty()
