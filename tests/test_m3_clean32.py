"""The interpreter with 32-bit registers, checked, certified and the smallest one: each instruction with 32-bit operands gives what the model says,
memory is confined, and the budget ends every run."""

import itertools
import zlib

import pytest
import test_engine_isa as isa
import test_engine_memory as memory
from engine_isa import (ALU, EXIT, JUMPS, PATTERN, alu_programs, insn, jump_programs, lddw, load_programs, mov, store_programs,
                        swap_programs)

from lpn.runtime.engines import EngineUnavailable, get_engine

try:
    get_engine("m3")
except EngineUnavailable as e:
    pytest.skip(str(e), allow_module_level=True)

from lpn.runtime.m3.core import Fault
from lpn.runtime.m3.firmware import engine
from lpn.runtime.m3.raw import CERTIFIED, CLEAN32, RawRunner, runner
from lpn.runtime.raw import run_raw
from lpn.runtime.variants import OPTIONS, SMALLEST

EVERY = 5
MODES = {"checked": CLEAN32, "certified": CLEAN32 | CERTIFIED, SMALLEST: CLEAN32 | CERTIFIED}


@pytest.fixture(scope="module")
def smallest():
    return RawRunner(firmware=engine(*OPTIONS[SMALLEST]))


@pytest.fixture(params=MODES)
def run(request, smallest):
    on, modes = smallest if request.param == SMALLEST else runner(), MODES[request.param]
    return lambda text, **given: on.run(text, modes=modes, **given)


def some(programs, *which):
    return itertools.islice(programs, zlib.crc32(repr(which).encode()) % EVERY, None, EVERY)


@pytest.mark.parametrize("immediate", [False, True], ids=["reg", "imm"])
@pytest.mark.parametrize("name", ALU)
def test_alu(run, name, immediate):
    for text, want in some(alu_programs(name, 32, immediate), name, immediate):
        assert run(text).r0 == want, text.hex()


@pytest.mark.parametrize("immediate", [False, True], ids=["reg", "imm"])
@pytest.mark.parametrize("name", JUMPS)
def test_jumps(run, name, immediate):
    for text, want in some(jump_programs(name, 32, immediate), name, immediate):
        assert run(text).r0 == want, text.hex()


#: 64-bit forms on values of 31 bits, which are 32-bit clean: they share the 32-bit forms' code.
SMALL = (0, 1, 2, 31, 0x7F, 0x8000, 0x12345678, 0x7FFFFFFF)


@pytest.mark.parametrize("name", ["add", "or", "and", "xor", "rsh", "arsh", "div", "mod", "mul"])
def test_64_bit_forms_of_clean_values(run, name):
    code, _, f = ALU[name]
    for a, b in itertools.product(SMALL, SMALL):
        want = f(a, b, 64)
        if want is not None and want < 1 << 32 and (name not in ("rsh", "arsh") or b < 32):
            assert run(lddw(0, a) + lddw(7, b) + insn(code << 4 | 0xF, 0, 7) + EXIT).r0 == want, (name, a, b)


def test_moves_with_sign_extension(run):
    for bits in (8, 16):
        for a in (0, 0x7F, 0x80, 0x7FFF, 0x8000, 0x12345678, 0xFFFFFFFF):
            want = ((a & (1 << bits) - 1) ^ 1 << bits - 1) - (1 << bits - 1) & 0xFFFFFFFF
            assert run(lddw(7, a) + insn(0xBC, 0, 7, bits) + EXIT).r0 == want


def test_byte_swaps(run):
    for name, text, want in swap_programs():
        if not name.endswith("64"):
            assert run(text).r0 == want, name
    assert run(mov(0, 0) + insn(0xDC, 0, imm=64) + EXIT).r0 == 0


def test_loads(run):
    for text, want in load_programs(False):
        if text[-16] != 0x79:                   # 8 bytes: the lower four
            assert run(text, ctx=PATTERN).r0 == want
    for text, want in load_programs(True):
        assert run(text, ctx=PATTERN).r0 == want & 0xFFFFFFFF
    assert run(insn(0x79, 0, 1, 3) + EXIT, ctx=PATTERN).r0 == int.from_bytes(PATTERN[3:7], "little")


