"""Ways that meet and part again are told apart: more is provable, and nothing that is wrong."""
from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from lpn.compiler.asm import assemble
from lpn.compiler.fuzz_bytecode.trial import Case, attempt
from lpn.compiler.fuzz_bytecode.words import SIZES
from lpn.runtime.instrumented.claims import Runner
from lpn.verifier import LPN, XDP, cfg, unrolled, verify
from lpn.verifier.apart import MORE
from lpn.verifier.certify import NoCertificate, Sizes, certify
from lpn.verifier.verify import analyse

HEAD = "r2 = *(u32 *)(r1 + 0)\nr3 = *(u32 *)(r1 + 4)\n"
#: What clang makes of `for (i = 0; i < n && i < 32; i++) { if (p + 1 + i + 1 > end) return 0; x = p[1 + i]; }`.
LEAST = ("r4 = r2\nr4 += 1\nif r4 > r3 goto end\nr5 = *(u8 *)(r2 + 0)\nif r5 == 0 goto end\nr6 = r2\nr6 ^= -1\nr6 += r3\nw7 = w5\nw7 += -1\nr8 = r6\nif r6 < r7 goto A\nr8 = r7\n"
         "A: if r8 < 31 goto B\nr8 = 31\nB: if r6 == r8 goto end\nr8 = 1\nL: r9 = r2\nr9 += r8\nr9 = *(u8 *)(r9 + 0)\nif r8 >= r5 goto end\nr9 = r8\nr8 += 1\nif r9 < 32 goto L\nend: r0 = 0\nexit")
