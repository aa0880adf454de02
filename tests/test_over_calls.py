"""What was loaded before a call is not loaded again behind it, where the helper has not written it; the meaning stays."""
from __future__ import annotations

import pytest

from lpn.compiler.asm import assemble
from lpn.compiler.passes.over_calls import keep_over_calls
from lpn.compiler.passes.peephole import improve
from lpn.compiler.passes.rewrite import read, write
from lpn.runtime.raw import run_raw

BEGIN = "r6 = r1\n"
AGAIN = "w3 = *(u8 *)(r6 + 1)\nw0 = w3\nexit"
CASES = {                                       # code that calls what writes nothing, loads less
    "again": ("w2 = *(u8 *)(r6 + 1)\nif w2 < 2 goto A\nr1 = 7\nr2 = 1\ncall 3\n" + AGAIN + "\nA: w0 = 9\nexit", 1),
    "again, behind a branch": ("w2 = *(u8 *)(r6 + 1)\nif w2 == 2 goto A\nr1 = 7\nr2 = 1\ncall 3\nif w0 == 0 goto B\n"
                               "w0 = 5\nexit\nA: w0 = 9\nexit\nB: " + AGAIN, 1),
    "on two ways": ("w2 = *(u8 *)(r6 + 1)\nr1 = r2\nr2 = 3\ncall 3\nw4 = *(u8 *)(r6 + 0)\nif w4 == 1 goto B\n" + AGAIN
                    + "\nB: w3 = *(u8 *)(r6 + 1)\nw0 = w3\nw0 += 1\nexit", 2),
    "changed behind it": ("w2 = *(u8 *)(r6 + 1)\nr1 = r2\nr2 = 3\ncall 3\nw3 = *(u8 *)(r6 + 1)\nw3 += -1\n*(u8 *)(r6 + 1) = w3\n" + AGAIN, 1),
    "eight octets": ("r2 = *(u64 *)(r6 + 0)\nr1 = r2\nr2 = 3\ncall 3\nr0 = *(u64 *)(r6 + 0)\nexit", 1),
    "not behind a store": ("w2 = *(u8 *)(r6 + 1)\nr1 = r2\nr2 = 3\ncall 3\n*(u8 *)(r6 + 1) = 7\n" + AGAIN, 0),
    "not behind a store before the call": ("w2 = *(u8 *)(r6 + 1)\n*(u8 *)(r6 + 1) = w2\nw2 += 5\n*(u8 *)(r6 + 1) = w2\nr1 = 1\ncall 3\n" + AGAIN, 0),
    "not where the pointer has moved": ("w2 = *(u8 *)(r6 + 1)\nr1 = r2\nr2 = 3\ncall 3\nr6 += 1\n" + AGAIN, 0),
    "not other octets": ("w2 = *(u8 *)(r6 + 2)\nr1 = r2\nr2 = 3\ncall 3\n" + AGAIN, 0),
    "not more of them": ("w2 = *(u16 *)(r6 + 1)\nr1 = r2\nr2 = 3\ncall 3\n" + AGAIN, 0),
    "not where another way leads in": ("w2 = *(u8 *)(r6 + 0)\nif w2 == 1 goto A\nw2 = *(u8 *)(r6 + 1)\nif w2 == 9 goto A\n*(u8 *)(r6 + 0) = w2\n"
                                       "A: r1 = 1\nr2 = 3\ncall 3\n" + AGAIN, 0),
    "not what the helper is given": ("w2 = *(u8 *)(r6 + 1)\nr1 = 4\ncall 3\n" + AGAIN, 0),
    "not what is needed where ways meet": ("w2 = *(u8 *)(r6 + 1)\nw4 = *(u8 *)(r6 + 0)\nif w4 == 1 goto B\nr1 = r2\nr2 = 3\ncall 3\n"
                                           "w3 = *(u8 *)(r6 + 1)\nw2 = w3\n*(u8 *)(r6 + 1) = 7\nB: w0 = w2\nexit", 0),
    "not what is changed for another use": ("w2 = *(u8 *)(r6 + 1)\nw2 += 3\nr1 = r2\nr2 = 3\ncall 3\n" + AGAIN, 0),
    "not where all registers are used": ("r7 = 1\nr8 = 2\nr9 = 3\nw2 = *(u8 *)(r6 + 1)\nr1 = r2\nr2 = 3\ncall 3\nw3 = *(u8 *)(r6 + 1)\nr0 = r7\nr0 += r8\n"
                                         "r0 += r9\nr0 += r3\nexit", 0),
    "not without a call": ("w2 = *(u8 *)(r6 + 1)\nw4 = w2\n" + AGAIN, 0),
}
INPUTS = [bytes(given).ljust(8, b"\5") for given in ((1, 2, 3), (2, 1, 3), (1, 0, 7), (3, 200, 9), (0, 9, 220))]


def kept(text: bytes) -> tuple[bytes, bool]:
    code, changed = read(text, []), False
    while keep_over_calls(code):
        changed = True
    return write(code)[0], changed


def loads(text: bytes) -> int:
    return sum(line.insn.is_load for line in read(text, []))


@pytest.mark.parametrize("name", CASES)
def test_what_writes_nothing(name):
    code, less = CASES[name]
    text = assemble(BEGIN + code)
    better, changed = kept(text)
    for other in (better, improve(text, [])[0]):
        ran = [(run_raw(text, ctx=one), run_raw(other, ctx=one)) for one in INPUTS]
        assert all(before.error == "ok" and (after.error, after.r0, after.ctx) == ("ok", before.r0, before.ctx) for before, after in ran)
        assert all(after.insns <= before.insns for before, after in ran)
    assert (loads(text) - loads(better), changed) == (less, bool(less))


LOOKUP = """r6 = r1
w1 = *(u8 *)(r6 + 21)
if w1 < 2 goto A
r2 = r6
r2 += 46
r1 = 0x60800
r3 = r6
call 1
w1 = *(u8 *)(r6 + 21)
w1 += -1
*(u8 *)(r6 + 21) = w1
A: w0 = 3
exit
"""
OTHERS = {                                      # what is different, whether it is kept
    "as it is": ("", "", True),
    "up to it": ("r1 = 0x60800", "r1 = 0x150800", True),
    "it, too": ("r1 = 0x60800", "r1 = 0x160800", False),
    "farther": ("r3 = r6", "r3 = r6\nr3 += 16", False),
    "another pointer": ("r3 = r6", "r3 = *(u64 *)(r6 + 0)", False),
    "half a pointer": ("r3 = r6", "w3 = w6", False),
    "a number that is not known": ("r1 = 0x60800", "r1 = r4", False),
    "a number on one way": ("r1 = 0x60800", "r1 = 0x60800\nif w4 == 8 goto B\nr1 = 0x1e0800\nB: w0 = 1", False),
    "a pointer from before": ("r6 = r1\n", "r3 = r1\nr6 = r1\nr6 += 8\n", False),
    "one that may write all": ("call 1", "call 11", False),
    "a load of a sign": ("w1 = *(u8 *)(r6 + 21)", "r1 = *(s8 *)(r6 + 21)", False),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_a_lookup_writes(name):
    old, new, same = OTHERS[name]
    source = LOOKUP.replace(old, new) if old else LOOKUP
    if name == "a pointer from before":
        source = source.replace("r3 = r6\n", "")
    assert old == "" or source != LOOKUP
    assert kept(assemble(source))[1] == same
