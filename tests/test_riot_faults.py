"""What goes wrong on a node while it works: loads that break off, a store that is full, packs without certificates, deadlines
that are missed. The node goes on with what runs, says why, and loses no packet buffer."""
from __future__ import annotations

import re
import struct
import time
import zlib
from pathlib import Path

from node_programs import bundle
from riot_network import build, join, line, needs_riot, network
from test_riot_network import (  # noqa: F401 (gnrc and lpn are fixtures)
    PEER, ROUTES, compressed, gnrc, got, lpn, numbers, ok, pack, send_own, udp)

from cli import lpnc
from lpn.compiler.bundle import Hook
from lpn.lang.hooks import EVENTS
from lpn.runtime.pack import CRC_AT, HEADER, HOOK, pack as node_form

ROOT = Path(__file__).parent.parent
EVENT_NAMES = tuple(EVENTS)
pytestmark = needs_riot


def sealed(raw: bytes) -> bytes:
    """With the checksum that its content has; for packs and images."""
    crc = zlib.crc32(raw[:CRC_AT] + bytes(4) + raw[CRC_AT + 4:])
    return raw[:CRC_AT] + struct.pack("<I", crc) + raw[CRC_AT + 4:]


def made(source: str, tmp_path: Path, *options: str) -> bytes:
    out = tmp_path / "made.lpnn"
    result = lpnc("pack", str(ROOT / source), "-o", str(out), *options)
    assert result.exit_code == 0, result.output
    return out.read_bytes()


def test_loads_that_fail_leave_the_router_forwarding(gnrc: Path, tmp_path: Path) -> None:  # noqa: F811
    """A router between two nodes of GNRC; somebody else loads packs into it, badly. Its store holds the router's pack and little more."""
    forwarding, small = pack("examples/forwarding/forwarding.lpn", tmp_path, ROUTES), pack("tests/riot/count.lpn", tmp_path)
    store = (len(forwarding) + 2 * len(small) + 64) // 8 * 8
    node = build(CFLAGS=f"-DCONFIG_LPN_SLOTS=3 -DCONFIG_LPN_STORE_SIZE={store}")
    with network([gnrc, node, gnrc], line(3)) as (a, router, c):
        router.run(forwarding)
        join(router, a, c)

        def forwards() -> bool:
            udp(a, "2001:db8:3::3", 9, "hop", 5, 40)
            return got(c) == 5

        def says(line: str) -> str:
            return router.ask(line, r"^lpn: .*$")

        def slots() -> list[str]:
            return re.findall(r"^(?:> )?slot \d (\w+)", router.ask("lpn list"), re.MULTILINE)
        assert forwards()
        # a load that breaks off: what runs and what comes next are none the worse
        router.ask(f"lpn load 1 begin {len(small)}")
        for i in range(10):
            router.ask(f"lpn load 1 {small[32 * i:32 * i + 32].hex()}")
        assert forwards() and slots() == ["runs", "loading", "empty"]
        assert "incomplete" in says("lpn load 1 end")
        router.ask(f"lpn load 1 begin {len(small)}")
        ok(router.load(2, small))
        assert slots() == ["runs", "empty", "ready"]
        assert "no such slot" in says(f"lpn load 1 {small[:32].hex()}")
        # a store that is full
        assert "no room" in says(f"lpn load 1 begin {len(forwarding)}") and forwards()
        whole = made("tests/riot/count.lpn", tmp_path, "--compact")
        ok(router.load(1, whole))               # expanded it fits
        ok(router.load(1, small))               # in its own place
        assert slots() == ["runs", "ready", "ready"] and forwards()
        # room again
        assert "a pack runs there" in says("lpn unload 0") and "no such slot" in says("lpn unload 3")
        ok(says("lpn unload 1"))
        assert "is so already" in says("lpn unload 1")
        assert slots() == ["runs", "empty", "ready"] and forwards() and router.buffer_is_empty()


def test_what_is_not_certified_is_refused_where_certificates_are_asked_for(tmp_path: Path) -> None:
    node_elf = build(CFLAGS="-DCONFIG_LPN_CERTIFIED_ONLY=1")
    good = pack("tests/riot/count.lpn", tmp_path)
    bare = made("tests/riot/count2.lpn", tmp_path, "--trusted")
    at = good.find(b"LPN1")
    size, text, rodata, data = struct.unpack_from("<I8xIII", good, at + 8)
    image = bytearray(good[at:at + size])
    image[64 + text + rodata + data] ^= 0x40                            # of the certificate: its version
    forged = sealed(good[:at] + sealed(bytes(image)) + good[at + size:])
    with network([node_elf, None], line(2)) as (node, air):
        node.run(good)
        send_own(air, 5)
        before = numbers(node)[-1]
        assert "module 0: no certificate, and this node asks for one" in node.load(1, bare)
        assert "module 0: certificate refused" in node.load(1, forged)
        assert "certificate refused" in air.put(1, "lpn/slot/1", forged).text
        send_own(air, 5)
        time.sleep(0.3)
        node.read(0.3)
        after = numbers(node)
        assert after[0] <= before + 1 < after[-1] and after == list(range(after[0], after[-1] + 1))
        assert node.stats()["node"]["refused"] == 3 and node.buffer_is_empty()


