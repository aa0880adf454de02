"""What is improved after LLVM: upper halves are cleared by one 32-bit move; the meaning stays."""
from __future__ import annotations

import pytest

from lpn.compiler.asm import assemble
from lpn.compiler.disasm import disassemble
from lpn.compiler.peephole import improve
from lpn.runtime.raw import run_raw

BEGIN = "r1 = 0x1122334455667788 ll\nr2 = r1\nr3 = 7\n"
FORMS = {
    "alone": ("r1 <<= 32\nr1 >>= 32\nr0 = r1\nexit", ["w1 = w1"]),
    "of a copy": ("r3 = r1\nr3 <<= 32\nr3 >>= 32\nr0 = r3\nr0 += r1\nexit", ["w3 = w1"]),
    "into another": ("r1 <<= 32\nr3 = r1\nr3 >>= 32\nr0 = r3\nexit", ["w3 = w1"]),
    "into another, and still used": ("r1 <<= 32\nr3 = r1\nr3 >>= 32\nr0 = r3\nr0 += r1\nexit", []),
    "a jump between": ("if r3 == 8 goto B\nr1 <<= 32\nB: r1 >>= 32\nr0 = r1\nexit", []),
    "a jump to the copy": ("r4 = 1\nif r3 == 8 goto B\nr4 = 2\nB: r3 = r1\nr3 <<= 32\nr3 >>= 32\nr0 = r3\nr0 += r4\nexit", ["w3 = w1"]),
    "another distance": ("r1 <<= 32\nr1 >>= 31\nr0 = r1\nexit", []),
    "with the sign": ("r1 <<= 32\nr1 s>>= 32\nr0 = r1\nexit", []),
    "in 32 bits": ("w1 <<= 16\nw1 >>= 16\nr0 = r1\nexit", []),
}


@pytest.mark.parametrize("name", FORMS)
def test_upper_halves(name):
    code, moves = FORMS[name]
    text = assemble(BEGIN + code)
    better, _ = improve(text, [])
    assert run_raw(better).r0 == run_raw(text).r0
    shown = [line.split("  ")[-1].strip() for line in disassemble(better)]
    assert [line for line in shown if line in ("w1 = w1", "w3 = w1")] == moves
    assert len(better) < len(text) or not moves
