"""Branches and masks that the bits of a number decide are left out; the meaning stays, and no way executes more."""
from __future__ import annotations

import random

import pytest

from lpn.compiler.asm import assemble
from lpn.compiler.disasm import format_instruction
from lpn.compiler.passes.known_bits import Known, decide_by_bits, facts
from lpn.compiler.passes.peephole import improve
from lpn.compiler.passes.rewrite import read, sweep, write
from lpn.runtime.raw import run_raw

BEGIN = "r3 = *(u8 *)(r1 + 0)\nr4 = *(u8 *)(r1 + 1)\nr5 = *(u8 *)(r1 + 2)\nw0 = 9\n"
MET = "w6 = 0x841\nif w3 == 1 goto M\nw6 = 0xc41\nM: "            # two words that differ in one bit
END = "w0 = 1\nA: exit"
CASES = {                                       # code, instructions less there are
    "a bit that both ways have": (MET + f"if w6 & 0x800 goto A\n{END}", 2),
    "a bit that none has": (MET + f"if w6 & 0x3100 goto A\n{END}", 1),
    "a part of both": (MET + f"w7 = w6\nw7 &= 0x3000\nif w7 != 0x2000 goto A\n{END}", 2),
    "shifted": (MET + f"w7 = w6\nw7 >>= 10\nif w7 == 0 goto A\n{END}", 1),
    "the other way": (MET + f"w7 = w6\nw7 <<= 20\nif w7 & 0x1000 goto A\n{END}", 1),
    "with its octets in turn": (MET + f"r6 = be16 r6\nif w6 & 0x4000 goto A\n{END}", 2),
    "with more bits": (MET + f"w6 |= 0x8000\nif w6 > 0x7fff goto A\n{END}", 2),
    "kept on the stack": (MET + f"*(u32 *)(r10 - 8) = w6\nr6 = 0\nr7 = *(u32 *)(r10 - 8)\nif w7 & 0x800 goto A\n{END}", 2),
    "not in what is stored over": (MET + f"*(u32 *)(r10 - 8) = w6\n*(u8 *)(r10 - 7) = w3\nr7 = *(u32 *)(r10 - 8)\nif w7 & 0x800 goto A\n{END}", 0),
    "not where the stack has another name": (MET + "r2 = r10\n*(u32 *)(r10 - 8) = w6\n*(u32 *)(r2 - 8) = w3\nr7 = *(u32 *)(r10 - 8)\n"
                                             f"if w7 & 0x800 goto A\n{END}", 0),
    "not a bit of one way": (MET + f"if w6 & 0x400 goto A\n{END}", 0),
    "of what was tested": (f"w6 = w4\nw6 &= 6\nif w6 != 2 goto A\nif w4 & 4 goto A\n{END}", 1),
    "of what a bit was tested of": (f"w6 = w4\nw6 &= 4\nif w6 == 0 goto A\nif w4 & 4 goto A\n{END}", 2),
    "not of what has changed since": (f"w6 = w4\nw6 &= 6\nw4 += 1\nif w6 != 2 goto A\nif w4 & 4 goto A\n{END}", 0),
    "not with all bits of a mask, of which one is enough": (f"w6 = w4\nw6 &= 6\nif w6 == 0 goto A\nif w4 & 4 goto A\n{END}", 0),
    "not with a mask's sign": (f"r4 *= 0x4010101\nr6 = r4\nr6 &= -0x80000000\nif r6 == 0 goto A\nif w4 & -0x80000000 goto A\n{END}", 0),
    "below a bound": (f"if w4 > 7 goto A\nif w4 & 8 goto A\n{END}", 1),
    "below one that is named by the next number": (f"if w4 >= 2 goto A\nif w4 == 1 goto A\nif w4 & 2 goto A\n{END}", 1),
    "with the sign of an octet": (f"w6 = -1\nw7 = (s8)w6\nif w7 & 0x100 goto A\n{END}", 0),
    "not what a call spoils": (f"r0 = 4\nr3 = 4\ncall 1\nif w3 & 4 goto A\nif w0 & 4 goto A\n{END}", 0),
    "not at a bound": (f"if w4 > 8 goto A\nif w4 & 8 goto A\n{END}", 0),
    "an octet": (f"if w4 > 255 goto A\n{END}", 1),
    "a mask": (f"w4 &= 0xffff\nif w4 > 7 goto A\n{END}", 1),
    "not a mask of less": (f"w4 &= 0x7f\nif w4 > 7 goto A\n{END}", 0),
    "a loop's bit": ("w6 = 4\nL: w6 ^= 8\nw5 += -1\nif w6 & 4 goto B\nw0 = 3\nexit\nB: if w5 < 200 goto L\nr0 = r6\nexit", 3),
    "not what a loop changes": (f"w6 = 4\nw5 = 0\nL: w6 ^= 4\nw5 += 1\nif w6 & 4 goto A\nif w5 < 64 goto L\n{END}", 0),
}
INPUTS = [bytes(given) for given in ((1, 2, 3), (2, 2, 3), (1, 7, 0), (2, 8, 9), (0, 6, 220), (1, 3, 1), (5, 200, 4))]


@pytest.mark.parametrize("name", CASES)
def test_what_bits_decide(name):
    code, less = CASES[name]
    text = assemble(BEGIN + code)
    lines = read(text, [])
    assert decide_by_bits(lines) == bool(less)
    before = len(lines)
    sweep(lines)
    lines = [line for line, behind in zip(lines, [*lines[1:], None]) if not (line.insn.is_goto and line.target is behind)]
    assert before - len(lines) == less
    better, _ = improve(text, [])
    for one in INPUTS if "call" not in code else ():
        old, new = run_raw(text, ctx=one), run_raw(better, ctx=one)
        assert (new.r0, new.error) == (old.r0, old.error) and new.insns <= old.insns