def test_stores(run):
    for text, want in store_programs(False):
        assert run(text, ctx=PATTERN).ctx == want
    for text, want in store_programs(True):
        if text[16] != 0x7B:                    # 8 bytes: the upper four of a clean register are 0
            assert run(text, ctx=PATTERN).ctx == want
    assert run(lddw(7, 0x89ABCDEF) + insn(0x7B, 1, 7, 2) + mov(0, 0) + EXIT, ctx=PATTERN).ctx == (
        PATTERN[:2] + bytes.fromhex("efcdab89") + bytes(4) + PATTERN[10:])


@pytest.mark.parametrize("size", [4, 8])
@pytest.mark.parametrize("code", [code | fetch for code, _ in isa.ATOMIC.values() for fetch in (0, 1) if fetch or code != 0xE0] + [0xF1])
def test_atomics(run, code, size):
    """On words that a clean register can hold, and on 8 bytes of which the upper four are more than that."""
    for m, s, at in itertools.product((0, 5, 0x89ABCDEF, 0xFFFFFFFF, 0x7_00000005), (0, 5, 0xFFFFFFFF), (0, 3)):
        given = bytes(at) + m.to_bytes(8, "little") + b"\xa5" * 4
        text = lddw(7, s) + mov(0, 5) + insn(0xC3 | isa.SIZES[size], 1, 7, at, code) + insn(0xBC, 6, 7)
        for last in (insn(0xBC, 0, 6), b""):            # what is fetched: for the source, for r0
            want, found = (on(text + last + EXIT, ctx=given) for on in (run_raw, run))
            assert (found.r0, found.ctx) == (want.r0 & 0xFFFFFFFF, want.ctx), (hex(m), s, at)


def test_loads_that_acquire_and_stores_that_release(run):
    for size, bits in isa.SIZES.items():
        for text in (insn(0xC3 | bits, 0, 1, 3, 0x100) + EXIT, lddw(7, 0x89ABCDEF) + insn(0xC3 | bits, 1, 7, 3, 0x110) + mov(0, 0) + EXIT):
            want, found = (on(text, ctx=PATTERN) for on in (run_raw, run))
            assert (found.r0, found.ctx) == (want.r0 & 0xFFFFFFFF, want.ctx), (size, text.hex())


def test_far_jumps(run):
    assert run(insn(0x06, imm=1) + EXIT + mov(0, 7) + insn(0x06, imm=-3)).r0 == 7


def test_a_budget_of_2_to_the_28(run):
    """Its end lies behind the addresses with a sign."""
    for fuel in (0x0FFFFFFF, 0xFFFFFFFF):
        ended = run(mov(6, 3) + insn(0x07, 6, imm=-1) + insn(0x55, 6, 0, -2) + EXIT, fuel=fuel)
        assert (ended.error, ended.insns) == ("ok", 8)
    assert run(EXIT, fuel=0).error == "instruction budget used up"


def other_tests(names, run, monkeypatch):
    """Of the other interpreter, on this one."""
    monkeypatch.setattr(isa, "run_raw", run)
    for test in (getattr(isa, name) for name in names):
        rows = next((m.args[1] for m in getattr(test, "pytestmark", ()) if m.name == "parametrize"), [()])
        for row in rows:
            test(*(row if isinstance(row, tuple) else (row,)))


@pytest.mark.parametrize("name", [
    "test_unconditional_jumps_go_both_ways", "test_local_call_keeps_r6_to_r9", "test_local_call_has_its_own_frame",
    "test_frames_reached_through_a_copied_r10", "test_a_frame_that_has_no_room_left_cannot_call", "test_functions_called_from_the_last_to_the_first",
    "test_recursion_ends_at_eight_frames", "test_budget", "test_lddw_counts_as_one_instruction"])
def test_as_with_64_bits(monkeypatch, run, name):
    """Calls and the budget."""
    other_tests([name], run, monkeypatch)


def test_as_with_64_bits_where_accesses_are_checked(monkeypatch):
    other_tests(["test_addresses_of_rodata_and_data", "test_initial_registers"], lambda text, **given: runner().run(text, modes=CLEAN32, **given), monkeypatch)


