"""Loops as compilers write them: the bound found is the number of turns, or close above it."""
import pytest

from lpn.compiler.asm import assemble
from lpn.verifier import LPN, verify

PACKET = "r7 = *(u64 *)(r1 + 0)\nr8 = *(u64 *)(r1 + 8)\nr9 = *(u64 *)(r1 + 24)\nr6 = *(u32 *)(r1 + 52)\nr0 = 0\n"

# name, program, bounds of its loops from outside in (None: refused by rule 33; a number: by that rule)
LOOPS = [
    ("up, unsigned, 64 bits", "r2 = 0\nL: r2 += 1\nif r2 < 10 goto L", [10]),
    ("up, unsigned, 32 bits", "w2 = 0\nL: w2 += 1\nif w2 < 10 goto L", [10]),
    ("up, signed", "w2 = 0\nL: w2 += 1\nif w2 s< 10 goto L", [10]),
    ("up, less or equal", "w2 = 0\nL: w2 += 1\nif w2 <= 10 goto L", [11]),
    ("up, not equal", "w2 = 0\nL: w2 += 1\nif w2 != 10 goto L", [10]),
    ("up by 4, not equal", "w2 = 0\nL: w2 += 4\nif w2 != 40 goto L", [10]),
    ("up by 12, not equal", "w2 = 0\nL: w2 += 12\nif w2 != 120 goto L", [10]),
    ("up by 12 past the bound", "w2 = 0\nL: w2 += 12\nif w2 != 125 goto L", None),
    ("down to zero", "w2 = 10\nL: w2 += -1\nif w2 != 0 goto L", [10]),
    ("down, signed, below zero", "r2 = 10\nL: r2 += -1\nif r2 s>= 0 goto L", [11]),
    ("down, unsigned", "w2 = 10\nL: w2 += -1\nif w2 > 0 goto L", [10]),
    ("tested at the top, equal", "w2 = 0\nL: if w2 == 10 goto M\nw2 += 1\ngoto L\nM: r0 = 0", [11]),
    ("down from a bounded unknown", "w6 &= 31\nif w6 == 0 goto M\nL: w6 += -1\nif w6 != 0 goto L\nM: r0 = 0", [31]),
    ("up to an unknown in a register, less", "w6 &= 31\nw2 = 0\nL: w2 += 1\nif w2 < w6 goto L", [31]),
    ("up to an unknown in a register, not equal", "w6 &= 31\nif w6 == 0 goto M\nw2 = 0\nL: w2 += 1\nif w2 != w6 goto L\nM: r0 = 0", [31]),
    ("the same without the guard", "w6 &= 31\nw2 = 0\nL: w2 += 1\nif w2 != w6 goto L", None),
    ("up to an unknown without bounds", "w2 = 0\nL: w2 += 1\nif w2 < w6 goto L", 34),
    ("two counters, the other compared", "w2 = 0\nw3 = 100\nL: w2 += 2\nw3 += -1\nif w2 < 20 goto L", [10]),
    ("a counter on the stack", "*(u64 *)(r10 - 8) = 0\nL: r2 = *(u64 *)(r10 - 8)\nr2 += 1\n*(u64 *)(r10 - 8) = r2\nif r2 < 10 goto L", [10]),
    ("a counter on the stack, 32 bits", "*(u32 *)(r10 - 4) = 0\nL: r2 = *(u32 *)(r10 - 4)\nw2 += 1\n*(u32 *)(r10 - 4) = w2\nif w2 < 10 goto L", [10]),
    ("step depends on the path", "w2 = 0\nL: w2 += 1\nif r6 == 0 goto M\nw2 += 1\nM: if w2 < 10 goto L", [10]),
    ("step 0 on a path", "w2 = 0\nL: if r6 == w6 goto M\nw2 += 1\nM: if w2 < 10 goto L".replace("r6 == w6", "w6 == 5"), None),
    ("a cursor to the end", "r2 = r7\nL: r3 = r2\nr3 += 4\nif r3 > r8 goto M\nr4 = *(u32 *)(r2 + 0)\nr2 += 4\ngoto L\nM: r0 = 0", [513]),
    ("a cursor by options", "r2 = r7\nL: r3 = r2\nr3 += 2\nif r3 > r8 goto M\nr4 = *(u8 *)(r2 + 1)\nr2 += r4\nr2 += 2\ngoto L\nM: r0 = 0", [1025]),
    ("a cursor by options, padding of 1 byte",
     "r2 = r7\nL: r3 = r2\nr3 += 2\nif r3 > r8 goto M\nr4 = *(u8 *)(r2 + 0)\nif w4 != 0 goto N\nr2 += 1\ngoto L\n"
     "N: r4 = *(u8 *)(r2 + 1)\nr2 += r4\nr2 += 2\ngoto L\nM: r0 = 0", [2048]),
    ("a cursor to another cursor", "r4 = *(u8 *)(r7 + 0)\nr5 = r7\nr5 += r4\nif r5 > r8 goto M\nr2 = r7\nL: if r2 >= r5 goto M\n"
     "r4 = *(u8 *)(r2 + 63)\n*(u8 *)(r2 + 0) = w4\nr2 += 1\ngoto L\nM: r0 = 0", [256]),
    ("rows of 12 bytes, pointer not equal", "r2 = r9\nr3 = r9\nw6 &= 7\nif w6 == 0 goto M\nw6 *= 12\nr3 += r6\nL: r4 = *(u32 *)(r2 + 8)\nr2 += 12\nif r2 != r3 goto L\nM: r0 = 0", [7]),
    ("nested", "w2 = 0\nA: w3 = 0\nB: w3 += 1\nif w3 < 8 goto B\nw2 += 1\nif w2 < 16 goto A", [16, 8]),
    ("inner bound is the outer counter", "w2 = 1\nA: w3 = 0\nB: w3 += 1\nif w3 < w2 goto B\nw2 += 1\nif w2 < 16 goto A", [15, 15]),
    ("a head two edges lead back to", "w2 = 0\nL: w2 += 1\nif w2 >= 10 goto M\nif w6 == 0 goto L\nw0 += 1\nw0 &= 7\ngoto L\nM: r0 = 0", [10]),
    ("a head two edges lead back to, with two bounds", "w2 = 0\nL: w2 += 1\nif w6 == 0 goto N\nif w2 < 3 goto L\ngoto M\nN: if w2 < 10 goto L\nM: r0 = 0", [10]),
    ("down, two edges lead back with two bounds", "w2 = 10\nL: w2 += -1\nif w6 == 0 goto N\nif w2 > 7 goto L\ngoto M\nN: if w2 > 0 goto L\nM: r0 = 0", [10]),
    ("up by 4 from 1, not equal", "w2 = 1\nL: w2 += 4\nif w2 != 41 goto L", [10]),
    ("up by 4 from 1 past the bound", "w2 = 1\nL: w2 += 4\nif w2 != 43 goto L", None),
    ("down by 4 to 1", "w2 = 41\nL: w2 += -4\nif w2 != 1 goto L", [10]),
    ("down by 4 past 1", "w2 = 43\nL: w2 += -4\nif w2 != 1 goto L", None),
    ("shifted right, something added behind", "w2 = 100\nL: w2 >>= 1\nw2 += 7\nif w2 > 8 goto L", None),
    ("shifted left or right", "w2 = 8\nL: if w6 == 0 goto N\nif w2 > 64 goto M\nw2 <<= 1\nif w2 != 0 goto L\ngoto M\nN: w2 >>= 1\nif w2 != 0 goto L\nM: r0 = 0", None),
    ("shifted right until nothing is left", "w6 &= 255\nif w6 == 0 goto M\nL: w3 = w6\nw6 >>= 1\nif w3 > 1 goto L\nM: r0 = 0", [8]),
    ("shifted right by two", "w6 &= 255\nif w6 == 0 goto M\nL: w6 >>= 2\nif w6 != 0 goto L\nM: r0 = 0", [4]),
    ("shifted right, perhaps already nothing", "w6 &= 255\nL: w6 >>= 1\nif w6 != 300 goto L", None),
    ("shifted right, of 32 bits", "w6 |= 1\nL: w3 = w6\nw6 >>= 1\nif w3 > 1 goto L", [32]),
    ("shifted right, negative as a signed number", "r2 = *(u64 *)(r9 + 0)\nif r2 s> 5 goto M\nif r2 == 0 goto M\nL: r3 = r2\nr2 >>= 1\nif r3 > 1 goto L\nM: r0 = 0", [64]),
    ("shifted right as a signed number, perhaps negative", "r2 = *(u64 *)(r9 + 0)\nif r2 s> 5 goto M\nif r2 == 0 goto M\nL: r3 = r2\nr2 s>>= 1\nif r3 != 0 goto L\nM: r0 = 0", None),
    ("shifted right, something added before", "w2 = 100\nL: w2 += 7\nw2 >>= 1\nif w2 != 0 goto L", None),
    ("shifted left past 32 bits", "w2 = 0x40000001\nL: w2 <<= 1\nif w2 != 0 goto L", None),
    ("shifted left past 64 bits", "r2 = 0x4000000000000001 ll\nL: r2 <<= 1\nif r2 != 0 goto L", None),
    ("shifted right by one or two, then compared",
     "r4 = 0\nL: r2 = *(u8 *)(r9 + 0)\nr3 = *(u8 *)(r9 + 1)\nw3 &= 1\nw3 += 1\nr5 = r2\nr5 >>= r3\nr4 += 1\nif r2 < 2 goto M\nr0 /= r5\nif r4 < 3 goto L\nM: r0 = 0", 28),
    ("shifted right by one, then compared",
     "r4 = 0\nL: r2 = *(u8 *)(r9 + 0)\nr5 = r2\nr5 >>= 1\nr4 += 1\nif r2 < 2 goto M\nr0 /= r5\nif r4 < 3 goto L\nM: r0 = 0", [3]),
    ("shifted left out of its bounds", "w2 = 1\nL: w3 = w2\nw2 <<= 1\nif w3 < 128 goto L", [8]),
    ("shifted left from 0", "w2 = 0\nL: w3 = w2\nw2 <<= 1\nif w3 < 128 goto L", None),
    ("a pointer moves by 8, a counter beside it by 1", "r2 = r9\nr3 = 0\nL: r4 = *(u8 *)(r2 + 7)\nr2 += 8\nr3 += 1\nif r3 != 16 goto L", [16]),
    ("a pointer into a record beside a counter, not equal", "r2 = r9\nr2 += 17\nr3 = 0\nL: r4 = *(u8 *)(r2 + 0)\nif r4 == 5 goto M\nr2 += 1\nr3 += 1\nif r3 == 24 goto M\ngoto L\nM: r0 = 0", [24]),
    ("up and down", "r2 = r9\nr3 = 128\nL: r4 = *(u8 *)(r2 + 0)\nr2 += 1\nr3 += -1\nif r3 != 0 goto L", [128]),
    ("a pointer of rows from an unknown row on",
     "w6 &= 3\nw6 <<= 3\nr2 = r9\nr2 += r6\nr3 = 0\nL: r4 = *(u8 *)(r2 + 7)\nr2 += 8\nr3 += 1\nif r3 != 13 goto L", [13]),
    ("a pointer moves by 8, one turn more than there is room", "r2 = r9\nr3 = 0\nL: r4 = *(u8 *)(r2 + 7)\nr2 += 8\nr3 += 1\nif r3 != 17 goto L", 22),
    ("where a walk of a known length ended, 4 or 5 octets on",
     "r2 = r7\nr3 = 0\nL: r2 += 7\nif r2 > r8 goto M\nr3 += 1\nif r3 < 70 goto L\nr4 = 5\nif w6 == 0 goto N\nr4 = 4\nN: r2 += r4\nr4 = *(u8 *)(r2 + 3)\nM: r0 = 0", [70]),
    ("from -1 up through 0, 32 bits", "w2 = -1\nL: w2 += 1\nif w2 > 62 goto M\nw3 = w2\ngoto L\nM: r0 = 0", [64]),
    ("from -1 up through 0, two ways to one end", "w2 = -1\nL: w2 += 1\nif w2 > 62 goto M\nif w6 == 0 goto N\nw3 = w2\nN: if w6 != 7 goto L\nM: r0 = 0", [64]),
    ("from -8 up by 2 or 3", "w2 = -8\nL: if w6 == 0 goto N\nw2 += 2\nif w2 s< 20 goto L\ngoto M\nN: w2 += 3\nif w2 s< 20 goto L\nM: r0 = 0", [14]),
    ("from 8 down through 0", "w2 = 8\nL: w2 += -1\nif w2 s> -20 goto L", [28]),
    ("from -1 up, past the greatest number", "w2 = -1\nL: w2 += 1\nif w2 != w6 goto L", None),
    ("from -1 up, or down", "w2 = -1\nL: w2 += 1\nif w2 > 62 goto M\nif w6 != 0 goto L\nw2 += -1\ngoto L\nM: r0 = 0", None),
    ("without 32-bit arithmetic", "r2 = 0\nL: r2 += 1\nr3 = r2\nr3 <<= 32\nr3 >>= 32\nif r3 < 10 goto L", [10]),
]


