"""What short code has once, and not on each of two ways; the meaning stays."""
from __future__ import annotations

from collections import Counter

import pytest

from lpn.compiler.asm import assemble
from lpn.compiler.passes.begins import merge_begins
from lpn.compiler.passes.copies import read_originals
from lpn.compiler.passes.known_bits import decide_by_bits, drop_constants
from lpn.compiler.passes.made_once import make_once
from lpn.compiler.passes.peephole import improve
from lpn.compiler.passes.placement import place_beside
from lpn.compiler.passes.rewrite import read, sweep, write
from lpn.compiler.passes.stored import store_once
from lpn.compiler.passes.tails import merge_tails
from lpn.runtime.raw import run_raw
from lpn.verifier import PROFILES, verify
from pass_programs import nearly_alike

BEGIN = "r6 = 1000\nr2 = *(u16 *)(r1 + 0)\nr7 = r2\nr2 &= 7\nr3 = 5\nr4 = 9\n"
TWO = "r3 = r6\nr3 += 3\n{}if r2 == 3 goto T\nL: r0 = r3\n{}exit\nT: r3 = r6\nr3 += 5\n{}goto {}"
STORE, LOAD = "*(u64 *)(r10 - 8) = r3\n", "r4 = *(u64 *)(r10 - 8)\nr0 += r4\n"
ONCE_MORE = "r3 += r7\nr4 += r7\nr3 += 1\n{}\nif r2 == 3 goto T\nL: r0 = r3\nr0 += r4\nr0 += r7\nexit\nT: r3 += 5\n{}\ngoto L"
MET = "r3 = r7\n*(u64 *)(r10 - 8) = r3\n{}if r2 == 3 goto L\nr3 += 2\n*(u64 *)(r10 - 8) = r3\nL: r4 = *(u64 *)(r10 - 8)\nr0 = r4\nr0 += r3\nexit"
SIDE = "if r2 {} 3 goto T\nL: r0 = r3\nr0 += r4\nexit\nT: r3 += 7\nr4 = 1\ngoto {}"
MOVED = "r8 = r1\nr8 += 1\n"
LOADS = "if r2 == 3 goto T\nr3 = *(u8 *)({0} + 0)\nr0 = r3\nexit\nT: r3 = *(u8 *)({0} + 0)\nr0 = r3\nr0 += 1\nexit"
WRITES = "r0 = 4\nif r2 == 3 goto T\nr0 += 1\n*(u8 *)(r1 + 1) = w3\ngoto E\nT: r0 += 2\n*(u8 *)(r1 + 1) = w3\nE: exit"
TWICE = "if r2 == 3 goto T\nif r7 > 4 goto E\nr0 = 1\nexit\nT: if r7 > 4 goto E\nr0 = 2\nexit\nE: r0 = 3\nexit"
CASES = {                                       # a pass, code, slots less
    "one of two numbers": (make_once, TWO.format("", "", "", "L"), 2),
    "what is done with it": (make_once, TWO.format(STORE, LOAD, STORE, "L"), 3),
    "not what is done otherwise": (make_once, TWO.format(STORE, LOAD, STORE.replace("r3", "r4"), "L"), 0),
    "not of another place": (make_once, TWO.format("", "", "", "L").replace("T: r3 = r6", "T: r3 = r7"), 0),
    "not where more is asked of it": (make_once, TWO.format("", "", "", "L").replace("if r2", "if r3"), 0),
    "not where others come to it": (make_once, "if r2 == 1 goto T\n" + TWO.format("", "", "", "L"), 0),
    "not where others come to the branch": (make_once, "if r2 == 1 goto B\n" + TWO.format("", "", "", "L").replace("if r2 == 3", "B: if r2 == 3"), 0),
    "not where it goes elsewhere": (make_once, TWO.format("", "", "", "M").replace("exit\n", "M: r0 = r4\nexit\n"), 0),
    "where others come to the first": (make_once, "if r2 == 1 goto A\nr6 = 7\nA: " + TWO.format("", "", "", "L"), 2),
    "not a number that comes to another": (make_once, TWO.format("", "", "", "L").replace("r3 += 5", "r3 -= 5"), 0),
    "not where one branches": (make_once, "if r7 > 4 goto A\nr3 = r6\nr3 += 3\nif r2 == 3 goto T\nL: r0 = r3\nexit\nA: r0 = 1\nexit\n"
                               "T: if r7 > 4 goto L\nr3 = r6\nr3 += 5\ngoto L", 0),
    "not what is added to": (make_once, ONCE_MORE.format("r3 &= 255", "r3 &= 255"), 0),
    "not what is counted beside it": (make_once, ONCE_MORE.format("r4 += 1", "r4 += 1").replace("r3 += 1\n", "r3 = r6\nr3 += 1\n").replace("r3 += 5\n", "r3 = r6\nr3 += 5\n"), 0),
    "not a number that is stored and loaded": (make_once, "*(u64 *)(r10 - 8) = r7\n" + ONCE_MORE.format("*(u64 *)(r10 - 8) = r3", "*(u64 *)(r10 - 8) = r3").replace(
        "r3 += 1\n", "r3 = *(u64 *)(r10 - 8)\nr3 += 1\n").replace("r3 += 5\n", "r3 = *(u64 *)(r10 - 8)\nr3 += 5\n"), 0),
    "a store where ways meet": (store_once, MET.format(""), 1),
    "not of another register": (store_once, MET.format("").replace("= r3\nL:", "= r4\nL:"), 0),
    "not of one that is changed": (store_once, MET.format("r3 += 1\n"), 0),
    "not what is read before": (store_once, MET.format("r5 = *(u64 *)(r10 - 8)\nr7 += r5\n").replace("r0 += r3", "r0 += r7"), 0),
    "not of another slot": (store_once, MET.format("").replace("r10 - 8) = r3\nL:", "r10 - 16) = r3\nL:"), 0),
    "a way that comes back": (place_beside, SIDE.format("==", "L"), 1),
    "not one that goes on elsewhere": (place_beside, SIDE.format("==", "M").replace("r0 += r4", "M: r0 += r4"), 0),
    "not of a test that has no opposite": (place_beside, SIDE.format("&", "L"), 0),
    "not of two": (place_beside, "if r2 == 1 goto T\n" + SIDE.format("==", "L"), 0),
    "not what runs into it": (place_beside, SIDE.format("==", "L").replace("exit\n", "r0 += 1\nif r7 == 1 goto U\n").replace("goto L", "goto L\nU: exit"), 0),
    "the same first": (merge_begins, "if r2 == 3 goto T\nr3 = r6\nr0 = r3\nexit\nT: r3 = r6\nr0 = r3\nr0 += 1\nexit", 2),
    "not what is asked": (merge_begins, "if r2 == 3 goto T\nr2 = r6\nr0 = r2\nexit\nT: r2 = r6\nr2 += 1\nr0 = r2\nexit", 0),
    "not what is there for others": (merge_begins, "if r7 == 4 goto T\nif r2 == 3 goto T\nr3 = r6\nr0 = r3\nexit\nT: r3 = r6\nr0 = r3\nr0 += 1\nexit", 0),
    "not a place that has to be proved": (merge_begins, MOVED + LOADS.format("r8"), 0),
    "a place of the context": (merge_begins, LOADS.format("r1"), 2),
    "by a copy of its pointer": (merge_begins, "r8 = r1\n" + LOADS.format("r8"), 2),
    "not by one that some ways move": (merge_begins, "r8 = r1\nif r7 == 9 goto B\nr8 += 1\nB: " + LOADS.format("r8"), 0),
    "what is written there": (merge_begins, LOADS.format("r1").replace("r3 = *(u8 *)(r1 + 0)", "*(u8 *)(r1 + 0) = 9"), 2),
    "not another octet": (merge_begins, LOADS.format("r1").replace("T: r3 = *(u8 *)(r1 + 0)", "T: r3 = *(u8 *)(r1 + 1)"), 0),
    "not what the branch asks of": (merge_begins, LOADS.format("r1").replace("r3 = *(", "r2 = *("), 0),
    "a call that is given nothing": (merge_begins, "r7 = r2\nif r7 == 3 goto T\ncall 2\nr0 = 1\nexit\nT: call 2\nr0 = 2\nexit", 1),
    "not one that is given something": (merge_begins, "r7 = r2\nr1 = 1\nr2 = 2\nr3 = 3\nr4 = 4\nr5 = 5\n"
                                         "if r7 == 3 goto T\ncall 3\nr0 = 1\nexit\nT: call 3\nr0 = 2\nexit", 0),
    "not one whose results the branch asks of": (merge_begins, "call 2\nr0 &= 1\nif r0 == 1 goto T\ncall 2\nr0 = 1\nexit\nT: call 2\nr0 = 2\nexit", 0),
    "the same written at last": (merge_tails, WRITES, 1),
    "by the pointer that the context has": (merge_tails, WRITES.replace("if r2", "r8 = *(u64 *)(r1 + 24)\nif r2").replace("(r1 + 1)", "(r8 + 1)"), 1),
    "not to another octet": (merge_tails, WRITES.replace("(r1 + 1) = w3\nE", "(r1 + 0) = w3\nE"), 0),
    "not where one of two pointers is moved": (merge_tails, "r8 = r1\n" + WRITES.replace("(r1 + 1)", "(r8 + 1)").replace("T: r0 += 2", "T: r8 += 1"), 0),
    "not by another pointer that the context has": (merge_tails, WRITES.replace("if r2", "r8 = *(u64 *)(r1 + 0)\nif r2").replace("(r1 + 1)", "(r8 + 1)"), 0),
    "not a branch, which leads elsewhere": (merge_begins, "if r2 == 3 goto T\nif r7 > 4 goto A\nr0 = 1\nexit\nT: if r7 > 4 goto B\nr0 = 2\nexit\n"
                                            "A: r0 = 3\nexit\nB: r0 = 4\nexit", 0),
    "a branch that leads to one place": (merge_begins, TWICE, 1),
    "not one that asks otherwise": (merge_begins, TWICE.replace("T: if r7 > 4", "T: if r7 > 5"), 0),
    "not where others come to the second of two comparisons": (merge_begins, "if r7 == 9 goto T\n" + TWICE, 0),
    "one that leads back": (merge_begins, "if r7 == 9 goto E\nr1 = 9\nL: r1 += -1\n" + TWICE.replace("goto E", "goto L").replace("r7 > 4", "r1 > 4"), 1),
    "a constant that is there": (drop_constants, "w5 = 0\nif r2 == 3 goto T\nw5 = 0\nr0 = r5\nexit\nT: r0 = 1\nr0 += r5\nexit", 1),
    "not where it may be another": (drop_constants, "w5 = 0\nif r2 == 3 goto T\nw5 = 1\nT: w5 = 0\nr0 = r5\nexit", 0),
    "a copy that is there": (read_originals, "r5 = r6\nif r2 == 3 goto T\nr5 = r6\nr0 = r5\nT: r0 += r5\nexit", 1),
    "its half": (read_originals, "w5 = w6\nif r2 == 3 goto T\nw5 = w6\nT: r0 += r5\nexit", 1),
    "not with another upper half": (read_originals, "r5 = r6\nif r2 == 3 goto T\nw5 = w6\nT: r0 += r5\nexit", 0),
    "not where it may be of another": (read_originals, "r5 = r6\nif r2 == 3 goto T\nr5 = r7\nT: r5 = r6\nr0 += r5\nexit", 0),
    "not what has changed since": (read_originals, "r5 = r6\nr6 += 1\nif r2 == 3 goto T\nr5 = r6\nT: r0 += r5\nexit", 0),
    "not of another width": (drop_constants, "r5 = -1\nif r2 == 3 goto T\nw5 = -1\nT: r0 = r5\nexit", 0),
}
INPUTS = [value.to_bytes(2, "little") for value in (0, 1, 2, 3, 4, 5, 7, 9, 11, 500, 65535)]


