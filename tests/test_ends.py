"""One comparison for two ways, a result in front of its branch; the meaning stays, and a way executes one instruction more at most for each."""
from __future__ import annotations

from collections import Counter

import pytest

from lpn.compiler.asm import assemble
from lpn.compiler.passes.ends import shorten_ends
from lpn.compiler.passes.peephole import improve
from lpn.compiler.passes.rewrite import read, sweep, write
from lpn.runtime.raw import RawResult, run_raw
from pass_programs import nearly_alike

BEGIN = "r6 = 1000\nr1 = *(u16 *)(r1 + 0)\nr2 = r1\nr2 += 1000\nr1 &= 7\n"
TWO = "if r1 == 3 goto T\nr3 = r6\nr3 += 14\nif r3 > r2 goto S\n{on}r0 = r6\nexit\nT: r3 = r6\nr3 += 40\nif r3 <= r2 goto {to}\nS: r0 = 1\nr0 += 1\nexit"
ASKED = "r0 = r2\nif r1 == 3 goto E\nif {} goto A\nr0 = 1\nexit\nA: r0 = 7\nM: if {} goto E\nr0 = {}\nexit\nE: exit"
CASES = {                                       # code, slots less
    "two ways": (TWO.format(on="O: ", to="O"), 2),
    "which lead elsewhere": (TWO.format(on="", to="P").replace("\nT: ", "\nP: r0 = 5\nr0 += r2\nexit\nT: "), 0),
    "of places in other distances to the same end": (TWO.format(on="O: ", to="O").replace("+= 40", "+= 14"), 2),
    "with the end first": (TWO.format(on="O: ", to="O").replace("r3 > r2", "r2 < r3"), 2),
    "with two registers": (TWO.format(on="O: ", to="O").replace("T: r3 = r6\nr3 += 40\nif r3 <= r2", "T: r4 = r6\nr4 += 40\nif r2 >= r4"), 2),
    "not at another end": (TWO.format(on="O: ", to="O").replace("if r3 <= r2", "if r3 <= r1"), 0),
    "not from another base": (TWO.format(on="O: ", to="O").replace("T: r3 = r6", "T: r3 = r2"), 0),
    "not where equal is another answer": (TWO.format(on="O: ", to="O").replace("if r3 <= r2", "if r3 < r2"), 0),
    "not where the place is used": (TWO.format(on="O: ", to="O").replace("r0 = r6\n", "r0 = r3\n"), 0),
    "not where others come to it": (TWO.format(on="O: ", to="O").replace("if r1 == 3 goto T", "if r1 == 5 goto T\nif r1 == 3 goto T"), 0),
    "not where somebody comes into it": (TWO.format(on="O: ", to="O").replace("if r1 == 3 goto T\nr3 = r6", "r3 = r2\nif r1 == 1 goto U\nif r1 == 3 goto T\nr3 = r6")
                                         .replace("r3 += 14", "U: r3 += 14"), 0),
    "where the branch is jumped to": ("if r1 == 7 goto B\nr6 += 3\nB: " + TWO.format(on="O: ", to="O"), 2),
    "a result for one branch": ("if r1 == 3 goto A\nr0 = r2\nexit\nA: w0 = 7\nexit", 1),
    "for one that others jump over": ("if r1 == 1 goto B\nif r1 == 3 goto A\nB: r0 = r2\nexit\nA: w0 = 7\nexit", 1),
    "for one that others jump to": ("if r1 == 1 goto B\nr2 += 8\nB: if r1 == 3 goto A\nr0 = r2\nexit\nA: w0 = 7\nexit", 1),
    "not for two branches": ("if r1 == 1 goto A\nif r1 == 3 goto A\nr0 = r2\nexit\nA: w0 = 7\nexit", 0),
    "not where there is a result": ("r0 = r2\nif r1 == 3 goto A\nexit\nA: w0 = 7\nexit", 0),
    "not where it is asked": ("r0 = r1\nif r0 == 3 goto A\nr0 = r2\nexit\nA: w0 = 7\nexit", 0),
    "not what runs into it": ("if r1 == 3 goto A\nif r1 == 4 goto C\nw2 += 1\nA: w0 = 7\nexit\nC: r0 = r2\nexit", 0),
    "not without another end": ("L: r2 += -1\nif r2 == 0 goto A\ngoto L\nA: w0 = 7\nexit", 0),
    "what is asked twice with one end": (ASKED.format("r1 <= 5", "r1 <= 5", 1), 3),
    "where others come to the second": ("if r1 == 2 goto M\n" + ASKED.format("r1 <= 5", "r1 <= 5", 1), 3),
    "not what is asked otherwise": (ASKED.format("r1 <= 5", "r1 < 5", 1), 0),
    "not with two ends": (ASKED.format("r1 <= 5", "r1 <= 5", 3), 0),
    "not where others come to the result": ("if r1 == 2 goto A\n" + ASKED.format("r1 <= 5", "r1 <= 5", 1), 0),
    "not what has to be computed": ("if r1 == 3 goto A\nr0 = r2\nexit\nA: r0 = r1\nexit", 0),
}
INPUTS = [value.to_bytes(2, "little") for value in (0, 1, 3, 4, 5, 7, 13, 14, 15, 19, 27, 35, 39, 40, 41, 43, 47, 51, 500)]


@pytest.mark.parametrize("name", CASES)
def test_ends(name: str) -> None:
    code, less = CASES[name]
    text = assemble(BEGIN + code)
    lines = read(text, [])
    shorten_ends(lines)
    better, _ = write(lines)
    for shorter in (better, improve(text, [], small=True)[0]):
        ran = [(run_raw(text, ctx=one), run_raw(shorter, ctx=one)) for one in INPUTS]
        assert [after.r0 for _, after in ran] == [before.r0 for before, _ in ran]
        assert all(after.insns <= before.insns + 1 for before, after in ran)
    assert (len(text) - len(better)) // 8 == less


def test_what_is_nearly_the_same() -> None:
    """One or two things are changed in what is done: it means what it meant, whether or not it is still done."""
    done: Counter[int] = Counter()
    for told, lines in nearly_alike([BEGIN + code for code, less in CASES.values() if less], 600, range(5, 14)):
        text, _ = write(lines)
        shorten_ends(lines)
        better, _ = write(lines)
        done[(len(text) - len(better)) // 8] += 1
        for one in INPUTS:
            before = ended(text, one)
            assert before.error != "ok" or ended(better, one).r0 == before.r0, told
    assert min(done[less] for less in range(4)) > 20, done


def ended(text: bytes, given: bytes) -> RawResult:
    return run_raw(text, ctx=given, fuel=3000)


def test_only_short_code_is_so() -> None:
    text = assemble(BEGIN + CASES["two ways"][0])
    assert len(improve(text, [])[0]) == len(improve(text, [], small=True)[0]) + 8       # a copy that both ways begin with is one in any code
    lines = read(text, [])
    sweep(lines)
    assert write(lines)[0] == text
