"""A copy whose original is not needed any more: two registers change names as far as either is needed, and the copy is gone."""
from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpn.compiler.asm import assemble
from lpn.compiler.helpers import BY_NUMBER
from lpn.compiler.passes.copies import COPIES
from lpn.compiler.passes.peephole import improve
from lpn.compiler.passes.renamed import rename_copies
from lpn.compiler.passes.rewrite import Line, read, sweep, write
from lpn.runtime.raw import run_raw

BEGIN = "r3 = *(u8 *)(r1 + 0)\nr4 = *(u32 *)(r1 + 4)\nr5 = *(u64 *)(r1 + 0)\n"
CASES = {                                       # code, copies that are left
    "behind it": ("r6 = r3\nr6 += 1\nr0 = 5\nr0 += r6\nexit", 0),
    "of a number": ("w6 = w3\nw6 += 1\nr0 = r6\nexit", 0),
    "the other one is made anew": ("r6 = r3\nr3 = 7\nr3 += r6\nr0 = 2\nr0 += r3\nexit", 0),
    "in circles": ("r6 = r3\nr3 = r4\nr4 = r5\nr5 = 1\nr0 = r6\nr0 <<= 1\nr0 += r3\nr0 <<= 1\nr0 += r4\nr0 += r5\nexit", 0),
    "it is needed": ("r6 = r3\nr6 += 1\nr0 = 5\nr0 += r6\nr0 += r3\nexit", 1),
    "half of it": ("w6 = w5\nr6 += 1\nr0 = r6\nexit", 1),
    "half, of two values": ("if w3 == 1 goto A\nr4 = r5\nA: w6 = w4\nr0 = 0\nr0 += r6\nexit", 2),
    "two ways": ("if w3 == 1 goto A\nr6 = r4\ngoto B\nA: r6 = r3\nB: r0 = 0\nr0 += r6\nexit", 1),
    "two ways with one": ("r6 = 3\nif w3 == 1 goto B\nr6 = r4\nB: r0 = 0\nr0 += r6\nr0 += r4\nexit", 1),
    "before it": ("if w3 == 1 goto A\nr7 = r3\nr7 *= 3\nr6 = r7\ngoto B\nA: r6 = 9\nB: r0 = r6\nexit", 0),
    "before it, from another way": ("r7 = 1\nif w3 == 1 goto A\nr7 = 4\nA: r7 *= 3\nr6 = r7\nif w4 == 1 goto C\nB: r6 += 1\nC: r0 = r6\nif w0 < 99 goto B\nexit", 1),
    "as it was given": ("r6 = r1\nif w3 == 1 goto A\nr6 += 1\nA: r0 = *(u8 *)(r6 + 0)\nexit", 0),
    "in a loop": ("w6 = 0\nL: r7 = r6\nr7 += 1\nr6 = r7\nif w6 < 9 goto L\nr0 = r6\nexit", 3),
    "what is returned": ("r0 = r3\nif w4 == 1 goto A\nr0 += 1\nA: exit", 0),
    "what is returned, on two ways": ("r6 = r3\nif w3 == 1 goto A\nr0 = r6\nexit\nA: r0 = 2\nexit", 1),
    "stored": ("r6 = r1\n*(u8 *)(r6 + 1) = r3\n*(u8 *)(r6 + 2) = 5\nr0 = *(u16 *)(r6 + 1)\nexit", 0),
    "what a call returns": ("r6 = 5\nif w3 == 1 goto A\ncall 3\nr6 = r0\ngoto B\nA: r6 = 9\nB: r0 = 1\nr0 += r6\nexit", 1),
    "over a call": ("r2 = *(u8 *)(r1 + 0)\nr6 = r2\nr0 = r6\nr6 = 5\nif w0 == 9 goto A\ncall 3\nA: r0 += r6\nexit", 1),
    "over a call that is not given it": ("r6 = r3\nr0 = r6\nr6 = 5\nif w0 == 9 goto A\ncall 3\nA: r0 += r6\nexit", 0),
    "where the stack is": ("r8 = r10\nr8 += -8\n*(u64 *)(r8 + 0) = 3\nr0 = *(u64 *)(r8 + 0)\nexit", 1),
    "turned round": ("r6 = r3\nr6 = be16 r6\nr6 = -r6\nr0 = r6\nr0 += r4\nexit", 0),
}
INPUTS = bytes([1, 2, 3, 4, 5, 6, 7, 250]), bytes([9, 0, 0, 0, 1, 0, 0, 0]), bytes(8)


def changed(text: bytes) -> bytes:
    code = read(text, [])
    rename_copies(code)
    sweep(code)
    return write(code)[0]


def ran(text: bytes, ctx: bytes) -> tuple:
    result = run_raw(text, ctx=ctx)
    return result.error, result.r0, result.ctx, result.insns


@pytest.mark.parametrize("name", CASES)
def test_a_copy_is_the_original(name):
    code, left = CASES[name]
    text = assemble(BEGIN + code)
    better = changed(text)
    assert sum(line.insn.op in COPIES for line in read(better, [])) == left
    for given_now in INPUTS:
        assert ran(better, given_now)[:3] == ran(text, given_now)[:3] and ran(better, given_now)[3] <= ran(text, given_now)[3]


def test_what_is_given_has_the_name_it_has():
    """The context, which a call behind would spoil."""
    text = assemble("r6 = r1\nr1 = 0\nr2 = 8\ncall 3\nr0 = *(u8 *)(r6 + 0)\nexit")
    better = changed(text)
    assert better == text and ran(better, INPUTS[0])[:2] == ("ok", 1)


