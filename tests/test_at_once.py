"""Instructions that an engine does at once: what a path costs follows from where they begin, and no path costs more than its bound or less than the
other, however blocks are entered."""
from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

sys.path.insert(0, str(Path(__file__).parent / "verifier"))
import instrumented                                                # noqa: E402
from test_verifier_wcet import SIZES, accepted, table              # noqa: E402

from lpn.compiler.asm import assemble                              # noqa: E402
from lpn.compiler.isa import Instruction, decode                   # noqa: E402
from lpn.verifier import LPN, analyse                              # noqa: E402
from lpn.verifier.cost import AtOnce, Cost, CostError, CostTable   # noqa: E402
from lpn.verifier.wcet import Weights, time_of                     # noqa: E402


class Planned:
    """A table, and by slot what is done at once."""

    def __init__(self, costs: CostTable, handlers: dict[int, AtOnce]) -> None:
        self.module, self.insn, self.helper, self.at_once = costs.module, costs.insn, costs.helper, handlers.get


def slots_of(text: bytes) -> dict[int, Instruction]:
    out, slot = {}, 0
    for insn in decode(text):
        out[slot] = insn
        slot += insn.slots
    return out


def made_up(text: bytes, rng: random.Random, often: float) -> dict[int, AtOnce]:
    """Up to three instructions at once, from nearly any slot on; what goes elsewhere whatever happens is done by itself."""
    insns, out = slots_of(text), {}
    for slot in insns:
        fitting = [n for n in (1, 2, 3) if all((insn := insns.get(slot + i)) is not None and insn.slots == 1 and not (
            insn.is_goto or insn.is_exit or insn.is_call) for i in range(n))]
        if fitting and rng.random() < often:
            n = rng.choice(fitting)
            fewest = rng.randint(0, 20)
            out[slot] = AtOnce("", n, {way: Cost(fewest, fewest + rng.randint(0, 30)) for way in (0, *(
                i + 1 for i in range(n) if insns[slot + i].is_branch))})
    return out


class Clock:
    """Follows a run and adds up what it costs."""

    def __init__(self, costs: Planned, text: bytes) -> None:
        self.costs, self.insns = costs, slots_of(text)
        self.most, self.fewest = costs.module.most, costs.module.fewest
        self.begun = self.before = None

    def __call__(self, pc, r, machine):
        if self.before is not None:
            self.step(self.before, pc)
        self.before = pc
        if self.begun is None:
            self.begun = pc

    def step(self, slot, following):
        insn, handler = self.insns[slot], self.costs.at_once(self.begun)
        last = handler is None or slot == self.begun + handler.slots - 1
        if not insn.is_branch:
            ways = [False]
        else:                                   # to the next one: who knows which way
            ways = [True, False] if insn.off == 0 else [following != slot + 1]
        costs = [handler.way(slot - self.begun + 1 if taken else 0) if handler else self.costs.insn(slot, insn, (), taken)
                 if taken or last else None for taken in ways]
        if None in costs or not last and ways != [True]:
            assert ways != [True, False]        # see programs
            return
        self.most += min(cost.most for cost in costs)
        self.fewest += max(cost.fewest for cost in costs)
        self.begun = None

    def end(self):
        self.step(self.before, None)


def plain(text: bytes) -> bool:
    """No branch to the next instruction."""
    return all(not insn.is_branch or insn.off for insn in slots_of(text).values())


@given(st.integers(0, 1 << 30), st.sampled_from((0.3, 0.7, 1.0)))
@settings(max_examples=100, deadline=None)
def test_every_run_is_within_the_bounds(seed, often):
    rng = random.Random(seed)
    if (made := accepted(rng)) is None or not plain(made[0]):
        return
    text, report, analysis = made
    costs = Planned(table(lambda low, high: rng.randint(low, high)), made_up(text, rng, often))
    bound = time_of(analysis, costs, {})
    assert sum(step.cycles for step in bound.path) + costs.module.most == bound.worst
    for n in (0, 1, 8, 64, 200):
        clock = Clock(costs, text)
        instrumented.Machine(text, rng.randbytes(n), sizes=SIZES, fill=rng.randbytes).run(report.max_insns, clock)
        clock.end()
        assert clock.most <= bound.worst
        assert clock.fewest >= bound.best


