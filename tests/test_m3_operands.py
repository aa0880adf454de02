"""What an instruction takes may depend on its operands: none takes longer, or less, than its row of the cost tables, interpreted or translated."""
from __future__ import annotations

from functools import cache
from math import ceil

import pytest
from hypothesis import example, given, settings, strategies as st

from lpn.compiler.isa import ALU, ALU64, OPCODES
from lpn.runtime.engines import EngineUnavailable, get_engine
from lpn.verifier.cost import load

try:
    get_engine("m3")
except EngineUnavailable as e:
    pytest.skip(str(e), allow_module_level=True)

from test_m3_unaligned import Translated                           # noqa: E402

from lpn.runtime.m3.costs import MODES, Interpreter, insn          # noqa: E402
from lpn.runtime.m3.operands import ALL, DIVISIONS, LONGEST        # noqa: E402
from lpn.runtime.m3.raw import CLEAN32                             # noqa: E402

OPS = sorted(op for op in OPCODES if op & 7 in (ALU, ALU64) and op >> 4 != 0xD)
SWAPS = [op for op in OPCODES if op >> 4 == 0xD and op & 7 in (ALU, ALU64)]
EDGES = [0, 1, 2, 3, 31, 32, 63, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 32, 1 << 63, ALL, *LONGEST, -LONGEST[0] & ALL, -LONGEST[1] & ALL]
NUMBERS = st.sampled_from(EDGES) | st.integers(0, 64).flatmap(lambda bits: st.integers(0, (1 << bits) - 1))


@cache
def interpreter(name: str) -> Interpreter:
    return Interpreter(name)


def took(name: str, unit, a: int, b: int) -> None:
    """One instruction with a in r2 and b in r3, within its row."""
    engine, again = interpreter(name), insn(0x18, 2, imm=a)
    before = [again, insn(0x18, 3, imm=b)]
    found = engine.each([again, unit], before) - engine.each([again], before)
    said = load(name).insn(0, unit, (), False)
    assert said.fewest <= found.fewest and ceil(found.most) <= said.most, (hex(unit.op), hex(a), hex(b), found.fewest, found.most, said)


@given(st.sampled_from([*MODES]), st.sampled_from(OPS), NUMBERS, NUMBERS, st.integers(0, 2))
@example("m3_wide", 0x3F, *LONGEST, 0)
@example("m3_wide", 0x9F, -LONGEST[0] & ALL, -LONGEST[1] & ALL, 1)
@example("m3_certified", 0x3C, 0x7FFFFFFF, 3, 1)
@example("m3_certified", 0xBC, 0x7FFFFFFF, 1, 1)
@settings(max_examples=150, deadline=None)
def test_no_operand_of_an_interpreted_instruction_takes_longer_or_less(name, op, a, b, form):
    """`form`: of a division, whether it has a sign; of a move, how many bits."""
    if MODES[name] & CLEAN32:
        a, b = a & 0xFFFFFFFF, b & 0xFFFFFFFF
    code, register = op >> 4, bool(op & 8) and op >> 4 != 8
    off = min(form, 1) if code in DIVISIONS else (0, 8, 16)[form] if code == 0xB and register else 0
    b = max(b, 1) if code in DIVISIONS else b           # no verified program divides by 0
    imm = 0 if register or code == 8 else b & 31 if code in (6, 7, 0xC) else max(b & 0x7FFFFFFF, 1)
    took(name, insn(op, 2, 3 if register else 0, off, imm), a, b)


@given(st.sampled_from([*MODES]), st.sampled_from(SWAPS), st.sampled_from((16, 32, 64)), NUMBERS)
@settings(max_examples=40, deadline=None)
def test_no_swap_takes_longer_or_less(name, op, bits, a):
    took(name, insn(op, 2, 0, 0, bits), a & (0xFFFFFFFF if MODES[name] & CLEAN32 else ALL), 0)


@given(st.lists(st.tuples(st.sampled_from(("*", "/", "%", "s/", "s%", "<<", ">>", "s>>")), NUMBERS, NUMBERS), min_size=1, max_size=6), st.booleans())
@example([("/", *LONGEST), ("s%", -LONGEST[0] & ALL, -LONGEST[1] & ALL), ("s/", -LONGEST[0] & ALL, LONGEST[1])], True)
@settings(max_examples=40, deadline=None)
def test_no_operand_of_a_function_of_the_engine_takes_longer(each, calls):
    """Operations of 64 bits in translated code, and a helper's call beside them, for which the upper halves of its arguments are gathered."""
    lines = []
    for op, a, b in each:
        lines += [f"r2 = {a} ll", f"r3 = {b if '<' in op or '>' in op else max(b, 1)} ll", *(["r3 &= 63"] if "<" in op or ">" in op else []), f"r2 {op}= r3"]
    Translated("\n".join([*lines, *(["w1 = 0", "w2 = 0", "call 2"] if calls else []), "w0 = 0", "exit"])).run()


@given(st.lists(st.tuples(st.sampled_from(("u32", "u64")), st.sampled_from(("+= {}", "|= {}", "&= {}", "^= {}")), st.booleans()), min_size=1, max_size=5))
@settings(max_examples=25, deadline=None)
def test_an_atomic_instruction_takes_what_is_said(each):
    """Fetching, too; in code that is 32-bit clean and in what is not."""
    lines = ["r2 = *(u64 *)(r1 + 24)"]
    for size, op, wide in each:
        reg = "r3" if size == "u64" else "w3"
        lines += [f"r3 = {ALL if wide else 5} ll", f"lock *({size} *)(r2 + 8) {op.format(reg)}"]
    Translated("\n".join([*lines, "w0 = 0", "exit"])).run()
