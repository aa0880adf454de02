"""What needs more than 32 bits of a register in LLVM's hands, or in the verifier's eyes, and does not in ours: a certificate is for 32-bit clean
containers only."""
from __future__ import annotations

from math import prod
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import example

from lpn.compiler.build import compile_program
from lpn.compiler.commands.inputs import checked
from lpn.compiler.judge import judged, of_compiled, seal
from lpn.compiler.quotients import DIGITS, factors
from lpn.lang.check import check
from lpn.lang.loader import Source, load


@pytest.mark.parametrize(("name", "fuse"), [
    ("tsch_slot/tsch_slot", False),             # products of more than 32 bits
    ("from_p4/source_route", True),             # a swap and its sign
    ("fragment/reassemble", True),              # a swap, shifted in other blocks
    ("coap_sensor/coap_sensor", True),          # words on the stack that a loop changes
])
def test_examples_are_32_bit_clean(name: str, fuse: bool) -> None:
    found = judged(of_compiled(compile_program(example(name), fuse=fuse, listings=False)))
    assert [(unit.name, report.wide) for unit, report in found if not report.clean32] == []


@pytest.mark.parametrize("fuse", [False, True])
def test_quotients_are_32_bit_clean(fuse: bool) -> None:
    """By a constant, and by numbers of up to 32 bits: LLVM would multiply by 1 / c, and divide in 64 bits."""
    found = seal(compile_program(checked(Path(__file__).parent / "constructs" / "quotients.lpn"), fuse=fuse))[1]
    assert all(report.clean32 and unit.certificate for unit, report, _ in found)


@pytest.mark.parametrize("value", ["a / 10", "a % 1000000", "(bit<32>) (w / 86_400_000_000)", "(bit<32>) (w % (bit<64>) a)", "(bit<32>) ((int<32>) a / 7)",
                                   "(bit<32>) (((bit<64>) a % 1_000_000 << 32) / 1_000_000)"])
@pytest.mark.parametrize("level", [0, 2, "s"])
def test_a_quotient_has_a_certificate(value: str, level) -> None:
    program = check(load(Source("quotient.lpn", """
header H { bit<64> w; bit<32> a; bit<32> q; }
struct headers { H h; }
parser Rx(packet pkt, out headers h) { state start { pkt.extract(h.h); transition accept; } }
processor P(inout headers h, inout meta m) { apply { bit<32> a = h.h.a; bit<64> w = h.h.w; h.h.q = %s; } }
""" % value)))
    assert all(unit.certificate for unit, _, _ in seal(compile_program(program, level=level))[1])


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.integers(1, (1 << 64) - 1) | st.lists(st.integers(1, 2000), max_size=6).map(prod))
def test_factors_have_a_digit_each(n: int) -> None:
    parts = factors(n)
    if parts is not None:
        assert prod(parts) == n and max(parts) <= DIGITS
    else:
        assert n > DIGITS
