"""The Linux kernel as an engine, and the C engine beside it; skipped where bpf(2) is not permitted."""

import ctypes
import errno

import pytest
from engine_isa import (ALU, EDGES, EXIT, JUMPS, M32, M64, alu_programs, insn, lddw, mov, swap_programs)

from lpn.runtime import kernel
from lpn.runtime.engines import EngineError, EngineUnavailable
from lpn.runtime.raw import run_raw

FRAME = bytes(range(64))


@pytest.fixture
def linux():
    try:
        kernel.check_available()
    except EngineUnavailable as e:
        pytest.skip(str(e))


#: r2, r3 = packet start and end; falls through to r0 = 1 (DROP) when shorter than 14 bytes.
PROLOGUE = (insn(0x61, 2, 1, 0) + insn(0x61, 3, 1, 4) + insn(0xBF, 4, 2) + insn(0x07, 4, imm=14)
            + insn(0xBD, 4, 3, 2) + mov(0, 1) + EXIT)


def test_run(linux):
    with kernel.load_xdp(mov(0, 2) + EXIT) as program:
        result = program.run(FRAME)
    assert (kernel.XDP_ACTIONS[result.retval], result.data) == ("PASS", FRAME)


def test_packet_is_read_and_changed_as_in_c(linux):
    text = PROLOGUE + insn(0x71, 0, 2, 5) + insn(0x72, 2, 0, 1, 0xAA) + insn(0x6B, 2, 0, 6) + EXIT
    with kernel.load_xdp(text) as program:
        theirs = program.run(FRAME)
    ours = run_raw(text, layout="xdp", packet=FRAME)
    assert (ours.r0, ours.packet) == (theirs.retval, theirs.data) == (5, b"\0\xaa\2\3\4\5\5\0" + FRAME[8:])


def test_rejection_carries_the_log(linux):
    with pytest.raises(kernel.KernelRejected, match="R0 !read_ok") as e:
        kernel.load_xdp(EXIT)
    assert "R0 !read_ok" in e.value.log
    with pytest.raises(kernel.KernelRejected) as e:
        kernel.load_xdp(insn(0x61, 2, 1, 0) + insn(0x71, 0, 2, 0) + EXIT)
    assert "invalid access to packet" in e.value.log


def test_what_is_too_much_is_told_without_each_step(linux):
    """A loop of 2^30 turns, of which the verifier follows a million instructions."""
    loop = insn(0xB7, 0) + insn(0x07, 0, 0, 0, 1) + insn(0xA5, 0, 0, -2, 1 << 30)
    with pytest.raises(kernel.KernelRejected, match="rejects the program: BPF program is too large") as e:
        kernel.load_xdp(loop + EXIT)
    assert len(e.value.log) < 1000


def test_array_map(linux):
    with kernel.ArrayMap(12, 3) as map_:
        assert map_.lookup(2) == bytes(12)
        map_.update(b"abcdefghijkl", 1)
        assert [map_.lookup(i) for i in range(3)] == [bytes(12), b"abcdefghijkl", bytes(12)]
        with pytest.raises(EngineError, match="map element 3: No such file"):
            map_.lookup(3)
        with pytest.raises(EngineError, match="4 bytes for a map value of 12"):
            map_.update(b"abcd")


def test_state_kept_in_a_map_value(linux):
    """lddw of a map value's address: a counter at offset 8, read and written by the program."""
    text = lddw(6, 0) + insn(0x61, 0, 6) + insn(0x07, 0, imm=1) + insn(0x63, 6, 0) + EXIT
    with kernel.ArrayMap(16) as state, kernel.load_xdp(text, values={0: (state, 8)}) as program:
        state.update(b"x" * 8 + (41).to_bytes(8, "little"))
        assert [program.run(FRAME).retval for _ in range(2)] == [42, 43]
        assert state.lookup() == b"x" * 8 + (43).to_bytes(8, "little")


def test_map_handle_for_the_kernels_lookup_helper(linux):
    text = (insn(0x62, 10, 0, -4, 1) + insn(0xBF, 2, 10) + insn(0x07, 2, imm=-4) + lddw(1, 0) + insn(0x85, imm=1)
            + insn(0x55, 0, off=1) + EXIT + insn(0x61, 0, 0) + EXIT)
    with kernel.ArrayMap(4, 2) as map_, kernel.load_xdp(text, maps={3: map_}) as program:
        map_.update(b"\x07\0\0\0", 1)
        assert program.run(FRAME).retval == 7


