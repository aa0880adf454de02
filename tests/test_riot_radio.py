"""What the radio takes on the board: helpers within their declared times whatever the radio does, deadlines and a budget that hold, low-power listening that hears.

RIOT's own driver on the emulated board, whose radio has the times of its data sheet."""
from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from riot_network import build, needs_riot
from test_riot_network import pack, packed
from test_riot_saved import FLASH_SLOT, Booted, lines

unicorn = pytest.importorskip("unicorn", reason="the emulated board needs unicorn: pip install 'lpn[m3]'")
from unicorn.arm_const import UC_ARM_REG_LR, UC_ARM_REG_R1, UC_ARM_REG_SP

from lpn.compiler.helpers import BY_NAME
from lpn.runtime.twin.clock import US
from lpn.runtime.twin.network import Network
from lpn.runtime.twin.program import Program, read
from lpn.runtime.twin.rf231_table import State
from lpn.runtime.twin.session import inject

pytestmark = needs_riot
#: A function of the module, the radio's state when it is called -> of which helper it is all.
FUNCTIONS = {"lpn_radio_switch": ("radio_off", "radio_on"), "lpn_radio_cca": ("radio_cca",), "lpn_radio_channel": ("radio_channel",),
             "lpn_radio_power": ("radio_power",), "lpn_radio_send": ("radio_send",)}
HEADER = bytes.fromhex("4188002300ffff0100")        # to everybody
QUIET = ("ifconfig 6 -csma", "ifconfig 6 set retrans 0")
DARK = (State.SLEEP, State.TRX_OFF)


@pytest.fixture(scope="module")
def board_program() -> Program:
    return read(build(board="iotlab-m3"))


def running(program: Program, source: str, tmp_path: Path, watched: Callable[[Booted], None] = lambda node: None) -> Booted:
    node = Booted(program)
    loaded(node, pack(source, tmp_path))
    watched(node)
    assert "lpn: ok" in node.type(f"lpn attach {FLASH_SLOT}")
    return node


def loaded(node: Booted, raw: bytes) -> None:
    for _ in range(3):                          # the serial line has no flow control: what loses a character is typed again
        said = node.type(*QUIET, *lines(FLASH_SLOT, raw), seconds=60.0)
        if said.rstrip("> ").endswith("lpn: ok\n"):
            return
    raise AssertionError(said[-200:])


def watch(node: Booted, found: dict[tuple[str, State], list[float]]) -> None:
    """Adds to `found` the microseconds of each call of a helper, by the state that it found the radio in. Before any is called: the emulator looks at code once."""
    uc, begun, hooked = node.board.cpu.uc, [], set()

    def entered(function: str) -> None:
        helpers = FUNCTIONS[function]
        helper = helpers[uc.reg_read(UC_ARM_REG_R1) & 1 if len(helpers) > 1 else 0]
        back = uc.reg_read(UC_ARM_REG_LR) & ~1
        begun.append((helper, back, uc.reg_read(UC_ARM_REG_SP), node.board.now, node.board.radio.state))
        if back not in hooked:
            hooked.add(back)
            uc.hook_add(unicorn.UC_HOOK_CODE, lambda uc, address, size, data: left(address), None, back, back)

    def left(address: int) -> None:
        if begun and begun[-1][1:3] == (address, uc.reg_read(UC_ARM_REG_SP)):
            helper, _, _, start, state = begun.pop()
            found.setdefault((helper, state), []).append((node.board.now - start) / US)

    for function in FUNCTIONS:
        at = node.board.program.symbols[function]
        uc.hook_add(unicorn.UC_HOOK_CODE, lambda uc, address, size, function: entered(function), function, at, at)


def crowd(node: Booted, seconds: float) -> None:
    """Frames of all lengths, which are on the air most of the time."""
    rng, time = random.Random(1), node.board.now + 1_000 * US
    end = time + round(seconds * 1_000_000) * US
    while time < end:
        octets = rng.choice((20, 60, 125))
        inject(node.network, HEADER.ljust(octets, b"\0"), time)
        time += ((octets + 2 + 6) * 32 + rng.choice((200, 400, 2_000, 5_000))) * US


@pytest.mark.parametrize("source, helpers", [("tests/riot/radio.lpn", {"radio_on", "radio_off", "radio_cca", "radio_channel", "radio_power"}),
                                             ("tests/riot/radio_send.lpn", {"radio_on", "radio_off", "radio_send"})])
def test_no_helper_takes_longer_than_is_declared(board_program: Program, tmp_path: Path, source: str, helpers: set[str]) -> None:
    found: dict[tuple[str, State], list[float]] = {}
    node = running(board_program, source, tmp_path, lambda node: watch(node, found))
    crowd(node, 4)
    node.run(4.1)
    assert {helper for helper, _ in found} == helpers
    asleep = helpers - {"radio_off"} - ({"radio_on"} if "radio_send" in helpers else set())         # that one is called while the radio sends
    listening = ((helper, state) for helper in helpers - {"radio_on"} for state in (State.BUSY_RX_AACK, State.RX_AACK_ON))
    assert {*((helper, State.SLEEP) for helper in asleep), *listening} <= found.keys()
    for (helper, state), times in found.items():
        assert max(times) <= BY_NAME[helper].cost_cycles / 72, (helper, state.name)
    assert " misses 0 " in node.type("lpn stats")