def ran(text: bytes) -> list[tuple]:
    return [(result.error, result.r0, result.ctx) for one in INPUTS for result in (run_raw(text, ctx=one, fuel=3000),)]


@pytest.mark.parametrize("name", CASES)
def test_once(name: str) -> None:
    one, code, less = CASES[name]
    text = assemble(BEGIN + code)
    lines = read(text, [])
    sweep(lines)
    one(lines)
    sweep(lines)
    better, _ = write(lines)
    assert (len(text) - len(better)) // 8 == less
    for shorter in (better, improve(text, [], small=True)[0]):
        assert ran(shorter) == ran(text)


@pytest.mark.parametrize("pointer", ["r6 = r1", "r6 = *(u64 *)(r1 + 16)", "r6 = *(u64 *)(r1 + 24)", "r6 = *(u64 *)(r1 + 32)"])
def test_what_needs_no_proof_is_taken_where_ways_have_met(pointer: str) -> None:
    """The context, the record, the state, the output buffer; on one way r7 is another pointer than on the other."""
    text = assemble(f"{pointer}\nr3 = *(u64 *)(r1 + 0)\nr4 = *(u64 *)(r1 + 8)\nr5 = *(u32 *)(r1 + 68)\nr7 = r3\nr3 += 4\n"
                    "if r3 > r4 goto T\n*(u32 *)(r6 + 48) = 7\nw0 = *(u8 *)(r7 + 3)\nw0 &= 1\n*(u32 *)(r6 + 40) = w0\ngoto E\n"
                    "T: *(u32 *)(r6 + 48) = 7\nw0 = 2\nr7 = r6\n*(u32 *)(r6 + 40) = w0\nE: exit")
    better, _ = improve(text, [], small=True)
    assert len(text) - len(better) >= 16
    for one in (text, better):
        report = verify(one, PROFILES["lpn"], record_size=64, state_size=64)
        assert report.accepted, report.message