#: name -> program; the second one has the mistake that the first one has not.
PAIRS = {
    "what a comparison gave": (
        "r4 = r2\nr4 += 2\nr0 = 0\nif r4 > r3 goto no\ngoto on\nno: r0 = -22\non: if w0 != 0 goto end\nr5 = *(u8 *)(r2 + 1)\nend: r0 = 0\nexit",
        "r4 = r2\nr4 += 2\nr0 = 0\nif r4 > r3 goto no\ngoto on\nno: r0 = -22\non: if w0 == 0 goto end\nr5 = *(u8 *)(r2 + 1)\nend: r0 = 0\nexit"),
    "a pointer or nothing": (
        "r4 = r2\nr4 += 20\nr1 = 0\nif r4 > r3 goto on\nr1 = r2\non: if r4 > r3 goto end\nr5 = *(u16 *)(r1 + 9)\nend: r0 = 0\nexit",
        "r4 = r2\nr4 += 20\nr1 = 0\nif r4 > r3 goto on\nr1 = r2\non: if r4 < r3 goto end\nr5 = *(u16 *)(r1 + 9)\nend: r0 = 0\nexit"),
    "three ways, in a loop": (
        "w7 = 0\nL: r4 = r2\nr4 += 4\nw0 = 0\nif r4 > r3 goto no\nr5 = *(u8 *)(r2 + 0)\nif r5 == 9 goto no\ngoto on\nno: w0 = 1\non: w7 += 1\nif w0 != 0 goto next\nr5 = *(u8 *)(r2 + 3)\n"
        "next: if w7 < 5 goto L\nr0 = 0\nexit",
        "w7 = 0\nL: r4 = r2\nr4 += 4\nw0 = 0\nif r4 > r3 goto no\nr5 = *(u8 *)(r2 + 0)\nif r5 == 9 goto no\ngoto on\nno: w0 = 1\non: w7 += 1\nif w0 != 0 goto next\nr5 = *(u8 *)(r2 + 4)\n"
        "next: if w7 < 5 goto L\nr0 = 0\nexit"),
    "questions about something else stand between": (
        "r6 = *(u32 *)(r1 + 16)\nr4 = r2\nr4 += 34\nif r4 > r3 goto end\nr5 = *(u8 *)(r2 + 12)\nif w5 == 8 goto on\nr4 = r2\nr4 += 54\nif r4 > r3 goto end\n"
        "on: w7 = w6\nw7 &= 2\nif w7 == 0 goto A\nr8 = *(u8 *)(r2 + 1)\nA: w7 = w6\nw7 &= 4\nif w7 == 0 goto B\nr8 = *(u8 *)(r2 + 2)\nB: w7 = w6\nw7 &= 8\nif w7 == 0 goto C\nr8 = *(u8 *)(r2 + 3)\n"
        "C: if w5 == 8 goto end\nr8 = *(u8 *)(r2 + 53)\nend: r0 = 0\nexit",
        "r6 = *(u32 *)(r1 + 16)\nr4 = r2\nr4 += 34\nif r4 > r3 goto end\nr5 = *(u8 *)(r2 + 12)\nif w5 == 8 goto on\nr4 = r2\nr4 += 54\nif r4 > r3 goto end\n"
        "on: w7 = w6\nw7 &= 2\nif w7 == 0 goto A\nr8 = *(u8 *)(r2 + 1)\nA: w7 = w6\nw7 &= 4\nif w7 == 0 goto B\nr8 = *(u8 *)(r2 + 2)\nB: w7 = w6\nw7 &= 8\nif w7 == 0 goto C\nr8 = *(u8 *)(r2 + 3)\n"
        "C: if w5 != 8 goto end\nr8 = *(u8 *)(r2 + 53)\nend: r0 = 0\nexit"),
    "a pointer or nothing, asked in 32 bits": (
        "r4 = r2\nr4 += 20\nr1 = 0\nif r4 > r3 goto on\nr1 = r2\non: if w1 == 0 goto end\nr5 = *(u16 *)(r1 + 18)\nend: r0 = 0\nexit",
        "r4 = r2\nr4 += 20\nr1 = 0\nif r4 > r3 goto on\nr1 = r2\non: if w1 == 0 goto end\nr5 = *(u16 *)(r1 + 19)\nend: r0 = 0\nexit"),
    "a pointer where a bit is set, asked with others": (
        "r4 = r2\nr4 += 2\nif r4 > r3 goto end\nr5 = *(u8 *)(r2 + 0)\nr1 = 0\nr4 = r5\nr4 &= 64\nif r4 == 0 goto on\nr1 = r2\non: r4 = r5\nr4 &= 112\nif r4 != 80 goto end\nr5 = *(u8 *)(r1 + 1)\nend: r0 = 0\nexit",
        "r4 = r2\nr4 += 2\nif r4 > r3 goto end\nr5 = *(u8 *)(r2 + 0)\nr1 = 0\nr4 = r5\nr4 &= 64\nif r4 == 0 goto on\nr1 = r2\non: r4 = r5\nr4 &= 112\nif r4 != 48 goto end\nr5 = *(u8 *)(r1 + 1)\nend: r0 = 0\nexit"),
    "a pointer where a bit is set that was shifted, asked with others": (
        "r4 = r2\nr4 += 2\nif r4 > r3 goto end\nr5 = *(u8 *)(r2 + 0)\nr1 = 0\nr4 = r5\nw4 >>= 6\nw4 &= 1\nif r4 == 0 goto on\nr1 = r2\non: r4 = r5\nr4 &= 112\nif r4 != 80 goto end\nr5 = *(u8 *)(r1 + 1)\nend: r0 = 0\nexit",
        "r4 = r2\nr4 += 2\nif r4 > r3 goto end\nr5 = *(u8 *)(r2 + 0)\nr1 = 0\nr4 = r5\nw4 >>= 5\nw4 &= 1\nif r4 == 0 goto on\nr1 = r2\non: r4 = r5\nr4 &= 112\nif r4 != 80 goto end\nr5 = *(u8 *)(r1 + 1)\nend: r0 = 0\nexit"),
    "a loop that is always entered": (
        "w7 = 0\nL: if w7 >= 4 goto end\nw0 = w7\nw7 += 1\ngoto L\nend: exit",
        "w7 = 4\nL: if w7 >= 4 goto end\nw0 = w7\nw7 += 1\ngoto L\nend: exit"),
    "a loop in a loop, both always entered, and gone on with from two places": (
        "w7 = 0\nL: if w7 >= 4 goto end\nw8 = 0\nM: if w8 >= 3 goto next\nw8 += 1\n*(u64 *)(r10 - 8) = r8\nif w8 == 2 goto M\nw5 = 1\ngoto M\nnext: w7 += 1\nr0 = *(u64 *)(r10 - 8)\ngoto L\nend: exit",
        "w9 = 3\nif r3 != r2 goto on\nw9 = 0\non: w7 = 0\nL: if w7 >= 4 goto end\nw8 = w7\nM: if w8 >= w9 goto next\nw8 += 1\n*(u64 *)(r10 - 8) = r8\nif w8 == 2 goto M\nw5 = 1\ngoto M\nnext: w7 += 1\nw0 = w5\ngoto L\nend: exit"),
    "a length by type, and a flag, that ways bring to two places": (
        "r6 = *(u32 *)(r1 + 12)\nif r6 == 1 goto one\nif r6 == 2 goto two\nr8 = 20\nw7 = 1\ngoto all\none: r8 = 8\nw7 = 0\ngoto some\ntwo: r8 = 12\nw7 = 1\n"
        "some: w9 = 1\nall: r4 = r2\nr4 += r8\nif r4 > r3 goto end\nif w7 == 0 goto end\nr5 = *(u32 *)(r2 + 8)\nend: r0 = 0\nexit",
        "r6 = *(u32 *)(r1 + 12)\nif r6 == 1 goto one\nif r6 == 2 goto two\nr8 = 20\nw7 = 1\ngoto all\none: r8 = 8\nw7 = 0\ngoto some\ntwo: r8 = 12\nw7 = 1\n"
        "some: w9 = 1\nall: r4 = r2\nr4 += r8\nif r4 > r3 goto end\nif w7 == 0 goto end\nr5 = *(u32 *)(r2 + 9)\nend: r0 = 0\nexit"),
    "a sum of four octets": (
        "r4 = r2\nr4 += 14\nif r4 > r3 goto end\nw6 = 0\nw7 = 0\nL: r5 = r2\nr5 += r7\nr5 = *(u8 *)(r5 + 0)\nw6 += w5\nw7 += 1\nif w7 != 4 goto L\n"
        "if w6 > 1020 goto bad\ngoto end\nbad: r5 = *(u8 *)(r2 + 14)\nend: r0 = 0\nexit",
        "r4 = r2\nr4 += 14\nif r4 > r3 goto end\nw6 = 0\nw7 = 0\nL: r5 = r2\nr5 += r7\nr5 = *(u8 *)(r5 + 0)\nw6 += w5\nw7 += 1\nif w7 != 4 goto L\n"
        "if w6 > 1019 goto bad\ngoto end\nbad: r5 = *(u8 *)(r2 + 14)\nend: r0 = 0\nexit"),
    "a search by steps that are halved": (
        "r4 = r2\nr4 += 16\nif r4 > r3 goto end\nw6 = 0\nw7 = 8\nL: r5 = r2\nr5 += r6\nr5 += r7\nr5 = *(u8 *)(r5 + 0)\nif r5 > 9 goto on\nw6 += w7\non: w7 >>= 1\nif w7 != 0 goto L\n"
        "end: r0 = 0\nexit",
        "r4 = r2\nr4 += 16\nif r4 > r3 goto end\nw6 = 0\nw7 = 8\nL: r5 = r2\nr5 += r6\nr5 += r7\nr5 = *(u8 *)(r5 + 1)\nif r5 > 9 goto on\nw6 += w7\non: w7 >>= 1\nif w7 != 0 goto L\n"
        "end: r0 = 0\nexit"),
    "a loop that is entered if the packet is long": (
        "r4 = r2\nr4 += 2\nif r4 > r3 goto none\nr5 = r2\nL: r4 = r5\nr4 += 1\nif r4 > r3 goto end\nr8 = r5\nr5 = r4\ngoto L\nnone: w0 = 0\nexit\nend: r0 = *(u8 *)(r8 + 0)\nexit",
        "r4 = r2\nr4 += 2\nif r4 > r3 goto none\nr5 = r2\nr5 += 2\nL: r4 = r5\nr4 += 1\nif r4 > r3 goto end\nr8 = r5\nr5 = r4\ngoto L\nnone: w0 = 0\nexit\nend: r0 = *(u8 *)(r8 + 0)\nexit"),
    "a break that joins those that go on, where it is asked once more": (
        "w6 = 0\nL: r4 = r2\nr4 += 2\nif r4 > r3 goto end\nr5 = *(u8 *)(r2 + 1)\nr4 += r5\nif r4 > r3 goto next\nr2 = r4\nw6 += 1\nnext: if r4 <= r3 goto L\nend: r0 = 0\nexit",
        "w6 = 0\nL: r4 = r2\nr4 += 2\nif r4 > r3 goto end\nr5 = *(u8 *)(r2 + 1)\nr4 += r5\nif r4 > r3 goto next\nr2 = r4\nw6 += 1\nnext: if r4 != r3 goto L\nend: r0 = 0\nexit"),
    "the least of three numbers": (LEAST, LEAST.replace("r9 < 32", "r9 < 33")),
    "the least of three numbers, and one more": (LEAST, LEAST.replace("(r9 + 0)", "(r9 + 1)")),
    "the least of three numbers, where it is asked for something else": (LEAST, LEAST.replace("r6 == r8", "r6 < r8")),
}


