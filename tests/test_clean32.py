"""What needs more than 32 bits of a register in LLVM's hands, or in the verifier's eyes, and does not in ours: a certificate is for 32-bit clean
containers only."""
from __future__ import annotations

import pytest
from programs import example

from lpn.compiler.build import compile_program
from lpn.compiler.judge import judged, of_compiled


@pytest.mark.parametrize(("name", "fuse"), [
    ("tsch_slot/tsch_slot", False),             # products of more than 32 bits
    ("from_p4/source_route", True),             # a swap and its sign
    ("fragment/reassemble", True),              # a swap, shifted in other blocks
    ("coap_sensor/coap_sensor", True),          # words on the stack that a loop changes
])
def test_examples_are_32_bit_clean(name: str, fuse: bool) -> None:
    found = judged(of_compiled(compile_program(example(name), fuse=fuse, listings=False)))
    assert [(unit.name, report.wide) for unit, report in found if not report.clean32] == []
