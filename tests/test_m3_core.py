"""The emulated Cortex-M3: times by the manual's table, faults, and counts that single steps confirm."""

from pathlib import Path

import pytest

from lpn.runtime.engines import EngineError, EngineUnavailable, get_engine

try:
    get_engine("m3")
except EngineUnavailable as e:
    pytest.skip(str(e), allow_module_level=True)

from lpn.runtime.m3 import firmware
from lpn.runtime.m3.core import CODE, HEAP, RETURN, STACK_END, Core, Count, Fault
from lpn.runtime.m3.host import M3Host
from lpn.runtime.m3.linked import PLACES
from lpn.runtime.m3.timing import REFILL, holds

SOURCE = Path(__file__).parent / "m3_timing.s"


@pytest.fixture(scope="module")
def small() -> firmware.Firmware:
    return firmware.read(firmware.build("timing", [SOURCE]))


@pytest.fixture
def core(small) -> Core:
    return Core(small)


def run(core: Core, name: str, *arguments: int) -> Count:
    core.forget()
    core.call(name, *arguments)
    return core.count()


RETURNS = 1 + REFILL


@pytest.mark.parametrize("name,arguments,thumb,cycles", [
    ("plain", (), 3, 2 + RETURNS),
    ("loads", (HEAP,), 4, 2 + 1 + 2 + RETURNS),
    ("stores", (HEAP, 4), 5, 1 + 2 + 2 + 1 + RETURNS),
    ("load_behind_store", (HEAP,), 3, 1 + 2 + RETURNS),
    ("many", (HEAP,), 4, 4 + 3 + 3 + 4 + REFILL),
    ("products", (3, 5), 5, 1 + 2 + 3 + 4 + RETURNS),
    ("products", (1 << 20, 5), 5, 1 + 2 + 4 + 5 + RETURNS),
    ("products", (1 << 20, 1 << 16), 5, 1 + 2 + 5 + 6 + RETURNS),
    ("quotient", (7, 9), 2, 2 + RETURNS),
    ("quotient", (0xFFFFFFFF, 1), 2, 12 + RETURNS),
    ("quotient", (5, 0), 2, 2 + RETURNS),
    ("quotient_in_it_block", (0xFFFFFFFF, 1, 0), 5, 2 + 12 + 1 + RETURNS),
    ("quotient_in_it_block", (0xFFFFFFFF, 1, 1), 5, 2 + 1 + 3 + RETURNS),
    ("not_taken", (), 3, 2 + RETURNS),
    ("taken", (), 3, 2 + REFILL + RETURNS),
    ("to_the_next", (), 4, 3 + REFILL + RETURNS),
    ("in_it_block", (HEAP, 1), 9, 2 + 2 + 2 + 1 + RETURNS + 2 + RETURNS),
    ("in_it_block", (HEAP, 6), 9, 2 + 1 + 1 + 2 + RETURNS + 2 + RETURNS),
    ("table", (0,), 2, 2 + REFILL + RETURNS),
    ("table", (1,), 2, 2 + REFILL + RETURNS),
    ("wide", (), 9, 8 + RETURNS),
])
def test_times_of_the_manual(core, name, arguments, thumb, cycles):
    core.write(HEAP + 4, HEAP.to_bytes(4, "little"))
    count = run(core, name, *arguments)
    assert (count.thumb, count.cycles) == (thumb, cycles)
    assert run(core, name, *arguments) == count


def test_wait_states(core):
    """Two cycles behind a jump and two for each load from flash; straight 32-bit code waits for its lines."""
    assert run(core, "plain").waits == 2
    assert run(core, "literal").waits == 2 + 2
    assert run(core, "taken").waits == 2 + 2
    assert run(core, "peek", HEAP).waits == 2
    # two instructions a line, a line every three cycles: one cycle lost a line, but for the first
    assert run(core, "wide").waits == 2 + 1 + 3


def test_functions_linked_where_they_wait_most():
    """Each in the place where it waits most, which is another one for the two; wherever they are linked, that many cycles are known."""
    placed = {}
    for a in PLACES:
        for b in PLACES:
            flags = (f"-Wa,--defsym,A={a}", f"-Wa,--defsym,B={b}")
            placed[a, b] = run(Core(firmware.read(firmware.build("placed", [SOURCE.parent / "m3_placed.s"], flags=flags))), "outer", 7)
    assert {count.most_cycles for count in placed.values()} == {max(count.flash_cycles for count in placed.values())}
    assert len({count.flash_cycles for count in placed.values()}) > 2 and len({count.cycles for count in placed.values()}) == 1


