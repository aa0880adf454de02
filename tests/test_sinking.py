"""What only one of two ways needs is made on that way; the meaning stays, and no way executes more."""
from __future__ import annotations

import random

import pytest

from lpn.compiler.asm import assemble
from lpn.compiler.passes.flow import liveness
from lpn.compiler.passes.peephole import improve
from lpn.compiler.passes.rewrite import read, sweep, write
from lpn.compiler.passes.sinking import sink
from lpn.runtime.raw import run_raw

BEGIN = "r3 = *(u8 *)(r1 + 0)\nr4 = *(u8 *)(r1 + 1)\nr5 = *(u8 *)(r1 + 2)\nw0 = 9\n*(u64 *)(r10 - 8) = r4\n"
CASES = {                                       # code, instructions executed less on the ways that are tried
    "on": ("r6 = r4\nr6 += 7\nif w3 == 1 goto A\nr0 = r6\nexit\nA: r0 = 2\nexit", 2),
    "where it jumps": ("r6 = r4\nif w3 == 1 goto A\nr0 = 2\nexit\nA: r0 = r6\nexit", 1),
    "a reload": ("r6 = *(u64 *)(r10 - 8)\nif w3 == 1 goto A\nr0 = r6\nA: exit", 1),
    "over a store of another slot": ("r6 = *(u64 *)(r10 - 8)\n*(u64 *)(r10 - 16) = r5\nif w3 == 1 goto A\nr0 = r6\nA: exit", 1),
    "not over a store of its slot": ("r6 = *(u64 *)(r10 - 8)\n*(u32 *)(r10 - 4) = w3\nif w3 == 1 goto A\nr0 = r6\nA: exit", 0),
    "a load, not over a store": ("r6 = *(u8 *)(r1 + 1)\n*(u8 *)(r1 + 1) = w3\nif w3 == 1 goto A\nr0 = r6\nA: exit", 0),
    "a load, over a spill": ("r6 = *(u8 *)(r1 + 1)\n*(u64 *)(r10 - 16) = r5\nif w3 == 1 goto A\nr0 = r6\nA: exit", 1),
    "not where the stack has another name": ("r2 = r10\nr6 = *(u64 *)(r10 - 8)\n*(u64 *)(r2 - 8) = r5\nif w3 == 1 goto A\nr0 = r6\nA: exit", 0),
    "not what is tested": ("r6 = r4\nif w6 == 1 goto A\nr0 = r6\nA: exit", 0),
    "not what both need": ("r6 = r4\nr0 = 5\nif w3 == 1 goto A\nr0 += r6\nexit\nA: r0 -= r6\nexit", 0),
    "not of what changes": ("r6 = r4\nr4 = r5\nif w3 == 1 goto A\nr0 = r6\nr0 += r4\nexit\nA: r0 = r4\nexit", 0),
    "not where another way leads": ("w6 = 4\nif w4 == 7 goto B\nw6 = 5\nif w3 == 1 goto A\nB: r0 += r6\nr0 += r3\nA: exit", 0),
    "not above a place between": ("w6 = 4\nif w4 == 7 goto B\nw6 = 5\nB: r5 = 1\nif w3 == 1 goto A\nr0 = r6\nA: r0 += r5\nexit", 0),
    "not above a test that others come to": ("w6 = 4\nif w4 == 7 goto B\nw6 = 5\nB: if w3 == 1 goto A\nr0 = r6\nA: exit", 0),
    "not into the next turn": ("w6 = 0\nL: r7 = r6\nw6 += 1\nif w6 < 9 goto L\nr0 = r7\nexit", 0),
    "not a step of the loop": ("w6 = 0\nL: w6 += 1\nr7 = r6\nif w5 > 200 goto A\nif w6 < 9 goto L\nA: r0 = r7\nexit", 0),
    "from where it was jumped to": ("if w4 == 7 goto B\nw5 = 3\nB: r6 = r4\nif w3 == 1 goto A\nr0 = r6\nA: exit", 1),
}
INPUTS = [bytes(given) for given in ((1, 2, 3), (2, 2, 3), (1, 7, 3), (2, 7, 9), (1, 0, 220))]