@pytest.mark.parametrize("name", PAIRS)
def test_what_ways_know_is_provable(name: str) -> None:
    right, wrong = (assemble(HEAD + body) for body in PAIRS[name])
    assert not verify(right, XDP).accepted and verify(right, XDP, apart=True).accepted
    assert not verify(wrong, XDP, apart=True).accepted


def test_what_is_told_is_of_the_way_that_is_wrong() -> None:
    """Together it is a pointer or nothing; apart, it is one that leads too far."""
    text = assemble(HEAD + PAIRS["a pointer or nothing"][0].replace("r1 + 9", "r1 + 19"))
    assert verify(text, XDP).rule == 13
    assert verify(text, XDP, apart=True).message == ("rule 19 (packet bounds): slot 8: reads 2 bytes at packet offset 19; the cursor may be 1 byte beyond the proven 20 bytes; "
                                                     "compare pkt + 21 with pkt_end first")


@pytest.mark.parametrize("head", [
    "L: if w7 == 1 goto one\nw7 += 1\nw5 = 1\nif w7 < 4 goto L\ngoto end\none: w7 += 1\nw5 = 2\nif w7 < 4 goto L\ngoto end",
    "L: w7 += 1\nif w7 < 4 goto L\ngoto end",
    "L: if w7 >= 4 goto end\nM: w7 += 1\nif w7 == 3 goto M\nw5 = 1\ngoto L",
], ids=["leads to two of its blocks", "leads to itself", "leads to the head of another"])
def test_heads_that_a_loop_cannot_begin_behind(head: str) -> None:
    """They stay as they are, and what lies before them is told apart all the same."""
    right = f"r4 = r2\nr4 += 2\nr0 = 0\nif r4 > r3 goto no\ngoto on\nno: r0 = -22\non: w7 = 0\n{head}\nend: if w0 != 0 goto out\nr5 = *(u8 *)(r2 + 1)\nout: r0 = 0\nexit"
    assert verify(assemble(HEAD + right), XDP, apart=True).accepted
    assert not verify(assemble(HEAD + right.replace("r2 + 1", "r2 + 2")), XDP, apart=True).accepted