@pytest.mark.parametrize("argument,want", [(1, 17), (9, 17)])
def test_what_hooks_see_in_an_it_block_does_not_change_the_run(core, argument, want):
    for _ in range(2):
        assert core.call("literal_in_it_block", 0, argument) == want
        assert core.call("in_it_block", HEAP, argument) == 9


def test_conditions():
    n, z, c, v = 1 << 31, 1 << 30, 1 << 29, 1 << 28
    true = {0: [z], 1: [0, c], 2: [c], 4: [n], 6: [v], 8: [c], 9: [0, c | z], 10: [0, n | v], 11: [n, v], 12: [n | v], 13: [z, n],
            14: [0, n | z | c | v]}
    for condition, flags in true.items():
        for each in flags:
            assert holds(condition, each)
            assert condition == 14 or not holds(condition ^ 1, each)


@pytest.mark.parametrize("name,address", [("peek", 0), ("peek", 4), ("peek", 0x1FFFFFFC), ("peek", 0x40000000), ("poke", 0),
                                          ("poke", 0x08000000), ("peek", 0x20100000 + 0x100000), ("peek", 0xFFFFFFFC)])
def test_wild_accesses_fault(core, name, address):
    with pytest.raises(Fault, match=f"in {name}\\+0x0: (read of|write to)( flash at)? {address:#x}, 4 bytes"):
        core.call(name, address, 1)
    assert isinstance(Fault(""), EngineError)
    core.call("plain")                          # and the core goes on


def test_data_is_not_code(core):
    core.write(HEAP, b"\x70\x47" * 8)           # bx lr
    core.firmware.symbols["data"] = HEAP
    try:
        with pytest.raises(Fault, match="execution at"):
            core.call("data")
    finally:
        del core.firmware.symbols["data"]


def steps(core: Core, name: str, *arguments: int) -> int:
    """Instructions of a call, one emulation each."""
    from unicorn import arm_const as reg
    for i, value in enumerate(arguments):
        core.uc.reg_write(reg.UC_ARM_REG_R0 + i, value)
    core.uc.reg_write(reg.UC_ARM_REG_LR, RETURN | 1)
    core.uc.reg_write(reg.UC_ARM_REG_SP, STACK_END)
    pc, n = core.firmware.symbols[name], 0
    while pc != RETURN:
        core.uc.emu_start(pc | 1, RETURN, count=1)
        pc, n = core.uc.reg_read(reg.UC_ARM_REG_PC) & ~1, n + 1
    return n


def test_single_steps_confirm_the_count():
    """On the engine's own code: the checksum of an image."""
    counted, stepped = Core(), Core(counting=False)
    for core in (counted, stepped):
        core.write(HEAP, bytes(range(40)))
    counted.call("lpn_crc32", 0, HEAP, 40)
    assert counted.count().thumb == steps(stepped, "lpn_crc32", 0, HEAP, 40)


def test_only_the_window_is_counted(monkeypatch):
    core = Core(window="lpn_crc32")
    host = M3Host(0, 0, 0, core)
    core.forget()
    assert host.core.call("lpn_error_name", 1) and core.count() == Count()
    core.write(HEAP, bytes(64))
    core.call("lpn_crc32", 0, HEAP, 64)
    inside = core.count()
    assert inside.thumb > 64 and core.count() == Count()


def test_long_runs_are_counted_whole(monkeypatch):
    """Blocks are folded now and then; nothing is lost or counted twice there."""
    from lpn.runtime.m3 import core as module
    whole = Core()
    whole.call("lpn_crc32", 0, HEAP, 1600)
    want = whole.count()
    monkeypatch.setattr(module, "FOLD", 7)
    folded = Core()
    folded.call("lpn_crc32", 0, HEAP, 1600)
    assert folded.count() == want and want.thumb > 5000


def test_where_the_emulator_ends_its_pages_is_not_seen(core):
    """It ends a block there. A load behind a load then seemed to be one behind a jump."""
    def worst(at: int):
        core.write(at, bytes.fromhex("0168 4268 8368 7047"))        # ldr r1, [r0]; ldr r2, [r0, #4]; ldr r3, [r0, #8]; bx lr
        core.learn(at, 8)
        core.forget()
        core.call(at, HEAP)
        return core.worst().fixed

    assert len({worst(at) for at in range(CODE + 1024 - 16, CODE + 1024 + 16, 2)}) == 1


def test_zeroing_takes_what_it_is_given():
    core = Core()
    for size in (*range(80), 127, 128, 129, 200, 256, 271):
        for at in range(HEAP + 8, HEAP + 12):
            core.write(HEAP, b"\xff" * 300)
            core.call("lpn_zero", at, size)
            assert core.read(HEAP, 300) == b"\xff" * (at - HEAP) + bytes(size) + b"\xff" * (HEAP + 300 - at - size)
