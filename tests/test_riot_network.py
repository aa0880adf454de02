"""Containers in RIOT's network stack: nodes on this machine, over emulated IEEE 802.15.4.

`gnrc` is RIOT's own example as it is, `lpn` the firmware of this project. The tests run in real time.
"""
from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Sequence
from pathlib import Path

import corpus
import pytest
from riot_air import BLOCK, DELETE, GET, PAN, PUT, Air, ext
from riot_network import RIOTBASE, Link, Node, build, join, line, needs_riot, network, star

from cli import lpnc
from lpn.runtime.capture import read

ROOT = Path(__file__).parent.parent
PROGRAMS = Path(__file__).parent / "riot"
FRAME_MAX = 125                                 # octets without FCS
PEER = {"peer": int.from_bytes(ext(1), "big")}
pytestmark = needs_riot


@pytest.fixture(scope="session")
def lpn() -> Path:
    return build()


@pytest.fixture(scope="session")
def gnrc() -> Path:
    """A node of RIOT's own, unmodified."""
    return build(Path(RIOTBASE) / "examples/networking/gnrc/networking", "gnrc_networking", USE_ZEP="1")


_PACKS: dict[str, bytes] = {}


def pack(source: str, tmp_path: Path, tables: dict | None = None) -> bytes:
    """A program in the form that nodes take; compiled once."""
    key = f"{source} {tables}"
    if key not in _PACKS:
        _PACKS[key] = packed(source, tmp_path, tables)
    return _PACKS[key]


def packed(source: str, tmp_path: Path, tables: dict | None) -> bytes:
    out = tmp_path / "pack.lpnn"
    options: list[str] = []
    if tables is not None:
        (tmp_path / "tables.json").write_text(json.dumps(tables))
        options = ["--tables", str(tmp_path / "tables.json")]
    result = lpnc("pack", str(ROOT / source), "-o", str(out), *options)
    assert result.exit_code == 0, result.output
    return out.read_bytes()


def ping(a: Node, address: str, count: int = 5) -> int:
    """How many answers came."""
    text = a.ask(f"ping -c {count} -i 200 {address}", r"packet loss", 20)
    found = re.search(r"(\d+) packets received", text)
    assert found, text
    return int(found[1])


def udp(a: Node, address: str, port: int, text: str, count: int = 1, every_ms: int = 30) -> None:
    """Datagrams of GNRC's."""
    scope = f"%{a.interface()}" if address.startswith("fe80") else ""
    told = a.ask(f"udp send [{address}{scope}]:{port} {text} {count} {1000 * every_ms}", r"^> ", 10 + count)
    assert told.count("Success") == count, told


def got(node: Node) -> int:
    """Datagrams that GNRC's server has printed since the node was read last."""
    return node.read(0.8).count("Received UDP data")


def ok(text: str) -> None:
    assert "lpn: ok" in text, text


# ------------------------------------------------------------ the stack itself

def test_without_containers_the_stack_is_as_before(lpn: Path, gnrc: Path) -> None:
    with network([gnrc, lpn], line(2)) as (a, b):
        assert ping(a, b.link_local) == 5 and ping(b, a.link_local) == 5
        assert "radio: radio HAL" in b.ask("lpn list")
        assert b.stats()["frames"]["accepted"] == b.stats()["frames"]["received"] >= 10
        assert b.buffer_is_empty()


# ------------------------------------------------------------ UDP

