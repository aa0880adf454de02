"""Loops that take octets of one packet turn together no more often than it has octets; no run executes more than the bound says."""
from __future__ import annotations

import random
import sys
from itertools import count
from pathlib import Path

import pytest
from hypothesis import example, given, settings, strategies as st

sys.path.insert(0, str(Path(__file__).parent / "verifier"))
import instrumented                                                # noqa: E402
from test_verifier_walk import PROFILE, SIZES, Clock, any_verdict, flat, table     # noqa: E402

from lpn.compiler.asm import assemble                              # noqa: E402
from lpn.verifier import LPN, analyse, walk                        # noqa: E402
from lpn.verifier.descriptors import helper_specs                  # noqa: E402
from lpn.verifier.shorter import shorter                           # noqa: E402
from lpn.verifier.wcet import Weights, time_of                     # noqa: E402

BEGIN = "r6 = *(u64 *)(r1 + 0)\nr8 = *(u64 *)(r1 + 8)\nr9 = *(u64 *)(r1 + 24)\nr0 = 0\nr2 = r6\n"
END = "E: r0 = 0\nexit"
WORK = "r5 = 1\n" * 20


def octet(cursor: str = "r2", to: str = "E") -> str:
    """The octet at the cursor, in r4."""
    return f"r3 = {cursor}\nr3 += 1\nif r3 > r8 goto {to}\nr4 = *(u8 *)({cursor} + 0)\n"


# What is before some option in the inner loop, and the option in the outer one.
NEST = f"A: {octet()}r2 += 1\nB: {octet()}if r4 == 7 goto A\n{WORK}r2 += 1\ngoto B\n"

# name, program, loops that share the packet (None: none are found), how much less may be executed than without that
NESTS = [
    ("one inside the other", NEST, 2, 20),
    ("three deep", f"A: {octet()}r2 += 1\nB: {octet()}r2 += 1\nif r4 == 6 goto A\nC: {octet()}if r4 == 7 goto B\n{WORK}r2 += 1\ngoto C\n", 3, 1000),
    ("the inner one takes two octets", f"A: {octet()}r2 += 1\nB: r3 = r2\nr3 += 2\nif r3 > r8 goto E\nr4 = *(u8 *)(r2 + 0)\nif r4 == 7 goto A\n{WORK}r2 += 2\ngoto B\n", 2, 20),
    ("in other registers", f"A: {octet('r2')}r7 = r2\nr7 += 1\nB: {octet('r7')}if r4 == 7 goto C\n{WORK}r7 += 1\ngoto B\nC: r2 = r7\nr2 += 1\ngoto A\n", 2, 20),
    ("the inner one takes all", f"A: {octet()}w4 &= 1\nif w4 == 0 goto E\nB: {octet()}r2 += 1\nif r4 != 7 goto B\ngoto A\n", 2, 20),
    ("the inner one turns four times at most", f"A: {octet()}r2 += 1\nr7 = 0\nB: r7 += 1\nif r7 > 4 goto A\n{octet()}{WORK}r2 += 1\ngoto B\n", 2, 1),
    ("some take the first octets alone", "r7 = r6\nr7 += 16\n" + NEST.replace("A:", "F: if r2 > r7 goto A\n").replace("B:", "G: if r2 > r7 goto A\n").replace("goto A\n" + WORK, "goto F\n" + WORK)
     .replace("goto B", "goto G") + NEST, 4, 2),
    ("rounds of one octet or of three", f"A: {octet()}r2 += 1\nB: r3 = r2\nr3 += 3\nif r3 > r8 goto E\nr4 = *(u8 *)(r2 + 0)\nif r4 == 7 goto A\n{WORK}if r4 == 6 goto C\nr2 += 1\ngoto B\n"
     "C: r2 += 3\ngoto B\n", 2, 20),
    ("an octet or three before the inner one", f"A: r3 = r2\nr3 += 3\nif r3 > r8 goto E\nr4 = *(u8 *)(r2 + 0)\n{WORK}if r4 == 6 goto C\nr2 += 1\ngoto B\nC: r2 += 3\nB: {octet()}"
     "if r4 != 1 goto A\nr2 += 1\ngoto B\n", 2, 20),
    ("the inner one begins anew", f"A: {octet()}r2 += 1\nr7 = r6\nB: {octet('r7', 'A')}{WORK}r7 += 1\ngoto B\n", None, 1),
    ("the inner one begins two octets before", f"r2 += 2\nA: {octet()}r2 += 1\nr7 = r2\nr7 += -2\nB: {octet('r7', 'A')}if r4 == 7 goto A\n{WORK}r7 += 1\ngoto B\n", None, 1),
    ("the inner one begins an octet before", f"r2 += 1\nA: {octet()}r2 += 1\nr7 = r2\nr7 += -1\nB: {octet('r7', 'A')}if r4 == 7 goto A\n{WORK}r7 += 1\ngoto B\n", None, 1),
    ("the outer one goes back", f"r7 = 0\nA: {octet()}r2 += 1\nB: {octet()}if r4 == 7 goto C\n{WORK}r2 += 1\ngoto B\nC: r7 += 1\nif r7 > 40 goto E\nr2 = r6\ngoto A\n", None, 1),
    ("the outer one counts", f"r7 = 0\nA: r7 += 1\nif r7 > 40 goto E\nr2 = r6\nB: {octet('r2', 'A')}{WORK}r2 += 1\ngoto B\n", None, 1),
]


