"""The translator: every instruction of code that is 32-bit clean and of code that is not, on the emulated Cortex-M3."""
from __future__ import annotations

import itertools
import random
import zlib

import pytest
from engine_isa import (ALU, EDGES, EXIT, IMMEDIATES, JUMPS, M32, M64, PATTERN, SIZES, alu_programs, insn, jump_programs, lddw,
                        load_programs, mov, signed, store_programs, swap_programs)

from lpn.runtime.engine.thumb2 import TranslateError, translate
from lpn.runtime.engines import EngineUnavailable, get_engine

EVERY = 11                      #: of thousands of operand pairs the core takes every eleventh, in another phase for each instruction
SMALL = [a for a in EDGES if a <= M32]


class Thumb2:
    """Runs bare code translated; memory as of run_raw's ctx."""

    def __init__(self, *options: str):
        from lpn.runtime.m3.core import CODE, CODE_SIZE, Core
        from lpn.runtime.m3.firmware import engine
        from lpn.runtime.m3.host import M3Host
        self.core, self.code, self.code_size = Core(engine(*options), counting=False), CODE, CODE_SIZE
        self.host = M3Host(0, 0, 0, self.core)

    def run(self, text: bytes, *, ctx: bytes = b"", clean: bool = False, rodata: bytes = b"", data: bytes = b"",
            whole: bool = True) -> tuple[int, bytes]:
        """(r0, ctx afterwards). All 64 bits of r0, which a store at the end writes behind the context; 32 unless `whole`."""
        core, mark = self.core, self.core.mark()
        at = (len(ctx) + 7) // 8 * 8
        memory = core.allocate(at + 8, ctx)
        whole = whole and not clean
        if whole:
            text = insn(0xBF, 9, 1) + text[:-8] + insn(0x7B, 9, 0, at) + EXIT
        where = core.allocate(len(text), text)
        code_map, r0 = core.allocate(len(text) // 4 + 2), core.allocate(4)
        sections = core.allocate(len(rodata) + 8, rodata), core.allocate(len(data) + 8, data)
        core.uc.ctl_remove_cache(self.code, self.code + self.code_size)
        error = core.call("lpn_host_thumb2_run", where, len(text), int(clean), memory, *sections, self.code, self.code_size, code_map,
                          self.host.handle, r0)
        assert error == 0, self.host.error_name(error)
        value = int.from_bytes(core.read(memory + at, 8) if whole else core.read(r0, 4), "little")
        after = core.read(memory, len(ctx))
        here = translate(text, clean32=clean, rodata=sections[0], data=sections[1]).code
        assert core.read(self.code, len(here)) == here, text.hex()     # by thumb2_clean.h, where that core has thumb2_clean.S
        core.release(mark)
        return value, after


@pytest.fixture(scope="module")
def machine():
    try:
        get_engine("m3")
    except EngineUnavailable as e:
        pytest.skip(str(e))
    return Thumb2()


def some(programs, *key):
    return itertools.islice(programs, zlib.crc32(repr(key).encode()) % EVERY, None, EVERY)


@pytest.mark.parametrize("immediate", [False, True], ids=["reg", "imm"])
@pytest.mark.parametrize("width", [64, 32])
class TestAllBits:
    """Code that is not 32-bit clean."""

    @pytest.mark.parametrize("name", ALU)
    def test_alu(self, machine, name, width, immediate):
        for text, want in some(alu_programs(name, width, immediate), name, width, immediate):
            assert machine.run(text)[0] == want, text.hex()

    @pytest.mark.parametrize("name", JUMPS)
    def test_jumps(self, machine, name, width, immediate):
        for text, want in some(jump_programs(name, width, immediate), name, width, immediate):
            assert machine.run(text)[0] == want, text.hex()


@pytest.mark.parametrize("immediate", [False, True], ids=["reg", "imm"])
@pytest.mark.parametrize("width", [64, 32])
class TestClean:
    """Numbers of 32 bits in, a number of 32 bits out."""

    def operands(self, name, width, immediate):
        return some(itertools.product(SMALL, IMMEDIATES if immediate else SMALL), name, width, immediate)

    @pytest.mark.parametrize("name", ALU)
    def test_alu(self, machine, name, width, immediate):
        """Alone, and behind a move, with which it becomes one instruction."""
        code, off, f = ALU[name]
        mask = M64 if width == 64 else M32
        op = code << 4 | (0 if immediate else 8) | (7 if width == 64 else 4)
        for a, b in self.operands(name, width, immediate):
            want = f(a & mask, b & mask, width) & mask
            if want > M32:
                continue
            start = lddw(6, a) + lddw(7, b & M32)
            alone = insn(op, 6, 0, off, b) if immediate else insn(op, 6, 7, off)
            assert machine.run(start + alone + insn(0xBF, 0, 6) + EXIT, clean=True)[0] == want, (a, b)
            moved = insn(op, 5, 0, off, b) if immediate else insn(op, 5, 7, off)
            assert machine.run(start + insn(0xBF, 5, 6) + moved + insn(0xBF, 0, 5) + EXIT, clean=True)[0] == want, (a, b)
            if a == b and not immediate:
                both = insn(0xBF, 5, 6) + insn(op, 5, 5, off)
                assert machine.run(start + both + insn(0xBF, 0, 5) + EXIT, clean=True)[0] == want, a

    @pytest.mark.parametrize("name", JUMPS)
    def test_jumps(self, machine, name, width, immediate):
        """Near, over the reach of cbz, over that of a branch of 2 bytes; over another jump."""
        code, f = JUMPS[name]
        mask = M64 if width == 64 else M32
        op = code << 4 | (0 if immediate else 8) | (5 if width == 64 else 6)
        for a, b in self.operands(name, width, immediate):
            taken = f(a & mask, b & mask, width)
            start = lddw(6, a) + lddw(7, b & M32) + mov(0, 1)

            def jump(off):
                return insn(op, 6, 0, off, b) if immediate else insn(op, 6, 7, off)     # noqa: B023
            assert machine.run(start + jump(1) + mov(0, 0) + EXIT, clean=True)[0] == int(taken), (a, b)
            over = jump(1) + insn(0x05, off=2) + mov(0, 3) + insn(0x05, off=1) + mov(0, 2) + EXIT
            assert machine.run(start + over, clean=True)[0] == (3 if taken else 2), (a, b)
        for distance in (19, 40, 101, 1500):
            for a in (0, 1):
                taken = f(a, 1, width)
                text = mov(6, a) + mov(7, 1) + mov(0, 1) + (insn(op, 6, 0, distance, 1) if immediate else insn(op, 6, 7, distance))
                text += insn(0x07, 0, imm=2) * distance + EXIT
                assert machine.run(text, clean=True)[0] == (1 if taken else 1 + 2 * distance), (distance, a)


def test_negation_and_sign_extension(machine):
    for a in EDGES:
        assert machine.run(lddw(0, a) + insn(0x87, 0) + EXIT)[0] == -a & M64
        assert machine.run(lddw(0, a) + insn(0x84, 0) + EXIT)[0] == -a & M32
        assert machine.run(lddw(0, a) + EXIT)[0] == a
        for width, bits in ((64, 8), (64, 16), (64, 32), (32, 8), (32, 16)):
            text = lddw(7, a) + insn(0xBF if width == 64 else 0xBC, 0, 7, bits) + EXIT
            assert machine.run(text)[0] == signed(a, bits) & (M64 if width == 64 else M32)


def test_byte_swaps(machine):
    for name, text, want in swap_programs():
        assert machine.run(text)[0] == want, name
    for name, text, want in swap_programs():
        if int.from_bytes(text[12:16], "little") == 0 and want <= M32:
            assert machine.run(text, clean=True)[0] == want, name


@pytest.mark.parametrize("clean", [False, True], ids=["all-bits", "clean"])
def test_memory(machine, clean):
    """Loads and stores of each size and alignment; loads with their swaps and with an index."""
    for sign in (False, True):
        for text, want in load_programs(sign):
            if not clean or want <= M32:
                assert machine.run(text, ctx=PATTERN, clean=clean)[0] == want, text.hex()
    for register in (False, True):
        for text, want in store_programs(register):
            if not (clean and register):
                assert machine.run(text, ctx=PATTERN, clean=clean)[1] == want, text.hex()
    for size, op in ((2, 0x69), (4, 0x61)):
        text = insn(op, 0, 1, 3) + insn(0xDC, 0, imm=8 * size) + EXIT
        assert machine.run(text, ctx=PATTERN, clean=clean)[0] == int.from_bytes(PATTERN[3:3 + size], "big")
    for size, op in ((1, 0x71), (2, 0x69), (4, 0x61)):
        want = int.from_bytes(PATTERN[7:7 + size], "little")
        for text in (insn(0xBF, 0, 1) + mov(3, 7) + insn(0x0F, 0, 3) + insn(op, 0, 0) + EXIT,
                     mov(3, 7) + insn(0xBF, 0, 1) + insn(0x0F, 0, 3) + insn(op, 0, 0) + EXIT,
                     insn(0xBF, 8, 1) + mov(9, 7) + insn(0xBF, 4, 8) + insn(0x0F, 4, 9) + insn(op, 4, 4) + insn(0xBF, 0, 4) + EXIT):
            if clean or 9 not in (text[9] & 15, text[1] & 15):      # the harness keeps r9 where code is not clean
                assert machine.run(text, ctx=PATTERN, clean=clean)[0] == want, text.hex()


def test_a_walking_load_moves_its_base(machine):
    for size, op in ((1, 0x71), (2, 0x69), (4, 0x61)):
        text = insn(0xBF, 6, 1) + insn(op, 3, 6) + mov(4, 5) + insn(0x07, 6, imm=6) + insn(0x71, 0, 6) + insn(0x0F, 0, 3) + EXIT
        want = PATTERN[6] + int.from_bytes(PATTERN[:size], "little")
        for clean in (False, True):
            if want <= M32:
                assert machine.run(text, ctx=PATTERN, clean=clean)[0] == want


def test_bit_fields(machine):
    for shift, width in itertools.product(range(1, 32, 3), range(1, 32, 2)):
        for op in (0x74, 0x77):
            text = lddw(6, 0x9ABCDEF1) + insn(op, 6, imm=shift) + insn(0x57, 6, imm=(1 << width) - 1) + insn(0xBF, 0, 6) + EXIT
            assert machine.run(text, clean=True)[0] == 0x9ABCDEF1 >> shift & (1 << width) - 1


def test_a_shifted_number_is_one_operand(machine):
    """lsh d, imm; or d, s: also of what a move put into d, and of d itself."""
    for shift, (moved, other) in itertools.product((1, 8, 16, 31), ((6, 7), (7, 7), (7, 6), (7, 8))):
        text = lddw(6, 0x11) + lddw(7, 0x2300) + lddw(8, 0x80000001) + insn(0xBF, 6, moved) + insn(0x64, 6, imm=shift) + insn(0x4C, 6, other)
        left = {6: 0x11, 7: 0x2300}[moved] << shift & M32
        want = left | {6: left, 7: 0x2300, 8: 0x80000001}[other]
        assert machine.run(text + insn(0xBF, 0, 6) + EXIT, clean=True)[0] == want


@pytest.mark.parametrize("clean", [False, True], ids=["all-bits", "clean"])
@pytest.mark.parametrize("op, src, name", [(0x18, 8, "rodata"), (0x18, 9, "data"), (0xD8, 0, "rodata"), (0xB8, 0, "data")])
def test_addresses_of_rodata_and_data(machine, op, src, name, clean):
    text = insn(op, 6, src, imm=3) + insn(0) + insn(0x71, 0, 6, 1) + EXIT
    assert machine.run(text, clean=clean, **{name: b"\1\2\3\4\5"})[0] == 5


ATOMIC = {"add": (0x00, lambda m, s: m + s), "or": (0x40, lambda m, s: m | s), "and": (0x50, lambda m, s: m & s),
          "xor": (0xA0, lambda m, s: m ^ s), "xchg": (0xE0, lambda m, s: s)}


@pytest.mark.parametrize("clean", [False, True], ids=["all-bits", "clean"])
@pytest.mark.parametrize("size", [4, 8])
@pytest.mark.parametrize("name", ATOMIC)
def test_atomics(machine, name, size, clean):
    code, f = ATOMIC[name]
    mask = (1 << 8 * size) - 1
    for fetch in (1,) if name == "xchg" else (0, 1):
        for m, s in some(itertools.product(EDGES, (0, 1, 0xFFFFFFFF, M64, 0x0123456789ABCDEF)), name, size, fetch):
            if clean and (s > M32 or fetch and m & mask > M32):
                continue
            memory = b"\x5a" + (m & mask).to_bytes(size, "little") + b"\xa5" * 3
            text = lddw(7, s) + insn(0xC3 | SIZES[size], 1, 7, 1, code | fetch) + insn(0xBF, 0, 7) + EXIT
            r0, after = machine.run(text, ctx=memory, clean=clean)
            assert r0 == (m & mask if fetch else s)
            assert after == b"\x5a" + (f(m & mask, s & mask) & mask).to_bytes(size, "little") + b"\xa5" * 3


@pytest.mark.parametrize("size", [4, 8])
def test_compare_and_exchange(machine, size):
    mask = (1 << 8 * size) - 1
    for m in EDGES[::2]:
        for expected in (m, m ^ 1, m ^ 1 << 40, M64):
            text = lddw(0, expected & M64) + lddw(7, 0x1122334455667788) + insn(0xC3 | SIZES[size], 1, 7, 0, 0xF1) + EXIT
            r0, after = machine.run(text, ctx=(m & mask).to_bytes(size, "little"))
            assert r0 == m & mask
            assert int.from_bytes(after, "little") == (0x1122334455667788 & mask if m & mask == expected & mask else m & mask)


def call(distance: int) -> bytes:
    return insn(0x85, 0, 1, 0, distance)


@pytest.mark.parametrize("clean", [False, True], ids=["all-bits", "clean"])
def test_local_calls(machine, clean):
    """Functions keep r6 to r9 of who calls them, all 64 bits, and have frames of their own."""
    keeps = (mov(6, 60) + mov(7, 7) + mov(1, 1) + call(3) + insn(0x0F, 0, 6) + insn(0x0F, 0, 7) + insn(0x05, off=4)
             + mov(6, 0) + mov(7, 0) + insn(0xBF, 0, 1) + EXIT + EXIT)
    frames = (insn(0x7A, 10, 0, -24, 5) + call(2) + insn(0x79, 0, 10, -24) + insn(0x05, off=2) + insn(0x7A, 10, 0, -8, 9) + EXIT + EXIT)
    big = 5 if clean else 0x123456789
    wide = lddw(6, big) + call(2) + insn(0xBF, 0, 6) + insn(0x05, off=4) + lddw(6, 0x777) + mov(0, 1) + EXIT + EXIT
    for text, want in ((keeps, 68), (frames, 5), (wide, big)):
        first = text.index(EXIT)
        main = [text[i:i + 8] for i in range(0, len(text), 8)]
        del main[-1]                            # the harness ends the main function: functions stand behind it
        jump = next(i for i, one in enumerate(main) if one[0] == 0x05)
        body, functions = main[:jump], main[jump + 1:]
        store = [] if clean else [insn(0x7B, 9, 0, 0)]
        head = [] if clean else [insn(0xBF, 9, 1)]
        for i, one in enumerate(body):
            if one[0] == 0x85:                  # functions moved by what was added behind the call, or taken away
                body[i] = call(int.from_bytes(one[4:8], "little") + len(store))
        assert first
        program = b"".join(head + body + store + [EXIT] + functions)
        assert run_as_it_is(machine, program, clean) == want


def run_as_it_is(machine, text, clean):
    """As `run`, for code that writes r0 to the context itself where it is not clean."""
    core, mark = machine.core, machine.core.mark()
    memory, where = core.allocate(8), core.allocate(len(text), text)
    code_map, r0 = core.allocate(len(text) // 4 + 2), core.allocate(4)
    core.uc.ctl_remove_cache(machine.code, machine.code + machine.code_size)
    assert core.call("lpn_host_thumb2_run", where, len(text), int(clean), memory, 0, 0, machine.code, machine.code_size, code_map, 0, r0) == 0
    value = int.from_bytes(core.read(r0, 4) if clean else core.read(memory, 8), "little")
    core.release(mark)
    return value


@pytest.mark.parametrize("clean", [False, True], ids=["all-bits", "clean"])
def test_behind_a_helper_that_fails_none_is_called(machine, clean):
    """An interpreter ends the run there. What code still does stays in its own memory."""
    text = insn(0xBF, 6, 1) + mov(1, 99) + insn(0x85, imm=1) + insn(0x62, 6, imm=7) + mov(1, 1) + mov(2, 2) + insn(0x85, imm=3) + mov(0, 0) + EXIT
    core, mark = machine.core, machine.core.mark()
    memory, where = core.allocate(8), core.allocate(len(text), text)
    code_map, r0 = core.allocate(len(text) // 4 + 2), core.allocate(4)
    core.uc.ctl_remove_cache(machine.code, machine.code + machine.code_size)
    machine.host.traces()
    error = core.call("lpn_host_thumb2_run", where, len(text), int(clean), memory, 0, 0, machine.code, machine.code_size, code_map, machine.host.handle, r0)
    assert machine.host.error_name(error) == "bad helper argument" and machine.host.traces() == () and core.read(memory, 1) == b"\7"
    core.release(mark)


def test_a_jump_between_functions_is_refused():
    text = call(1) + EXIT + insn(0x05, off=-2) + EXIT
    with pytest.raises(TranslateError, match="slot 2"):
        translate(text, clean32=True)


def test_code_is_smaller_than_bytecode():
    rng = random.Random(1)
    ops = (0xBF, 0x0F, 0xBC, 0x0C, 0x5C, 0x4C, 0xAC, 0x1C)
    text = b"".join(insn(rng.choice(ops), rng.randrange(1, 8), rng.randrange(1, 8)) for _ in range(200)) + mov(0, 0) + EXIT
    assert len(translate(text, clean32=True).code) < len(text) // 2


def test_programs_agree(machine):
    """Random programs and packets, chain and fused, against the reference."""
    from lpn.compiler.fuzz import differential
    for seed in range(6):
        differential.run_case(differential.make_case(seed, 6), (differential.Variant("thumb2"), differential.Variant("thumb2", True)))