def test_a_radio_that_sends_asleep_listens_when_it_is_switched_on_meanwhile(board_program: Program, tmp_path: Path) -> None:
    """The driver goes back to where it was before a frame, sleeping, behind it and behind each one that comes in."""
    node = running(board_program, "tests/riot/radio_send.lpn", tmp_path)
    node.run(0.1)
    heard = node.board.radio.counts["received"]
    time, count = node.board.now, 120
    for n in range(count):
        inject(node.network, HEADER.ljust(20, b"\0"), time + n * 10_000 * US)
    node.run(count * 0.01)
    assert node.board.radio.counts["received"] - heard > count // 2, node.board.radio.counts


def test_the_deadlines_and_the_budget_of_a_node_that_sleeps(board_program: Program, tmp_path: Path) -> None:
    """What examples/duty promises, with nobody there, and with a neighbour that never stops."""
    node = running(board_program, "examples/duty/duty.lpn", tmp_path)
    for busy in (False, True):
        node.type("lpn stats reset")
        if busy:
            crowd(node, 4)
        radio = node.board.radio
        radio.settle()
        before, start = dict(radio.spent), node.board.now
        node.run(4)
        radio.settle()
        lit = sum(ticks - before.get(state, 0) for state, ticks in radio.spent.items() if state not in DARK)
        assert lit / (node.board.now - start) < 0.1497, "lpnc says 15.06 %, with an interrupt for each of the shortest frames"
        said = node.type("lpn stats")
        hooks = [line for line in said.splitlines() if line.startswith("hook")]
        assert len(hooks) == 6 and all(" misses 0 " in line for line in hooks), said


@pytest.mark.parametrize("octets", [13, 40, 110])
def test_low_power_listening_hears_whoever_strobes(board_program: Program, tmp_path: Path, octets: int) -> None:
    """Copies that wait for an acknowledgement, beginning at offsets from all of their period."""
    source = tmp_path / "lpl.lpn"
    source.write_text("import std.duty_cycle;\nprotocol P version 1 { timing : LowPowerListening; }\n")
    node = running(board_program, str(source), tmp_path)
    period = (6 + octets + 2) * 32 + 1_056
    strobes = range(0, period, 171)
    start, heard = node.board.now, []
    for k, offset in enumerate(strobes):
        before = node.board.radio.counts["received"]
        for n in range(140_000 // period):
            inject(node.network, HEADER.ljust(octets, b"\0"), start + (k * 250_000 + 7_000 + offset + n * period) * US)
        node.run(0.25)
        heard.append(node.board.radio.counts["received"] > before)
    assert all(heard), heard


def test_two_nodes_that_sleep_talk(board_program: Program, tmp_path: Path) -> None:
    """examples/duty_cycle on both: each reading is acknowledged, and once it is known when the sink looks, with few copies."""
    network = Network([board_program] * 2)
    sensor, sink = (Booted(board_program, network, number) for number in range(2))
    for node, address, tables in ((sensor, "00:02", {"sink": 1, "reading": 0x0866}), (sink, "00:01", {})):
        node.type(f"ifconfig 6 set addr {address}")
        loaded(node, packed("examples/duty_cycle/duty_cycle.lpn", tmp_path, tables))
    for node in (sink, sensor):
        assert "lpn: ok" in node.type(f"lpn attach {FLASH_SLOT}")
    sensor.run(11)
    sensor.type("lpn stats reset")
    sensor.run(30)
    sent, ok, noack = (int(number) for number in re.search(r"sent (\d+) ok (\d+) noack (\d+) ", sensor.type("lpn stats")).groups())
    assert ok == 3 and sent == ok + noack <= 5 * ok
    heard = re.search(r"hook 0 radio.rx_done runs (\d+) .* drops (\d+) ", sink.type("lpn stats"))
    assert heard and int(heard[1]) - int(heard[2]) >= 4
    for node in (sensor, sink):
        assert all(" misses 0 " in line for line in node.type("lpn stats").splitlines() if line.startswith("hook"))


def test_interrupts_that_run_hooks_have_a_stack_for_them() -> None:
    """A radio of the HAL tells when a frame starts in its interrupt: a container there takes over 900 bytes of stack, of which RIOT gives interrupts 512 in all."""
    with build(board="cc2538dk", GNRC="0", LPN_STORE="2048", LPN_MEMORY="4096").open("rb") as file:
        stack, = ELFFile(file).get_section_by_name(".symtab").get_symbol_by_name("isr_stack")
    assert stack["st_size"] == 512 + 1280