def judged(source: str, **more):
    return analyse(assemble(BEGIN + source + END), LPN, record_size=64, state_size=32, max_insns=1 << 40, **more)


@pytest.mark.parametrize("name, source, loops, less", NESTS, ids=[row[0] for row in NESTS])
def test_nests(name, source, loops, less, monkeypatch):
    report, analysis = judged(source)
    assert report.accepted, report.message
    assert (analysis.together and len(analysis.together.steps)) == loops
    monkeypatch.setattr(sys.modules["lpn.verifier.verify"], "together", lambda *_: None)
    alone, _ = judged(source)
    assert report.max_insns * less <= alone.max_insns and (loops is not None or report.max_insns == alone.max_insns)


@pytest.mark.parametrize("name, source, loops, less", NESTS, ids=[row[0] for row in NESTS])
def test_no_run_executes_more(name, source, loops, less):
    """With packets that make one of the loops turn often, or both."""
    report, analysis = judged(source)
    costs, rng = table(lambda low, high: low), random.Random(name)
    for packet in (bytes(90), b"\x07" * 90, b"\x00\x07" * 45, b"\x07\x01\x01" * 30, bytes(rng.choices((0, 1, 6, 7), k=90)), bytes(20), b"\x07" * 9, b"\x06" * 90, b"\x07\x06" * 45, b""):
        clock = Clock(costs, assemble(BEGIN + source + END))
        machine = instrumented.Machine(assemble(BEGIN + source + END), packet, sizes=SIZES, fill=rng.randbytes)
        assert machine.run(report.max_insns, clock).branches <= report.max_branches
        clock.end()
        assert clock.most <= time_of(shorter(analysis, len(packet)), costs, {}).worst <= time_of(analysis, costs, {}).worst


def test_the_bound_is_near_the_slowest_run():
    report, analysis = judged(NEST)
    machine = instrumented.Machine(assemble(BEGIN + NEST + END), bytes(2048), sizes=SIZES, fill=lambda n: bytes(n))
    executed = 0

    def count(pc, r, machine):
        nonlocal executed
        executed += 1
    machine.run(report.max_insns, count)
    assert executed <= report.max_insns <= 1.05 * executed


def test_shorter_packets_are_passed_sooner():
    _, analysis = judged(NEST)
    most = [time_of(shorter(analysis, longest), flat(), {}).worst for longest in (10, 100, 1000)]
    assert most[0] < 10 * 40 and most[1] < 100 * 40 and most[2] < 1000 * 40


def test_loops_behind_one_another_share_it_where_the_limit_asks():
    source = "".join(f"{name}: {octet(to='E')}if r4 == 7 goto {after}\n{WORK * 2}r2 += 1\ngoto {name}\n{after}: r2 += 1\n" for name, after in ("AP", "BQ", "CR", "DS"))
    report, analysis = judged(source)
    assert analysis.together is None and report.max_insns > 300_000
    report, analysis = analyse(assemble(BEGIN + source + END), LPN, record_size=64, state_size=32, max_insns=200_000)
    assert report.accepted and len(analysis.together.steps) == 4 and report.max_insns < 120_000