@pytest.mark.parametrize("call,error", [
    (lambda: kernel.load_xdp(b""), "0 bytes are not"),
    (lambda: kernel.load_xdp(mov(0, 1) + EXIT, values={0: (kernel.ArrayMap(8), 0)}), "instruction 0 is no lddw"),
    (lambda: kernel.load_xdp(mov(0, 1) + EXIT).run(bytes(13)), "13 bytes of packet"),
    (lambda: kernel.ArrayMap(0), "no array map of 1 x 0 bytes"),
])
def test_refused(linux, call, error):
    with pytest.raises(EngineError, match=error):
        call()


def folded(text: bytes) -> bytes:
    """The program with r0 folded to 32 bits, because the kernel returns no more: low word xor high word."""
    return text[:-8] + insn(0xBF, 1, 0) + insn(0x77, 1, imm=32) + insn(0xAF, 0, 1) + EXIT


@pytest.mark.parametrize("immediate", [False, True], ids=["reg", "imm"])
@pytest.mark.parametrize("width", [64, 32])
@pytest.mark.parametrize("name", ALU)
def test_alu_in_the_kernel(linux, name, width, immediate):
    """The model is right about the kernel, too; a sample of operands, because each program is loaded."""
    for text, want in list(alu_programs(name, width, immediate))[::37]:
        code = text[32] >> 4        # the operation follows two lddw
        imm = int.from_bytes(text[36:40], "little", signed=True)
        if immediate and (code in (3, 9) and imm == 0 or code in (6, 7, 12) and not 0 <= imm < width):
            continue        # the kernel's verifier refuses these, where the model has a result
        with kernel.load_xdp(folded(text)) as program:
            assert program.run(FRAME).retval == (want ^ want >> 32) & M32, text.hex()


@pytest.mark.parametrize("width", [64, 32])
@pytest.mark.parametrize("name", JUMPS)
def test_jumps_in_the_kernel(linux, name, width):
    """Operands come from a map, so that the kernel cannot decide the jump when it loads the program."""
    pairs = [(a, b) for a in EDGES[::3] for b in EDGES[1::4]]
    code, holds = JUMPS[name]
    op = code << 4 | 8 | (5 if width == 64 else 6)
    mask = M64 if width == 64 else M32
    text = (lddw(8, 0) + insn(0x79, 6, 8, 0) + insn(0x79, 7, 8, 8) + mov(0, 1) + insn(op, 6, 7, 1) + mov(0, 0) + EXIT)
    with kernel.ArrayMap(16) as operands, kernel.load_xdp(text, values={0: (operands, 0)}) as program:
        for a, b in pairs:
            operands.update(a.to_bytes(8, "little") + b.to_bytes(8, "little"))
            assert program.run(FRAME).retval == int(holds(a & mask, b & mask, width)), (a, b)


def test_swaps_in_the_kernel(linux):
    for name, text, want in list(swap_programs())[::4]:
        with kernel.load_xdp(folded(text)) as program:
            assert program.run(FRAME).retval == (want ^ want >> 32) & M32, name


@pytest.mark.parametrize("error,text", [(errno.EPERM, "may not call bpf"), (errno.ENOSYS, "does not have")])
def test_no_permission_is_unavailable(monkeypatch, error, text):
    class Libc:
        @staticmethod
        def syscall(*_):
            ctypes.set_errno(error)
            return -1

    monkeypatch.setattr(kernel, "_libc", Libc)
    with pytest.raises(EngineUnavailable, match=text):
        kernel.check_available()


def test_a_verifier_that_is_interrupted_has_not_rejected(monkeypatch):
    class Libc:
        calls = 0

        def syscall(self, *_):
            self.calls += 1
            ctypes.set_errno(errno.EAGAIN)
            return -1

    monkeypatch.setattr(kernel, "_libc", libc := Libc())
    with pytest.raises(EngineError, match="^signals interrupted the kernel's verifier 5 times$") as raised:
        kernel.load_xdp(EXIT)
    assert not isinstance(raised.value, kernel.KernelRejected) and libc.calls == 2 * 5


def test_other_systems_are_unavailable(monkeypatch):
    monkeypatch.setattr(kernel.platform, "machine", lambda: "pdp11")
    with pytest.raises(EngineUnavailable, match="pdp11"):
        kernel.check_available()