def row(raw: bytes, number: int) -> int:
    """Where a hook begins in a pack."""
    name, state, rows = struct.unpack_from("<H", raw, 36)[0], struct.unpack_from("<H", raw, 26)[0], struct.unpack_from("<H", raw, 34)[0]
    return HEADER.size + (name + 3 & ~3) + (state + 3 & ~3) + 12 * rows + HOOK.size * number


def with_word(raw: bytes, at: int, value: int) -> bytes:
    """A pack with another number there."""
    return sealed(raw[:at] + struct.pack("<I", value) + raw[at + 4:])


def test_a_pack_that_would_take_all_time_is_refused_when_it_is_loaded(lpn: Path, tmp_path: Path) -> None:  # noqa: F811
    """What runs goes on; over the shell and over CoAP. It is taken where a firmware asks for no share."""
    good, duty = pack("tests/riot/count.lpn", tmp_path), made("examples/duty/duty.lpn", tmp_path)
    every = next(i for i in range(duty[29]) if HOOK.unpack_from(duty, row(duty, i))[0] == EVENT_NAMES.index("every"))
    greedy = with_word(duty, row(duty, every) + 16, 1)                   # its period
    says = f"hook {every}: every and slot may take too much of the time"
    with network([lpn, None], line(2)) as (node, air):
        node.run(good)
        send_own(air, 3)
        assert says in node.load(1, greedy) and says in air.put(1, "lpn/slot/1", greedy).text
        assert "no such slot" in node.ask("lpn swap 1", r"^lpn: .*$")
        ok(node.load(1, duty))
        send_own(air, 3)
        time.sleep(0.3)
        assert numbers(node)[-1] == 6 and node.stats()["node"]["refused"] == 3 and node.buffer_is_empty()
    with network([build(CFLAGS="-DCONFIG_LPN_CLOCK_SHARE=0"), None], line(2)) as (node, _):
        ok(node.load(1, greedy))


def test_a_pack_that_waits_in_an_interrupt_is_refused_when_it_is_loaded(lpn: Path) -> None:  # noqa: F811
    hooks = [Hook("app.tx", ("C0",), "net"), Hook("radio.rx_start", ("T1",), "isr")]
    with network([lpn, None], line(2)) as (node, _):
        for op, answer in [(("off",), "refused: hook 1: helper not allowed in this context (at 0)"), (("count", 0), "ok")]:
            assert f"lpn: {answer}" in node.load(0, node_form(bundle(hooks, [[("off",)], [op]])))


def test_a_missed_deadline_is_counted_and_nothing_else(lpn: Path, tmp_path: Path) -> None:  # noqa: F811
    """The pack promises a microsecond, which nobody proved."""
    raw = pack("tests/riot/udp_app.lpn", tmp_path, PEER)
    hook = row(raw, 0)
    assert HOOK.unpack_from(raw, hook)[:2] == (1, 1)                     # radio.rx_done, in the thread
    late = with_word(raw, hook + 12, 1)
    with network([lpn, None], line(2)) as (node, air):
        node.run(late)
        node.ask("lpn listen 9000")
        air.listen(0.2)
        for _ in range(20):
            air.send(compressed(air, 1, b"late"))
            time.sleep(0.02)
        text = node.read(0.5)
        stats = node.stats()
        assert text.count("4 bytes: late") == 20
        assert stats["hook 0 radio.rx_done"]["misses"] >= 10 and stats["hook 0 radio.rx_done"]["us-worst"] > 1
        assert node.buffer_is_empty()


def test_a_firmware_without_slots_and_without_ipv6(tmp_path: Path) -> None:
    """What runs is part of it, from the start."""
    rom = tmp_path / "count.lpnn"
    rom.write_bytes(made("tests/riot/count.lpn", tmp_path, "--trusted"))
    elf = build(GNRC="0", LPN_AUTOSTART="1", LPN_ROM=str(rom), CFLAGS="-DCONFIG_LPN_SLOTS=0 -DCONFIG_LPN_NO_SWAP=1 -DCONFIG_LPN_TRUST_ROM=1")
    with network([elf, None], line(2)) as (node, air):
        assert "lpn: the built-in pack runs: ok" in node.heard
        send_own(air, 5)
        time.sleep(0.3)
        assert numbers(node) == [1, 2, 3, 4, 5]
        assert "part of the firmware" in node.ask("lpn load 0 begin 100", r"^lpn: .*$")
        assert "no such slot" in node.ask("lpn load 1 begin 100", r"^lpn: .*$")
        assert "detach it first" in node.ask("lpn detach Count", r"^lpn: .*$")
        ok(node.ask("lpn detach", r"^lpn: .*$"))
        ok(node.ask("lpn attach 0", r"^lpn: .*$"))
        send_own(air, 2)
        time.sleep(0.3)
        assert numbers(node) == [1, 2] and node.buffer_is_empty()