@pytest.mark.parametrize("name", CASES)
def test_where_it_is_needed(name):
    code, less = CASES[name]
    text = assemble(BEGIN + code)
    lines = read(text, [])
    changed = sink(lines)
    sweep(lines)
    better, _ = write(lines)
    ran = [(run_raw(text, ctx=one), run_raw(better, ctx=one)) for one in INPUTS]
    assert [after.r0 for _, after in ran] == [before.r0 for before, _ in ran]
    assert max(before.insns - after.insns for before, after in ran) == less and all(after.insns <= before.insns for before, after in ran)
    assert len(better) == len(text) and changed == (better != text)


def test_what_is_read_on_one_way_is_left_there():
    """The second value is of the first one: where that goes, it may be read."""
    text = assemble(BEGIN + "r6 = r4\nr6 += 1\nr7 = r6\nif w3 == 1 goto A\nr0 = r7\nexit\nA: r0 = r6\nexit")
    better, _ = improve(text, [])
    for one in INPUTS:
        assert run_raw(better, ctx=one).r0 == run_raw(text, ctx=one).r0
    assert liveness(read(better, []))[0][0] & ~(1 << 1 | 1 << 10) == 0


def drawn(rng: random.Random) -> str:
    """An instruction, every third one a jump."""
    def reg() -> int:
        return rng.randint(3, 7)
    def octet() -> int:
        return rng.randint(0, 2)
    return rng.choice((
        lambda: f"r{reg()} = r{reg()}", lambda: f"w{reg()} += {rng.randint(1, 3)}", lambda: f"w{reg()} = {rng.randint(0, 3)}", lambda: f"w{reg()} ^= w{reg()}",
        lambda: f"r{reg()} = *(u8 *)(r1 + {octet()})", lambda: f"*(u8 *)(r1 + {octet()}) = w{reg()}",
        lambda: f"*(u64 *)(r10 - {rng.choice((8, 12, 16))}) = r{reg()}", lambda: f"r{reg()} = *(u64 *)(r10 - {rng.choice((8, 16))})",
        lambda: "w0 = 1\nexit" if rng.random() < 0.3 else f"r0 += r{reg()}", lambda: f"goto +{rng.randint(0, 3)}",
        *[lambda: f"if w{reg()} {rng.choice(('==', '!=', '>', '&'))} {rng.randint(0, 3)} goto +{rng.randint(0, 6)}"] * 3))()


@pytest.mark.parametrize("group", range(8))
def test_any_code_means_the_same(group):
    """Three of the groups have a program that means something else where a branch may be one that others jump to."""
    moved = 0
    for seed in range(50 * group, 50 * group + 50):
        rng = random.Random(seed)
        lines = [drawn(rng) for _ in range(rng.randint(3, 26))]
        end = [f"r0 += r{reg}" for reg in rng.sample(range(3, 8), rng.randint(1, 4))]
        text = assemble("\n".join([BEGIN.strip(), "w6 = 1", "w7 = 2", "*(u64 *)(r10 - 16) = r3", *lines, *end, *["r0 += r3"] * 8, "exit"]))
        lines = read(text, [])
        moved += sink(lines)
        sweep(lines)
        alone, together = write(lines)[0], improve(text, [])[0]
        for one in (bytes(rng.choice((0, 1, 2, 3, rng.randint(0, 255))) for _ in range(3)) for _ in range(6)):
            before = run_raw(text, ctx=one)
            for better in (alone, together):
                after = run_raw(better, ctx=one)
                assert (after.error, after.r0, after.ctx) == (before.error, before.r0, before.ctx), seed
                assert after.insns <= before.insns, seed
    assert moved >= 8
