"""The emulated controller: exceptions, sleep, timers, the serial port, and the time all of it takes. Programs: twin_core.s."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("unicorn", reason="the emulated board needs unicorn: pip install 'lpn[m3]'")
if not shutil.which("arm-none-eabi-gcc"):
    pytest.skip("needs arm-none-eabi-gcc (Debian's gcc-arm-none-eabi) to assemble small programs", allow_module_level=True)

from unicorn import arm_const as reg

from lpn.runtime.engine.build import FLAGS
from lpn.runtime.twin import native
from lpn.runtime.twin.air import Air
from lpn.runtime.twin.board import Board
from lpn.runtime.twin.clock import SECOND, US
from lpn.runtime.twin.cpu import CpuFault
from lpn.runtime.twin.nvic import Nvic
from lpn.runtime.twin.program import Program, ProgramError, read

SOURCE = Path(__file__).parent / "twin_core.s"
LIST, PEND_LATER, WHAT = 0, 0x100, 0x200        # offsets in RAM, as in twin_core.s


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Program:
    out = tmp_path_factory.mktemp("twin") / "core.elf"
    subprocess.run(["arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb", "-nostdlib", "-Wl,-Ttext=0x08000000", "-Wl,--entry=0x08000001",
                    str(SOURCE), "-o", str(out)], check=True, capture_output=True)
    return read(out)


class Run:
    """A board that runs one of the programs."""

    def __init__(self, program: Program, what: str, us: float = 1000) -> None:
        self.board = Board(program, Air())
        cpu = self.cpu = self.board.cpu
        cpu.ram[WHAT:WHAT + 4] = (program.symbols[what] | 1).to_bytes(4, "little")
        self.board.run(round(us * US))

    def __getitem__(self, register: int) -> int:
        return self.cpu.uc.reg_read(reg.UC_ARM_REG_R0 + register)

    @property
    def exceptions(self) -> list[int]:
        ram = self.cpu.ram
        return list(ram[LIST + 4:LIST + 4 + ram[LIST]])


def test_the_clock_is_built_without_a_warning():
    assert FLAGS and native.build(strict=True).exists()


def test_exceptions_come_and_wait_for_the_mask(program):
    run = Run(program, "exceptions")
    assert run.exceptions == [11, 14, 14]
    assert (run[4], run[5], run[6]) == (77, 2, 3)


def test_an_exception_keeps_registers_and_flags(program):
    run = Run(program, "registers")
    assert [run[i] for i in range(5)] == [10, 11, 12, 13, 1] and run[12] == 13
    assert run.exceptions == [11]


def test_the_process_stack(program):
    run = Run(program, "process")
    assert run[4] == run[5] == 0x20003000 and run[6] & 2
    assert run.exceptions == [11]


def test_sleep_until_a_timer(program):
    """A millisecond at 1 MHz, to the microsecond; asleep for nearly all of it."""
    run = Run(program, "sleeps", 1500)
    assert run.exceptions == [16 + 28]
    assert 1000 <= run[4] <= 1012
    assert 0.99 < run.cpu.slept / (1000 * US) <= 1.0


@pytest.mark.usefixtures("control_c")
def test_control_c_ends_a_run(program, capfd):
    """It came while C ran, was told in a function that C calls, and was printed there; the run went on, or the firmware stopped in an exception 3."""
    run = Run(program, "sleeps", 1)
    run.cpu.layer_of = lambda address: signal.raise_signal(signal.SIGINT) or 0
    with pytest.raises(KeyboardInterrupt):
        run.board.run(1500 * US)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler and capfd.readouterr().err == ""
    del run.cpu.layer_of
    run.board.run(1500 * US)
    assert run.exceptions == [16 + 28]


def test_wfi_with_interrupts_masked(program):
    run = Run(program, "masked")
    assert (run[4], run[5]) == (0, 1) and run.exceptions == [26]


def test_priorities(program):
    """The more urgent one interrupts the handler that pends it; the less urgent one waits."""
    assert Run(program, "nested").exceptions == [21, 22, 23]


def test_systick(program):
    run = Run(program, "counts")
    assert run.exceptions == [15] * 5


def test_the_serial_port_takes_its_time(program):
    """Five bytes of ten bits at 8 MHz / 833; polling is counted, not skipped."""
    run = Run(program, "says", 6000)
    assert run.board.console == b"ABCDE" and run[4] == 1
    assert run.cpu.clock.insns > 6000 * 8 / 3               # it never sleeps, and polls with three instructions
    assert Run(program, "says", 3000).board.console == b"AB"


def test_registers_inside_it_blocks(program):
    run = Run(program, "peripherals_in_it")
    assert (run[3], run[4], run[5]) == (5, 3, 5)


def test_the_alias_of_single_bits(program):
    run = Run(program, "bits")
    assert (run[4], run[5]) == (8, 1)


def test_code_in_ram_may_be_replaced(program):
    run = Run(program, "in_ram")
    assert (run[5], run[6]) == (1, 2)


def test_flash_is_erased_and_programmed_once(program):
    """PM0075, 2.3.3: a halfword that is not blank stays, and PGERR says so. A page takes 20 ms, a halfword 52 us."""
    run = Run(program, "flash", 20_000)
    assert run[3] == 0 and run.board.flash.erased == 1 and run.board.flash.programmed == 0
    run.board.run(20_400 * US)
    assert (run[3], run[4], run[5], run[6]) == (1, 0xffff, 0x1234, 0x1234)
    assert (run[8] & 0x3c, run[9] & 0x3c) == (1 << 5, 1 << 5 | 1 << 2) and run.board.flash.programmed == 1
    assert bytes(run.cpu.uc.mem_read(0x4800, 2)) == bytes.fromhex("3412")        # at the other address, too


def test_flash_is_not_written_without_the_controller(program):
    with pytest.raises(CpuFault, match=r"locked\+0x4: write to flash at 0x8004800, 2 bytes"):
        Run(program, "locked")


def test_a_wild_access_is_named(program):
    with pytest.raises(CpuFault, match=r"wild\+0x[24]: read of 0x60000000, 4 bytes"):
        Run(program, "wild")


def test_instructions_and_cycles(program):
    """Eight turns of a loop whose branch is taken seven times; a division of 100 by 7 (5 bits of difference)."""
    run = Run(program, "costs", 100)
    functions = {f.name: f for f in program.functions}
    clock, at = run.cpu.clock, (functions["costs"].start - 0x08000000) // 2
    first, loop, rest = clock.in_flash[at], clock.in_flash[at + 2], clock.in_flash[at + 5]
    assert (first.runs, loop.runs, rest.runs) == (1, 7, 1)          # the first turn is in the first block
    assert first.insns + loop.insns + rest.insns == 2 + 3 * 8 + 4
    assert run[4] == 14
    assert loop.cycles == 7 * (3 + 2) + 7 * 2                       # pipeline, and the flash's line behind a jump


def test_times_are_the_same_in_every_run(program):
    runs = [Run(program, "says", 5000) for _ in range(2)]
    assert runs[0].cpu.clock.insns == runs[1].cpu.clock.insns and runs[0].cpu.now == runs[1].cpu.now


def test_a_clock_of_8_mhz_after_reset(program):
    board = Board(program, Air())
    assert board.rcc.core == 8_000_000 and board.cpu.clock.scale == 18
    board.rcc.write(4, 2 | 1 << 16 | 1 << 17 | 7 << 18 | 4 << 8, 4)     # HSE / 2 * 9, APB1 / 2
    assert board.rcc.core == 72_000_000
    assert (board.rcc.bus(1), board.rcc.bus(2), board.rcc.timer(1)) == (4, 2, 2)
    assert SECOND == 72_000_000 * 2


@pytest.mark.parametrize("content,what", [(b"", "not an ELF"), (b"\x7fELF", "not an ELF"), (b"hello", "not an ELF")])
def test_what_is_no_firmware(tmp_path, content, what):
    path = tmp_path / "x.elf"
    path.write_bytes(content)
    with pytest.raises(ProgramError, match=what):
        read(path)


def test_members_of_structures(tmp_path):
    from lpn.runtime.twin.members import offsets
    source, out = tmp_path / "some.c", tmp_path / "some.elf"
    source.write_text("typedef struct { char a; long long b; struct { short c; } d; } thing; thing it; void f(void) { it.a = 1; }")
    subprocess.run(["arm-none-eabi-gcc", "-g", "-mcpu=cortex-m3", "-mthumb", "-nostdlib", "-Wl,-Ttext=0x08000000,--entry=0", str(source), "-o", str(out)],
                   check=True, capture_output=True)
    assert offsets(out, "some.c", {"thing": ("b",)}) == {"thing": {"a": 0, "b": 8, "d": 16}}
    with pytest.raises(ProgramError, match="no debug information of thing from other.c"):
        offsets(out, "other.c", {"thing": ("b",)})
    assert next(f for f in read(out).functions if f.name == "f").source.endswith("some.c")


# ---------------------------------------------------------------- the interrupt controller alone

def controller() -> Nvic:
    nvic = Nvic(lambda: None)
    nvic.write(0, 0xFFFFFFFF, 4)
    return nvic


def test_the_most_urgent_first_then_the_lowest_number():
    nvic = controller()
    nvic.write(0x300, 0x20_40_20_40, 4)
    for exception in (16, 17, 18, 19):
        nvic.pend(exception)
    order = []
    while exception := nvic.next():
        nvic.take(exception)
        order.append(exception)
        nvic.leave()
    assert order == [17, 19, 16, 18]


def test_equal_priority_does_not_interrupt():
    nvic = controller()
    nvic.take(16)
    nvic.pend(17)
    assert nvic.next() == 0
    nvic.leave()
    assert nvic.next() == 17


def test_groups_do_not_interrupt_each_other_but_are_ordered():
    nvic = controller()
    nvic.group = 6                              # one bit of group priority
    nvic.write(0x300, 0x80_90_00_10, 4)
    nvic.take(16)
    nvic.pend(17)
    assert nvic.next() == 0
    nvic.leave()
    nvic.take(18)
    nvic.pend(19), nvic.pend(17)
    assert nvic.next() == 17


def test_a_line_that_stays_active_pends_again():
    nvic = controller()
    nvic.line(3, True)
    nvic.take(nvic.next())
    assert nvic.next() == 0
    nvic.leave()
    assert nvic.next() == 19
    nvic.take(19)
    nvic.line(3, False)
    nvic.leave()
    assert nvic.next() == 0
