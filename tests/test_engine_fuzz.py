"""Random bytecode: the engine ends with an answer or an error, within its budget, and touches nothing else.

That nothing else is touched is what `test_engine_sanitize.py` sees when it runs these tests again.
"""

from hypothesis import given, settings
from hypothesis import strategies as st

from engine_isa import ALU, EXIT, JUMPS, insn, lddw, mov

from lpn.compiler.bundle import Entry, KeyField, Table
from lpn.runtime.engine.native import NativeHost
from lpn.runtime.raw import run_raw

MEMORY = {"layout": "lpn", "packet": bytes(range(64)), "record_size": 32, "state": bytes(16),
          "rodata": b"rodata!!", "data": bytes(8), "fuel": 2000}

reg = st.integers(0, 9)
low_reg = st.integers(0, 10)
small = st.integers(-24, 24)
imm = st.integers(-2**31, 2**31 - 1) | st.integers(-8, 72)
offset = st.sampled_from((0, 0, 1, 2, 4, 8, 16, 24, 40, 44, 48, 88, 95, -1, -8, -16, -512, 32767, -32768))

instructions = st.one_of(
    st.builds(lambda o, w, d, v: insn(o[0] << 4 | w, d, 0, o[1], v),
              st.sampled_from([(c, off) for c, off, _ in ALU.values()]), st.sampled_from((4, 7)), reg, imm),
    st.builds(lambda o, w, d, s: insn(o[0] << 4 | w | 8, d, s, o[1]),
              st.sampled_from([(c, off) for c, off, _ in ALU.values()]), st.sampled_from((4, 7)), reg, low_reg),
    st.builds(lambda d, s, o: insn(0xBF, d, s, o), reg, low_reg, st.sampled_from((0, 8, 16, 32))),
    st.builds(lambda o, d, b: insn(o, d, imm=b), st.sampled_from((0xD4, 0xDC, 0xD7)), reg,
              st.sampled_from((16, 32, 64))),
    st.builds(lambda c, w, d, o, v: insn(c << 4 | w, d, 0, o, v),
              st.sampled_from([c for c, _ in JUMPS.values()]), st.sampled_from((5, 6)), low_reg, small, imm),
    st.builds(lambda c, w, d, s, o: insn(c << 4 | w | 8, d, s, o),
              st.sampled_from([c for c, _ in JUMPS.values()]), st.sampled_from((5, 6)), low_reg, low_reg, small),
    st.builds(lambda o: insn(0x05, off=o), small),
    st.builds(lambda o: insn(0x06, imm=o), small),
    st.builds(lambda op, d, s, o: insn(op, d, s, o), st.sampled_from((0x61, 0x69, 0x71, 0x79, 0x81, 0x89, 0x91)),
              reg, low_reg, offset),
    st.builds(lambda op, d, o, v: insn(op, d, 0, o, v), st.sampled_from((0x62, 0x6A, 0x72, 0x7A)), low_reg, offset,
              imm),
    st.builds(lambda op, d, s, o: insn(op, d, s, o), st.sampled_from((0x63, 0x6B, 0x73, 0x7B)), low_reg, low_reg,
              offset),
    st.builds(lambda op, d, s, o, v: insn(op, d, s, o, v), st.sampled_from((0xC3, 0xDB)), low_reg, reg, offset,
              st.sampled_from((0, 1, 0x40, 0x41, 0x50, 0x51, 0xA0, 0xA1, 0xE1, 0xF1, 0x100, 0x110))),
    st.builds(lambda d, v, s: lddw(d, v if s == 0 else v & 15, s), reg, st.integers(0, 2**64 - 1),
              st.sampled_from((0, 8, 9))),
    st.builds(lambda n: insn(0x85, imm=n), st.integers(1, 3)),
    st.builds(lambda n: insn(0x85, 0, 1, imm=n), small),
    st.sampled_from([insn(0x79, 2, 1, 0), insn(0x79, 3, 1, 16), insn(0x79, 4, 1, 24), insn(0x79, 5, 1, 32),
                     insn(0xBF, 2, 10) + insn(0x07, 2, imm=-16), insn(0xBF, 4, 10) + insn(0x07, 4, imm=-8),
                     mov(1, 0) + mov(3, 2) + mov(5, 4), EXIT]),
)
programs = st.lists(instructions, max_size=40).map(lambda parts: b"".join(parts) + EXIT)

HOST = NativeHost(0, 0, 0)
HOST.add_table(Table("t", 0, (KeyField(16, "ternary"),), 4, 4,
                     (Entry(((0, 1),), 1, b"abcd"), Entry(((0, 0),), 2, b"efgh"))))


def check(text: bytes) -> None:
    result = run_raw(text, host=HOST, **MEMORY)
    assert result.error != "?"
    assert result.insns <= MEMORY["fuel"]
    assert (result.r0 is not None) == (result.error == "ok")
    assert len(result.packet) == 64 and len(result.state) == 16


@settings(max_examples=300)
@given(st.binary(max_size=400))
def test_any_bytes(raw):
    check(raw)


@settings(max_examples=300)
@given(st.lists(st.binary(min_size=8, max_size=8), max_size=20).map(b"".join))
def test_any_slots(raw):
    check(raw + EXIT)


@settings(max_examples=1000)
@given(programs)
def test_any_instructions(text):
    check(text)