def test_the_effort_is_bounded() -> None:
    """Forty comparisons in a row that nobody asks again: copies stay few, steps within the limit."""
    body = "".join(f"if r3 s> {i} goto A{i}\nw0 += {i}\nA{i}: w0 += 1\n" for i in range(40))
    text = assemble(f"r2 = *(u64 *)(r1 + 0)\nr3 = *(u32 *)(r1 + 52)\nw0 = 0\n{body}r5 = *(u8 *)(r2 + 200)\nexit")
    once, apart = verify(text, LPN), verify(text, LPN, apart=True)
    assert not apart.accepted and apart.message == once.message and apart.analysis_steps <= 2 * once.analysis_steps
    report, analysis = analyse(assemble(HEAD + PAIRS["what a comparison gave"][0]), XDP, apart=True)
    assert analysis.graph.splits and analysis.graph.expanded <= report.insns + MORE


def test_an_octet_that_is_counted_up_beside_a_number_that_is_multiplied() -> None:
    """Of its first turns a line was drawn that is as steep as numbers are wide; a multiple of the octet on it was thought to lie in the packet."""
    text = assemble(HEAD + "r0 = 2\nr4 = r2\nr4 += 34\nif r4 > r3 goto end\nr3 = *(u8 *)(r2 + 0)\nr2 = 0\nr1 = 0\nL: r1 *= 5\nr4 = r2\nr4 &= 255\nr1 += r4\nr2 += 1\nr4 = r2\n"
                    "r4 &= 255\nif r4 > r3 goto out\ngoto L\nout: r1 &= 1\nr0 = r1\nend: exit")
    assert verify(text, XDP, apart=True).rule == 33