def lines_of(code: str) -> list[Line]:
    return read(assemble(code), [])


def with_spoiling_calls(text: bytes) -> bytes:
    """Calls leave nothing in r1-r5, and add their arguments to words of the stack, which are part of what is returned: an engine may do the first,
    and a helper tells the second."""
    first: dict[Line, Line] = {}
    out = lines_of("".join(f"*(u64 *)(r10 - {64 + 8 * reg}) = 0\n" for reg in range(2, 6)) + "exit")[:-1]
    for line in read(text, []):
        new = [line]
        if line.insn.is_call:
            given_now = "".join(f"lock *(u64 *)(r10 - {64 + 8 * reg}) += r{reg}\n" for reg in range(2, 1 + len(BY_NUMBER[line.insn.imm].args)))
            before, after = lines_of(given_now + "exit")[:-1], lines_of("".join(f"r{reg} = {1000 + reg}\n" for reg in range(1, 6)) + "exit")[:-1]
            new = [*before, *([line] if line.insn.imm == 3 else lines_of("r0 = 0\nexit")[:-1]), *after]        # a bare engine has no radio
        elif line.insn.is_exit:
            new = lines_of("".join(f"r0 *= 31\nr1 = *(u64 *)(r10 - {64 + 8 * reg})\nr0 += r1\n" for reg in range(2, 6)) + "exit")
        first[line] = new[0]
        out += new
    for line in out:
        line.target = first.get(line.target, line.target)
    return write(out)[0]


REGISTER = st.sampled_from((0, 3, 4, 5, 6, 7))
LINES = st.one_of(
    st.builds("r{} = r{}".format, REGISTER, REGISTER), st.builds("r{} = r{}".format, REGISTER, REGISTER), st.builds("w{} = w{}".format, REGISTER, REGISTER),
    st.builds("r{} += r{}".format, REGISTER, REGISTER), st.builds("w{} ^= w{}".format, REGISTER, REGISTER), st.builds("r{0} = be16 r{0}".format, REGISTER),
    st.builds("r{} = {}".format, REGISTER, st.integers(-2, 3)), st.builds("w{} += {}".format, REGISTER, st.integers(1, 3)), st.builds("r{0} = -r{0}".format, REGISTER),
    st.builds("r{} = *(u16 *)(r1 + {})".format, REGISTER, st.integers(0, 4)), st.builds("*(u16 *)(r1 + {}) = w{}".format, st.integers(0, 4), REGISTER),
    st.builds("if w{} {} w{} goto +{}".format, REGISTER, st.sampled_from(("==", ">", "s<=", "&")), REGISTER, st.integers(0, 6)),
    st.builds("if w{} & 1 goto +{}".format, REGISTER, st.integers(0, 6)), st.builds("goto +{}".format, st.integers(0, 4)), st.just("exit"),
    st.builds("w9 += 1\nif w9 < 4 goto -{}".format, st.integers(2, 8)), st.builds("r{0} = 7\nr{1} = r{0}".format, REGISTER, REGISTER),
    st.just("r8 = r1\ncall 3\nr1 = r8\nw3 = 1\nw4 = 2\nw5 = 3"),
    st.builds("r8 = r1\nr2 = r{}\nr3 = r{}\nr4 = r{}\ncall 10\nr1 = r8\nw3 = 1\nw4 = 2\nw5 = 3".format, REGISTER, REGISTER, REGISTER),
    st.builds("*(u64 *)(r10 - {}) = r{}".format, st.sampled_from((8, 16, 12)), REGISTER), st.builds("r{} = *(u{} *)(r10 - 16)".format, REGISTER, st.sampled_from((8, 32, 64))),
    st.builds("r{0} = r10\n*(u32 *)(r{0} - 12) = {1}\nw{0} = w9".format, REGISTER, st.integers(0, 3)))
BEFORE = ["*(u64 *)(r10 - 8) = 3", "*(u64 *)(r10 - 16) = 4", "w9 = 0", "w0 = 1", "w6 = 2", "w7 = 5", *BEGIN.split("\n")[:3], "w4 &= 255", "w0 += w3", "w6 += w4"]


@settings(max_examples=250, derandomize=True, deadline=None)
@given(st.lists(LINES, max_size=24), st.lists(st.binary(min_size=8, max_size=8), min_size=1, max_size=3))
def test_whatever_leads_where(lines, inputs):
    text = assemble("\n".join([*BEFORE, *lines, *["exit"] * 10]))
    better = changed(text)
    for given_now in inputs:
        before, after = ran(text, given_now), ran(better, given_now)
        assert after[:3] == before[:3] and after[3] <= before[3]


@settings(max_examples=250, derandomize=True, deadline=None)
@given(st.lists(LINES, max_size=24), st.binary(min_size=8, max_size=8), st.booleans())
def test_whatever_calls_spoil(lines, given_now, among_others):
    """Alone, and where all passes have changed the code around it."""
    text = assemble("\n".join([*BEFORE, "w2 = 0", "r8 = r1", *lines, *["exit"] * 10]))
    better = improve(text, [])[0] if among_others else changed(text)
    before, after = ran(with_spoiling_calls(text), given_now), ran(with_spoiling_calls(better), given_now)
    assert after[:3] == before[:3] or before[0] != "ok"         # what nobody reads is not loaded