@pytest.mark.parametrize("loss", [0.0, 0.1, 0.3])
def test_udp_in_containers_and_in_gnrc_understand_each_other(lpn: Path, gnrc: Path, tmp_path: Path, loss: float) -> None:
    """Both directions; what the air does not lose arrives, once."""
    with network([gnrc, lpn], [Link(1, 2, loss)]) as (a, b):
        b.run(pack("tests/riot/udp_app.lpn", tmp_path, PEER))
        a.ask("udp server start 9000")
        b.ask("lpn listen 9000")
        b.ask("lpn stats reset")
        udp(a, b.link_local, 9000, "hello", 30)
        delivered = b.read(0.8).count("port 9000 got 5 bytes: hello")
        stats = b.stats()
        assert delivered == stats["frames"]["delivered"] <= 30 and stats["frames"]["undelivered"] == 0
        assert stats["hook 0 radio.rx_done"]["drops"] == 0
        for i in range(30):
            assert "lpn: sent" in b.ask(f"lpn send 9000 answer{i}", r"^lpn: .*$")
            b.read(0.02)
        answered = got(a)
        sent = b.stats()["frames"]["sent"]
        assert sent == 30 and answered <= 30
        print(f"loss {loss:.0%}: {delivered} of 30 delivered, {answered} of {sent} answered")
        if loss:
            assert within(30, 1 - loss, delivered) and within(30, 1 - loss, answered)
        else:
            assert delivered == answered == 30
            assert ping(a, b.link_local) == 5           # what is not UDP for the application is GNRC's
        assert b.buffer_is_empty()


def within(count: int, share: float, found: int) -> bool:
    """As many as that share of independent ones gives, five standard deviations either way."""
    return abs(found - count * share) <= 5 * (count * share * (1 - share)) ** 0.5


def test_the_checksum_module_comes_and_goes_at_run_time(lpn: Path, tmp_path: Path) -> None:
    with network([lpn, None], line(2)) as (node, air):
        node.run(pack("tests/riot/udp_app.lpn", tmp_path, PEER))
        node.ask("lpn listen 9000")
        air.listen(0.2)

        def delivered() -> tuple[bool, bool]:
            """A datagram, and one with a wrong checksum."""
            air.send(compressed(air, 1, b"good"))
            air.listen(0.05)                    # native's radio has room for one frame: a second one that comes at once is lost
            air.send(compressed(air, 1, b"evil", damage=1))
            text = node.read(0.5)
            return "4 bytes: good" in text, "4 bytes: evil" in text
        assert delivered() == (True, False)
        assert node.stats()["hook 0 radio.rx_done"]["drops"] == 1
        ok(node.ask("lpn detach Checksum", r"^lpn: .*$"))
        assert "Rx -> Deliver" in node.ask("lpn list", r"app.tx 9000.*$")
        assert delivered() == (True, True)
        ok(node.ask("lpn attach Checksum", r"^lpn: .*$"))
        assert delivered() == (True, False)
        assert "refused" in node.ask("lpn detach Rx", r"^lpn: .*$")         # only processors
        assert delivered() == (True, False) and node.buffer_is_empty()


def compressed(air: Air, to: int, payload: bytes, damage: int = 0) -> bytes:
    """A datagram for port 9000 whose addresses are those of the frame (RFC 6282); `damage`: added to its checksum."""
    whole = air.udp(to, 9000, 9000, payload, damage)
    mac, ports_and_sum = whole[:21], whole[21 + 41:]
    return mac + bytes([0x7e, 0x33]) + bytes([0xf0]) + ports_and_sum[0:4] + ports_and_sum[6:8] + payload


def test_hooks_listen_at_gnrcs_layers_and_send_through_it(lpn: Path, gnrc: Path, tmp_path: Path) -> None:
    with network([gnrc, lpn], line(2)) as (a, b):
        b.run(pack("tests/riot/watch.lpn", tmp_path, PEER))
        b.ask("lpn stats reset")
        udp(a, b.link_local, 9000, "up", 10)
        assert b.stats()["hook 0 net.rx"]["runs"] == 10
        assert ping(b, a.link_local, 3) == 3            # GNRC goes on as before
        stats = b.stats()
        assert stats["hook 1 net.tx"]["runs"] >= 3 and stats["node"]["queue-full"] == 0
        a.ask("udp server start 9000")
        for i in range(10):
            b.ask(f"lpn send 9000 via{i}", r"^lpn: sent$")
            b.read(0.05)
        assert got(a) == 10 and b.stats()["hook 2 app.tx"]["runs"] == 10
        ok(b.ask("lpn detach", r"^lpn: .*$"))
        udp(a, b.link_local, 9000, "up", 3)
        assert b.buffer_is_empty()