# Random nests --------------------------------------------------------------------------------------
@st.composite
def nests(draw) -> str:
    """Loops in loops, which take octets, skip some, go back some, begin anew, or hand the cursor over."""
    names = map("L{}".format, count())

    def loop(depth: int, cursor: str, out: str) -> str:
        name, after, limit = next(names), next(names), draw(st.sampled_from([1, 2, 4]))
        lines = [f"{name}: r3 = {cursor}\nr3 += {limit}\nif r3 > r8 goto {after}\nr4 = *(u8 *)({cursor} + 0)"]
        if draw(st.booleans()):
            lines.append(f"if r4 == {draw(st.integers(0, 3))} goto {out}")
        lines += ["r5 = 1"] * draw(st.integers(0, 9))
        for _ in range(draw(st.integers(0, 1 + (depth == 1)))) if depth < 3 else ():
            inner, after_it = draw(st.sampled_from([cursor, "r2", "r7"])), next(names)
            if inner != cursor:
                lines.append(f"{inner} = {draw(st.sampled_from([cursor, cursor, 'r6']))}")
                if draw(st.booleans()):
                    lines += [f"r3 = {inner}\nr3 += {limit}\nif r3 > r8 goto {after}\n{inner} += {draw(st.integers(1, limit))}"]
            lines.append(loop(depth + 1, inner, after_it) + f"{after_it}: r5 = 1")
            if inner != cursor and draw(st.booleans()):
                lines.append(f"{cursor} = {inner}")
        if draw(st.booleans()):
            lines.append(f"r4 = *(u8 *)(r9 + 0)\nif r4 == {draw(st.integers(0, 3))} goto {name}" if draw(st.integers(0, 9)) == 0 else "r5 = 2")
        lines.append(f"r3 = {cursor}\nr3 += {limit}\nif r3 > r8 goto {after}\n{cursor} += {draw(st.integers(1, limit))}\ngoto {name}\n{after}: r5 = 1")
        return "\n".join(lines) + "\n"
    return loop(1, "r2", "E") + (loop(1, draw(st.sampled_from(["r2", "r7"])), "E") if draw(st.booleans()) else "")


# The loop around turns, too, where it is none of those that share the packet: it may move nothing itself.
AROUND = ("L0: r3 = r2\nr3 += 2\nif r3 > r8 goto L1\nr4 = *(u8 *)(r2 + 0)\nif r4 == 0 goto E\n" + "r5 = 1\n" * 9 + "L3: r3 = r2\nr3 += 2\nif r3 > r8 goto L4\nr4 = *(u8 *)(r2 + 0)\n"
          "if r4 == 3 goto L2\n" + "r5 = 1\n" * 8 + "r7 = r2\nr3 = r7\nr3 += 2\nif r3 > r8 goto L4\nr7 += 1\nL6: r3 = r7\nr3 += 2\nif r3 > r8 goto L7\nr4 = *(u8 *)(r7 + 0)\nr5 = 1\nr5 = 1\n"
          "r3 = r7\nr3 += 2\nif r3 > r8 goto L7\nr7 += 1\ngoto L6\nL7: r2 = r7\nr3 = r2\nr3 += 2\nif r3 > r8 goto L4\nr2 += 2\ngoto L3\nL4: r5 = 1\n"
          "L2: r3 = r2\nr3 += 2\nif r3 > r8 goto L1\nr2 += 1\ngoto L0\nL1: r5 = 1\n")


@given(nests(), st.integers(0, 1 << 30))
@example(AROUND, 2688)
@settings(max_examples=60, deadline=None)
def test_random_nests(source, seed):
    text, rng = assemble(BEGIN + "r7 = r2\n" + source + END), random.Random(seed)
    report, analysis = analyse(text, LPN, record_size=64, state_size=32, max_insns=1 << 40)
    if not report.accepted:
        return
    costs = table(lambda low, high: rng.randint(low, high))
    bound = time_of(analysis, costs, {})
    assert sum(step.cycles for step in bound.path) + costs.module.most == bound.worst
    for longest in (12, 40):
        near = shorter(analysis, longest)
        alone = time_of(near, costs, {}).worst
        followed = walk.chain_bound([walk.Module(Weights(near, costs, {}), PROFILE, helper_specs(()), costs.module.most)], longest, any_verdict).weight
        for packet in (bytes(longest), bytes(rng.choices(range(5), (20, 1, 1, 1, 9), k=longest)), bytes([3]) * (longest - 2)):
            clock = Clock(costs, text)
            machine = instrumented.Machine(text, packet, sizes=SIZES, fill=rng.randbytes)
            result = machine.run(report.max_insns, clock)
            clock.end()
            assert result.branches <= report.max_branches and clock.most <= alone and clock.most <= followed


