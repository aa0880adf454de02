"""Whether the highest bits of a number are these is asked of its bounds; the meaning stays, and no way executes more."""
from __future__ import annotations

import pytest

from lpn.compiler.asm import assemble
from lpn.compiler.passes.high_bits import compare_bounds
from lpn.compiler.passes.peephole import improve
from lpn.compiler.passes.rewrite import read, write
from lpn.runtime.raw import run_raw
from pass_programs import nearly_alike

BEGIN = "r3 = *(u8 *)(r1 + 0)\nr4 = *(u8 *)(r1 + 1)\nr0 = 9\n"
TEST = "w5 = w3\nw5 &= {}\nif w5 {} {} goto A\n"
END = "r0 = 7\nr0 += r3\nA: exit"
DEAD = "r0 = 7\nA: exit"
SHARED = "if w4 == 1 goto B\n{}B: r0 = 7\nr0 += r3\nA: exit"
CASES = {                                       # code, slots less
    "not these": (TEST.format(0xf0, "!=", 0x40) + END, 1),
    "not these, which are the highest": (TEST.format(0xf0, "!=", 0xf0) + END, 2),
    "these, which are the highest": (TEST.format(0xf0, "==", 0xf0) + END, 2),
    "none": (TEST.format(0xf0, "==", 0) + END, 2),
    "some": (TEST.format(0xf0, "!=", 0) + END, 2),
    "these, where others come to what is behind": (SHARED.format(TEST.format(0xe0, "==", 0x60)), 1),
    "not these, where what is behind would be a new place": (TEST.format(0xe0, "==", 0x60) + END, 0),
    "the highest of what nobody needs": ("w3 &= 0xf0\nif w3 == 0xf0 goto A\n" + DEAD, 1),
    "not others of that": ("w3 &= 0xf0\nif w3 != 0x40 goto A\n" + DEAD, 0),
    "not with bits above": (TEST.format(0x70, "!=", 0x40) + END, 0),
    "not with bits between": (TEST.format(0xb0, "!=", 0x90) + END, 0),
    "of fewer bits": ("w3 &= 0x7f\n" + TEST.format(0x70, "!=", 0x40) + END, 1),
    "not what is needed again": (TEST.format(0xf0, "!=", 0x40) + END.replace("r0 += r3", "r0 += r5"), 0),
    "not what has changed since": (TEST.format(0xf0, "!=", 0x40).replace("if", "w3 += 1\nif") + END, 0),
    "not what can never be": (TEST.format(0xf0, "!=", 0x41) + END, 0),
    "not of what may be more": ("w3 += 1\n" + TEST.format(0xf0, "!=", 0x40) + END, 0),
    "not where others come to the mask": (f"w5 = w4\nif w4 == 1 goto B\nw5 = w3\nB: w5 &= 0xf0\nif w5 != 0x40 goto A\n{END}", 0),
}


def ran(text: bytes) -> list[tuple]:
    results = [run_raw(text, ctx=bytes([value, other, 0]), fuel=3000) for value in range(0, 256, 5) for other in (0, 1, 64)]
    return [(result.error, result.r0, result.insns) for result in results]


def bettered(lines: list) -> bytes:
    compare_bounds(lines)
    return write(lines)[0]


@pytest.mark.parametrize("name", CASES)
def test_by_its_bounds(name: str) -> None:
    code, less = CASES[name]
    text = assemble(BEGIN + code)
    better = bettered(read(text, []))
    assert (len(text) - len(better)) // 8 == less
    for shorter in (better, improve(text, [])[0]):
        for before, after in zip(ran(text), ran(shorter)):
            assert after[:2] == before[:2] and after[2] <= before[2]


def test_what_is_nearly_the_same() -> None:
    """One or two things are changed in what is done: it means what it meant, whether or not it is still done."""
    done = {False: 0, True: 0}
    for told, lines in nearly_alike([BEGIN + code for code, less in CASES.values() if less], 400, range(4, 9)):
        text, _ = write(lines)
        better = bettered(lines)
        done[len(better) < len(text)] += 1
        for before, after in zip(ran(text), ran(better)):
            assert before[0] != "ok" or after[:2] == before[:2] and after[2] <= before[2], told
    assert min(done.values()) > 10, done