def test_gnrc_gets_what_a_chain_leaves_of_a_frame_whoever_looks_at_it_afterwards(lpn: Path, tmp_path: Path) -> None:
    """The chain cuts a trailer; a handler of the same event, which leaves the frame as it came, runs behind it."""
    with network([lpn, None], line(2)) as (node, air):
        frame = compressed(air, 1, b"datagram")
        assert len(frame) == 38
        node.run(pack("tests/riot/trailer.lpn", tmp_path))
        node.ask("lpn listen 9000")
        for sent in (frame, frame + b"tail"):
            air.send(sent)
            assert re.findall(r"got (\d+) bytes: (\w+)", node.read(0.8)) == [("8", "datagram")]
        assert node.stats()["hook 2 radio.rx_done"]["runs"] == 2


# ------------------------------------------------------------ forwarding

ROUTES = {"address": "2001:db8:9::9",
          "Forward.routes": [{"key": [f"2001:db8:{i}::/48"], "action": "send_to", "args": [i]} for i in (1, 2, 3)]}


@pytest.mark.parametrize("loss", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("shape", [line, star])
def test_a_container_forwards_over_two_hops(lpn: Path, gnrc: Path, tmp_path: Path, shape, loss: float) -> None:
    """GNRC at both ends (in the star the router is in the middle, too), the container between."""
    middle, ends = (2, (1, 3)) if shape is line else (1, (2, 3))
    elfs = [lpn if i == middle else gnrc for i in (1, 2, 3)]
    with network(elfs, shape(3, loss)) as nodes:
        router, (a, c) = nodes[middle - 1], (nodes[i - 1] for i in ends)
        router.run(pack("examples/forwarding/forwarding.lpn", tmp_path, ROUTES))
        join(router, a, c)
        router.ask("lpn stats reset")
        udp(a, f"2001:db8:{c.number}::{c.number}", 9, "hop", 30, 40)
        arrived, stats = got(c), router.stats()
        print(f"{shape.__name__}, loss {loss:.0%}: {arrived} of 30 over two hops, {stats['frames']['sent']} frames forwarded")
        assert stats["node"]["busy"] == 0 and stats["frames"]["channel-busy"] == 0      # the router itself loses nothing
        if loss:
            assert within(30, (1 - loss) ** 2, arrived)
        else:
            assert arrived == 30 and stats["frames"]["sent"] >= 30
            assert ping(a, f"2001:db8:{c.number}::{c.number}", 3) == 3
        assert router.buffer_is_empty()


# ------------------------------------------------------------ time

def test_the_radio_is_on_for_as_long_as_the_compiler_found(lpn: Path, tmp_path: Path) -> None:
    """A tenth of each second. A busy machine is late by milliseconds: that is what the margin is for."""
    assert "at most 10.2 %" in lpnc("build", str(PROGRAMS / "duty.lpn"), "-o", str(tmp_path)).output
    with network([lpn, None], line(2)) as (node, air):
        node.run(pack("tests/riot/duty.lpn", tmp_path))
        time.sleep(1.5)
        node.ask("lpn stats reset")
        heard = 0
        for _ in range(100):
            air.send(own_frame(0))
            time.sleep(0.06)
        stats = node.stats()
        share = stats["radio"]["on-us"] / stats["radio"]["of-us"]
        heard = stats["frames"]["received"]
        print(f"on for {share:.2%} of {stats['radio']['of-us'] / 1e6:.1f} s, 10.2 % proved; {heard} of 100 frames heard")
        assert 0.08 < share < 0.125
        assert 3 <= heard <= 25                 # deaf but for that tenth
        assert stats["hook 1 after"]["runs"] >= 5
        ok(node.ask("lpn detach", r"^lpn: .*$"))
        assert node.buffer_is_empty()


def own_frame(n: int) -> bytes:
    """What tests/riot/count.lpn takes: a frame for everybody."""
    return bytes.fromhex("0108") + bytes([n & 0xff]) + bytes.fromhex("2300ffff4c50")


# ------------------------------------------------------------ replacement

def numbers(node: Node) -> list[int]:
    """The ports of the last deliveries: how many frames the program had counted."""
    return [int(n) for n in re.findall(r"DELIVER (\d+)", node.ask("lpn trace"))]


def counted(node: Node, upto: int) -> list[int]:
    """The same, once that many were counted: a busy machine is late."""
    end = time.monotonic() + 5.0
    while (found := numbers(node))[-1:] < [upto] and time.monotonic() < end:
        time.sleep(0.1)
    return found


def quiet(air: Air) -> None:
    """Until the node has sent its first router solicitations: its radio is deaf while it sends, and the next comes after ten seconds."""
    assert air.hear(15.0) is not None
    while air.hear(1.5) is not None:
        pass


def send_own(air: Air, count: int, every: float = 0.01) -> None:
    for n in range(count):
        air.send(own_frame(n))
        time.sleep(every)


def test_a_swap_under_traffic_loses_nothing(lpn: Path, tmp_path: Path) -> None:
    """Two versions take turns while frames come; what is persistent counts all of them, as without a swap."""
    one, two = pack("tests/riot/count.lpn", tmp_path), pack("tests/riot/count2.lpn", tmp_path)
    found = {}
    for swaps in (0, 10):
        with network([lpn, None], line(2)) as (node, air):
            node.run(one)
            ok(node.load(1, two))
            quiet(air)
            for i in range(20):
                send_own(air, 10)
                if swaps and i % 2:
                    ok(node.ask(f"lpn swap {(i // 2 + 1) % 2}", r"^lpn: .*$"))
            send_own(air, 1)
            time.sleep(0.3)
            stats = node.stats()
            found[swaps] = numbers(node)[-1]
            assert stats["node"]["swaps"] == swaps + 1 and stats["node"]["lost"] == 0
            assert node.buffer_is_empty()
    assert found[0] == found[10] == 201


def test_what_was_detached_is_nothing_to_migrate_from(lpn: Path, tmp_path: Path) -> None:
    """Not a version 0 either, which programs may migrate from."""
    source = tmp_path / "from_zero.lpn"
    source.write_text((PROGRAMS / "count.lpn").read_text() + "migrate version 0 { register<bit<8>> count; count = (bit<16>) old.count; }\n")
    with network([lpn, None], line(2)) as (node, air):
        node.run(pack(str(source), tmp_path))
        send_own(air, 2)
        counted(node, 2)
        ok(node.ask("lpn detach", r"^lpn: .*$"))
        ok(node.ask("lpn attach 0", r"^lpn: .*$"))
        send_own(air, 3)
        counted(node, 3)


# ------------------------------------------------------------ loading

def test_packs_come_over_coap_block_by_block(lpn: Path, tmp_path: Path) -> None:
    with network([lpn, None], line(2)) as (node, air):
        assert air.ask(1, 1, "lpn").text == "0 empty\n1 empty\n"
        assert air.put(1, "lpn/slot/0", pack("tests/riot/udp_app.lpn", tmp_path, PEER)).code == "2.04"
        assert air.put(1, "lpn/slot/1", pack("tests/riot/count.lpn", tmp_path)).code == "2.04"
        assert air.ask(1, 3, "lpn/run", b"1").code == "2.04"
        assert air.ask(1, 1, "lpn").text == "0 ready UdpApp 1\n1 runs Counter 1\n"
        send_own(air, 3)
        assert air.ask(1, 3, "lpn/run", b"0").code == "2.04"        # another program altogether
        assert air.ask(1, 1, "lpn").text == "0 runs UdpApp 1\n1 ready Counter 1\n"
        assert air.ask(1, 3, "lpn/run", b"-").code == "2.04"
        assert node.buffer_is_empty()


def test_slots_are_emptied_over_coap(lpn: Path, tmp_path: Path) -> None:
    """A request whose answer was lost comes again: it is answered as it was."""
    small = pack("tests/riot/count.lpn", tmp_path)
    with network([lpn, None], line(2)) as (node, air):
        node.run(small)
        assert air.put(1, "lpn/slot/1", small).code == "2.04"
        last = (len(small) - 1) // BLOCK
        assert air.ask(1, PUT, "lpn/slot/1", small[BLOCK * last:], (last, False)).code == "2.04"    # the last block, once more
        assert air.ask(1, PUT, "lpn/slot/1", small[BLOCK * last:], (last - 1, False)).code == "4.04"
        assert air.ask(1, GET, "lpn").text == "0 runs Counter 1\n1 ready Counter 1\n"
        time.sleep(0.3)
        send_own(air, 2)
        counted(node, 2)
        refused = air.ask(1, DELETE, "lpn/slot/0")
        assert refused.code == "4.00" and "a pack runs there" in refused.text
        assert air.ask(1, DELETE, "lpn/slot/1").code == "2.02" and air.ask(1, DELETE, "lpn/slot/1").code == "2.02"
        assert air.ask(1, DELETE, "lpn/slot/9").code == "4.04" and air.ask(1, DELETE, "lpn/slot/x").code == "4.04"
        assert air.ask(1, GET, "lpn").text == "0 runs Counter 1\n1 empty\n"
        time.sleep(0.3)                         # its radio is deaf while it sends
        send_own(air, 1)
        assert [air.ask(1, PUT, "lpn/run", b"0").code for _ in range(2)] == ["2.04", "2.04"]         # it ran already
        assert counted(node, 3) == [1, 2, 3]
        assert [air.ask(1, PUT, "lpn/run", b"-").code for _ in range(2)] == ["2.04", "2.04"]
        assert air.ask(1, DELETE, "lpn/slot/0").code == "2.02"
        assert air.ask(1, GET, "lpn").text == "0 empty\n1 empty\n" and node.buffer_is_empty()


def test_what_is_refused_leaves_what_runs_untouched(lpn: Path, tmp_path: Path) -> None:
    good = pack("tests/riot/count.lpn", tmp_path)
    with network([lpn, None], line(2)) as (node, air):
        node.run(good)
        send_own(air, 5)
        assert "bad magic" in air.put(1, "lpn/slot/1", b"not a pack" * 10).text
        assert "checksum mismatch" in air.put(1, "lpn/slot/1", good[:100] + b"!" + good[101:]).text
        assert air.put(1, "lpn/slot/0", good).code == "4.00"        # it runs
        assert air.put(1, "lpn/slot/7", good).code == "4.04"
        assert "truncated" in air.put(1, "lpn/slot/1", good[:-40]).text
        assert air.ask(1, 3, "lpn/run", b"1").code == "4.04"        # nothing is in it
        assert "no room" in node.ask("lpn load 1 begin 1000000", r"^lpn: .*$")
        assert air.ask(1, 3, "lpn/slot/1", good[:32], (0, True)).code == "2.31"     # and then nothing more
        assert "refused" in node.ask("lpn attach 1", r"^lpn: .*$")
        ok(node.load(1, pack("tests/riot/layers.lpn", tmp_path)))
        assert "hook 0: this node has no net.rx" in node.ask("lpn swap 1", r"^lpn: .*$")
        send_own(air, 5)
        assert counted(node, 10)[-5:] == [6, 7, 8, 9, 10]         # it went on counting
        assert node.stats()["node"]["refused"] >= 6 and node.buffer_is_empty()


# ------------------------------------------------------------ bad frames

def readdressed(frame: bytes, to: int) -> bytes | None:
    """A data frame as if it were for node `to`, whoever it was for; None: not a data frame of 2003 or 2006, or one that is too long."""
    fcf = int.from_bytes(frame[:2], "little")
    mode, size = fcf >> 10 & 3, {2: 2, 3: 8}.get(fcf >> 10 & 3, 0)
    if len(frame) < 5 + size or fcf & 7 != 1 or fcf >> 12 & 3 > 1 or not size or len(frame) > FRAME_MAX:
        return None
    address = ext(to)[::-1] if mode == 3 else b"\xff\xff"
    whole = (fcf & ~0x20).to_bytes(2, "little") + frame[2:3] + PAN.to_bytes(2, "little") + address + frame[5 + size:]
    start = 5 + size                            # the dispatcher takes a frame's source for who sends it: that is node 2
    return whole[:start] + whole[start:].replace(ext(to)[::-1], ext(2)[::-1], 1)


def damaged(frames: Sequence[bytes], count: int) -> list[bytes]:
    """Frames with octets changed, cut or added behind the addresses; some as they are. Always the same ones."""
    rng, out = random.Random(6), []
    for _ in range(count):
        frame = bytearray(rng.choice(frames))
        for _ in range(rng.randint(0, 6)):
            frame[rng.randrange(min(13, len(frame) - 1), len(frame))] = rng.randrange(256)
        if rng.random() < 0.3:
            frame = frame[:rng.randint(0, len(frame))]
        if rng.random() < 0.1:
            frame += rng.randbytes(rng.randint(1, 60))
        out.append(bytes(frame[:FRAME_MAX]) if frame else b"\x41")
    return out


def real_frames() -> list[bytes]:
    """Of our own recordings; where they are, of those that are none of ours: a few of each capture."""
    found = [f.data for name in corpus.OWN_FILES for f in read(corpus.path_of(name))]
    if corpus.CAPTURES is not None:
        for name in (*corpus.REAL_FILES, *corpus.RFC_FILES, "frag"):
            every = list(read(corpus.path_of(name)))
            found += [f.data for f in every[::max(1, len(every) // 40)]]
    return [f for f in (readdressed(frame, 1) for frame in found) if f is not None]


@pytest.mark.parametrize("program", [None, "tests/riot/udp_app.lpn", "examples/forwarding/forwarding.lpn"])
def test_damaged_frames_cost_no_buffer_and_no_service(lpn: Path, tmp_path: Path, program: str | None) -> None:
    """With GNRC alone, with containers before it: the node answers, and nothing of its packet buffer is lost."""
    with network([lpn, None], line(2)) as (node, air):
        if program is not None:
            node.run(pack(program, tmp_path, PEER if "udp_app" in program else ROUTES))
        frames = [*real_frames(), *(compressed(air, 1, b"payload") for _ in range(20)), air.udp(1, 9000, 9000, b"payload")]
        node.ask("lpn stats reset")
        for frame in damaged(frames, 500):
            air.send(frame)
            time.sleep(0.004)
        time.sleep(0.5)
        stats = node.stats()
        received, accepted = stats["frames"]["received"], stats["frames"]["accepted"]
        hook = stats.get("hook 0 radio.rx_done", {"errors": 0, "drops": 0})
        print(f"{program}: {received} of 500 damaged frames passed the radio's filter, {hook['drops']} dropped by containers, {accepted} left to GNRC")
        assert hook["errors"] == 0 and received > 300
        if program is not None:
            ok(node.ask("lpn detach", r"^lpn: .*$"))
        time.sleep(4.0)                         # GNRC's reassembly gives up
        assert air.ask(1, 1, "lpn").code == "2.05" and node.buffer_is_empty()
