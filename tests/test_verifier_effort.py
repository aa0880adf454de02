"""An analysis is over in time, whatever it is given: what takes long beside the instructions that are counted has bounds of its own (rule 38)."""
from lpn.compiler.asm import assemble
from lpn.verifier import XDP, verify
from work import calls

HEAD = "r2 = *(u32 *)(r1 + 0)\nr3 = *(u32 *)(r1 + 4)\nr4 = r2\nr4 += 14\nif r4 > r3 goto end\nr7 = *(u8 *)(r2 + 0)\nr9 = *(u8 *)(r2 + 2)\n"
WRONG = "r0 = *(u8 *)(r2 + 20)\nend: r0 = 0\nexit"
ADDED = "r6 = *(u8 *)(r2 + 3)\nr7 += r6\nr8 = r7\nr8 -= r9\n"


def test_sums_of_sums():
    """Where a search has refused, sums are put in for one another; a block may have any number of them."""
    text = assemble(HEAD + ADDED * 240 + WRONG)

    def judge():
        assert verify(text, XDP).rule == 19
    assert calls(judge) < 7_000_000
