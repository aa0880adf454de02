"""Every instruction of the C engine against the model: results on edge operands."""

import pytest
from engine_isa import (ALU, EDGES, EXIT, JUMPS, M32, M64, PATTERN, SIZES, alu_programs, insn, jump_programs,
                        lddw, load_programs, mov, signed, store_programs, swap_programs)

from lpn.runtime.raw import run_raw


def value_of(text: bytes, **memory) -> int:
    result = run_raw(text, **memory)
    assert result.error == "ok", (result.error, result.pc)
    return result.r0


@pytest.mark.parametrize("immediate", [False, True], ids=["reg", "imm"])
@pytest.mark.parametrize("width", [64, 32])
@pytest.mark.parametrize("name", ALU)
def test_alu(name, width, immediate):
    for text, want in alu_programs(name, width, immediate):
        assert value_of(text) == want, text.hex()


@pytest.mark.parametrize("width", [64, 32])
def test_neg(width):
    mask = M64 if width == 64 else M32
    for a in EDGES:
        assert value_of(lddw(0, a) + insn(0x87 if width == 64 else 0x84, 0) + EXIT) == -a & mask


@pytest.mark.parametrize("width,bits", [(64, 8), (64, 16), (64, 32), (32, 8), (32, 16)])
def test_movsx(width, bits):
    mask = M64 if width == 64 else M32
    for a in EDGES:
        text = lddw(7, a) + insn(0xBF if width == 64 else 0xBC, 0, 7, bits) + EXIT
        assert value_of(text) == signed(a, bits) & mask


def test_byte_swaps():
    for name, text, want in swap_programs():
        assert value_of(text) == want, name


@pytest.mark.parametrize("immediate", [False, True], ids=["reg", "imm"])
@pytest.mark.parametrize("width", [64, 32])
@pytest.mark.parametrize("name", JUMPS)
def test_jumps(name, width, immediate):
    for text, want in jump_programs(name, width, immediate):
        assert value_of(text) == want, text.hex()


@pytest.mark.parametrize("op", [0x05, 0x06], ids=["ja", "ja32"])
def test_unconditional_jumps_go_both_ways(op):
    def to(n):
        return insn(op, off=n) if op == 0x05 else insn(op, imm=n)

    assert value_of(mov(0, 1) + to(2) + mov(0, 2) + EXIT + to(-3)) == 2


@pytest.mark.parametrize("sign", [False, True], ids=["ldx", "ldxs"])
def test_loads_at_any_alignment(sign):
    for text, want in load_programs(sign):
        assert value_of(text, ctx=PATTERN) == want


@pytest.mark.parametrize("register", [False, True], ids=["st", "stx"])
def test_stores_at_any_alignment(register):
    for text, want in store_programs(register):
        assert run_raw(text, ctx=PATTERN).ctx == want


def test_lddw():
    for a in EDGES:
        assert value_of(lddw(0, a) + EXIT) == a


@pytest.mark.parametrize("op,src,name", [(0x18, 8, "rodata"), (0x18, 9, "data"), (0xD8, 0, "rodata"),
                                         (0xB8, 0, "data")])
def test_addresses_of_rodata_and_data(op, src, name):
    text = insn(op, 6, src, imm=3) + insn(0) + insn(0x71, 0, 6, 1) + EXIT
    assert value_of(text, **{name: b"\1\2\3\4\5"}) == 5
    store = insn(op, 6, src, imm=3) + insn(0) + insn(0x72, 6, imm=9) + mov(0, 0) + EXIT
    result = run_raw(store, **{name: b"\1\2\3\4\5"})
    assert (result.error, result.data) == (("ok", b"\1\2\3\x09\5") if name == "data"
                                           else ("store out of bounds", b""))


ATOMIC = {"add": (0x00, lambda m, s: m + s), "or": (0x40, lambda m, s: m | s),
          "and": (0x50, lambda m, s: m & s), "xor": (0xA0, lambda m, s: m ^ s),
          "xchg": (0xE0, lambda m, s: s)}


@pytest.mark.parametrize("at", [0, 1, 3], ids=lambda n: f"at{n}")
@pytest.mark.parametrize("size", [4, 8])
@pytest.mark.parametrize("name", ATOMIC)
def test_atomic_read_modify_write(name, size, at):
    code, f = ATOMIC[name]
    mask = (1 << 8 * size) - 1
    for fetch in (1,) if name == "xchg" else (0, 1):
        for m in EDGES:
            for s in (0, 1, 0xFFFFFFFF, M64, 0x0123456789ABCDEF):
                memory = bytes(at) + (m & mask).to_bytes(size, "little") + b"\xa5" * 4
                text = (lddw(7, s) + insn(0xC3 | SIZES[size], 1, 7, at, code | fetch) + insn(0xBF, 0, 7)
                        + EXIT)
                result = run_raw(text, ctx=memory)
                assert result.r0 == (m & mask if fetch else s)
                want = (f(m & mask, s & mask) & mask).to_bytes(size, "little")
                assert result.ctx == bytes(at) + want + b"\xa5" * 4