@pytest.mark.parametrize(("code", "last"), [
    ("w3 = 1\nw4 = -1\nw4 <<= w3\nw4 ^= -1", "w4 = 0x1"), ("r4 = 6\nr4 <<= 2\nr4 |= 1", "r4 = 0x19"), ("w4 = -2\nw4 >>= 31", "w4 = 0x1"),
    ("w4 = 0x1234\nr4 = be16 r4", "r4 = 0x3412"), ("w4 = -2\nw4 ^= 1", "w4 = -0x1"), ("r4 = -2\nr4 ^= 1", "r4 = -0x1")])
def test_a_number_that_is_known_is_said(code, last):
    lines = read(assemble(f"{code}\nr0 = r4\nexit"), [])
    assert decide_by_bits(lines)
    assert format_instruction(lines[-3].insn) == last


@pytest.mark.parametrize("code", ["w4 &= 1", "w4 = 5\nw4 += 1", "r4 = 1\nr4 <<= 40", "w4 = 0x1234\nr4 = be64 r4", "r4 = -1\nr4 >>= 1", "r4 = -1\nr4 >>= 32", "w4 = 7\nw4 /= 2"])
def test_others_are_left_as_they_are(code):
    """What is not known, sums, and what no instruction can hold."""
    assert not decide_by_bits(read(assemble(f"{code}\nr0 = r4\nexit"), []))


def drawn(rng: random.Random) -> str:
    """An instruction, every third one a jump."""
    def reg() -> int:
        return rng.randint(3, 7)

    def number() -> int:
        return rng.choice((0, 1, 2, 4, 5, 8, 0xff, 0x100, 0x7fffffff, -1, -4, -0x80000000, rng.randint(0, 0xffff)))
    return rng.choice((
        lambda: f"r{reg()} = r{reg()}", lambda: f"w{reg()} = w{reg()}", lambda: f"{rng.choice('rw')}{reg()} = {number()}",
        *[lambda: f"{rng.choice('rw')}{reg()} {rng.choice('&|^+')}= {number()}"] * 4,
        lambda: f"{rng.choice('rw')}{reg()} {rng.choice('&|^+-*')}= {{0}}{reg()}",
        lambda: f"{rng.choice('rw')}{reg()} {rng.choice(('<<', '>>', 's>>'))}= {rng.randint(0, 31)}",
        lambda: f"{rng.choice('rw')}{reg()} = (s{rng.choice((8, 16))}){{0}}{reg()}",
        lambda: f"r{(r := reg())} = {rng.choice(('be16', 'be32', 'be64', 'le16', 'le32', 'bswap16', 'bswap64'))} r{r}",
        lambda: f"*(u{rng.choice((8, 16, 32, 64))} *)(r10 - {rng.choice((8, 12, 16))}) = {{1}}{reg()}",
        lambda: f"r{reg()} = *({rng.choice('us')}{rng.choice((8, 16, 32))} *)(r10 - {rng.choice((8, 12, 16))})",
        lambda: f"r{reg()} = *(u64 *)(r10 - {rng.choice((8, 16))})",
        lambda: "w0 = 1\nexit" if rng.random() < 0.3 else f"r0 ^= r{reg()}", lambda: f"goto +{rng.randint(0, 3)}",
        *[lambda: f"if {rng.choice('rw')}{reg()} {rng.choice(('==', '!=', '>', '<', '>=', '<=', '&', 's>', 's<'))} {number()} goto +{rng.randint(0, 6)}"] * 5,
        lambda: f"if w{reg()} {rng.choice(('==', '!=', '>', '<', '&'))} w{reg()} goto +{rng.randint(0, 6)}"))()


def program(rng: random.Random) -> bytes:
    lines = []
    for _ in range(rng.randint(3, 30)):
        line = drawn(rng)
        if "{0}" in line:
            line = line.replace("{0}", line[0])
        if "{1}" in line:
            line = line.replace("{1}", "r" if line.startswith("*(u64") else "w")
        lines.append(line)
    end = [f"r0 ^= r{reg}" for reg in rng.sample(range(3, 8), 5)]
    return assemble("\n".join([BEGIN.strip(), "w6 = 1", "w7 = 2", "*(u64 *)(r10 - 8) = r4", "*(u64 *)(r10 - 16) = r3", *lines, *["r0 += r3"] * 7,
                               *end, "exit"]))


@pytest.mark.parametrize("group", range(8))
def test_any_code_means_the_same(group):
    decided = 0
    for seed in range(100 * group, 100 * group + 100):
        rng = random.Random(seed)
        text = program(rng)
        lines = read(text, [])
        decided += decide_by_bits(lines)
        sweep(lines)
        alone, together = write(lines)[0], improve(text, [])[0]
        for one in (bytes(rng.choice((0, 1, 2, 4, 255, rng.randint(0, 255))) for _ in range(3)) for _ in range(6)):
            before = run_raw(text, ctx=one)
            for better in (alone, together):
                after = run_raw(better, ctx=one)
                assert (after.error, after.r0, after.ctx) == (before.error, before.r0, before.ctx), seed
                assert after.insns <= before.insns, seed
    assert decided >= 20


def test_what_is_known_of_nothing():
    known = Known()
    lines = read(assemble("r6 = r3\nr6 &= 1\nexit"), [])
    assert not decide_by_bits(lines) and len(list(facts(lines))) == 3
    assert not known.meet(Known())
