"""What is added is added where it is known which number it is; the meaning stays, and no way executes more."""
from __future__ import annotations

import pytest

from lpn.compiler.asm import assemble
from lpn.compiler.passes.added import add_where_known
from lpn.compiler.passes.peephole import improve
from lpn.compiler.passes.rewrite import read, sweep, write
from lpn.runtime.raw import run_raw

BEGIN = "r3 = *(u8 *)(r1 + 0)\nr4 = *(u8 *)(r1 + 1)\nr5 = *(u8 *)(r1 + 2)\nr0 = 9\n"
WIDE = "r0 <<= 32\nr0 += 5\n"                   # a sum of 32 bits has nothing above them
CASES = {                                       # code, slots less
    "either": ("if w3 == 1 goto A\nr6 = 1\ngoto B\nA: r6 = 0\nB: r0 += r6\nexit", 2),
    "both of them some": ("if w3 == 1 goto A\nw6 = 1\ngoto B\nA: w6 = 7\nB: w0 += w6\nexit", 1),
    "nothing, unless": ("w6 = 0\nif w3 == 1 goto B\nw6 = 8\nB: r0 += r6\nexit", 2),
    "nothing, in 32 bits": (WIDE + "if w3 == 1 goto A\nw6 = 1\ngoto B\nA: w6 = 0\nB: w0 += w6\nexit", 1),
    "not nothing in 32 bits, unless": (WIDE + "w6 = 0\nif w3 == 1 goto B\nw6 = 8\nB: w0 += w6\nexit", 0),
    "of three": ("if w3 == 1 goto A\nif w3 == 2 goto C\nw6 = 1\ngoto B\nC: w6 = 2\ngoto B\nA: w6 = 0\nB: r0 += r6\nexit", 2),
    "a negative one": ("if w3 == 1 goto A\nr6 = -1\ngoto B\nA: r6 = 0\nB: r0 += r6\nexit", 2),
    "not where it is the upper half, too": ("if w3 == 1 goto A\nw6 = -1\ngoto B\nA: w6 = 0\nB: r0 += r6\nexit", 0),
    "not what is needed again": ("if w3 == 1 goto A\nr6 = 1\ngoto B\nA: r6 = 0\nB: r0 += r6\nr0 += r6\nexit", 0),
    "not what is asked before": ("if w3 == 1 goto A\nr6 = 1\nif w6 == w4 goto B\ngoto B\nA: r6 = 0\nB: r0 += r6\nexit", 0),
    "not where the sum is asked before": ("if w3 == 1 goto A\nr6 = 1\nr7 = r0\ngoto B\nA: r6 = 0\nB: r0 += r6\nr0 += r7\nexit", 0),
    "not something, unless": ("w6 = 3\nif w3 == 1 goto B\nw6 = 8\nB: r0 += r6\nexit", 0),
    "not where the other way has it": ("w6 = 0\nif w3 == 1 goto B\nr0 += r6\nw6 = 8\nB: r0 += r6\nexit", 0),
    "not what is known on one way": ("if w3 == 1 goto A\nr6 = r4\ngoto B\nA: r6 = 0\nB: r0 += r6\nexit", 0),
    "not where somebody comes from elsewhere": ("r6 = r5\nif w4 == 7 goto C\nif w3 == 1 goto A\nr6 = 1\nC: r7 = 2\ngoto B\nA: r6 = 0\nB: r0 += r6\nexit", 0),
    "not what leaves before it": ("r6 = 1\nif w3 == 1 goto A\nif w4 == 7 goto C\ngoto B\nA: r6 = 0\nB: r0 += r6\nexit\nC: r0 = r6\nexit", 0),
}
INPUTS = [bytes(given) for given in ((1, 2, 3), (2, 2, 3), (1, 7, 3), (3, 7, 9), (0, 1, 220))]


@pytest.mark.parametrize("name", CASES)
def test_where_it_is_known(name):
    code, less = CASES[name]
    text = assemble(BEGIN + code)
    lines = read(text, [])
    changed = add_where_known(lines)
    sweep(lines)
    better, _ = write(lines)
    for shorter in (better, improve(text, [])[0]):
        ran = [(run_raw(text, ctx=one), run_raw(shorter, ctx=one)) for one in INPUTS]
        assert [after.r0 for _, after in ran] == [before.r0 for before, _ in ran]
        assert all(after.insns <= before.insns for before, after in ran)
    assert (len(text) - len(better)) // 8 == less and changed == bool(less)