def test_there_is_no_certificate() -> None:
    text = assemble("r2 = *(u64 *)(r1 + 0)\nr3 = *(u64 *)(r1 + 8)\n" + PAIRS["what a comparison gave"][0].replace("+ 1)", "+ 99)").replace("r4 += 2", "r4 += 100"))
    report, analysis = analyse(text, LPN, apart=True)
    assert report.accepted and analysis.graph.splits
    with pytest.raises(NoCertificate, match="told apart"):
        certify(text, report, analysis, Sizes())


def program(draw: random.Random) -> str:
    """Lengths are compared with the packet's end, what came out is kept as a number or a pointer, and asked again behind the place where ways meet. Some ask wrongly."""
    lines = [HEAD + "r6 = *(u32 *)(r1 + 12)\nw7 = 0\nr1 = 0\nr8 = 0"]
    for i in range(draw.randrange(1, 4)):
        size, taken, refused = draw.choice((1, 2, 4, 8, 20)), draw.choice((0, 1, 7)), draw.choice((-22, 1, 2, 100))
        work = draw.choices(("w7 += 1", "w7 ^= 3", "r7 &= r6", "r9 = r7\nr9 <<= 3"), k=draw.randrange(4))
        lines += [f"r4 = r2\nr4 += {size}", *([f"if r6 > {draw.randrange(9)} goto no{i}"] * draw.randrange(2)), f"if r4 > r3 goto no{i}"]
        reached = draw.choice((size - 1, size - 1, size - 1, 0, size))
        if draw.random() < 0.6:
            lines += [f"w0 = {taken}", *([f"r5 = *(u8 *)(r2 + 0)\nif r5 == {draw.randrange(9)} goto no{i}"] * draw.randrange(2)), f"goto on{i}", f"no{i}: w0 = {refused}",
                      f"on{i}: w7 += 1", *work, f"if w0 {draw.choice(('!=', '!=', '=='))} {draw.choice((taken, taken, refused))} goto end{i}", f"r5 = *(u8 *)(r2 + {reached})"]
        else:
            lines += ["r8 = r2", f"goto on{i}", f"no{i}: r8 = 0", f"on{i}: w7 += 1", *work, f"if r8 {draw.choice(('==', '==', '!='))} 0 goto end{i}", f"r5 = *(u8 *)(r8 + {reached})"]
        lines.append(f"end{i}: r5 = 0")
    return "\n".join([*lines, "r0 = 0", "exit"])


def turning(draw: random.Random, depth: int = 2) -> list[str]:
    """A loop that asks first, then works: how often it turns is known or not, what it leaves behind in a register or on the stack is read afterwards, perhaps never written."""
    name, counter, most = draw.randrange(1 << 30), f"w{6 + depth}", draw.choice((1, 2, 4, 7))
    first = draw.choice((f"{counter} = 0", f"{counter} = 0", f"{counter} = {draw.randrange(5)}", f"{counter} = w6", f"{counter} = w6\n{counter} &= 3"))
    left = draw.choice(("w9 = 1", "*(u64 *)(r10 - 8) = r6", "w5 = w6\nw9 = w5"))
    works = [left, *draw.choices(("w6 += 1", "w6 ^= 5", f"if w6 == {draw.randrange(4)} goto H{name}"), k=draw.randrange(3))]
    if depth and draw.random() < 0.4:
        works += turning(draw, depth - 1)
    draw.shuffle(works)
    read = "r9 = *(u64 *)(r10 - 8)" if "r10" in left else "w6 ^= w9"
    return [first, f"H{name}: if {counter} >= {most} goto E{name}", f"{counter} += {draw.choice((1, 1, 2))}", *works, f"goto H{name}", f"E{name}: {read}"]


