"""The slot in flash: a pack that was saved runs after a reboot, one that was not written to its end is refused then.

On the emulated board flash survives a reboot. RIOT's emulation of it on this machine does not, so the nodes there only write and run."""
from __future__ import annotations

import time
from pathlib import Path

import pytest
from cli import lpnc
from riot_air import Air, ext
from riot_network import build, line, needs_riot, network
from test_riot_network import counted, ok, own_frame, pack, send_own

pytest.importorskip("unicorn", reason="the emulated board needs unicorn: pip install 'lpn[m3]'")

from lpn.runtime.twin.clock import SECOND, US
from lpn.runtime.twin.network import Network, Shell
from lpn.runtime.twin.program import Program, read
from lpn.runtime.twin.session import inject

pytestmark = needs_riot
COUNT = "tests/riot/count.lpn"
FLASH_SLOT = 2


@pytest.fixture(scope="module")
def board_program() -> Program:
    return read(build(board="iotlab-m3"))


def lines(slot: int, raw: bytes) -> list[str]:
    digits = raw.hex()
    return [f"lpn load {slot} begin {len(raw)}", *(f"lpn load {slot} {digits[at:at + 96]}" for at in range(0, len(digits), 96)), f"lpn load {slot} end"]


class Booted:
    """A board and its shell. `network`: it is there already, with others."""

    def __init__(self, program: Program, network: Network | None = None, number: int = 0) -> None:
        self.network = network or Network([program])
        self.board = self.network.boards[number]
        self.run(0.2)

    def run(self, seconds: float) -> str:
        """What it says in that time."""
        before = len(self.board.console)
        self.network.run(self.network.now + round(seconds * SECOND))
        return self.board.console[before:].decode()

    def type(self, *commands: str, seconds: float = 3.0) -> str:
        """What it says up to the prompt behind the last one's answer."""
        before = len(self.board.console)
        shell = Shell(self.board, commands, wait=SECOND // 100)
        shell._look()
        end = self.network.now + round(seconds * SECOND)
        while shell.commands and self.network.now < end:
            self.run(0.1)
        assert not shell.commands, self.board.console[before:].decode()
        self.run(0.1)
        while not self.board.console.endswith(b"> ") and self.network.now < end:
            self.run(0.02)
        return self.board.console[before:].decode()


def test_what_is_saved_runs_after_a_reboot(board_program: Program, tmp_path: Path) -> None:
    raw = pack(COUNT, tmp_path)
    node = Booted(board_program)
    assert "saved" not in node.board.console.decode()
    assert "lpn: ok" in node.type(*lines(0, raw)) and "lpn: ok" in node.type("lpn attach 0") and "lpn: ok" in node.type("lpn save 0")
    said = node.type("reboot", "lpn list")
    assert node.board.resets == 1 and "lpn: the saved pack runs: ok" in said and "slot 2 runs Counter version 1" in said and "slot 0 empty" in said
    for n in range(3):
        inject(node.network, own_frame(n), node.board.now + (n + 1) * 20_000 * US)
    node.run(0.2)
    assert node.type("lpn trace").count("DELIVER") == 3
    assert "a pack runs there" in node.type("lpn save 0", "lpn unload 2").replace("no such slot", "")
    assert "lpn: ok" in node.type("lpn detach") and "lpn: ok" in node.type("lpn unload 2")
    said = node.type("reboot", "lpn list")
    assert "saved pack" not in said and "slot 2 empty" in said
    assert node.board.flash.erased == 2


def test_a_large_pack_goes_to_flash_where_ram_has_no_room(board_program: Program, tmp_path: Path) -> None:
    """UDP over 6LoWPAN with its certificates; it is checked where it lies, runs from there, and does so after a reboot."""
    raw = pack("tests/riot/udp_app.lpn", tmp_path, {"peer": int.from_bytes(ext(9), "big")})
    node = Booted(board_program)
    assert "no room" in node.type(f"lpn load 0 begin {len(raw)}")
    said = node.type(*lines(FLASH_SLOT, raw), seconds=60.0)
    assert said.rstrip("> ").endswith("lpn: ok\n"), said[-200:]
    assert node.board.flash.erased == -(-(len(raw) + 24) // 2048)
    said = node.type("reboot", "lpn list")
    assert "lpn: the saved pack runs: ok" in said and "hook 0 radio.rx_done radio : Rx -> Checksum -> Deliver" in said
    assert said.count("certified") == 5


def test_a_store_that_was_not_written_to_its_end_is_refused_at_boot(board_program: Program, tmp_path: Path) -> None:
    """The power fails after so many halfwords; at each the pack before is gone, and the next one is none the worse."""
    raw = pack(COUNT, tmp_path)
    node = Booted(board_program)
    whole = None
    for cut in (1, 5, 40, 200, None):
        node.board.flash.programmed = 0
        node.type(lines(FLASH_SLOT, raw)[0])
        shell = Shell(node.board, lines(FLASH_SLOT, raw)[1:], wait=SECOND // 100)
        shell._look()
        for _ in range(3000):
            node.run(0.001)
            if (cut is not None and node.board.flash.programmed >= cut) or not shell.commands:
                break
        if cut is None:
            node.run(0.3)
            whole = node.board.flash.programmed
        shell.commands.clear()
        node.type("")                           # the rest of the line that was typed
        said = node.type("reboot", "lpn list", "lpn stats")
        if cut is None:
            assert "lpn: the saved pack runs: ok" in said
        else:
            assert "lpn: the saved pack is refused: incomplete" in said and "slot 2 empty" in said, said
    assert whole == (24 + (len(raw) + 7) // 8 * 8) // 2


def test_a_saved_pack_that_changed_is_refused_at_boot(board_program: Program, tmp_path: Path) -> None:
    node = Booted(board_program)
    assert "lpn: ok" in node.type(*lines(FLASH_SLOT, pack(COUNT, tmp_path)))
    at = board_program.symbols["_pages"] + 24 + 100
    node.board.cpu.uc.mem_write(at, bytes(b ^ 1 for b in node.board.cpu.uc.mem_read(at, 1)))
    said = node.type("reboot", "lpn list")
    assert "lpn: the saved pack is refused: header: checksum mismatch" in said, said
    assert "lpn: ok" in node.type("lpn unload 2") and "saved" not in node.type("reboot", "lpn list")


def test_the_slot_in_flash_of_a_node(tmp_path: Path) -> None:
    """On this machine: over the shell and over CoAP, beside packs that run; a compact pack is expanded in RAM only."""
    raw = pack(COUNT, tmp_path)
    elf = build(LPN_FLASH="1")
    with network([elf, None], line(2)) as (node, air):
        assert isinstance(air, Air) and "saved pack" not in node.heard
        ok(node.load(0, raw))
        ok(node.ask("lpn attach 0", r"^lpn: .*$"))
        send_own(air, 3)
        assert air.put(1, f"lpn/slot/{FLASH_SLOT}", raw).code == "2.04"
        assert air.ask(1, 1, "lpn").text == "0 runs Counter 1\n1 empty\n2 ready Counter 1\n"
        ok(node.ask("lpn swap 2", r"^lpn: .*$"))
        send_own(air, 2)
        assert counted(node, 5)[-1] == 5        # the count goes along
        assert "a pack runs there" in node.ask("lpn save 0", r"^lpn: .*$")
        ok(node.ask("lpn swap 0", r"^lpn: .*$"))
        ok(node.ask("lpn save 0", r"^lpn: .*$"))
        assert "no such slot" in node.ask("lpn save 1", r"^lpn: .*$")
        assert "no room" in node.ask("lpn load 2 begin 10000000", r"^lpn: .*$")
        assert air.ask(1, 4, f"lpn/slot/{FLASH_SLOT}").code == "2.02"
        time.sleep(0.3)                         # its radio is deaf while it sends
        send_own(air, 1)
        assert counted(node, 6)[-1] == 6 and node.buffer_is_empty()


def test_where_nothing_can_be_swapped_nothing_is_lost_before_what_runs_is_detached(tmp_path: Path) -> None:
    """With one area of working memory neither the pack in flash nor one that has come is given up for an answer that says: detach it first."""
    raw = pack(COUNT, tmp_path)
    out = tmp_path / "compact.lpnn"
    assert lpnc("pack", COUNT, "--compact", "-o", out).exit_code == 0
    with network([build(LPN_FLASH="1", CFLAGS="-DCONFIG_LPN_NO_SWAP=1"), None], line(2)) as (node, air):
        ok(node.load(0, raw))
        ok(node.ask("lpn save 0", r"^lpn: .*$"))
        ok(node.ask("lpn attach 0", r"^lpn: .*$"))
        assert "detach it first" in node.ask("lpn save 0", r"^lpn: .*$")
        assert air.ask(1, 1, "lpn").text == "0 runs Counter 1\n1 empty\n2 ready Counter 1\n"
        assert "detach it first" in node.load(1, out.read_bytes())
        ok(node.ask("lpn detach", r"^lpn: .*$"))
        ok(node.ask("lpn load 1 end", r"^lpn: .*$"))
        assert air.ask(1, 1, "lpn").text == "0 ready Counter 1\n1 ready Counter 1\n2 ready Counter 1\n"