LESS = "r4 = *(u16 *)(r1 + 0)\nr4 -= 1\n*(u16 *)(r1 + 0) = r4\n"
FIRST = {                                       # who jumps to the first instruction is not the only one to come there
    make_once: "T: r3 = r1\nr3 += 5\ngoto L\nA: r3 = r1\nr3 += 3\nif r4 == 3 goto T\nL: {}r0 = r3\nr0 -= r1\nif r4 > 2 goto A\nexit",
    place_beside: "T: r3 = 7\nr5 = 1\ngoto L\nA: if r4 == 3 goto T\nL: {}r0 = r3\nr0 += r5\nif r4 > 2 goto A\nexit",
    merge_begins: "T: r3 = 7\n{}r5 = r3\nif r4 > 3 goto T\nr3 = 7\nr0 = r3\nr0 += r5\nexit",
}


@pytest.mark.parametrize("one", FIRST, ids=lambda one: one.__name__)
def test_what_stands_first_is_come_to(one) -> None:
    text = assemble(FIRST[one].format(LESS))
    lines = read(text, [])
    one(lines)
    sweep(lines)
    assert write(lines)[0] == text
    ways = list(zip(ran(text), ran(improve(text, [], small=True)[0])))
    assert all(one == other for one, other in ways if one[0] == "ok") and any(one[0] == "ok" for one, _ in ways)