@pytest.mark.parametrize("size", [4, 8])
def test_compare_and_exchange(size):
    mask = (1 << 8 * size) - 1
    for m in EDGES:
        for expected in (m, m ^ 1, m ^ 1 << 40, M64):
            text = (lddw(0, expected & M64) + lddw(7, 0x1122334455667788)
                    + insn(0xC3 | SIZES[size], 1, 7, 0, 0xF1) + EXIT)
            result = run_raw(text, ctx=(m & mask).to_bytes(size, "little"))
            swapped = m & mask == expected & mask
            assert result.r0 == m & mask
            assert int.from_bytes(result.ctx, "little") == (0x1122334455667788 & mask if swapped else m & mask)


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_load_acquire_and_store_release(size):
    load = insn(0xC3 | SIZES[size], 0, 1, 2, 0x100) + EXIT
    assert value_of(load, ctx=PATTERN) == int.from_bytes(PATTERN[2:2 + size], "little")
    store = lddw(7, 0x0123456789ABCDEF) + insn(0xC3 | SIZES[size], 1, 7, 2, 0x110) + mov(0, 0) + EXIT
    value = 0x0123456789ABCDEF.to_bytes(8, "little")[:size]
    assert run_raw(store, ctx=PATTERN).ctx == PATTERN[:2] + value + PATTERN[2 + size:]


def test_initial_registers():
    """r1 and r2 as given, r10 the stack's end, the others 0."""
    for reg in (0, 3, 4, 5, 6, 7, 8, 9):
        assert value_of(insn(0xBF, 0, reg) + EXIT, ctx=b"abc") == 0
    assert value_of(insn(0xBF, 0, 2) + EXIT, ctx=b"abc") == 3
    assert value_of(insn(0x79, 0, 10, -512) + EXIT) == 0
    assert run_raw(insn(0x71, 0, 10, 0) + EXIT).error == "load out of bounds"


def call(distance: int) -> bytes:
    return insn(0x85, 0, 1, 0, distance)


def test_local_call_keeps_r6_to_r9():
    text = (mov(6, 60) + mov(7, 7) + mov(1, 1) + call(3) + insn(0x0F, 0, 6) + insn(0x0F, 0, 7) + EXIT
            + mov(6, 0) + mov(7, 0) + insn(0xBF, 0, 1) + EXIT)
    assert value_of(text) == 68


def test_local_call_has_its_own_frame():
    """The callee's r10 starts below what the caller uses; on return it is back."""
    text = (insn(0x7A, 10, 0, -24, 5) + call(2) + insn(0x79, 0, 10, -24) + EXIT
            + insn(0x7A, 10, 0, -8, 9) + EXIT)
    assert value_of(text) == 5


def test_frames_reached_through_a_copied_r10():
    text = (insn(0xBF, 2, 10) + insn(0x07, 2, imm=-40) + insn(0x7A, 2, 0, 0, 5) + call(2)
            + insn(0x79, 0, 10, -40) + EXIT + insn(0x7A, 10, 0, -40, 9) + EXIT)
    assert value_of(text) == 5


def test_frames_share_512_bytes():
    """Two frames of 256 bytes fit, three do not."""
    def frame(rest: bytes) -> bytes:
        return insn(0x72, 10, 0, -256, 1) + rest

    two = frame(call(2) + mov(0, 1) + EXIT) + frame(mov(0, 2) + EXIT)
    assert value_of(two) == 1
    three = frame(call(2) + mov(0, 1) + EXIT) + frame(call(2) + mov(0, 2) + EXIT) + frame(mov(0, 3) + EXIT)
    assert run_raw(three).error == "store out of bounds"
    full = insn(0x72, 10, 0, -512, 1) + call(1) + EXIT + mov(0, 4) + EXIT
    assert value_of(full) == 4


def test_a_frame_that_has_no_room_left_cannot_call():
    claim = insn(0xBF, 2, 10) + insn(0x07, 2, imm=-256)
    text = claim + call(1) + EXIT + claim + call(1) + EXIT + claim + call(0) + EXIT
    result = run_raw(text)
    assert (result.error, result.pc) == ("stack used up", 10)


def test_functions_called_from_the_last_to_the_first():
    """However calls are ordered, each function has its own frame."""
    def function(at, value):
        return insn(0x7A, 10, 0, -at, value) + insn(0x79, 0, 10, -at) + EXIT

    text = (insn(0x7A, 10, 0, -8, 1) + call(9) + insn(0xBF, 6, 0) + call(4) + insn(0x0F, 6, 0) + insn(0x79, 0, 10, -8)
            + insn(0x0F, 0, 6) + EXIT + function(16, 20) + function(24, 300))
    assert value_of(text) == 321


def test_recursion_ends_at_eight_frames():
    endless = call(-1) + EXIT
    result = run_raw(endless)
    assert (result.error, result.insns) == ("calls too deep", 8)
    seven = b"".join(call(1) + EXIT for _ in range(7)) + mov(0, 3) + EXIT
    assert value_of(seven) == 3


def test_budget():
    loop = insn(0x05, off=-1)
    result = run_raw(loop, fuel=1000)
    assert (result.error, result.insns) == ("instruction budget used up", 1000)
    assert run_raw(mov(0, 0) + EXIT, fuel=2).error == "ok"
    assert run_raw(mov(0, 0) + EXIT, fuel=1).error == "instruction budget used up"


def test_lddw_counts_as_one_instruction():
    assert run_raw(lddw(0, 1) + EXIT).insns == 2