@pytest.mark.parametrize("make", [program, lambda draw: "\n".join(["r6 = *(u32 *)(r1 + 12)", *turning(draw), "r0 = 0", "exit"])], ids=["asked again", "always entered"])
def test_what_is_claimed_then_is_true(make: Callable[[random.Random], str]) -> None:
    """Programs that are accepted in this way alone run with every claim looked at; and of those with mistakes some are refused."""
    runner, split, refused = Runner(), 0, 0
    for seed in range(300):
        case = Case(assemble(make(random.Random(seed))), "xdp", tuple(SIZES["xdp"].items()), "asked again", apart=True)
        report, analysis = case.judge()
        refused += not report.accepted
        if report.accepted and analysis.graph.splits:
            split += 1
            assert attempt(case, runner, seed, 200)[1] is None, case.source()
    assert split > 40 and refused > 40


def test_what_is_told_is_the_mistake_behind_what_a_try_has_proved() -> None:
    """The sum is known where the loop is unrolled; the octet behind it was never compared. Without the mistake it is accepted."""
    good, _ = PAIRS["a sum of four octets"]
    assert "end: r0 = 0\nexit" in good
    wrong = good.replace("end: r0 = 0\nexit", "goto past\nend: r0 = 0\nexit\npast: r5 = *(u8 *)(r2 + 40)\nr0 = 0\nexit").replace("goto end\nbad:", "goto past\nbad:")
    report = verify(assemble(HEAD + wrong), XDP, apart=True)
    assert report.rule == 19 and "packet offset 40" in report.message and "reads byte 40" in report.example, report.message
    alone = verify(assemble(HEAD + wrong), XDP)
    assert "packet offset 14" in alone.message, alone.message                    # one analysis stops at what it cannot prove
    both = wrong.replace("> 1020", "> 1019")
    assert "packet offset 14" in verify(assemble(HEAD + both), XDP, apart=True).message      # what no try has proved comes first


@pytest.mark.parametrize("text,rule", [
    ("b70000000000000007000000010000006112340000000000150201000000000007000000010000000700000001000000a500fdff0a0000009500000000000000", 33),
    ("bf160000000000007969100000000000899238000000000018000000ffff00000000000000000000dc00000020000000bf250000000000003e0502000000000014050000"
     "00000100a6020000ffffff7fb4000000000000009500000000000000", None),
    ("bf1600000000000079691000000000007192000000000000640200001800000014020000180000006602030014000000c6020200ecffffff6702000020000000c702000020000000"
     "b4000000000000009500000000000000", None),
    ("bf1600000000000079691000000000008192000000000000bf24000000000000bf20000000000000b50204000000010046040300000100007604020014000000c5000100ecffffff"
     "0700000018000000b4000000000000009500000000000000", None)],
    ids=["a loop that has two entries", "a way that nobody takes", "a sign of what nobody has", "a sum that nobody has"])
def test_what_cannot_be_looked_at_once_more_is_judged(text, rule):
    """An irreducible loop has no graph whose blocks could be copied, and of an empty set there is neither a sum nor a sign: these were internal errors."""
    assert verify(bytes.fromhex(text), LPN, record_size=64, apart=True).rule == rule


def test_a_loop_that_is_never_left_is_not_copied(monkeypatch) -> None:
    """Nor what lies in it, since the copies would be left no more than it is. A loop before it is: its turns may say that the other one is never entered."""
    tried: list[cfg.Unrolled] = []
    right = unrolled.candidates

    def candidates(*given) -> list[cfg.Unrolled]:
        tried.extend(found := [*right(*given)])
        return found
    monkeypatch.setattr(unrolled, "candidates", candidates)
    start, endless = "r9 = *(u64 *)(r1 + 16)\nw0 = 0\nw3 = 0\n", "A: r2 = *(u8 *)(r9 + 0)\nif r2 == 300 goto E\n"
    nest = start + endless + "w4 = 0\nB: w4 += 1\nw0 ^= w4\nif w4 < 8 goto B\ngoto A\nE: exit"
    assert verify(assemble(nest), LPN, record_size=64, apart=True).rule == 33 and not tried
    summed = "L: r2 = r9\nr2 += r3\nr2 = *(u8 *)(r2 + 0)\nw0 += w2\nw3 += 1\nif w3 < 8 goto L\nif w0 <= 2040 goto E\n"
    assert verify(assemble(start + summed + endless + "goto A\nE: exit"), LPN, record_size=64, apart=True).accepted and tried