ONE = CostTable("made up", 72, "", Cost(0, 0), Cost(0, 0), {f"0x{op:02x}": Cost(10, 10) for op in range(256)}, {})


def bound(source: str, handlers: dict[int, AtOnce]) -> tuple[int, int]:
    _, analysis = analyse(assemble(source), LPN, record_size=64, state_size=32)
    assert analysis is not None
    found = time_of(analysis, Planned(ONE, handlers), {})
    return found.best, found.worst


def two(cycles: int, taken: int = 0, at: int = 2) -> AtOnce:
    return AtOnce("two", 2, {0: Cost(cycles, cycles)} | ({at: Cost(taken, taken)} if taken else {}))


def test_what_is_done_at_once_costs_what_it_does_once():
    assert bound("w2 = 1\nw2 += 1\nw0 = w2\nexit", {}) == (40, 40)
    assert bound("w2 = 1\nw2 += 1\nw0 = w2\nexit", {0: two(13)}) == (33, 33)
    assert bound("w2 = 1\nw2 += 1\nw0 = w2\nexit", {0: two(13), 1: two(12)}) == (33, 33)        # the second one is under way already
    assert bound("w2 = 1\nw2 += 1\nw0 = w2\nexit", {0: AtOnce("three", 3, {0: Cost(5, 17)})}) == (15, 27)


BRANCH = "r2 = *(u32 *)(r1 + 52)\nw0 = 0\nif w2 == 7 goto A\nw0 += 1\nA: w0 += 2\nexit"


def test_a_block_that_is_entered_in_the_midst():
    """Slots 3 and 4 are one; the jump leads to slot 4, which is done by itself then."""
    assert bound(BRANCH, {}) == (50, 60)
    assert bound(BRANCH, {3: two(15)}) == (50, 55)
    assert bound(BRANCH, {3: two(25)})[1] == 65
    assert bound(BRANCH, {3: two(5)})[1] == 50      # of the jump


def test_a_block_whose_ways_never_meet_is_bounded_by_each():
    """Entered at slot 3, slots 3 and 4 are one, then slots 5 and 6; entered at slot 4, slots 4 and 5 are one, and slot 6 is done by itself."""
    code = BRANCH.replace("exit", "w0 += 3\nw0 += 4\nexit")
    low, high = bound(code, {3: two(15), 4: two(11), 5: two(12)})
    assert high >= max(30 + 15 + 12 + 10, 30 + 11 + 10 + 10) and low <= 30 + 11 + 10 + 10
    assert high <= 30 + 15 + 12 + 10 + 10


def test_a_jump_that_is_taken_in_the_midst_leaves_the_rest():
    code = "r2 = *(u32 *)(r1 + 52)\nw0 = 0\nif w2 == 7 goto A\nif w2 == 9 goto A\nw0 += 1\nA: exit"
    ways = AtOnce("both", 2, {0: Cost(11, 11), 1: Cost(21, 21), 2: Cost(32, 32)})
    assert bound(code, {}) == (40, 60)
    assert bound(code, {2: ways}) == (20 + 11 + 20, 20 + 32 + 10)
    with pytest.raises(CostError, match="not known"):
        bound(code, {2: AtOnce("both", 2, {0: Cost(11, 11), 2: Cost(32, 32)})})


def test_a_loop_that_is_entered_in_the_midst_turns_at_its_own_cost():
    """What begins before the loop ends in it, once; each further turn begins at its first instruction."""
    code = "w0 = 0\nw2 = 0\nA: w2 += 1\nw0 += 2\nif w2 < 8 goto A\nexit"
    assert bound(code, {1: two(14)})[1] == 10 + 14 + 20 + 7 * 30 + 10
    assert bound(code, {1: two(14), 2: two(16)})[1] >= 10 + 14 + 20 + 7 * 26 + 10


def test_blocks_that_are_never_reached_cost_something():
    """The walk may not know what the proof does."""
    _, analysis = analyse(assemble("w2 = 1\nw0 = 0\nif w2 == 1 goto A\nw0 += 1\nA: exit"), LPN)
    assert analysis is not None
    weights = Weights(analysis, Planned(ONE, {}), {})
    assert [weights.node(node).most for node in analysis.graph.nodes] == [30, 10, 10]