@pytest.mark.parametrize("code, bounds", [row[1:] for row in LOOPS], ids=[row[0] for row in LOOPS])
def test_bound(code, bounds):
    report = verify(assemble(PACKET + code + "\nexit"), LPN, state_size=128)
    if not isinstance(bounds, list):
        assert report.rule == (bounds or 33), report.message
    else:
        assert report.accepted, report.message
        assert [b.bound for b in report.loops] == bounds


def test_worst_case_is_reached():
    """The total of a loop without choices is exactly what runs."""
    report = verify(assemble("r0 = 0\nr2 = 0\nA: r3 = 0\nB: r3 += 1\nif r3 < 8 goto B\nr2 += 1\nif r2 < 16 goto A\nexit"), LPN)
    assert report.max_insns == 2 + 16 * (1 + 8 * 2 + 2) + 1
    assert report.max_branches == 16 * 7 + 15


def test_a_search_goes_on_inside_where_it_was():
    """Three loops in each other and many constants: the widening of the outermost tries one constant after the other, and the loops inside are
    not searched from the beginning each time. It took 5,632 steps; of `lpnc fuzz` program 6000420 it was 233,706, and is 42,922."""
    tests = "".join(f"if w0 == {37 * i * i + 11} goto N\n" for i in range(1, 10))
    text = ("r6 = *(u64 *)(r1 + 0)\nr7 = *(u64 *)(r1 + 8)\nr0 = 0\nA: r1 = r6\nr1 += 1\nif r1 > r7 goto E\nr2 = *(u8 *)(r6 + 0)\nr6 = r1\nw3 = 0\n"
            f"B: w4 = 0\nC: w0 += w2\nw4 += 1\nif w4 < 8 goto C\n{tests}N: w3 += 1\nif w3 < 10 goto B\ngoto A\nE: w0 = 0\nexit")
    report = verify(assemble(text), LPN, max_steps=4000)
    assert report.accepted, report.message
    assert [loop.bound for loop in report.loops] == [2049, 10, 8]