# An index from where an option begins ----------------------------------------------------------------
@st.composite
def options(draw) -> str:
    """Options of `n` octets, or of what they say, over which indices go from where they begin, or from elsewhere; the next one begins behind, or before that."""
    unit = draw(st.sampled_from([1, 2, 8]))
    lines = ["w7 = 0", f"A: r3 = r2\nr3 += {unit + 1}\nif r3 > r8 goto E\nr7 = *(u8 *)(r2 + 0)\nif r7 == 0 goto E\nr7 <<= {unit.bit_length() - 1}\nr9 = r2\nr9 += r7\nif r9 > r8 goto E"]
    if draw(st.booleans()):
        lines.append("r4 = *(u8 *)(r2 + 1)")
    for name in ["I", "J"][:draw(st.integers(1, 2))]:
        first, step = draw(st.sampled_from([0, 0, 1, 2])), draw(st.sampled_from([1, 1, 2]))
        base = draw(st.sampled_from(["r2", "r2", "r2", "r6", "r9"]))
        lines += [f"r0 = {first}", f"{name}: if r0 >= r7 goto {name}2"] + (["r5 = 1"] * draw(st.integers(0, 6)))
        if base != "r9":
            lines.append(f"r3 = {base}\nr3 += r0\nr3 += 1\nif r3 > r8 goto {name}2\nr3 = {base}\nr3 += r0\nr4 = *(u8 *)(r3 + 0)")
        if draw(st.booleans()):
            lines.append(f"if r4 == {draw(st.integers(0, 3))} goto {name}2")
        lines += [f"r0 += {step}", f"goto {name}", f"{name}2: r5 = 1"]
    lines += draw(st.sampled_from([["r2 = r9"], ["r2 = r9"], ["r2 += r7"], ["r2 += 1"], [f"r2 += {unit}"]])) + ["goto A"]
    return "\n".join(lines) + "\n"


@given(options(), st.integers(0, 1 << 30))
@settings(max_examples=60, deadline=None)
def test_random_options(source, seed):
    """Where less is asked for than the loops' own bounds give, what is proved then holds."""
    text, rng = assemble(BEGIN + source + END), random.Random(seed)
    alone, _ = analyse(text, LPN, record_size=64, state_size=32, max_insns=1 << 40)
    if not alone.accepted:
        return
    report, analysis = analyse(text, LPN, record_size=64, state_size=32, max_insns=alone.max_insns - 1)
    if not report.accepted:
        return
    costs = table(lambda low, high: rng.randint(low, high))
    for longest in (12, 60):
        near = time_of(shorter(analysis, longest), costs, {}).worst
        for packet in (bytes(longest), b"\x01" * longest, bytes([longest // 8]) * longest, bytes(rng.choices(range(9), (1, 20, 1, 1, 9, 1, 1, 1, 1), k=longest))):
            clock = Clock(costs, text)
            assert instrumented.Machine(text, packet, sizes=SIZES, fill=rng.randbytes).run(report.max_insns, clock).branches <= report.max_branches
            clock.end()
            assert clock.most <= near


# what the loop over an option does, what begins the next one; whether the bound is that of one packet's octets
INDEXED = [
    ("the next begins behind it", "r0 = 0", "r0 += 1", "r2 = r9", True),
    ("from its second octet on", "r0 = 1", "r0 += 1", "r2 = r9", True),
    ("two octets at a time, of which one may lie behind it", "r0 = 0", "r0 += 2", "r2 = r9", False),
    ("the next begins in it", "r0 = 0", "r0 += 1", "r2 += 1", False),
    ("the next begins before its last octet", "r0 = 0", "r0 += 1", "r9 += -1\nif r9 <= r2 goto E\nr2 = r9", False),
    ("counted from another place", "r0 = 0\nr9 = r2\nr2 = r6", "r0 += 1", "r2 = r9\nr2 += 1", False),
]


@pytest.mark.parametrize("name, begin, step, then, shared", INDEXED, ids=[row[0] for row in INDEXED])
def test_an_index_over_each_option(name, begin, step, then, shared):
    source = (f"A: r3 = r2\nr3 += 2\nif r3 > r8 goto E\nr7 = *(u8 *)(r2 + 0)\nif r7 == 0 goto E\nr9 = r2\nr9 += r7\nif r9 > r8 goto E\n{begin}\n"
              f"I: if r0 >= r7 goto B\nr3 = r2\nr3 += r0\nr3 += 1\nif r3 > r8 goto E\nr4 = *(u8 *)(r3 + -1)\n{step}\ngoto I\nB: {then}\ngoto A\n")
    alone, _ = judged(source)
    assert alone.accepted, alone.message
    report, analysis = analyse(assemble(BEGIN + source + END), LPN, record_size=64, state_size=32, max_insns=100_000)
    assert alone.max_insns > 1_000_000 and report.accepted is shared and (report.rule == 34) is not shared
    if shared:
        assert analysis.together is not None and report.max_insns < 70_000
