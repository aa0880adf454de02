"""Loops whose counter no constant moves: what bounds them is enough for the worst start, and those that may stand still are refused."""
import pytest

from lpn.compiler.asm import assemble
from lpn.compiler.fuzz_bytecode.trial import SIZES, Case, attempt
from lpn.runtime.instrumented.claims import Runner
from lpn.verifier.shrinking import most_folded

START = "r6 = r1\nr7 = *(u64 *)(r6 + 0)\nr8 = *(u64 *)(r6 + 8)\nr9 = *(u64 *)(r6 + 16)\nw0 = 0\n"
WORD, LONG = "r1 = *(u32 *)(r9 + 0)\n", "r1 = *(u64 *)(r9 + 0)\n"
FOLD = "r2 = r1\nr2 >>= {w}\nr1 &= {m}\nr1 += r2\n"


def folded(load: str, width: int, ask: str) -> str:
    return load + "L: " + FOLD.format(w=width, m=(1 << width) - 1) + f"{ask}\nr0 = r1\nexit"


def first(load: str, ask: str, turn: str) -> str:
    """A loop that asks before each turn."""
    return f"{load}L: {ask}\n{turn}\ngoto L\nE: w0 = 0\nexit"


#: name -> (program, runs of the head at most).
ENDING = {
    "32 bits to 16": (folded(WORD, 16, "if r1 > 0xffff goto L"), 3),
    "64 bits to 16": (folded(LONG, 16, "if r1 > 0xffff goto L"), 5),
    "64 bits to 32": (folded(LONG, 30, "if r1 > 0x3fffffff goto L"), 4),
    "32 bits to 1": (folded(WORD, 1, "if r1 > 1 goto L"), 33),
    "32 bits to 8, asked before": (first(WORD, "r2 = r1\nr2 >>= 8\nif r2 == 0 goto E", "r1 &= 255\nr1 += r2"), 5),
    "the low bits cut off first": (WORD + "r3 = 0xffff0000 ll\nL: r2 = r1\nr2 &= r3\nr2 >>= 16\nr1 &= 0xffff\nr1 += r2\nif r1 > 0xffff goto L\nexit", 3),
    "divided by 10": (first(WORD, "if r1 == 0 goto E", "r1 /= 10"), 11),
    "divided by 3, asked behind": (WORD + "L: r1 /= 3\nif r1 != 0 goto L\nexit", 21),
    "divided by 3 or by 7": (first(WORD, "if r1 == 0 goto E", "if r1 & 1 goto O\nr1 /= 7\ngoto L\nO: r1 /= 3"), 22),
    "shifted left, but for 0": (first(WORD + "r1 &= 255\n", "if r1 == 0 goto E\nif r1 > 1000 goto E", "r1 <<= 1"), 11),
    "shifted left by 1, and from 32768 on by 4": ("r1 = 1\nL: if r1 > 0x7fff goto B\nr1 <<= 1\ngoto L\nB: if r1 > 0xfffffff goto E\nr1 <<= 4\ngoto L\nE: exit", 32),
    "shifted right by 1, and from 255 down by 4": (first(WORD, "if r1 == 0 goto E", "if r1 > 255 goto O\nr1 >>= 4\ngoto L\nO: r1 >>= 1"), 33),
    "the lowest bit of 32": (first(WORD, "if r1 == 0 goto E", "r2 = r1\nr2 += -1\nr1 &= r2"), 33),
    "the lowest bit of those that a mask left": (first(WORD + "r1 &= 0x8421\n", "if r1 == 0 goto E", "r2 = r1\nr2 += -1\nr2 &= r1\nr1 = r2"), 5),
}
#: name -> program that stands still on some start, or of which nothing says that it does not.
STANDING = {
    "folded while it is 0xffff": folded(WORD, 16, "if r1 >= 0xffff goto L"),
    "folded, and one is added": WORD + "L: " + FOLD.format(w=16, m=0xFFFF) + "r1 += 1\nif r1 > 0xffff goto L\nexit",
    "folded, and 0xffff is added": first(WORD, "r2 = r1\nr2 >>= 16\nif r2 == 0 goto E", "r1 &= 0xffff\nr1 += r2\nr1 += 0xffff"),
    "folded with the low bits of what is one less": first(WORD, "r2 = r1\nr2 >>= 16\nif r2 == 0 goto E", "r1 += -1\nr1 &= 0xffff\nr1 += r2"),
    "folded to another place": first(WORD, "r2 = r1\nr2 >>= 16\nif r2 == 0 goto E", "r3 = r1\nr3 &= 0xffff\nr3 += r2\nr1 |= 1"),
    "shifted left, perhaps 0": first(WORD + "r1 &= 255\n", "if r1 > 1000 goto E", "r1 <<= 1"),
    "a bit more is kept than is shifted out": WORD + "L: r2 = r1\nr2 >>= 16\nr1 &= 0x1ffff\nr1 += r2\nif r1 > 0xffff goto L\nexit",
    "a bit less is shifted out than is kept": WORD + "L: r2 = r1\nr2 >>= 15\nr1 &= 0xffff\nr1 += r2\nif r1 > 0xffff goto L\nexit",
    "what was above is of another number": WORD + "r3 = *(u32 *)(r9 + 4)\nL: r2 = r3\nr2 >>= 16\nr1 &= 0xffff\nr1 += r2\nif r1 > 0xffff goto L\nexit",
    "more is cut off than is shifted out": WORD + "r3 = 0xfffe0000 ll\nL: r2 = r1\nr2 &= r3\nr2 >>= 16\nr1 &= 0xffff\nr1 += r2\nif r1 > 0xffff goto L\nexit",
    "0 divided": first(WORD, "if r1 == 1 goto E", "r1 /= 10"),
    "divided and one more": first(WORD, "if r1 == 0 goto E", "r1 /= 10\nr1 += 1"),
    "divided by 1": first(WORD, "if r1 == 0 goto E", "r1 /= 1"),
    "divided as a signed number": first(LONG, "if r1 == 0 goto E", "r1 s/= -1"),
    "0 without a bit": first(WORD, "if r1 == 4 goto E", "r2 = r1\nr2 += -1\nr1 &= r2"),
    "with what is two less": first(WORD, "if r1 == 0 goto E", "r2 = r1\nr2 += -2\nr1 &= r2"),
    "with one less of another": first(WORD + "r3 = *(u32 *)(r9 + 4)\nif r3 == 0 goto E\n", "if r1 == 0 goto E", "r2 = r3\nr2 += -1\nr1 &= r2"),
}


@pytest.mark.parametrize("name", ENDING)
def test_they_end(name: str) -> None:
    """As soon as is said, for the worst of many starts: each claim is looked at while it runs."""
    text, most = ENDING[name]
    report, fault = attempt(Case(assemble(START + text), "lpn", tuple(SIZES["lpn"].items())), Runner(), 1, 400)
    assert report.accepted, report.message
    assert fault is None and [bound.bound for bound in report.loops] == [most]


@pytest.mark.parametrize("width", range(1, 7))
def test_the_largest_that_folding_gives(width: int) -> None:
    largest = 0
    for n in range(1 << 12):
        largest = max(largest, (n >> width) + (n & (1 << width) - 1))
        assert n >> width == 0 or most_folded(n, width) == largest


@pytest.mark.parametrize("name", STANDING)
def test_those_that_may_stand_still_are_refused(name: str) -> None:
    case = Case(assemble(START + STANDING[name]), "lpn", tuple(SIZES["lpn"].items()))
    assert case.judge()[0].rule in (33, 34)
