"""Random programs with all of ISA v4 in the C engine and in the Linux kernel: memory afterwards is the same.

The kernel's interpreter or JIT is the judge where rbpf has no such instructions. Programs are made so that the kernel's
verifier takes them: registers and stack initialised, divisors and shift counts in range, aligned stack and atomics.
"""

import struct

import pytest
from engine_isa import ALU, EDGES, EXIT, IMMEDIATES, JUMPS, insn, lddw, linked, mov
from hypothesis import given, settings
from hypothesis import strategies as st

from lpn.runtime import kernel
from lpn.runtime.engines import EngineUnavailable
from lpn.runtime.raw import run_raw

REGISTERS = (0, 3, 4, 5, 6, 7, 8)
SAVED = 8 * len(REGISTERS)
MEMORY = SAVED + 56     #: bytes of the data section, a map's value in the kernel; the registers are saved in front
SIZES = {0: 4, 8: 2, 16: 1, 24: 8}

scalar = st.sampled_from(REGISTERS)
numbers = st.sampled_from(IMMEDIATES) | st.integers(-2**31, 2**31 - 1)
wide = st.sampled_from(EDGES) | st.integers(0, 2**64 - 1)
width_class = st.sampled_from((4, 7))
ops = st.sampled_from([(c, off) for c, off, _ in ALU.values()])
jump_codes = st.sampled_from([c for c, _ in JUMPS.values()])
size_code = st.sampled_from(sorted(SIZES))


def alu_immediate(op, cls, dst, imm):
    code, off = op
    if code in (3, 9):
        imm = imm or 7
    if code in (6, 7, 12):
        imm %= 64 if cls == 7 else 32
    return insn(code << 4 | cls, dst, 0, off, imm)


def place(stack, index, size):
    """Register and offset of an aligned place: 32 bytes of stack, or the data section behind the registers."""
    return (10, -32 + index * size % 32) if stack else (9, SAVED + index * size % (MEMORY - SAVED))


def access(op, code, dst_or_src, stack, index, imm=0, load=False):
    base, off = place(stack, index, SIZES[code])
    return insn(op | code, dst_or_src, base, off, imm) if load else insn(op | code, base, dst_or_src, off, imm)


steps = st.one_of(
    st.builds(alu_immediate, ops, width_class, scalar, numbers),
    st.builds(lambda op, c, d, s: insn(op[0] << 4 | c | 8, d, s, op[1]), ops, width_class, scalar, scalar),
    st.builds(lambda o, d: insn(o, d), st.sampled_from((0x84, 0x87)), scalar),
    st.builds(lambda f, d, s: insn(f[0], d, s, f[1]),
              st.sampled_from([(0xBF, 8), (0xBF, 16), (0xBF, 32), (0xBC, 8), (0xBC, 16)]), scalar, scalar),
    st.builds(lambda o, d, b: insn(o, d, imm=b), st.sampled_from((0xD4, 0xDC, 0xD7)), scalar,
              st.sampled_from((16, 32, 64))),
    st.builds(lddw, scalar, wide),
    st.builds(lambda z, d, k, i: access(0x61, z, d, k, i, load=True), size_code, scalar, st.booleans(),
              st.integers(0, 31)),
    st.builds(lambda z, d, k, i: access(0x81, z, d, k, i, load=True), st.sampled_from((0, 8, 16)), scalar,
              st.booleans(), st.integers(0, 31)),
    st.builds(lambda z, k, i, v: access(0x62, z, 0, k, i, v), size_code, st.booleans(), st.integers(0, 31), numbers),
    st.builds(lambda z, s, k, i: access(0x63, z, s, k, i), size_code, scalar, st.booleans(), st.integers(0, 31)),
    st.builds(lambda z, s, k, i, v: access(0xC3, z, s, k, i, v), st.sampled_from((0, 24)), scalar, st.booleans(),
              st.integers(0, 31), st.sampled_from((0, 1, 0x40, 0x41, 0x50, 0x51, 0xA0, 0xA1, 0xE1, 0xF1))),
    st.builds(lambda c, w, d, v: (c << 4 | w, d, 0, v), jump_codes, st.sampled_from((5, 6)), scalar, numbers),
    st.builds(lambda c, w, d, s: (c << 4 | w | 8, d, s, 0), jump_codes, st.sampled_from((5, 6)), scalar, scalar),
)


@st.composite
def programs(draw):
    """(text behind the load of r9, its registers and stack initialised first)."""
    out = b"".join(lddw(r, draw(wide)) for r in REGISTERS)
    out += b"".join(insn(0x7B, 10, 3 + i, -32 + 8 * i) for i in range(4))
    parts = draw(st.lists(steps, min_size=10, max_size=40))
    out += linked(parts, lambda first, last: draw(st.integers(first, last)))
    return out + b"".join(insn(0x7B, 9, r, 8 * i) for i, r in enumerate(REGISTERS)) + mov(0, 0) + EXIT


@pytest.fixture(scope="module")
def memory():
    try:
        kernel.check_available()
    except EngineUnavailable as e:
        pytest.skip(str(e))
    with kernel.ArrayMap(MEMORY) as map_:
        yield map_


@settings(max_examples=500)
@given(programs(), st.binary(min_size=MEMORY, max_size=MEMORY))
def test_random_programs_agree(memory, text, data):
    ours = run_raw(lddw(9, 0, src=9) + text, data=data)
    assert ours.error == "ok"
    memory.update(data)
    with kernel.load_xdp(lddw(9, 0) + text, values={0: (memory, 0)}) as program:
        program.run(bytes(14))
    theirs = memory.lookup()
    assert struct.unpack(f"<{MEMORY // 8}Q", ours.data) == struct.unpack(f"<{MEMORY // 8}Q", theirs)