def test_registers_and_addresses_at_the_beginning(run):
    for reg, want in ((0, 0), *((n, 0) for n in range(3, 10)), (2, 3)):
        assert run(insn(0xBF, 0, reg) + EXIT, ctx=b"abc").r0 == want
    assert run(insn(0x62, 10, 0, -4, 7) + insn(0x61, 0, 10, -4) + EXIT).r0 == 7
    for op, src, name in ((0x18, 8, "rodata"), (0xD8, 0, "rodata"), (0x18, 9, "data"), (0xB8, 0, "data")):
        assert run(insn(op, 6, src, imm=3) + insn(0) + insn(0x71, 0, 6, 1) + EXIT, **{name: b"\1\2\3\4\5"}).r0 == 5
    assert run(lddw(0, 0x89ABCDEF) + EXIT).r0 == 0x89ABCDEF


@pytest.mark.parametrize("size", [1, 2, 4, 8])
@pytest.mark.parametrize("name", memory.REGIONS)
def test_edges_of_regions(monkeypatch, name, size):
    monkeypatch.setattr(memory, "run_raw", lambda text, **given: runner().run(text, modes=CLEAN32, **given))
    memory.test_edges(name, size)


def test_what_was_found_for_one_register_does_not_open_more():
    """A register that goes from region to region, and other registers behind it: each access is judged by itself."""
    ctx = {"layout": "lpn", "packet": b"p" * 3, "record_size": 4, "state": b"s" * 16}
    pkt, rec, state = (insn(0x79, 6, 1, at) for at in (0, 16, 24))
    read = insn(0x71, 0, 6, 0)
    for first in (pkt, rec, state):
        for second, room in ((rec, 4), (state, 16)):
            good = first + read + second + insn(0x71, 0, 6, room - 1) + insn(0x72, 6, 0, room - 1) + insn(0x73, 6, 0, 0)
            assert runner().run(good + EXIT, modes=CLEAN32, **ctx).error == "ok"
            for bad, why in ((insn(0x71, 0, 6, room), "load out of bounds"), (insn(0x71, 0, 6, -1), "load out of bounds"),
                             (insn(0x72, 6, 0, room), "store out of bounds"), (insn(0x7B, 6, 0, room - 7), "store out of bounds")):
                result = runner().run(good + bad + EXIT, modes=CLEAN32, **ctx)
                assert (result.error, result.pc) == (why, (len(good) // 8)), (first, second, bad.hex())


@pytest.mark.parametrize("address", [0, 4, 0xFFFFFFF8, 0xFFFFFFFF, 0x1FFFFFFF, 0x80000000])
def test_addresses_out_of_nowhere(address):
    for op, size in ((0x71, 1), (0x69, 2), (0x61, 4), (0x79, 8)):
        assert runner().run(lddw(6, address) + insn(op, 0, 6) + EXIT, modes=CLEAN32).error == "load out of bounds"
        assert runner().run(lddw(6, address) + insn(op + 1, 6, 0, 0, 1) + EXIT, modes=CLEAN32).error == "store out of bounds"


def test_a_certified_program_that_lies_faults_the_core():
    """Without checks nothing but the core stands in its way: certificates are for who has proven the program."""
    with pytest.raises(Fault, match="read of 0x4, 4 bytes"):
        RawRunner().run(mov(6, 0) + insn(0x61, 0, 6, 4) + EXIT, modes=CLEAN32 | CERTIFIED)


@pytest.mark.parametrize("fuel", [1, 2, 5, 99, 100, 101, 1000])
def test_the_budget_ends_loops_at_the_same_instruction(run, fuel):
    for loop in (insn(0x05, off=-1), mov(3, 1) + insn(0x15, 3, 0, -2, 1) + EXIT, mov(3, 0) + lddw(4, 1) + insn(0x05, off=-4)):
        wide, clean = (on(loop, fuel=fuel) for on in (run_raw, run))
        assert (clean.error, clean.insns) == (wide.error, wide.insns) == ("instruction budget used up", fuel)


def test_counts_as_the_other_interpreter(run):
    text = mov(6, 10) + mov(0, 0) + insn(0x07, 0, imm=3) + insn(0x07, 6, imm=-1) + insn(0x55, 6, 0, -3, 0) + lddw(2, 5) + EXIT
    wide, clean = (on(text) for on in (run_raw, run))
    assert (wide.r0, wide.insns, wide.pc) == (clean.r0, clean.insns, clean.pc) == (30, 34, 7)