@pytest.mark.parametrize("one", dict.fromkeys(one for one, _, _ in CASES.values()), ids=lambda one: one.__name__)
def test_what_is_nearly_the_same(one) -> None:
    """One or two things are changed in what is done: it means what it meant, whether or not it is still done."""
    done: Counter[bool] = Counter()
    for told, lines in nearly_alike([BEGIN + code for which, code, less in CASES.values() if which is one and less], 250, range(6, 16)):
        text, _ = write(lines)
        one(lines)
        sweep(lines)
        better, _ = write(lines)
        done[len(better) < len(text)] += 1
        for before, after in zip(ran(text), ran(better)):
            assert before[0] != "ok" or after == before, told
    assert min(done[False], done[True]) > 10, done


@pytest.mark.parametrize("mask", (3, 7, 15, 255))
def test_ranges(mask: int) -> None:
    """Whether a number is one of some that follow each other, of all numbers that its bits allow."""
    shorter = 0
    for first in (1, 2, 3, mask - 2, mask - 1, mask):
        for count in (1, 2, 3, mask):
            for test in ("<", "<=", ">", ">="):
                for copy in ("w5 = w3\n", ""):
                    for between in ("", "r4 = 1\n", "w3 += 1\n"):
                        asked = "w5" if copy else "w3"
                        if not copy and "w3" in between:
                            continue
                        text = assemble(f"r3 = *(u8 *)(r1 + 0)\nr4 = 0\nw3 &= {mask}\n{copy}{asked} += -{first}\n{between}if {asked} {test} {count} goto A\n"
                                        "r0 = r4\nexit\nA: r0 = 2\nr0 += r4\n" + ("r0 += r3\n" if copy else "") + "exit")
                        lines = read(text, [])
                        decide_by_bits(lines)
                        sweep(lines)
                        better, _ = write(lines)
                        shorter += len(better) < len(text)
                        for value in range(mask + 1):
                            given = bytes([value, 0])
                            assert run_raw(better, ctx=given).r0 == run_raw(text, ctx=given).r0, (first, count, test, copy, between)
    assert shorter > 30
